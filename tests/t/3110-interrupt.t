#!/bin/bash
# Who asks and goes away: Ctrl-C, SIGTERM, a lost terminal and kill -9 leave nothing of run and bisect in the queue,
# what was measured stays, and the same command goes on. What was asked with --queue, or by somebody else, is not
# touched.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
local_tree 16 16
local_config
kp daemon --until-idle >"$dir/log" 2>&1
git --git-dir "$dir/up.git" update-ref refs/heads/main "$head"
sed -i 's/interval: 1s/interval: 1h/; s/jobs: .*/jobs: []/' "$dir/etc/kperfbot.yaml" # nothing but what is asked by hand
kp tree fetch small >"$dir/log" 2>&1
cat >"$dir/etc/slow.yaml" <<-'EOF'
suite: command
testcase: slow
category: benchmark
monitors: []

command:
  run: 'sleep 0.3; "$KPB_ARTEFACT"'
  kpi: ops_per_sec
EOF
db() { sqlite3 "$dir/state/kperfbot.db" "$1"; }
left() { db "SELECT count(*) FROM task WHERE state IN ('ready', 'running')"; }
runs() { db 'SELECT count(*) FROM run'; }
more_runs() { [ "$(runs)" -gt "$1" ]; }
begin() { # COMMAND...: in a group of its own; $pid
	setsid "$kperfbot" --config "$dir/etc" "$@" >"$dir/stdout" 2>"$dir/out" </dev/null &
	pid=$!
	pids+=($pid)
}
end() { wait $pid; status=$?; }
quiet() { # TITLE: nothing is left
	is "$(left)" 0 "$1: the queue is empty"
	is "$(pgrep -f -c "^$kperfbot.*--state $dir/state.* work ")" 0 "$1: no worker is left"
	is "$(ls "$dir/state/asking" | wc -l)" 0 "$1: nobody is noted as waiting"
}

for signal in INT TERM HUP; do
	before=$(runs)
	begin run slow --tree small --commit main -n 60
	wait_for 60 more_runs "$before"; ok $? "SIG$signal: it measures"
	[ "$(left)" -gt 20 ]; ok $? "and much waits"
	kill -$signal $pid
	end
	is $status 130 "run is stopped"
	has "$dir/out" "boots are not done and taken back"
	quiet "SIG$signal"
	has "$dir/stdout" "ops_per_sec"
done
before=$(runs)
kp run slow --tree small --commit main -n 1 >"$dir/out" 2>&1; is $? 0 "numbers that were taken back are not used up"
is "$(($(runs) - before))" 1 "one boot more"

begin run slow --tree small --commit main -n 60
wait_for 60 more_runs "$(runs)"
kill -INT $pid; kill -INT $pid
wait_for 10 grep -q "once more ends at once" "$dir/out"; kill -INT $pid 2>/dev/null
end
is $status 130 "more than one Ctrl-C"
quiet "more than one"

# kill -9: whoever plans next takes it back
begin run slow --tree small --commit main -n 60
wait_for 60 more_runs "$(runs)"
kill -KILL $pid; end
[ "$(left)" -gt 20 ]; ok $? "kill -9 leaves the queue as it was"
before=$(runs)
kp daemon --until-idle >"$dir/out" 2>&1; ok $? "a daemon begins"
is "$(runs)" "$before" "and does not run what nobody waits for"
quiet "kill -9"
has "$dir/out" "taken back: who asked for them has gone"

# --queue is not taken back, whoever else is stopped
last=$(db 'SELECT max(id) FROM task')
kp run slow --tree small --commit main -n 2 --queue >"$dir/out" 2>&1; ok $? "run --queue"
queued="id IN ($((last + 1)), $((last + 2)))"
begin run slow --tree small --commit main -n 30
wait_for 60 more_runs "$before"
kill -INT $pid; end
is "$(db "SELECT count(*) FROM task WHERE $queued AND state IN ('ready', 'done')"), $(db "SELECT count(*) FROM task WHERE NOT $queued AND state = 'ready'")" \
	"2, 0" "what was queued with --queue stays"
