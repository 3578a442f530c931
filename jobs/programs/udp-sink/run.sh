# With veth, packets arrive on the CPU that sends them: the sender is bound to irq_cpu. All knobs are those of the receiving
# side's namespace or NIC.
program_setup() {
	need_root
	seconds=$(to_seconds "$runtime")
	warmup_seconds=$(to_seconds "$warmup")
	threads=$(cpu_part "$workers")
	own_program kpb-udp-sink
	sink=$own_path
	own_program kpb-udp-send
	send=$own_path
	rx_ns=- tx_ns=- device=$nic in_rx='' send_pid=''
	if [ -z "$nic" ] && [ "$role" = both ]; then
		net_pair
		rx_ns=1 tx_ns=0 device=kpb1 address=10.77.0.2 in_rx="$ip_program netns exec kpb1"
	elif [ "$role" = both ]; then
		die "role both is for the veth pair: with a NIC, run one job as receiver and one as sender"
	fi
	others=$(other_cpus "$irq_cpu")
	[ -n "$rps_cpus" ] || rps_cpus=$others
	[ -n "$app_cpus" ] || app_cpus=$others
	app_list=$(cpu_list "$app_cpus" | tr ' ' ,)
	app_list=${app_list%,}
	# the profile's rows for the CPUs that matter
	perf_profile_cpus="$irq_cpu ${app_list%%,*}"
	case $role in both | receiver) steer ;; esac
	[ -z "$xps_cpus" ] || [ "$role" = receiver ] || set_queue "$tx_ns" "${nic:-kpb0}" "tx-*/xps_cpus" "$(cpu_mask "$xps_cpus")"
}

# All online CPUs but one; that one where there is no other.
other_cpus() {
	_others=
	for _each in $(cpu_list "$(first_line /sys/devices/system/cpu/online)"); do
		[ "$_each" = "$1" ] || _others="$_others${_others:+,}$_each"
	done
	echo "${_others:-$1}"
}

# 0,2-3 -> d; groups of 32 CPUs with commas between, as the kernel wants them
cpu_mask() {
	_groups=
	_high=0
	for _each in $(cpu_list "$1"); do [ "$_each" -le "$_high" ] || _high=$_each; done
	_group=$((_high / 32))
	while [ "$_group" -ge 0 ]; do
		_bits=0
		for _each in $(cpu_list "$1"); do
			[ $((_each / 32)) != "$_group" ] || _bits=$((_bits | 1 << (_each % 32)))
		done
		_groups="$_groups${_groups:+,}$(printf %x "$_bits")"
		_group=$((_group - 1))
	done
	echo "$_groups"
}

steer() {
	if [ "$rps" = on ]; then
		set_queue "$rx_ns" "$device" "rx-*/rps_cpus" "$(cpu_mask "$rps_cpus")"
	else
		set_queue "$rx_ns" "$device" "rx-*/rps_cpus" 0
	fi
	set_queue "$rx_ns" "$device" "rx-*/rps_flow_cnt" "$rps_flow_cnt"
	if [ -e /proc/sys/net/core/rps_sock_flow_entries ]; then
		set_sysctl net/core/rps_sock_flow_entries "$rps_sock_flow_entries"
	elif [ "$rps_sock_flow_entries" != 0 ]; then
		die "this kernel has no rps_sock_flow_entries (CONFIG_RPS)"
	fi
}

# set_queue NAMESPACE DEVICE FILE VALUE: in each queue. In a namespace nothing need be put back: it goes away.
set_queue() {
	if [ "$1" = - ]; then
		for _file in "/sys/class/net/$2/queues"/$3; do
			[ -e "$_file" ] || [ "$4" = 0 ] || die "$2 has no $3 (the kernel needs CONFIG_RPS and CONFIG_XPS)"
			[ ! -e "$_file" ] || set_file "$_file" "$4"
		done
		return
	fi
	# shellcheck disable=SC2016 # the inner shell's words
	in_net "$1" sh -c 'for f in "/sys/class/net/$1/queues"/$2; do
		[ "$(cat "$f" | tr -d 0,)" = "$(echo "$3" | tr -d 0,)" ] || echo "$3" >"$f" || exit; done' sh "$2" "$3" "$4" ||
		die "cannot set $3 of $2 to '$4' (the kernel needs CONFIG_RPS and CONFIG_XPS)"
}

