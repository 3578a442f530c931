#!/bin/bash
# Machines without a kernel: the verb, the local driver, what is said when something is missing, nothing left running.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export KPERFBOT_STATE=$dir/state
mkdir -p "$dir/etc" "$dir/state"
cat >"$dir/etc/machines.yaml" <<-END
machines:
  noqemu:
    driver: qemu
    tbox_group: x
    qemu: no-such-qemu
END
{ echo "min_free_mb: 0"; sandbox_line; } >"$dir/etc/kperfbot.yaml"
script() { printf '%s\n' "$1" >"$dir/job.sh"; }
boot() { kp --state "$dir/state" machine boot "$@" --script "$dir/job.sh" --out "$dir/boot" --json >"$dir/out" 2>"$dir/log"; }

kp machine list --json >"$dir/out"; ok $? "machine list without a database"
is "$(field "$dir/out" "{'local', 'noqemu', 'qemu', 'qemu-icount'} - {m['name'] for m in o}")" "set()" "all machines are listed"
kp machine show qemu-icount --json >"$dir/out"; ok $? "machine show"
is "$(field "$dir/out" "o['deterministic']")" True "qemu-icount says that it is deterministic"
kp machine check noqemu >"$dir/out"; is $? 1 "check fails where QEMU is missing"
has "$dir/out" "apt-get install qemu-system-x86"
kp machine show qemu-icuont >"$dir/out" 2>&1; is $? 3 "an unknown machine: exit code 3"
has "$dir/out" "did you mean 'qemu-icount'?"
kp machine boot local >"$dir/out" 2>&1; is $? 2 "boot without a script is wrong use"

kp machine drain local >"$dir/out"; ok $? "drain"
kp machine show local --json >"$dir/out"
is "$(field "$dir/out" "o['state']")" drained "it is drained"
kp machine resume local >"$dir/out"; ok $? "resume"
kp machine list --json >"$dir/out"
is "$(field "$dir/out" "[m['state'] for m in o if m['name'] == 'local']")" "['healthy']" "it is healthy again"

script 'echo "$KPB_PERTURB" >$RESULT_DIR/n'
boot local --perturb 5; ok $? "a local run"
is "$(cat "$dir/boot/result/n")" 5 "its file"
script 'echo hopeless; exit 7'
boot local; is $? 1 "a failing script gives exit code 1"
is "$(field "$dir/out" "(o['verdict'], o['exit_status'], o['console_tail'])")" "('ok', 7, 'hopeless\\n')" "its status and last line"
script 'while :; do :; done'
boot local --timeout 1
is "$(field "$dir/out" "(o['verdict'], o['cause'])")" "('timeout', 'the script took longer than 1 s')" "an endless script"
boot qemu-icount --image "$dir/nosuch"
is "$(field "$dir/out" "o['verdict']")" infra "a missing image is our trouble"
has "$dir/out" "is missing"
boot noqemu --image /etc/passwd
is "$(field "$dir/out" "o['verdict']")" infra "so is a missing QEMU"

# kill -9 takes everything down that a script started, also in other sessions
script "setsid sleep 98$$ & sleep 97$$"
boot local & worker=$!
wait_for 10 pgrep -fx "sleep 97$$"; ok $? "a long run is on"
kill -9 "$(pgrep -P "$worker" || echo "$worker")"; wait "$worker" 2>/dev/null
if need_box; then
	wait_until_not 10 pgrep -fx "sleep 9[78]$$"; ok $? "nothing of it lives on after kill -9"
else
	skip "what leaves its session outlives kill -9 without a box: ${no_box%%,*}"
	pkill -fx "sleep 9[78]$$"
fi
done_testing