kp daemon --until-idle >"$dir/out" 2>&1
is "$(db "SELECT count(*) FROM task WHERE $queued AND state = 'done'")" 2 "and is done"

# a daemon does the work
background "$kperfbot" --config "$dir/etc" daemon >"$dir/daemon.log" 2>&1
wait_for 20 test -e "$dir/state/daemon.lock"
before=$(runs)
begin run slow --tree small --commit main -n 60
wait_for 60 more_runs "$before"; ok $? "a daemon measures"
kill -INT $pid; end
is $status 130 "the verb is stopped"
none_left() { [ "$(left)" = 0 ] && [ "$(ls "$dir/state/asking" | wc -l)" = 0 ]; }
wait_for 20 none_left; ok $? "the daemon's queue is empty"
before=$(runs)
begin run slow --tree small --commit main -n 60
wait_for 60 more_runs "$before"
kill -KILL $pid; end
wait_for 20 none_left; ok $? "kill -9 of the verb: it notices"
kp run slow --tree small --commit main -n 1 >"$dir/out" 2>&1; ok $? "and works on"
daemon=$(pgrep -f "^$kperfbot --config $dir/etc daemon$")
kill "$daemon"
wait_for 30 test ! -e "/proc/$daemon"

# bisect: before and within the search
begin bisect $base $head --tree small --job slow
before=$(runs)
wait_for 60 more_runs "$before"
kill -INT $pid; end
is $status 130 "bisect is stopped"
has "$dir/out" "the search stops here; the same command resumes it"
quiet "bisect"
is "$(db "SELECT state FROM comparison WHERE base <> head")" cancelled "the question is"
before=$(runs)
kp daemon --until-idle >"$dir/out" 2>&1
is "$(runs)" "$before" "a daemon does not go on with it"
kp bisect $base $head --tree small --job slow --queue >"$dir/out" 2>&1; ok $? "bisect --queue: asked anew"
is "$(db "SELECT state FROM comparison WHERE base <> head")" open "it goes on"
begin bisect $base $head --tree small --job slow
wait_for 60 more_runs "$before"
kill -INT $pid; end
is "$(db "SELECT state FROM comparison WHERE base <> head")" open \
	"who joins in does not end what was asked with --queue"
has "$dir/out" "others have asked for the same, which stays in the queue"
in_search() { [ -n "$(db "SELECT id FROM \"case\" WHERE state IN ('bisecting', 'proving')")" ]; }
db "UPDATE comparison SET state = 'cancelled', reason = 'stopped before the end' WHERE base <> head; UPDATE task SET state = 'cancelled', key = key || '~' || id WHERE state IN ('ready', 'running')"
begin bisect $base $head --tree small --job slow
wait_for 120 in_search; ok $? "asked once more, it comes to the search"
kill -INT $pid; end
is "$(db 'SELECT state FROM "case"')" ignored "stopped, the case is put aside"
quiet "the search"
before=$(runs)
kp daemon --until-idle >"$dir/out" 2>&1
is "$(runs)" "$before" "and left alone by a daemon"
kp bisect $base $head --tree small --job slow --json >"$dir/bisect.json" 2>"$dir/out"; ok $? "the same command"
is "$(field "$dir/bisect.json" 'o["cases"][0]["culprit"]')" "$culprit" "finds the culprit"
quiet "at the end"

# case ignore: what is cancelled with it does not stand in the way of reopen
kp sql "SELECT count(*) AS n FROM task WHERE state = 'cancelled' AND key NOT LIKE '%~%'" --json >"$dir/n.json"
is "$(field "$dir/n.json" 'o[0]["n"]')" 0 "no key of work is used up by what was taken back"
task=$(db "SELECT max(id) FROM task WHERE key LIKE '%~%'")
kp queue retry "$task" >"$dir/out" 2>&1; is $? 2 "what was taken back is asked for anew, not tried again"
done_testing
