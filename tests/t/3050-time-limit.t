#!/bin/bash
# A job's own time limit ends a program that never ends, and leaves nothing of it running.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
local_tree 16 8
local_config
cat >"$dir/etc/endless.yaml" <<-EOF
suite: command
testcase: endless
category: benchmark
monitors: []
time_limit: 2s

command:
  run: 'sleep 98765$$'
EOF
timeout 60 "$kperfbot" --config "$dir/etc" run endless --tree small --commit main >"$dir/out" 2>"$dir/log"; is $? 1 "the run fails"
kp query runs --json >"$dir/runs.json" 2>"$dir/out"
is "$(field "$dir/runs.json" '[r["verdict"] for r in o]')" "['timeout']" "by its time limit"
is "$(pgrep -f -c "^sleep 98765$$\$")" 0 "nothing is left running"
measured() { [ "$(kp query runs --verdict ok --csv | wc -l)" -gt 1 ]; }
"$kperfbot" --config "$dir/etc" run local-bench --tree small --commit main -n 500 2>"$dir/out" >"$dir/runs" &
pid=$!
wait_for 60 measured; kill -INT $pid; wait $pid; is $? 130 "Ctrl-C before the end: 130"
has "$dir/out" "boots are not done and taken back"
kp run local-bench --tree small --commit main --kconfig vm-min >"$dir/out" 2>&1; is $? 2 "a program has no kernel configuration"
has "$dir/out" "is a program: it has no --kconfig"
kp machine drain local >"$dir/out" 2>&1; ok $? "drained"
timeout 20 "$kperfbot" --config "$dir/etc" run local-bench --tree small --commit main >"$dir/out" 2>&1; is $? 1 "a drained machine is said, not waited for"
has "$dir/out" "is drained"
done_testing
