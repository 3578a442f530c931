#!/bin/bash
# A remote that is itself a shallow clone: what it has is searched, what lies below is named; holes in a mirror.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

local_tree 13 24
url=file://$dir/shallow.git
up() { git --git-dir "$dir/up.git" "$@"; }
up update-ref refs/heads/main "$head"
up update-ref refs/tags/low "$base"
git clone -q --bare --no-tags --shallow-exclude=low "file://$dir/up.git" "$dir/shallow.git"
older=$base
base=$(up rev-list --first-parent --reverse "$older..$head" | head -n 1)
ends="the remote is shallow: its history ends at $(sort "$dir/shallow.git/shallow" | head -c 12)"
git --git-dir "$dir/shallow.git" update-ref refs/heads/main "$base"
local_config
kp daemon --until-idle >"$dir/log" 2>&1; ok $? "a baseline"
has "$dir/log" "$ends"
git --git-dir "$dir/shallow.git" update-ref refs/heads/main "$head"
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
daemon=${pids[-1]}
wait_for 150 case_is reported; ok $? "the new commits are bisected"
is "$(case_field culprit)" "$culprit" "the culprit is the planted one"
is "$(grep -c "is shallow" "$dir/log")" 1 "shallow is said once"
kp tree list >"$dir/out"; has "$dir/out" "the remote is shallow"
kill -TERM "$daemon"; wait_for 25 bash -c "! kill -0 $daemon"; ok $? "the daemon ends"

kp bisect "$older" "$head" --tree small --job local-bench >"$dir/out" 2>&1; is $? 3 "a commit below the end"
has "$dir/out" "$ends"
has "$dir/out" "and what lies below cannot be searched"
git --git-dir "$dir/shallow.git" fetch -q --unshallow origin
kp tree fetch small >"$dir/out" 2>&1; ok $? "the remote has all of its history now"
kp tree list >"$dir/out"; is "$(grep -c shallow "$dir/out")" 1 "and so has the mirror: nothing but the URL is shallow"
kp tree list --json | grep -q '"trouble": *null'; ok $? "no trouble"

kp bisect "$older" "$base" --tree small --job local-bench >"$dir/out" 2>&1
has "$dir/out" "${older:0:12}..${base:0:12}: " # what lay below is there now

rm -f "$dir"/state/trees/small.git/objects/pack/*
kp bisect "$base" "$head" --tree small --job local-bench >"$dir/out" 2>&1; [ $? != 0 ]
ok $? "a mirror that lost its objects"
kp tree fetch small --repair >"$dir/out" 2>&1; ok $? "is repaired"
git --git-dir "$dir/state/trees/small.git" rev-list --quiet --objects "$head"; ok $? "by what the remote has"
kp tree fetch small --repair >"$dir/out" 2>&1; ok $? "nothing is missing the second time"
rm -rf "$dir/state/trees/small.git"
kp tree fetch small >"$dir/out" 2>&1; ok $? "a mirror that was removed"
git --git-dir "$dir/state/trees/small.git" cat-file -e "$head"; ok $? "is made anew, though no branch moved"

# remotes that cannot give what their branches are made of: said by name, and tried again
up config uploadpack.allowFilter true
git clone -q --bare --filter=blob:none "file://$dir/up.git" "$dir/partial.git"
git clone -q --bare "file://$dir/up.git" "$dir/grafted.git"
git --git-dir "$dir/grafted.git" rev-parse "$head~2" >"$dir/grafted.git/info/grafts"
for name in partial grafted; do
	kp tree add $name "file://$dir/$name.git" --program --artefact bench --machine local >"$dir/out" 2>&1
	kp tree fetch $name >"$dir/out" 2>&1; is $? 1 "a $name remote"
done
kp tree list >"$dir/out"
has "$dir/out" "from promisor remote"
has "$dir/out" "did not send all necessary objects"
done_testing
