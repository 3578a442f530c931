# Each end's output is kept whole between "### kperfbot ..." and "### rc=N" lines; its exit status is the tool's own.
program_setup() {
	need_root
	seconds=$(to_seconds "$length")
	limit=$((seconds + 60))
	case $engine:$test in
	iperf3:*_rr | iperf3:*_crr | sockperf:tcp_crr | qperf:tcp_crr) die "$engine cannot do $test" ;;
	sockperf:*stream*) [ "$flows" = 1 ] || die "sockperf has one flow, not $flows" ;;
	qperf:* | sockperf:*) [ "$flows$threads" = 11 ] || die "$engine has one flow and one thread, not $flows and $threads" ;;
	esac
	case $engine in
	neper)
		[ -x "$dir/$test" ] || die "missing program: $dir/$test (neper is not in Debian: build it and say where with 'dir', or name another tool with 'engine')"
		;;
	netperf) need netperf netserver ;;
	*) need "$engine" ;;
	esac
	tx_ns=- rx_ns=- server_pid=
	rm -f "$RESULT_DIR"/neper-*
	if [ "$role" = both ]; then
		net_pair
		tx_ns=0 rx_ns=1 host=10.77.0.2
	fi
}

# The bound on time is timeout's: a client without its server tries for ever.
server() {
	case $engine in
	neper) set -- "$dir/$test" "-T$threads" "-F$flows" "-l$seconds" ;;
	netperf) set -- netserver -D -p 12865 ;;
	iperf3) set -- iperf3 -s -1 -p 5201 ;;
	sockperf)
		set -- sockperf server -i 0.0.0.0 -p 11111
		case $test in tcp_*) set -- "$@" --tcp ;; esac
		;;
	qperf) set -- qperf -lp 19765 ;;
	esac
	if [ "$rx_ns" != - ]; then set -- "$ip_program" netns exec "kpb$rx_ns" "$@"; fi
	exec timeout "$limit" "$@"
}

client() {
	case $engine:$test in
	neper:*stream) set -- "$dir/$test" -c -H "$host" "-T$threads" "-F$flows" "-l$seconds" ;;
	neper:*) set -- "$dir/$test" -c -H "$host" -p "$percentiles" "-T$threads" "-F$flows" "-l$seconds" ;;
	netperf:*) netperf_client ;;
	iperf3:tcp_stream) set -- iperf3 -c "$host" -p 5201 -J -t "$seconds" -P "$flows" ;;
	iperf3:udp_stream) set -- iperf3 -c "$host" -p 5201 -J -t "$seconds" -P "$flows" -u -b 0 -l 1400 ;;
	sockperf:*_rr) set -- sockperf ping-pong --full-rtt -m 14 ;;
	sockperf:*) set -- sockperf throughput -m 1400 ;;
	qperf:tcp_rr) set -- tcp_lat ;;
	qperf:udp_rr) set -- udp_lat ;;
	qperf:tcp_stream) set -- tcp_bw ;;
	qperf:udp_stream) set -- udp_bw ;;
	esac
	case $engine:$test in
	netperf:*)
		# shellcheck disable=SC2086 # a list of plain words
		set -- netperf -H "$host" -p 12865 -P 0 -l "$seconds" $netperf_options
		;;
	sockperf:tcp*) set -- "$@" --tcp ;;
	qperf:*) set -- qperf -lp 19765 -t "$seconds" -uu "$host" "$@" ;;
	esac
	case $engine in sockperf) set -- "$@" -i "$host" -p 11111 -t "$seconds" ;; esac
	if [ "$tx_ns" != - ]; then set -- "$ip_program" netns exec "kpb$tx_ns" "$@"; fi
	$runner timeout "$limit" "$@"
}

netperf_client() {
	_keys=THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME
	case $test in *_rr | *_crr) _keys=$_keys,P50_LATENCY,P90_LATENCY,P99_LATENCY,MEAN_LATENCY,MIN_LATENCY,MAX_LATENCY ;; esac
	case $test in *_rr | *_crr) _size= ;; *) _size="-m 1400" ;; esac
	case $test in tcp_stream) _size= ;; esac
	netperf_options="-t $(echo "$test" | tr "[:lower:]" "[:upper:]") -- $_size -k $_keys"
}

start_server() {
	server >"$RESULT_DIR/neper-server" 2>"$RESULT_DIR/neper-server-err" &
	server_pid=$!
	case $engine in
	neper) wait_port "$rx_ns" tcp 12866 ;;
	netperf) wait_port "$rx_ns" tcp 12865 ;;
	iperf3) wait_port "$rx_ns" tcp 5201 ;;
	qperf) wait_port "$rx_ns" tcp 19765 ;;
	sockperf) wait_port "$rx_ns" "${test%%_*}" 11111 ;;
	esac
}

# wait_port NAMESPACE tcp|udp PORT: until somebody listens there, or the server has ended, or 10 s have passed
wait_port() {
	_hex=$(printf ':%04X ' "$3")
	_tries=0
	while ! in_net "$1" cat "/proc/net/$2" "/proc/net/${2}6" 2>/dev/null | grep -q "$_hex"; do
		_tries=$((_tries + 1))
		if [ "$_tries" -gt 100 ] || ! kill -0 "$server_pid" 2>/dev/null; then return 0; fi
		sleep 0.1 2>/dev/null || sleep 1
	done
}

# section SIDE OUT ERR STATUS
section() {
	echo "### kperfbot $engine $test $1"
	cat "$2"
	echo "### stderr"
	cat "$3"
	echo "### rc=$4"
}

