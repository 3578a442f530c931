#!/bin/bash
# The xdp-bench jobs: each renders into a good script; what cannot work is said before anything is measured; nothing stays.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
K=$kperfbot T=$dir

for mode in drop pass tx redirect redirect-cpu redirect-map redirect-multi; do
	"$K" job render "xdp-bench-$mode" threads=1 cpufreq_governor=performance monitors= >"$T/$mode.sh" 2>"$T/out" &&
		dash -n "$T/$mode.sh" 2>"$T/out" && grep -q "^mode=$mode\$" "$T/$mode.sh"
	ok $? "xdp-bench-$mode renders"
done
if command -v shellcheck >/dev/null; then
	shellcheck "$T/redirect-cpu.sh" >"$T/out"
	ok $? "shellcheck has nothing to say"
else
	skip "no shellcheck"
fi
"$K" job expand xdp-bench-drop --csv >"$T/out" && [ "$(grep -c powersave "$T/out")" = 2 ] && [ "$(grep -c threads=2 "$T/out")" = 2 ]
ok $? "governor and threads are axes"
"$K" job show xdp-bench-redirect-cpu threads=1 >"$T/out" 2>&1 && grep -q 'xdp-bench.rx_pps' "$T/out"
ok $? "its KPI is told"
! "$K" job render xdp-bench-drop mode=dropp >/dev/null 2>"$T/out" && grep -q "dropp" "$T/out"
ok $? "no such mode"

# refused TITLE WORDS ARGS...: exit 99, with a cause that has these words
refused() {
	title=$1 words=$2
	shift 2
	rm -rf "$T/r"
	"$K" job render xdp-bench-drop threads=1 cpufreq_governor= monitors= "$@" >"$T/job.sh" 2>"$T/out"
	RESULT_DIR=$T/r dash "$T/job.sh" >>"$T/out" 2>&1
	[ $? = 99 ] && [ ! -e "$T/r/started" ] && grep -Eq "$words" "$T/r/cause"
	ok $? "$title"
}
if [ "$(id -u)" = 0 ] && command -v xdp-bench >/dev/null && command -v ethtool >/dev/null && command -v ip >/dev/null; then
	host_turn
	refused "too short a test" "too short: xdp-bench prints once a second" runtime=2s
	refused "more CPUs than there are" "needs CPU [0-9]+, but there are" threads=4000
	refused "a NIC that is not there" "no network device 'kpbno0'" nic=kpbno0
	refused "a generator without a receiver" "no network device '' to receive on" generator_nic=lo
	refused "a receiver alone, without its NIC" "no network device '' to receive on" generator_nic=lo role=receiver
	refused "nowhere to redirect to" "mode redirect needs target_nic, not ''" mode=redirect nic=lo role=receiver
	refused "a role without a device" "role generator needs nic or generator_nic" role=generator
	# the real thing; here it may work or not, but it says why, and leaves nothing
	rm -rf "$T/r"
	"$K" job render xdp-bench-drop threads=1 cpufreq_governor= monitors= runtime=3s warmup=1s >"$T/job.sh"
	RESULT_DIR=$T/r dash "$T/job.sh" >"$T/out" 2>&1
	status=$?
	{ [ $status = 0 ] && grep -q '^# ---- end$' "$T/r/xdp-bench"; } || { [ $status = 99 ] && [ -s "$T/r/cause" ]; }
	ok $? "a drop test here: status $status, $(head -c 200 "$T/r/cause" 2>/dev/null)"
	[ ! -e /sys/class/net/kpbr0 ] && [ ! -e /run/netns/kpb-gen ] && [ ! -e /run/kperfbot-xdp-bench ] && ! pgrep -x xdp-bench >/dev/null
	ok $? "no device, namespace, marker or process stays"
else
	for _ in 1 2 3 4 5 6 7 8 9; do skip "needs root, xdp-bench, ip and ethtool"; done
fi
done_testing
