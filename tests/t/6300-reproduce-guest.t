#!/bin/bash
# The script of every job in a plain Debian 12: its own kernel, its own packages, two emulated CPUs, no network, nothing else of
# this project. Each must say what it does, measure, print its KPIs, and leave the machine as it was.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
for p in qemu-system-x86_64 busybox; do command -v $p >/dev/null || skip_all "no $p"; done
# job and what makes it one point of its matrix : what the script is given, so that it is short; perf is in the first three. The
# delay lets pktgen sleep: else it and what receives take both CPUs, and the rest of the script gets on slowly.
jobs=(
	"stress-ng-sockfd:runs=2 testtime=1s"
	"stress-ng-sockfd-quick:ops=2000 testtime=20s"
	"stress-ng-sockfd-lkp:testtime=2s"
	"udp-sink-rps rps=off:runtime=1s warmup=0 monitors=time,softirqs"
	"udp-sink-rps rps=on:runtime=1s warmup=0 monitors=time,softirqs"
	"neper-tcp_rr:engine=netperf length=2s"
	"neper-udp_rr:engine=sockperf threads=1 flows=1 length=2s"
	"neper-tcp_stream:engine=iperf3 flows=4 length=2s"
	"neper-tcp_crr:engine=netperf length=2s"
)
modes="drop pass tx redirect redirect-cpu redirect-map redirect-multi"
for mode in $modes; do
	jobs+=("xdp-bench-$mode threads=1 cpufreq_governor=performance:runtime=3s warmup=1s delay=200000 monitors=vmstat")
done
"$kperfbot" job list --json >"$dir/list.json"
# a -quick job is another one's script with smaller numbers
missing=$(/usr/bin/python3 -c 'import json, sys
names = {o["name"].removesuffix("-quick") for o in json.load(open(sys.argv[1]))}
print(" ".join(sorted(names - {a.split(":")[0].split()[0] for a in sys.argv[2:]})))' "$dir/list.json" "${jobs[@]}")
is "$missing" "" "no job is left out"

# ---- the scripts, and which packages they ask for ----
mkdir -p "$dir/in/jobs"
packages="iperf3 sockperf qperf"
for j in "${jobs[@]}"; do
	# shellcheck disable=SC2086 # words
	set -- ${j%%:*}
	name=$1
	case ${2-} in rps=*) name=$1-$2 ;; esac
	"$kperfbot" job render "$@" >"$dir/in/jobs/$name.sh" || ok 1 "$* renders"
	packages="$packages $(sed -n '/^#\tsh SCRIPT install/{n;s/^#\t\t//p}' "$dir/in/jobs/$name.sh")"
	echo "$name ${j#*:}" >>"$dir/in/list"
done
# the same scripts, where something goes wrong
{
	echo "neper-tcp_rr,no-tool length=2s"
	echo "neper-tcp_stream,refused engine=iperf3 role=client host=127.0.0.1 length=2s"
	echo "stress-ng-sockfd,bad-test test=nosuch testtime=2s"
	echo "stress-ng-sockfd-lkp,install install"
} >>"$dir/in/list"
cp tests/guest/main.sh "$dir/in/main"
missing=$(printf '%s\n' $packages | sort -u | grep -vxFf tests/guest/packages)
is "$missing" "" "the guest has all packages that the scripts ask for"

debian_guest
boot_guest 1500; ok $? "the guest boots, runs them and ends"
echo "# by the guest's own clock: $(sed -n 's/^guest: //p' "$dir/console" | paste -sd ';')"
if [ ! -e "$dir/got/stress-ng-sockfd" ]; then
	tail -n 20 "$dir/qemu" "$dir/console" | sed 's/^/# /'
	done_testing
	exit
fi
[ -z "${KPB_KEEP-}" ] || cp -r "$dir/got" "$KPB_KEEP"

tell() { for f in stderr stdout; do [ -f "$dir/got/$1/$f" ] && tail -n 25 "$dir/got/$1/$f" | sed "s/^/# $f: /"; done; }
kpis() { # NAME METRIC...: it ended well, and each metric is printed, above 0
	local name=$1 good=0 m
	shift
	[ "$(cat "$dir/got/$name/status" 2>/dev/null)" = 0 ] || good=1
	for m; do
		awk -v m="$m" '{ for (i = 2; i <= NF; i++) if ($i == m && $1 > 0) n++ } END { exit n != 1 }' \
			"$dir/got/$name/stdout" || good=1
	done
	ok $good "$name: $*"
	[ $good = 0 ] || tell "$name"
	grep -q 'all programs are there' "$dir/got/$name/stderr" && grep -q 'putting back' "$dir/got/$name/stderr"
	ok $? "$name says what it does"
	diff "$dir/got/$name/before" "$dir/got/$name/after" >"$dir/diff"
	ok $? "$name leaves the machine as it was"
	sed 's/^/# /' "$dir/diff"
}
kpis stress-ng-sockfd stress-ng.sockfd.ops_per_sec
grep -Eq '^ *[0-9.]+ ± +[0-9.]+%  stress-ng.sockfd.ops_per_sec  \(2 runs: [0-9.]+ [0-9.]+\)$' \
	"$dir/got/stress-ng-sockfd/stdout"
ok $? "two runs: mean, deviation, name, values"
kpis stress-ng-sockfd-quick stress-ng.sockfd.ops_per_sec
kpis stress-ng-sockfd-lkp stress-ng.sockfd.ops_per_sec
grep -q 'warning: cpufreq_governor' "$dir/got/stress-ng-sockfd-lkp/stderr"
ok $? "what cannot be set is a warning"
for rps in off on; do kpis udp-sink-rps-rps=$rps sink.pps sink.cpu_us_per_packet; done
kpis neper-udp_rr neper.udp_rr.throughput neper.udp_rr.latency_p50
kpis neper-tcp_stream neper.tcp_stream.throughput
for test in tcp_rr tcp_crr; do
	if grep -qx netperf "$guest/has"; then
		kpis neper-$test neper.$test.throughput neper.$test.latency_p50
	else
		is "$(cat "$dir/got/neper-$test/status")" 99 \
			"neper-$test: this mirror has no netperf (non-free), which is said"
	fi
done
for mode in $modes; do kpis "xdp-bench-$mode" xdp-bench.rx_pps; done

fails() { # NAME STATUS WORDS
	[ "$(cat "$dir/got/$1/status" 2>/dev/null)" = "$2" ] && tail -n 1 "$dir/got/$1/stderr" | grep -Eq "$3"
	local s=$?
	ok $s "$1: status $2, $3"
	[ $s = 0 ] || tell "$1"
}
fails neper-tcp_rr,no-tool 99 'could not be set up: missing program: /usr/local/bin/tcp_rr .neper is not in Debian'
fails neper-tcp_stream,refused 1 'ended with status 0, but gave no figures: .*Connection refused'
fails stress-ng-sockfd,bad-test 1 "failed with status 1: .*nosuch"
fails stress-ng-sockfd-lkp,install 0 'nothing to install: .*stress-ng'
done_testing
