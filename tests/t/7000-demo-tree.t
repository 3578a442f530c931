#!/bin/bash
# The trees of the demo: ids depend on the seed alone, every order of patches applies, the facts printed are true.
set -u
cd "$(dirname "$0")/../.." || exit 1
demo=$PWD/tests/demo
source=${KPB_DEMO_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0

ok() {	# ok NAME COMMAND...: the test passes if the command succeeds
	local name=$1
	shift
	n=$((n + 1))
	if "$@" > "$tmp/out" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$tmp/out"
	fi
}

fact() { /usr/bin/python3 -c 'import json, sys
v = json.load(open(sys.argv[1] + "/demo.json"))[sys.argv[2]]
print(*v) if isinstance(v, list) else print(v)' "$1" "$2"; }

same_seed_same_tree() { cmp "$1/demo.json" "$2/demo.json"; }
is_ancestor() { git -C "$1" merge-base --is-ancestor "$2" "$3"; }
is_not_ancestor() { ! is_ancestor "$@"; }
is() { [[ $1 == "$2" ]] || { echo "got '$1', expected '$2'"; return 1; }; }
at_least() { [[ $1 -ge $2 ]] || { echo "got $1, expected $2 or more"; return 1; }; }
changes_only() { # changes_only REPO COMMIT PATTERN
	local files
	files=$(git -C "$1" diff-tree -r --no-commit-id --name-only "$2") && [[ -n $files ]] && ! grep -Ev "$3" <<< "$files"
}

# What holds for both kinds of tree
check_tree() {
	local repo=$1 label=$2 base head culprit commits bad id
	base=$(fact "$repo" base) head=$(fact "$repo" head) culprit=$(fact "$repo" culprit) commits=$(fact "$repo" commits)
	ok "$label: the branch stands at the head" is "$(git -C "$repo" rev-parse main)" "$head"
	ok "$label: the base is the only root" is "$(git -C "$repo" rev-list --max-parents=0 main)" "$base"
	ok "$label: as many commits as said" is "$(git -C "$repo" rev-list --count "$base..main")" "$commits"
	ok "$label: one merge" is "$(git -C "$repo" rev-list --min-parents=2 main)" "$(fact "$repo" merge)"
	ok "$label: the side branch is what was merged" is \
		"$(git -C "$repo" rev-list --reverse "$(fact "$repo" merge)^1..$(fact "$repo" merge)^2" | tr '\n' ' ')" \
		"$(fact "$repo" side) "
	ok "$label: the head has the culprit" is_ancestor "$repo" "$culprit" "$head"
	ok "$label: the base has not" is_not_ancestor "$repo" "$culprit" "$base"
	bad=" $(fact "$repo" unbuildable) "
	for id in "$culprit" "$(git -C "$repo" rev-parse "$culprit^")" "$head" "$base"; do
		[[ $bad != *" $id "* ]] || break
	done
	ok "$label: culprit, its parent and both ends build" is "${bad/ $id /}" "$bad"
	ok "$label: everybody is at example.org" is \
		"$(git -C "$repo" log --format='%ae%n%ce' main | grep -vc '@example\.org$')" 0
	ok "$label: nothing is missing" git -C "$repo" fsck --connectivity-only
}

# --- the small user-space tree

"$demo/make-local-tree.sh" 3 "$tmp/l3" > "$tmp/printed"
"$demo/make-local-tree.sh" 3 "$tmp/l3again" > /dev/null
ok "local: prints what it keeps" cmp "$tmp/printed" "$tmp/l3/demo.json"
ok "local: same seed, same ids" same_seed_same_tree "$tmp/l3" "$tmp/l3again"
check_tree "$tmp/l3" "local, 64 commits"
"$demo/make-local-tree.sh" 7 "$tmp/l7" 8 2 20 > /dev/null
check_tree "$tmp/l7" "local, 8 commits"
ok "local: a documentation-only commit" changes_only "$tmp/l3" "$(fact "$tmp/l3" doc_only)" '^NOTES'
ok "local: DIR is not overwritten" is "$("$demo/make-local-tree.sh" 4 "$tmp/l3" 2>/dev/null; echo $?)" 1
ok "local: a bad seed is refused" is "$("$demo/make-local-tree.sh" x "$tmp/lx" 2>/dev/null; echo $?)" 1

places=$(for seed in $(seq 12); do
	"$demo/make-local-tree.sh" "$seed" "$tmp/ls$seed" 20 > /dev/null
	git -C "$tmp/ls$seed" rev-list --count --first-parent "$(fact "$tmp/ls$seed" culprit)"
done | sort -u | wc -l)
ok "local: seeds choose different places" at_least "$places" 4

# Steps, not the rate: they have no noise.
steps_at() { git -C "$tmp/work" checkout -q "$1" && make -s -C "$tmp/work" && "$tmp/work/bench" | sed -n 's/^steps: //p'; }
git clone -q "$tmp/l7" "$tmp/work"
culprit=$(fact "$tmp/l7" culprit)
ok "local: the commit that does not compile does not" is \
	"$(git -C "$tmp/work" checkout -q "$(fact "$tmp/l7" unbuildable)"; make -s -C "$tmp/work" > /dev/null 2>&1; echo $?)" 2
ok "local: the base does 5000000 steps" is "$(steps_at "$(fact "$tmp/l7" base)")" 5000000
ok "local: the parent of the culprit as well" is "$(steps_at "$culprit^")" 5000000
ok "local: the culprit 20 % more" is "$(steps_at "$culprit")" 6000000
ok "local: and so does the head" is "$(steps_at "$(fact "$tmp/l7" head)")" 6000000
ok "local: the metric is printed" grep -Eq '^ops_per_sec: [0-9.]+ ops/s$' <("$tmp/work/bench")

# --- the kernel tree

plans() { for seed in $(seq 40); do awk -v seed="$seed" -f "$demo/plan.awk" "$demo/series" || exit 1; done; }
plans > "$tmp/plans"
ok "plan: each culprit has its turn within 40 seeds" is \
	"$(awk '$2 == "culprit" { print $3 }' "$tmp/plans" | sort -u | tr '\n' ' ')" \
	"$(awk '$1 == "culprit" { print $2 }' "$demo/series" | sort | tr '\n' ' ')"
ok "plan: culprits on the main line and on the side branch" is \
	"$(awk '$2 == "culprit" { print $1 }' "$tmp/plans" | sort -u | tr '\n' ' ')" "main side "
ok "plan: every patch is in the series" is \
	"$(cd "$demo" && ls patches culprits | sed -n 's/\.patch$//p' | sort)" "$(awk '!/^#/ { print $2 }' "$demo/series" | sort -u)"

if [[ ! -r $source ]]; then
	n=$((n + 1))
	echo "ok $n # SKIP no $source: install the package linux-source-6.1"
	echo "1..$n"
	exit 0
fi

export KPB_CACHE=$tmp/cache
"$demo/make-tree.sh" 1 "$tmp/k1" "$source" > "$tmp/printed" 2> "$tmp/log" || sed 's/^/# /' "$tmp/log"
"$demo/make-tree.sh" 1 "$tmp/k1again" "$source" > /dev/null
"$demo/make-tree.sh" 3 "$tmp/k3" "$source" > /dev/null
ok "prints what it keeps" cmp "$tmp/printed" "$tmp/k1/demo.json"
ok "same seed, same ids" same_seed_same_tree "$tmp/k1" "$tmp/k1again"
ok "another seed, same base" is "$(fact "$tmp/k3" base)" "$(fact "$tmp/k1" base)"
planned() { awk -v seed="$1" -f "$demo/plan.awk" "$demo/series" | awk '$2 == "culprit" { print $3 }'; }
ok "seed 1: the planned culprit" is "$(fact "$tmp/k1" culprit_name)" "$(planned 1)"
ok "seed 3: the planned culprit" is "$(fact "$tmp/k3" culprit_name)" "$(planned 3)"
check_tree "$tmp/k1" "seed 1"
check_tree "$tmp/k3" "seed 3"
ok "16 commits or more" at_least "$(fact "$tmp/k1" commits)" 16
ok "a documentation-only commit" changes_only "$tmp/k1" "$(fact "$tmp/k1" doc_only)" '^Documentation/'
ok "a commit for another architecture only" changes_only "$tmp/k1" "$(fact "$tmp/k1" arch_only)" '^arch/arm64/'
ok "the culprit touches the passing of descriptors" changes_only "$tmp/k3" "$(fact "$tmp/k3" culprit)" '^net/(unix/|core/scm\.c)'
ok "the fix names the commit it fixes" is "$(git -C "$tmp/k1" log --format=%B main | sed -n 's/^Fixes: \([0-9a-f]*\) .*/\1/p')" \
	"$(fact "$tmp/k1" unbuildable | cut -c 1-12)"

for what in redirect-cpu rps tcp loud veth-loud; do
	names=$(awk -v kind="culprit-$what" '$1 == kind { print $2 }' "$demo/series" | sort | tr '\n' ' ')
	ok "$what: each culprit has its turn" is "$(for seed in $(seq 20); do
		awk -v seed="$seed" -v for_="$what" -f "$demo/plan.awk" "$demo/series"; done | awk '$2 == "culprit" { print $3 }' |
		sort -u | tr '\n' ' ')" "$names"
	KPB_DEMO_FOR=$what "$demo/make-tree.sh" 2 "$tmp/$what" "$source" > /dev/null 2> "$tmp/log" || sed 's/^/# /' "$tmp/log"
	check_tree "$tmp/$what" "$what"
	ok "$what: the culprit is one of them" is "$(case " $names" in *" $(fact "$tmp/$what" culprit_name) "*) echo yes ;; esac)" yes
done
ok "what nothing slows is refused" is "$(KPB_DEMO_FOR=disk "$demo/make-tree.sh" 2 "$tmp/disk" "$source" > /dev/null 2>&1; echo $?)" 1

# Each order of 40 seeds, on the main line as it is after the merge. Only the files which patches touch are needed.
export GIT_DIR=$tmp/orders.git GIT_INDEX_FILE=$tmp/index
git init -q --bare "$GIT_DIR"
echo "$KPB_CACHE/demo-base.git/objects" > "$GIT_DIR/objects/info/alternates"
base=$(fact "$tmp/k1" base)
sed -n 's/^--- a\///p' "$demo"/patches/*.patch "$demo"/culprits/*.patch | sort -u | xargs git ls-tree "$base" |
	git update-index --index-info
cp "$tmp/index" "$tmp/index.base"
orders_apply() {
	local seed kind name files
	for seed in $(seq 40); do
		cp "$tmp/index.base" "$tmp/index"
		files=()
		while read -r _ kind name; do
			case $kind in
			fork | merge) ;;
			culprit) files+=("$demo/culprits/$name.patch") ;;
			*) files+=("$demo/patches/$name.patch") ;;
			esac
		done <<< "$(awk -v seed="$seed" -f "$demo/plan.awk" "$demo/series")"
		git apply --cached "${files[@]}" || { echo "seed $seed"; return 1; }
	done
}
ok "the patches apply in all orders of seeds 1 to 40" orders_apply
any_culprit_applies() { # to the state with all innocent patches, whatever the seeds chose
	local f
	for f in "$demo"/culprits/*.patch; do
		cp "$tmp/index.base" "$tmp/index"
		git apply --cached $(awk -v d="$demo/patches/" '!/^#/ && $1 !~ /^culprit/ { print d $2 ".patch" }' "$demo/series") "$f" ||
			return 1
	done
}
ok "each culprit applies on top of all others" any_culprit_applies
echo "1..$n"
