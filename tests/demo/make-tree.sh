#!/bin/bash
# make-tree.sh SEED DIR [SOURCE_TARBALL]: makes the bare git repository DIR: the kernel source of the tarball as the first
# commit, then a day of net-next out of our patches. SEED decides on the culprit, its place, and the choice and order of
# the others. The same seed and source give the same ids.
#
# KPB_DEMO_FOR  what the culprit slows: nothing (stress-ng sockfd), or loud, redirect-cpu, rps-loud and so on as in series
# KPB_CACHE   folder that keeps the repository with the first commit (demo-base.git); DIR then borrows its objects, so
#             both must stay where they are. Without it DIR stands alone.
#
# Prints one JSON object, which DIR/demo.json holds too. Nothing is ever checked out. Progress goes to stderr.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
default_source=/usr/src/linux-source-6.1.tar.xz
committer_name='Mia Holm'
committer_mail=mia@example.org
first_date=1717200000		# of the first commit; each further one is committed half an hour later

die() { echo "make-tree.sh: $*" >&2; exit 1; }
say() { echo "make-tree.sh: $*" >&2; }

[[ $# -ge 2 && $# -le 3 ]] || die "usage: make-tree.sh SEED DIR [SOURCE_TARBALL]"
seed=$1 dir=$2 source=${3:-$default_source}
[[ $seed =~ ^[0-9]{1,9}$ ]] || die "\"$seed\" is not a seed: give a number of at most nine digits"
[[ ! -e $dir ]] || die "\"$dir\" exists already: remove it or name another folder"
seed=$((10#$seed))

# Ids must depend neither on the caller's git configuration nor on its environment.
for name in $(git rev-parse --local-env-vars); do unset "$name"; done
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
export GIT_COMMITTER_NAME=$committer_name GIT_COMMITTER_EMAIL=$committer_mail

mkdir -p "$(dirname "$dir")"
dir=$(cd "$(dirname "$dir")" && pwd)/$(basename "$dir")
work=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$work"' EXIT

# A kernel as one commit has nothing to gain from deltas: without them a clone is a plain copy.
new_repository() {
	git init -q --bare -b main "$1"
	git -C "$1" config core.compression 1
	git -C "$1" config pack.window 0
	git -C "$1" config gc.auto 0
}

# import_source REPO: main becomes one commit with all of the tarball
import_source() {
	[[ -r $source ]] || die "\"$source\" cannot be read: install the package linux-source-6.1"
	local version
	version=$(basename "$source"); version=${version%.tar*}
	say "importing \"$source\", which takes about half a minute"
	xz -dcf -T0 -- "$source" |
		"$here/tar-to-fast-import.pl" "$committer_name <$committer_mail>" "$first_date +0000" \
			"${version//-source-/ } as packaged by Debian" |
		git -C "$1" fast-import --quiet --done --depth=0
}

repo=$work/repo
new_repository "$repo"
if [[ -n ${KPB_CACHE:-} ]]; then
	mkdir -p "$KPB_CACHE"
	cache=$(cd "$KPB_CACHE" && pwd)/demo-base.git
	stamp=$(stat -Lc '%s-%Y' -- "$source" 2>/dev/null) || die "\"$source\" is not there: install the package linux-source-6.1"
	if [[ $(git -C "$cache" config demo.source 2>/dev/null || true) != "$stamp" ]]; then
		# trees made from another source borrow objects from what is there
		[[ ! -e $cache ]] || die "\"$cache\" holds another source: remove it and the trees made with it"
		new_repository "$work/base"
		import_source "$work/base"
		git -C "$work/base" config demo.source "$stamp"
		mv -T "$work/base" "$cache" 2>/dev/null || [[ -e $cache/HEAD ]] || die "\"$cache\" cannot be made"
	fi
	echo "$cache/objects" > "$repo/objects/info/alternates"
	base=$(git -C "$cache" rev-parse --verify main)
else
	import_source "$repo"
	base=$(git -C "$repo" rev-parse --verify main)
fi

export GIT_DIR=$repo
declare -A tip=([main]=$base [side]=) id_of=() list=()
date=$first_date
GIT_INDEX_FILE=$work/index.main git read-tree "$base"

patch_file() {
	case $1 in
	culprit) echo "$here/culprits/$2.patch" ;;
	*) echo "$here/patches/$2.patch" ;;
	esac
}

# apply LINE KIND NAME: puts a patch into the index of a line
apply() {
	GIT_INDEX_FILE=$work/index.$1 git apply --cached "$(patch_file "$2" "$3")" ||
		die "\"$3\" does not apply: \"$source\" differs too much from the source the patches were made for"
}

# commit LINE MESSAGE_FILE PARENT...: commits the index of a line
commit() {
	local line=$1 message=$2 tree parents=()
	shift 2
	tree=$(GIT_INDEX_FILE=$work/index.$line git write-tree)
	date=$((date + 1800))
	for parent; do parents+=(-p "$parent"); done
	tip[$line]=$(GIT_AUTHOR_DATE="$((date - 5400)) +0000" GIT_COMMITTER_DATE="$date +0000" \
		git commit-tree "$tree" "${parents[@]}" -F "$message")
}

commit_patch() {
	local line=$1 kind=$2 name=$3 subject
	apply "$line" "$kind" "$name"
	git mailinfo "$work/body" "$work/diff" < "$(patch_file "$kind" "$name")" > "$work/info"
	subject=$(sed -n 's/^Subject: //p' "$work/info")
	{
		printf '%s\n\n' "$subject"
		sed "s/@BROKEN@/${broken_ref:-}/" "$work/body"
		echo "Signed-off-by: $committer_name <$committer_mail>"
	} > "$work/message"
	GIT_AUTHOR_NAME=$(sed -n 's/^Author: //p' "$work/info") \
	GIT_AUTHOR_EMAIL=$(sed -n 's/^Email: //p' "$work/info") \
		commit "$line" "$work/message" "${tip[$line]}"
	id_of[$kind]=${tip[$line]}
	case $kind in
	culprit) culprit_name=$name ;;
	broken) broken_ref="${tip[$line]:0:12} (\"$subject\")" ;;
	esac
}

