#!/bin/bash
# make-local-tree.sh SEED DIR [COMMITS [NOISE [SLOWDOWN]]]: makes the bare git repository DIR: a small C program, then
# COMMITS (64) commits of which one, chosen by SEED, makes it slower by SLOWDOWN per cent of the work. "make" builds
# ./bench, which prints "ops_per_sec: N" with a standard deviation of NOISE per cent. The same arguments give the same ids.
#
# KPB_DEMO_NOISE (0.7), KPB_DEMO_SLOWDOWN (5): defaults for the last two.
#
# Prints the same JSON object as make-tree.sh, which DIR/demo.json holds too.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { echo "make-local-tree.sh: $*" >&2; exit 1; }

[[ $# -ge 2 && $# -le 5 ]] || die "usage: make-local-tree.sh SEED DIR [COMMITS [NOISE [SLOWDOWN]]]"
seed=$1 dir=$2 commits=${3:-64} noise=${4:-${KPB_DEMO_NOISE:-0.7}} slowdown=${5:-${KPB_DEMO_SLOWDOWN:-5}}
number='^[0-9]+(\.[0-9]+)?$'
[[ $seed =~ ^[0-9]{1,9}$ ]] || die "\"$seed\" is not a seed: give a number of at most nine digits"
[[ $commits =~ ^[0-9]{1,4}$ && 10#$commits -ge 8 ]] || die "\"$commits\" commits: give a number from 8 to 9999"
seed=$((10#$seed)) commits=$((10#$commits))
[[ $noise =~ $number ]] || die "\"$noise\" is not a noise in per cent"
[[ $slowdown =~ $number ]] || die "\"$slowdown\" is not a slowdown in per cent"
[[ ! -e $dir ]] || die "\"$dir\" exists already: remove it or name another folder"

for name in $(git rev-parse --local-env-vars); do unset "$name"; done
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C

mkdir -p "$(dirname "$dir")"
dir=$(cd "$(dirname "$dir")" && pwd)/$(basename "$dir")
work=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$work"' EXIT

repo=$work/repo
git init -q --bare -b main "$repo"
awk -v seed="$seed" -v n="$commits" -v noise="$noise" -v slowdown="$slowdown" -v templates="$here/local" \
	-v facts="$work/facts" -f "$here/local-tree.awk" |
	git -C "$repo" fast-import --quiet --done --export-marks="$work/marks"
git -C "$repo" update-ref -d refs/heads/side

# ids KEY: the ids of a fact, quoted and with commas between
ids() {
	awk -v key="$1" 'NR == FNR { id[$1] = $2; next }
		$1 == key { for (i = 2; i <= NF; i++) printf "%s\"%s\"", (i > 2 ? ", " : ""), id[":" $i] }' \
		"$work/marks" "$work/facts"
}
base=$(ids base) head=$(ids head) culprit=$(ids culprit) merge=$(ids merge)
side=$(ids side) unbuildable=$(ids unbuildable) doc_only=$(ids doc_only)
culprit_name=$(awk '$1 == "culprit_name" { print $2 }' "$work/facts")
git -C "$repo" update-ref refs/tags/demo-base "${base//\"/}"

cat > "$repo/demo.json" <<JSON
{ "seed": $seed, "branch": "main", "commits": $commits, "base": $base, "head": $head,
  "culprit": $culprit, "culprit_name": "$culprit_name",
  "unbuildable": [$unbuildable], "merge": $merge, "side": [$side],
  "doc_only": ${doc_only%%,*}, "arch_only": null }
JSON
chmod 755 "$repo"
mv -T "$repo" "$dir"
cat "$dir/demo.json"