program_warmup() {
	:
}

# The sender runs from before the sink's window until after it; what it sends before the sink is there is refused.
program_run() {
	if [ "$role" != receiver ]; then
		limit=$seconds
		[ "$role" = sender ] || limit=$((warmup_seconds + seconds + 600))
		net_exec "$tx_ns" "$send" -a "$address" -p "$port" -f "$flows" -s "$size" -b "$burst" -r "$rate" -T "$senders" \
			-c "$irq_cpu" -t "$limit" >"$RESULT_DIR/udp-send" 2>&1 &
		send_pid=$!
	fi
	sink_status=0
	if [ "$role" = sender ]; then
		wait "$send_pid" || sink_status=$?
	else
		echo "irq_cpu=$irq_cpu"
		echo "app_cpu=${app_list%%,*}"
		echo "rps=$rps"
		echo "rps_mask=$([ "$rps" = off ] || cpu_mask "$rps_cpus")"
		run_sink || sink_status=$?
		[ -z "$send_pid" ] || kill -TERM "$send_pid" 2>/dev/null
		[ -z "$send_pid" ] || wait "$send_pid" 2>/dev/null
	fi
	[ "$role" = receiver ] || sed 's/^done$/sender_done=1/' "$RESULT_DIR/udp-send"
	return "$sink_status"
}

run_sink() {
	# shellcheck disable=SC2086 # no or four words
	timed $in_rx "$sink" -a "$address" -p "$port" -w "$threads" -c "$app_list" -r "$rcvbuf" -W "$warmup_seconds" -t "$seconds"
}

# The same as parse.c reads.
program_kpis() {
	[ "$role" != sender ] || return 0
	plain_text "$1/udp-sink" | awk -F= -v role="$role" -v ns="${KPB_NS_PER_INSN:-0}" '
		$1 == "done" { finished = 1 }
		$1 == "sender_done" { sender = 1 }
		$1 == "seconds" { s = $2 }
		$1 == "packets" { packets = $2 }
		$1 == "rps" { rps = $2 }
		$1 ~ /^cpu[0-9]+\.user$/ { cpus++ }
		$1 ~ /^cpu[0-9]+\.(user|nice|system|irq|softirq)$/ { busy += $2 }
		$1 ~ /^cpu[0-9]+\.(idle|iowait)$/ { idle += $2 }
		$1 ~ /^cpu[0-9]+\.rps$/ { steered += $2 }
		END {
			if (!finished || (role == "both" && !sender) || !(s > 0.001) || !(packets > 0)) exit
			if (rps == "on" && cpus > 1 && !steered) exit
			printf "sink.pps %.10g\n", packets / s
			if (busy > 0) printf "sink.cpu_us_per_packet %.10g\n", busy * 10000 / packets
			if (ns > 0 && cpus == 1 && !idle) printf "icount.instructions_per_op %.10g\n", s * 1e9 / ns / packets
		}'
}

program_last_words() {
	sink_words=$(plain_text "${1:-$RESULT_DIR/udp-sink}" | grep '^kpb-udp-' | tail -n 1)
	if [ -n "$sink_words" ]; then echo "$sink_words"; else last_words "${1:-$RESULT_DIR/udp-sink}"; fi
}

program_teardown() {
	[ -z "$send_pid" ] || kill -KILL "$send_pid" 2>/dev/null || :
	[ "$rx_ns" != 1 ] || net_pair_remove
}
