#!/bin/bash
# The UDP sink and neper's substitutes for real, in network namespaces of this machine, some seconds each; their mistakes; and
# the preparation of the host.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
K=$kperfbot
skip() { n=$((n + 1)); echo "ok $n - # SKIP $1"; }

bad=0
for job in "udp-sink-rps rps=off" "udp-sink-rps rps=on" stress-ng-sockfd-lkp neper-tcp_rr neper-tcp_stream neper-udp_rr neper-tcp_crr; do
	# shellcheck disable=SC2086
	"$K" job render $job >"$dir/script" || bad=1
	for sh in dash bash "busybox sh"; do
		if command -v "${sh%% *}" >/dev/null; then $sh -n "$dir/script" || bad=1; fi
	done
	if command -v shellcheck >/dev/null; then shellcheck "$dir/script" || bad=1; fi
done
ok $bad "the scripts are clean in dash, bash, busybox and shellcheck"

"$K" job expand udp-sink-rps --csv >"$dir/csv"
[ "$(tail -n +2 "$dir/csv" | wc -l)" = 2 ]
ok $? "udp-sink-rps is a matrix of RPS off and on"
"$K" job show neper-tcp_rr engine=iperf3 test=tcp_stream --json >"$dir/show"
[ "$(field "$dir/show" '"iperf3" in o[0]["programs"] and "iperf3" in o[0]["packages"] and not any("tcp_" in p for p in o[0]["programs"])')" = True ]
ok $? "the engine decides what is needed"
"$K" job show neper-tcp_rr dir=/opt/neper --json | grep -q '"/opt/neper/tcp_rr"'
ok $? "neper's folder is where its program is looked for"

# ---- preparation: what cannot be set is a warning, what was set is put back ----
before=$(cat /proc/sys/kernel/randomize_va_space)
"$K" job render tests/fixtures/jobs/command.yaml monitors= repeat=1 aslr=off turbo=off cstates=0 nic=nosuchdev0 'nic_offloads=gro off' \
	'run=cp /proc/sys/kernel/randomize_va_space seen; echo "ops_per_sec: 5"' >"$dir/script"
(cd "$dir" && RESULT_DIR=$dir/host dash "$dir/script" >"$dir/out" 2>&1)
ok $? "a job with a prepared host"
grep -q '^kernel: ' "$dir/host/host-facts" && grep -q '^kernel_command_line: ' "$dir/host/host-facts" &&
	grep -q '^aslr: ' "$dir/host/host-facts" && grep -q '^load_average: ' "$dir/host/host-facts" && grep -q '^cpus_online: ' "$dir/host/host-facts"
ok $? "records what host it was"
grep -Eq '^warning: offloads: (no ethtool here|ethtool -K nosuchdev0 gro off was refused)$' "$dir/host/host-facts"
ok $? "what could not be set is a warning"
if [ "$(id -u)" = 0 ] && [ -w /proc/sys/kernel/randomize_va_space ]; then
	[ "$(cat "$dir/seen")" = 0 ] && grep -q '^aslr: 0$' "$dir/host/host-facts"
	ok $? "address randomisation was off in the test"
	[ "$(cat /proc/sys/kernel/randomize_va_space)" = "$before" ]
	ok $? "and is what it was before"
fi

if [ "$(id -u)" != 0 ] || ! ip netns add kpbprobe$$ 2>/dev/null; then
	skip "needs root and network namespaces"
	done_testing
	exit 0
fi
ip netns del kpbprobe$$
host_turn

# ---- the sink ----
PATH=$(dirname "$K"):$PATH
for rps in off on; do
	"$K" job render udp-sink-rps rps=$rps rps_sock_flow_entries=64 rps_flow_cnt=64 runtime=2s warmup=0 flows=8 monitors=time >"$dir/sink.sh"
	[ $rps = off ] && flows_before=$(cat /proc/sys/net/core/rps_sock_flow_entries 2>/dev/null)
	RESULT_DIR=$dir/sink-$rps timeout 60 dash "$dir/sink.sh" >"$dir/out" 2>&1
	ok $? "the sink for 2 s with RPS $rps"
	grep -q '^done$' "$dir/sink-$rps/udp-sink" && grep -q '^sender_done=1$' "$dir/sink-$rps/udp-sink" && grep -Eq '^packets=[1-9]' "$dir/sink-$rps/udp-sink"
	ok $? "it received packets, and the sender came to its end"
done
if [ "$(nproc)" -gt 1 ]; then
	! grep -Eq '^cpu[0-9]+\.rps=[1-9]' "$dir/sink-off/udp-sink"
	ok $? "with RPS off no CPU was handed a packet"
	grep -Eq '^cpu[1-9]\.rps=[1-9]' "$dir/sink-on/udp-sink"
	ok $? "with RPS on another CPU was"
fi
[ "$(cat /proc/sys/net/core/rps_sock_flow_entries 2>/dev/null)" = "$flows_before" ] && ! ip netns | grep -q "kpb[01]" && ! pgrep kpb-udp >/dev/null
ok $? "settings are put back, namespaces and programs gone"

# a machine that has neither of our programs compiles them from the script
mkdir "$dir/bin"
for tool in sh dash id mkdir rm cat nproc getconf grep tail cut sleep ls ip sed tr cp mv cc gcc as ld kill timeout awk; do
	found=$(command -v $tool) && ln -s "$found" "$dir/bin/$tool"
done
if [ -e "$dir/bin/cc" ]; then
	"$K" job render udp-sink-rps rps=off runtime=1s warmup=0 monitors= >"$dir/sink.sh"
	RESULT_DIR=$dir/own PATH=$dir/bin timeout 100 dash "$dir/sink.sh" >"$dir/out" 2>&1
	[ $? = 0 ] && [ -x "$dir/own/bin/kpb-udp-sink" ] && grep -q '^done$' "$dir/own/udp-sink"
	ok $? "the script alone is enough where there is a compiler"
