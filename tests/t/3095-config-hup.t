#!/bin/bash
# SIGHUP with a broken configuration: said once, and the daemon and its workers go on with the one they have.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

local_tree 13 8
local_config
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
daemon=${pids[-1]}
wait_for 30 grep -q "starting from ${base:0:12}" "$dir/log"; ok $? "a daemon"
cp "$dir/etc/kperfbot.yaml" "$dir/good"
printf 'build_slot: 1\nbuild_jobs: 0\n' >>"$dir/etc/kperfbot.yaml"
kill -HUP "$daemon"
wait_for 20 grep -q "the configuration is not taken" "$dir/log"; ok $? "refuses a broken one"
git --git-dir "$dir/up.git" update-ref refs/heads/main "$head"
wait_for 60 grep -q "boot 2: command.ops_per_sec" "$dir/log"; ok $? "and goes on: fetches, builds, measures"
is "$(grep -c "unknown key 'build_slot'" "$dir/log")" 1 "the mistake is said once"
has "$dir/log" "'build_jobs' must lie between 1 and 1024, not 0"
cp "$dir/good" "$dir/etc/kperfbot.yaml"
kill -HUP "$daemon"
wait_for 20 grep -q "configuration read again" "$dir/log"; ok $? "takes a good one"
kill -TERM "$daemon"; wait_for 25 bash -c "! kill -0 $daemon"; ok $? "ends"
done_testing
