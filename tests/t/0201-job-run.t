#!/bin/bash
# The rendered script for real, on this machine: the contract of $RESULT_DIR, exit codes, monitors, clean-up.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
K=$kperfbot T=$dir

# the command program: three repeats, own exit codes, no root needed
"$K" job render tests/fixtures/jobs/command.yaml >"$T/command.sh"
RESULT_DIR=$T/c sh "$T/command.sh" >/dev/null
[ $? = 0 ] && [ -e "$T/c/started" ] && [ "$(grep -c '^ops_per_sec: 1000 ops/s$' "$T/c/command")" = 3 ] &&
	grep -q 'Exit status: 0' "$T/c/time"
ok $? "command: three repeats under time"

"$K" job render tests/fixtures/jobs/command.yaml 'run=exit 7' monitors= repeat=1 >"$T/fail.sh"
RESULT_DIR=$T/f sh "$T/fail.sh" >/dev/null
[ $? = 7 ] && [ -e "$T/f/started" ]
ok $? "the command's failure is the script's"

"$K" job render tests/fixtures/jobs/command.yaml 'run=exit 7' warmup=1 >"$T/warm.sh"
RESULT_DIR=$T/w sh "$T/warm.sh" >/dev/null 2>&1
[ $? = 99 ] && [ ! -e "$T/w/started" ] && grep -q warm-up "$T/w/cause"
ok $? "a failing warm-up is a set-up failure: 99, not started, cause kept"

"$K" job render tests/fixtures/jobs/command.yaml 'run=printf "\033[31mno disk\033[0m\n\n"; exit 99' monitors= repeat=1 >"$T/own99.sh"
RESULT_DIR=$T/o sh "$T/own99.sh" >"$T/out" 2>&1
[ $? = 99 ] && [ -e "$T/o/started" ] && [ ! -e "$T/o/cause" ] && grep -q 'command failed with status 99: no disk$' "$T/out"
ok $? "a benchmark's own 99 is no set-up failure, and its words are said without colours"

"$K" job render tests/fixtures/jobs/command.yaml 'run=printf " 5%%\r50%%\rno disk\n----\n"; exit 7' warmup=1 >"$T/warm2.sh"
RESULT_DIR=$T/w2 sh "$T/warm2.sh" >/dev/null 2>&1
[ "$(cat "$T/w2/cause")" = "warm-up failed: no disk" ]
ok $? "a failing warm-up's last words"

# the figures of folders that are there
"$K" job render tests/fixtures/jobs/command.yaml monitors= repeat=1 >"$T/below.sh"
mkdir -p "$T/b/1" "$T/b/2"
echo 2 >"$T/b/runs"
echo "kpi: -4" >"$T/b/1/command"
echo "kpi: -6" >"$T/b/2/command"
RESULT_DIR=$T/b sh "$T/below.sh" kpis kpi=kpi >"$T/out" 2>&1
grep -Eq -- '-5 ± +20.00%  command.kpi' "$T/out"
ok $? "the deviation of a figure below zero has no sign"

"$K" job render stress-ng-sockfd testtime=2s warmup=1s >"$T/s.sh"
mkdir "$T/n"
sed 's/ 14901[.]92/      nan/' tests/fixtures/jobs/stress-ng-longjmp.txt >"$T/n/stress-ng"
KPB_NS_PER_INSN=1 RESULT_DIR=$T/n sh "$T/s.sh" kpis test=longjmp >"$T/out" 2>&1
grep -q ops_per_sec "$T/out" && ! grep -q -e icount -e awk "$T/out"
ok $? "a rate that is nan is no reason to divide by it"

mkdir "$T/bin"
for tool in sh id mkdir rm cat nproc getconf grep tail cut sleep ls; do
	ln -s "$(command -v $tool)" "$T/bin/$tool"
done
RESULT_DIR=$T/m PATH=$T/bin sh "$T/s.sh" >/dev/null 2>&1
[ $? = 99 ] && grep -Eq 'missing program: stress-ng|must run as root' "$T/m/cause"
ok $? "a missing program: 99 and its name"

if [ "$(id -u)" != 0 ] || ! command -v stress-ng >/dev/null || ! perf stat -a true >/dev/null 2>&1; then
	for _ in 1 2 3 4; do skip "needs root, stress-ng and perf"; done
	done_testing
	exit 0
fi
host_turn
autogroup=$(cat /proc/sys/kernel/sched_autogroup_enabled 2>/dev/null)
RESULT_DIR=$T/r KPB_PERTURB=3 dash "$T/s.sh" >"$T/out"
ok $? "stress-ng sockfd for 2 s"
[ -e "$T/r/started" ] && grep -q '] successful run completed' "$T/r/stress-ng" && grep -q 'Exit status: 0' "$T/r/time" &&
	grep -q context-switches "$T/r/perf-stat" && grep -q swpd "$T/r/vmstat" && [ -s "$T/r/warmup" ]
ok $? "it and its monitors left their files"
[ "$(cat /proc/sys/kernel/sched_autogroup_enabled 2>/dev/null)" = "$autogroup" ]
ok $? "settings are put back"

# stopped from outside, it takes its monitors along
RESULT_DIR=$T/k setsid dash "$T/s.sh" >/dev/null 2>&1 &
pid=$!
wait_for 10 test -e "$T/k/started"
kill -TERM "$pid"
wait "$pid"
wait_until_not 10 pgrep -s "$pid"
ok $? "after SIGTERM no monitor is left running"
kill -KILL -- "-$pid" 2>/dev/null
done_testing