fi
RESULT_DIR=$dir/stopped setsid dash "$dir/sink.sh" >/dev/null 2>&1 &
pid=$!
wait_for 20 test -e "$dir/stopped/started"
kill -TERM "$pid"
wait "$pid"
! ip netns | grep -q "kpb[01]" && ! pgrep kpb-udp >/dev/null
ok $? "after SIGTERM nothing is left of it"

# ---- neper's substitutes ----
for what in iperf3:tcp_stream iperf3:udp_stream sockperf:udp_rr sockperf:tcp_rr qperf:tcp_rr netperf:tcp_rr netperf:tcp_stream; do
	engine=${what%:*} test=${what#*:}
	if ! command -v "$engine" >/dev/null; then
		skip "$engine is not installed"
		continue
	fi
	"$K" job render neper-tcp_rr engine="$engine" test="$test" threads=1 flows=1 length=2s monitors=time >"$dir/neper.sh"
	RESULT_DIR=$dir/$what timeout 100 dash "$dir/neper.sh" >"$dir/out" 2>&1
	[ $? = 0 ] && [ "$(tail -n 1 "$dir/$what/neper")" = '### end' ] && grep -q 'Exit status: 0' "$dir/$what/time"
	ok $? "$engine $test for 2 s"
done
if command -v iperf3 >/dev/null; then
	"$K" job render neper-tcp_rr engine=iperf3 test=tcp_stream role=client host=127.0.0.1 threads=1 flows=1 length=2s monitors= >"$dir/neper.sh"
	RESULT_DIR=$dir/refused timeout 60 dash "$dir/neper.sh" >"$dir/out" 2>&1
	status=$?
	grep -q 'Connection refused' "$dir/refused/neper" && { [ $status != 0 ] || tail -n 1 "$dir/refused/neper" | grep -qx '### end'; }
	ok $? "without a server its own words are kept (exit status $status)"
	"$K" job render neper-tcp_rr engine=iperf3 test=tcp_rr monitors= >"$dir/neper.sh"
	RESULT_DIR=$dir/cannot dash "$dir/neper.sh" >/dev/null 2>&1
	[ $? = 99 ] && grep -q 'iperf3 cannot do tcp_rr' "$dir/cannot/cause"
	ok $? "what an engine cannot do is a set-up failure"
fi
# neper itself is in no distribution: something that takes its options, opens its control port and prints what it prints
mkdir "$dir/neper"
cat >"$dir/neper/tcp_rr" <<'EOF'
#!/bin/sh
here=$(dirname "$0") side=server
case $1 in -c) side=client ;; esac
echo "$*" >"$here/$side.options"
if [ $side = server ]; then timeout 20 busybox nc -l -p 12866 </dev/null >/dev/null; else busybox nc "$3" 12866 </dev/null; fi
sed -n "/^### kperfbot .* $side/,/^### stderr/p" tests/fixtures/net/neper-tcp_rr.txt | grep -v '^###'
EOF
chmod +x "$dir/neper/tcp_rr"
"$K" job render neper-tcp_rr length=4s dir="$dir/neper" monitors=time >"$dir/neper.sh"
RESULT_DIR=$dir/real timeout 60 dash "$dir/neper.sh" >"$dir/out" 2>&1
ok $? "neper's options and sections"
is "$(cat "$dir/neper/client.options")" "-c -H 10.77.0.2 -p 50,90,99 -T4 -F8 -l4" "the client gets -c -H -p -T -F -l"
is "$(cat "$dir/neper/server.options")" "-T4 -F8 -l4" "the server the same -T -F -l"
is "$(grep -c -e '^num_transactions=1185' -e '^### rc=0' "$dir/real/neper")" 4 "both ends' output is kept"
"$K" job render neper-tcp_rr dir=/nonexistent monitors= >"$dir/neper.sh"
RESULT_DIR=$dir/none dash "$dir/neper.sh" >/dev/null 2>&1
[ $? = 99 ] && grep -q 'missing program: /nonexistent/tcp_rr' "$dir/none/cause"
ok $? "neper that is not there too"
! ip netns | grep -q "kpb[01]"
ok $? "no namespace is left"

# ---- all monitors beside sockfd ----
if command -v stress-ng >/dev/null && perf stat -a true >/dev/null 2>&1; then
	"$K" job render stress-ng-sockfd-lkp testtime=4s >"$dir/lkp.sh"
	RESULT_DIR=$dir/lkp timeout 200 dash "$dir/lkp.sh" >"$dir/out" 2>&1
	ok $? "stress-ng-sockfd-lkp for 4 s"
	empty=
	for file in interrupts meminfo mpstat perf-profile perf-stat proc-vmstat softirqs stress-ng time vmstat host-facts; do
		[ -s "$dir/lkp/$file" ] || empty="$empty $file"
	done
	is "$empty" "" "its monitors left their files"
	is "$(grep -c '^uptime: ' "$dir/lkp/interrupts")" 2 "two samples of a counter"
	[ "$(grep -c '^uptime: ' "$dir/lkp/meminfo")" -ge 3 ]
	ok $? "one each second of a gauge"
	grep -q "^# Samples: .* of event '" "$dir/lkp/perf-profile" && [ "$(tail -n 1 "$dir/lkp/perf-profile")" = '# end of report' ]
	ok $? "the profile is whole and says what was sampled"
	[ -s "$dir/lkp/turbostat" ] || grep -q '^warning: turbostat: ' "$dir/lkp/host-facts"
	ok $? "turbostat is there, or a warning says why not"
fi
done_testing
