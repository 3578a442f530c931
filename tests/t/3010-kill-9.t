#!/bin/bash
# kill -9 at random moments of a bisection: nothing is lost, nothing is left running, one mail, the same culprit.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

kills=22
RANDOM=4711
local_tree 12
local_config
baseline_then_arrive; ok $? "baseline"
for i in $(seq $kills); do
	"$kperfbot" --config "$dir/etc" daemon >>"$dir/log" 2>&1 &
	pid=$!
	sleep "$((i % 3 ? 0 : 1)).$((RANDOM % 90 + 10))" # not for anything: a moment of the kill
	kill -9 $pid
	wait $pid 2>/dev/null
done
wait_until_not 10 pgrep -f "work task.*$dir|$dir.*work task"; ok $? "no worker outlives a killed daemon"
sqlite3 "$dir/state/kperfbot.db" 'PRAGMA integrity_check' >"$dir/out" 2>&1
is "$(cat "$dir/out")" ok "the database is whole"
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
wait_for 200 case_is reported; ok $? "after $kills kills the case is reported"
is "$(case_field culprit)" "$culprit" "the culprit is the planted one"
wait_for 20 idle
is "$(mails)" 1 "one mail"
is "$(sqlite3 "$dir/state/kperfbot.db" "SELECT count(*) FROM (SELECT 1 FROM run GROUP BY build, job, replicate HAVING count(*) > 1)")" 0 \
	"no boot is counted twice"
is "$(sqlite3 "$dir/state/kperfbot.db" 'SELECT count(*) FROM "case" WHERE part = 0')" 1 "one case"

# whoever waits for a daemon that dies does the work itself
kill -9 "${pids[-1]}"
wait_until_not 10 daemon_runs
"$kperfbot" --config "$dir/etc" daemon >>"$dir/log" 2>&1 &
pid=$!
wait_for 20 daemon_runs
timeout 200 "$kperfbot" --config "$dir/etc" run local-bench --commit "$base" -n 5 >"$dir/out" 2>&1 &
asker=$!
wait_for 20 grep -q "it does the work" "$dir/out"; ok $? "a run leaves the work to the daemon"
kill -9 $pid
wait $asker; ok $? "and goes on by itself when that is killed"
done_testing