# quoted_list ID...: as the elements of a JSON array
quoted_list() {
	local separator='' id
	for id; do
		printf '%s"%s"' "$separator" "$id"
		separator=', '
	done
}

plan=$(awk -v seed="$seed" -v for_="${KPB_DEMO_FOR:-}" -f "$here/plan.awk" "$here/series") ||
	die "KPB_DEMO_FOR is \"${KPB_DEMO_FOR:-}\": there is no culprit of that kind in $here/series"
side_patches=() side_ids=() unbuildable=() commits=0 building=yes
while read -r line kind name; do
	case $kind in
	fork)
		cp "$work/index.main" "$work/index.side"
		tip[side]=${tip[main]}
		continue
		;;
	merge)
		for patch in "${side_patches[@]}"; do apply main $patch; done
		{
			printf "Merge branch 'socket-proc-files'\n\n"
			git log --reverse --format='  %s' "${side_ids[0]}^..${side_ids[-1]}"
			printf '\nSigned-off-by: %s <%s>\n' "$committer_name" "$committer_mail"
		} > "$work/message"
		GIT_AUTHOR_NAME=$committer_name GIT_AUTHOR_EMAIL=$committer_mail \
			commit main "$work/message" "${tip[main]}" "${tip[side]}"
		id_of[merge]=${tip[main]}
		;;
	*)
		commit_patch "$line" "$kind" "$name"
		;;
	esac
	commits=$((commits + 1))
	[[ $kind == broken ]] && building=no
	[[ $kind == fix ]] && building=yes
	if [[ $line == side ]]; then
		side_patches+=("$kind $name")
		side_ids+=("${tip[side]}")
	elif [[ $building == no ]]; then
		unbuildable+=("${tip[main]}")
	fi
done <<< "$plan"

git update-ref refs/heads/main "${tip[main]}"
git update-ref refs/tags/demo-base "$base"

cat > "$repo/demo.json" <<JSON
{ "seed": $seed, "branch": "main", "commits": $commits, "base": "$base", "head": "${tip[main]}",
  "culprit": "${id_of[culprit]}", "culprit_name": "$culprit_name",
  "unbuildable": [$(quoted_list "${unbuildable[@]}")], "merge": "${id_of[merge]}", "side": [$(quoted_list "${side_ids[@]}")],
  "doc_only": "${id_of[doc]}", "arch_only": "${id_of[arch]}" }
JSON
chmod 755 "$repo"
mv -T "$repo" "$dir"
cat "$dir/demo.json"