program_warmup() {
	:
}

# The same as parse.c and engines.c read: rates of several clients add up, latencies are averaged.
program_kpis() {
	[ "$role" != server ] || return 0
	plain_text "$1/neper" | awk -v engine="$engine" -v test="$test" '
		function value(label) { return substr($0, index($0, label) + length(label)) + 0 }
		function take_rate(v) { rate += v }
		function take_median(us) { median += us; medians++ }
		BEGIN {
			stream = test ~ /stream/
			qperf_block = test
			sub(/_rr/, "_lat:", qperf_block)
			sub(/_stream/, "_bw:", qperf_block)
			scale["ns"] = 1e-3; scale["us"] = 1; scale["ms"] = 1e3; scale["sec"] = 1e6
			scale["bytes/sec"] = 8e-6; scale["KB/sec"] = 8e-3; scale["MB/sec"] = 8; scale["GB/sec"] = 8e3; scale["TB/sec"] = 8e6
		}
		/^### kperfbot / { client = $5 == "client"; within = ""; round = 2; next }
		/^### rc=/ { if (client && $0 != "### rc=0") failed = 1; client = 0 }
		/^### stderr/ { client = client ? 2 : 0 }
		/^### end/ { finished = 1 }
		client != 1 { next }
		engine == "neper" && /^local_throughput=/ { whole = 1 }
		engine == "neper" && !stream && /^throughput=/ { take_rate(value("=")) }
		engine == "neper" && stream && /^remote_throughput=/ { take_rate(value("=") / 1e6) }
		engine == "neper" && !stream && /^latency_p50=/ { take_median(value("=") * 1e6) }
		engine == "netperf" && /^THROUGHPUT=/ { take_rate(value("=")) }
		engine == "netperf" && /^P50_LATENCY=/ { take_median(value("=")) }
		engine == "iperf3" && /"error":/ { failed = 1 }
		engine == "iperf3" && /"sum_received":/ { within = "sum" }
		engine == "iperf3" && within == "sum" && /"bits_per_second":/ { take_rate(value(":") / 1e6); within = "" }
		engine == "sockperf" && /Round trip is|avg-rtt=/ { round = 1 }
		engine == "sockperf" && !stream && /\[Valid Duration\]/ { if (value("RunTime=") > 0) take_rate(value("ReceivedMessages=") / value("RunTime=")) }
		engine == "sockperf" && !stream && /percentile 50\.000 =/ { take_median(value("=") * round) }
		engine == "sockperf" && stream && /BandWidth is/ { take_rate(value("MBps (") * 1.048576) }
		engine == "qperf" && NF == 1 && /:$/ { within = $1 }
		engine != "qperf" || within != qperf_block || NF != 4 || $2 != "=" || !($4 in scale) { next }
		$1 == "latency" { take_rate(1e6 / (2 * $3 * scale[$4])) }
		$1 == (test == "udp_stream" ? "recv_bw" : "bw") { take_rate($3 * scale[$4]) }
		END {
			if (failed || !finished || !(rate > 0) || (engine == "neper" && !whole)) exit
			printf "neper.%s.throughput %.10g\n", test, rate
			if (medians) printf "neper.%s.latency_p50 %.10g\n", test, median / medians
		}'
}

program_last_words() {
	[ $# = 0 ] || { last_words "$1"; return; }
	cat "$RESULT_DIR"/neper-client.* "$RESULT_DIR"/neper-client-err.* | grep -v '^[[:space:]]*[]{}]*,*[[:space:]]*$' | tail -n 1
}

program_teardown() {
	[ -z "$server_pid" ] || kill -TERM "$server_pid" 2>/dev/null || :
	[ "$rx_ns" != 1 ] || net_pair_remove
}

program_run() {
	result=0
	[ "$role" = client ] || start_server
	if [ "$role" != server ]; then
		run_clients || result=$?
	fi
	if [ "$role" != client ]; then
		server_status=0
		# neper's and iperf3's end by themselves; the others serve for ever
		case $role:$engine in both:netperf | both:sockperf | both:qperf) kill -TERM "$server_pid" 2>/dev/null ;; esac
		wait "$server_pid" 2>/dev/null || server_status=$?
		section server "$RESULT_DIR/neper-server" "$RESULT_DIR/neper-server-err" "$server_status"
	fi
	if [ "$result" = 0 ]; then
		echo "### end"
	else
		program_last_words
	fi
	return "$result"
}

# Tools of one flow are started once for each flow; the first one runs under time(1) where that was asked for.
run_clients() {
	instances=1
	[ "$engine" != netperf ] || instances=$flows
	pids='' worst=0 instance=$instances
	while [ "$instance" -gt 1 ]; do
		(runner='' && client >"$RESULT_DIR/neper-client.$instance" 2>"$RESULT_DIR/neper-client-err.$instance") &
		pids="$pids $instance:$!"
		instance=$((instance - 1))
	done
	status=0 runner=timed
	client >"$RESULT_DIR/neper-client.1" 2>"$RESULT_DIR/neper-client-err.1" || status=$?
	section client "$RESULT_DIR/neper-client.1" "$RESULT_DIR/neper-client-err.1" "$status"
	worst=$status
	for each in $pids; do
		status=0
		wait "${each#*:}" || status=$?
		section client "$RESULT_DIR/neper-client.${each%%:*}" "$RESULT_DIR/neper-client-err.${each%%:*}" "$status"
		[ "$status" = 0 ] || worst=$status
	done
	return "$worst"
}
