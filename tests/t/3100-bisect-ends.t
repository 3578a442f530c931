#!/bin/bash
# The ends of a bisection as people give them: two release tags side by side, swapped, the same, strangers to each
# other, and names that mean several commits.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
work=$dir/work
commit() { echo "$1" >>"$work/NOTES"; git -C "$work" add -A; git -C "$work" commit -qm "$1"; }
git init -q -b main "$work"
printf '#!/bin/sh\necho "ops_per_sec: 1000"\n' >"$work/bench.sh"
printf 'bench: bench.sh\n\tcp bench.sh bench\n\tchmod +x bench\n' >"$work/Makefile"
commit "it's the start"
git -C "$work" branch start
git -C "$work" checkout -qb release
commit "release: fix one"
commit "release: fix two"
git -C "$work" tag -am "first" v1.1
git -C "$work" checkout -q main
commit "main: new one"
commit "main: new two"
git -C "$work" tag -am "second" v1.2
git -C "$work" checkout -q --orphan other
commit "nobody's child"
# two commits whose ids begin with 9c88739f, and some that share fewer digits
git -C "$work" checkout -q main
empty=$(git -C "$work" hash-object -t tree -w /dev/null)
for i in 3591 43735; do git -C "$work" branch "twin$i" "$(git -C "$work" commit-tree "$empty" -m "net: step $i")"; done
git clone -q --bare "$work" "$dir/up.git"
url=$dir/up.git
local_config
sed -i 's/branches: .*/branches: ["*"]/' "$dir/etc/kperfbot.yaml"
oid() { git -C "$work" rev-parse "$1^{commit}"; }
short() { oid "$1" | cut -c1-12; }
says() { # STATUS TEXT COMMAND...
	local status=$1 text=$2
	shift 2
	timeout 60 "$kperfbot" --config "$dir/etc" "$@" >"$dir/stdout" 2>"$dir/out" </dev/null; is $? "$status" "$*"
	has "$dir/out" "$text"
}
kp tree fetch small >"$dir/out" 2>&1 || { kp daemon --until-idle >>"$dir/out" 2>&1; kp tree fetch small >>"$dir/out" 2>&1; }
base=$(short start)
says 2 "'v1.1' ($(short v1.1)) is not an ancestor of 'v1.2' ($(short v1.2)): they parted at their merge base $base (\"it's the start\")" \
	bisect v1.1 v1.2 --tree small --job local-bench
has "$dir/out" "kperfbot --config $dir/etc bisect $base v1.2 --job local-bench --tree small"
says 2 "the two are swapped, GOOD is the older one: kperfbot --config $dir/etc bisect start v1.2 --mail" bisect v1.2 start --mail
says 2 "'main' and 'v1.2' are the same commit, $(short main)" bisect main v1.2
says 2 "'v1.1' ($(short v1.1)) and 'other' ($(short other)) have no common ancestor" bisect v1.1 other
says 3 "has no commit 'v9'" bisect v9 main
says 3 "no tree 'smal' in the database; 'kperfbot tree list' shows those there are" bisect v1.1 main --tree smal
says 3 "no tree 'smal' in the database; 'kperfbot tree list' shows those there are" tree remove smal
says 3 "no case 99 in the database" report send 99
kp sql 'SELECT count(*) FROM comparison' --json >"$dir/count.json"
is "$(field "$dir/count.json" 'list(o[0].values())[0]')" 0 "nothing was asked for that"

git --git-dir "$dir/state/trees/small.git" gc -q # ids in packs and loose ones are looked up by different code
for digits in 9c88 9c88739 9c88739f; do
	for verb in "bisect start $digits" "bisect $digits main" "bisect start $digits~0" "run local-bench --commit $digits" "build $digits" \
		"compare start $digits" "compare $digits~0 start" "compare start small:$digits" "job suggest $digits"; do
		# shellcheck disable=SC2086 # words
		says 2 "'$digits' is ambiguous, " $verb
	done
	has "$dir/out" "9c88739f27c12b31ff2b68a68f0b61d1536d28d5 2023-11-14 \"net: step 3591\""
	has "$dir/out" "9c88739f3f7d5d4a6061fe077241695fb2b00d54 2023-11-14 \"net: step 43735\""
done
# a file or folder may begin as the only commit does
one=$(oid main)
for i in $(seq 4000); do echo "blob $i"; done >"$dir/blobs"
(cd "$work" && split -l 1 -a 4 "$dir/blobs" x && git add -A && git commit -qm "main: many files" && git push -q "$dir/up.git" main)
kp tree fetch small >"$dir/out" 2>&1
blob=$(git -C "$work" rev-list --objects --all | cut -c1-4 | sort | uniq -d | grep -Fxf <(git -C "$work" rev-list main | cut -c1-4) | head -n 1)
echo "# '$blob' is the start of a commit's id and of a file's (of ${one:0:4})"
if [ -n "$blob" ]; then says 2 "are the same commit" bisect "$blob" "$(git -C "$work" rev-list main | grep "^$blob")"; else skip "no such pair"; fi
done_testing
