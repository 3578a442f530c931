#!/bin/bash
# Trees that misbehave: force push, deleted branch, unreachable server, a broken commit in the middle of a bisection.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

local_tree 13 24
local_config
baseline_then_arrive; ok $? "baseline"
up() { git --git-dir "$dir/up.git" "$@"; }

# the server goes away while new commits wait
kill $serve_pid; wait_for 5 bash -c "! kill -0 $serve_pid"
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
wait_for 20 bash -c "'$kperfbot' --config '$dir/etc' query trees --json | grep -q 'failures\":[2-9]'"
ok $? "failures of an unreachable server are counted"
is "$(grep -c "cannot be reached" "$dir/log")" 1 "and said once"
serve
wait_for 60 grep -q "is back after" "$dir/log"; ok $? "its return is said"
wait_for 150 case_is reported; ok $? "and the new commits are bisected"
is "$(case_field culprit)" "$culprit" "the culprit is the planted one"
kp query builds --state broken --csv >"$dir/out" 2>&1
kp case show 1 >"$dir/show" 2>&1

# force push: back to before, then another history
old=$(up rev-parse main)
tree=$(up rev-parse "$base^{tree}")
new=$(GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org \
	up commit-tree "$tree" -p "$base" -m "another history")
up update-ref refs/heads/main "$new"
wait_for 20 grep -q "moved to ${new:0:12} (forced)" "$dir/log"; ok $? "a forced push is noticed"
git --git-dir "$dir/state/trees/small.git" cat-file -e "$old"; ok $? "the old head is kept"
git --git-dir "$dir/state/trees/small.git" gc -q --prune=now 2>/dev/null
git --git-dir "$dir/state/trees/small.git" cat-file -e "$old"; ok $? "even by git gc"
wait_for 60 bash -c "'$kperfbot' --config '$dir/etc' sql \"SELECT 'x' || state FROM comparison WHERE head = '$new'\" --csv | grep -q xsame"
ok $? "it is compared with the merge base"

# the branch is deleted, then comes back
up update-ref refs/heads/other "$base"; up update-ref -d refs/heads/main
wait_for 20 grep -q "small/main is gone from the remote" "$dir/log"; ok $? "a deleted branch is noticed"
git --git-dir "$dir/state/trees/small.git" cat-file -e "$new"; ok $? "its commits are kept"
up update-ref refs/heads/main "$new"
wait_for 20 bash -c "[ \$(grep -c 'small/main moved to ${new:0:12}' '$dir/log') = 2 ]"; ok $? "and its return"
is "$(mails)" 1 "one mail in all"

# a tree added as a kernel's by mistake
kp tree add late "$dir/up.git" >"$dir/out" 2>&1; ok $? "a kernel's tree"
kp tree add late "$dir/up.git" --program --artefact bench >"$dir/out" 2>&1; ok $? "becomes a program's"
is "$(kp query trees --json | /usr/bin/python3 -c 'import json, sys; print([t["kind"] for t in json.load(sys.stdin) if t["tree"] == "late"])')" \
	"['program']" "with nothing left of the kernel"

# a disk that may only be read
mkdir "$dir/ro" && cp "$dir/state/kperfbot.db" "$dir/ro/" && mount --bind "$dir/ro" "$dir/ro" 2>/dev/null &&
	mounts+=("$dir/ro") && mount -o remount,ro,bind "$dir/ro" && {
	"$kperfbot" --state "$dir/ro" tree list >"$dir/out" 2>&1; ok $? "is enough to read"
	"$kperfbot" --state "$dir/ro" tree add more "$dir/up.git" >"$dir/out" 2>&1; is $? 1 "and no more"
	has "$dir/out" "Read-only file system"
}
done_testing
