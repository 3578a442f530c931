# xdp-bench runs in the initial network namespace ("ip netns exec" would hide /sys/fs/bpf), the generator and what
# packets are redirected to in namespaces of their own, joined by veth pairs; with nic= on real devices instead.
# Everything is started before the measured part and stopped after it.
xdp_rx=kpbr0 xdp_gen=kpbg0 xdp_out=kpbr1
xdp_marker=/run/kperfbot-xdp-bench
xdp_pid='' xdp_gen_pid='' xdp_status='' xdp_bpffs=''

# Words to put before a command that is to run where the generator is. A function would do, but not in the background:
# there $! would be the shell that runs it.
xdp_enter=
in_gen() {
	$xdp_enter "$@"
}

# For settings of devices that are not ours to throw away.
xdp_set() {
	if [ -n "$nic" ]; then set_file "$1" "$2"; else { echo "$2" >"$1"; } 2>/dev/null; fi
}

# xdp_end PID SIGNAL...: each signal gets ten seconds. Leaves the exit status in xdp_status.
xdp_end() {
	xdp_it=$1
	shift
	for xdp_signal in "$@"; do
		if xdp_ended "$xdp_it"; then break; fi
		kill "-$xdp_signal" "$xdp_it" 2>/dev/null
		xdp_tries=0
		while [ "$xdp_tries" -lt 100 ] && ! xdp_ended "$xdp_it"; do
			sleep 0.1 2>/dev/null || sleep 1
			xdp_tries=$((xdp_tries + 1))
		done
	done
	xdp_status=0
	wait "$xdp_it" 2>/dev/null || xdp_status=$?
}

# Gone, or a zombie that nobody has waited for yet.
xdp_ended() {
	[ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

# What the tool said last, rather than what its libraries did.
xdp_last_line() {
	xdp_words=$(grep -v -e '^ *$' -e '^ *Duration' -e 'Cannot proceed' -e '^ *libbpf:' -e '^ *libxdp:' "$1" 2>/dev/null | tail -n 1)
	[ -n "$xdp_words" ] || xdp_words=$(tail -n 1 "$1" 2>/dev/null)
	echo "$xdp_words"
}

# What a run that was killed left behind: it cannot have done so itself. A program on a real NIC is only taken off where
# the marker says that it is ours.
xdp_leftovers() {
	if [ -e "$xdp_marker" ]; then
		read -r xdp_old <"$xdp_marker" || :
		ip link set dev "$xdp_old" xdp off 2>/dev/null
		ip link set dev "$xdp_old" xdpgeneric off 2>/dev/null
		pidof xdp-bench >/dev/null 2>&1 || rm -f /run/xdp-bench.lck
		rm -f "$xdp_marker"
	fi
	for xdp_dev in kpbr0 kpbr1; do
		[ ! -e "/sys/class/net/$xdp_dev" ] || ip link del "$xdp_dev"
	done
	for xdp_dev in kpb-gen kpb-sink; do
		[ ! -e "/run/netns/$xdp_dev" ] || ip netns del "$xdp_dev"
	done
}

# xdp_pair OURS THEIRS NAMESPACE NUMBER
xdp_pair() {
	modprobe veth 2>/dev/null || :
	xdp_said=$(ip netns add "$3" 2>&1) || die "cannot make a network namespace: $xdp_said"
	xdp_said=$(ip link add "$1" address "02:00:00:00:0$4:01" numrxqueues 1 numtxqueues 1 type veth peer name "$2" \
		address "02:00:00:00:0$4:02" numrxqueues 1 numtxqueues 1 netns "$3" 2>&1) ||
		die "cannot make a veth pair (CONFIG_VETH): $xdp_said"
	# no packets but the generator's
	[ ! -e "/proc/sys/net/ipv6/conf/$1" ] || echo 1 >"/proc/sys/net/ipv6/conf/$1/disable_ipv6"
	ip netns exec "$3" sh -c "[ ! -e /proc/sys/net/ipv6/conf/$2 ] || echo 1 >/proc/sys/net/ipv6/conf/$2/disable_ipv6"
	ip link set "$1" up || die "cannot set $1 up"
	ip netns exec "$3" ip link set "$2" up || die "cannot set $2 up"
}

# A veth takes redirected packets only where its other end does NAPI.
xdp_napi_on() {
	xdp_said=$(ip netns exec "$1" ethtool -K "$2" gro on 2>&1) || die "cannot turn GRO on for $2: $xdp_said"
}

# XDP_TX needs a program at the other end: with NAPI alone its ring fills up and is never emptied (seen on 6.1). The
# dispatcher of libxdp is one that lets all packets pass.
xdp_pass() {
	for xdp_object in /usr/lib/*/bpf/xdp-dispatcher.o /usr/lib*/bpf/xdp-dispatcher.o; do
		[ ! -e "$xdp_object" ] || break
	done
	xdp_said=$(ip netns exec "$1" ip link set dev "$2" xdp obj "$xdp_object" sec xdp 2>&1) ||
		die "cannot load an XDP program for $2: $(echo "$xdp_said" | tail -n 1)"
}

xdp_target() {
	xdp_pair kpbr1 kpbs0 kpb-sink 2
	xdp_napi_on kpb-sink kpbs0
}

xdp_there() {
	[ -n "$1" ] && [ -e "/sys/class/net/$1" ]
}

xdp_devices() {
	if [ -z "$nic$generator_nic" ]; then
		[ "$role" = both ] || die "role $role needs nic or generator_nic: the devices that join the two machines"
		xdp_pair kpbr0 kpbg0 kpb-gen 1
		xdp_enter="$ip_program netns exec kpb-gen"
		[ "$mode" != tx ] || xdp_pass kpb-gen kpbg0
		case $mode in
		redirect | redirect-map | redirect-multi) xdp_target ;;
		redirect-cpu) [ "$remote_action" != redirect ] || xdp_target ;;
		esac
		dst_mac=02:00:00:00:01:01
		return
	fi
	xdp_rx=$nic xdp_gen=$generator_nic xdp_out=$target_nic
	[ "$role" = generator ] || xdp_there "$nic" || die "no network device '$nic' to receive on"
	[ "$role" = receiver ] || xdp_there "$generator_nic" || die "no network device '$generator_nic' to send from"
	[ "$role" = generator ] || [ -n "$dst_mac" ] || dst_mac=$(cat "/sys/class/net/$nic/address")
	[ "$role" != generator ] || [ -n "$dst_mac" ] || die "role generator needs dst_mac, the receiver's address"
	case $mode in redirect | redirect-map | redirect-multi)
		[ "$role" = generator ] || xdp_there "$target_nic" || die "mode $mode needs target_nic, not '$target_nic'" ;;
	esac
	if [ "$role" != generator ] && ip link show dev "$nic" | grep -q 'prog/xdp'; then
		die "$nic has an XDP program already: ip link set dev $nic xdp off"
	fi
}

# Each one gets a CPU of its own where there are enough: first those that send, then receiving, then redirect-cpu's. On a
# machine of one CPU (qemu-icount) all take turns on it.
xdp_cpus() {
	xdp_online=$(online_cpus)
	xdp_threads=$(cpu_part "$threads")
	xdp_remote=0
	[ "$mode" != redirect-cpu ] || xdp_remote=1
	[ "$gen_cpu" != auto ] || gen_cpu=0
	xdp_free=$((gen_cpu + xdp_threads))
	if [ "$rx_cpu" = auto ]; then
		rx_cpu=none
		if [ -z "$nic$generator_nic" ] && [ "$xdp_online" -gt $((xdp_free + xdp_remote)) ]; then
			rx_cpu=$xdp_free
			xdp_free=$((xdp_free + 1))
		fi
	fi
	if [ "$cpu" = auto ]; then
		cpu=$xdp_free
		[ "$cpu" != "$rx_cpu" ] || cpu=$((cpu + 1))
		[ "$xdp_online" != 1 ] || cpu=0
	fi
	[ "$xdp_remote" = 1 ] || cpu=none
	for xdp_cpu in $((gen_cpu + xdp_threads - 1)) $(echo "$rx_cpu+$cpu" | tr + ' '); do
		[ "$xdp_cpu" != none ] || continue
		[ "$xdp_cpu" -lt "$xdp_online" ] ||
			die "$mode with $xdp_threads sending threads needs CPU $xdp_cpu, but there are $xdp_online CPUs"
	done
}

program_setup() {
	need_root
	need ip ethtool
	[ "$role" = generator ] || need xdp-bench
	case $role,$generator in
	receiver,* | *,pktgen) ;;
	*,kpb-udp-send) own_program kpb-udp-send ;;
	*) need "$generator" ;;
	esac
	seconds=$(to_seconds "$runtime")
	warmup_seconds=$(to_seconds "$warmup")
	[ "$seconds" -ge 3 ] || die "runtime '$runtime' is too short: xdp-bench prints once a second, 3s or more is wanted"
	xdp_leftovers
	xdp_cpus
	xdp_devices
	ulimit -l unlimited 2>/dev/null || :
	[ "$role" != generator ] || return 0
	if [ -d /sys/fs/bpf ] && ! grep -q ' /sys/fs/bpf bpf ' /proc/mounts; then
		mount -t bpf bpf /sys/fs/bpf 2>/dev/null && xdp_bpffs=yes
	fi
	set -- "$mode"
	case $mode in
	redirect-cpu)
		for xdp_cpu in $(echo "$cpu" | tr + ' '); do set -- "$@" --cpu "$xdp_cpu"; done
		set -- "$@" --remote-action "$remote_action" -p "$spread"
		[ "$remote_action" != redirect ] || set -- "$@" -D "$xdp_out"
		;;
	drop | pass | tx) [ -z "$touch" ] || set -- "$@" -p "$touch" ;;
	esac
	set -- "$@" -m "$xdp_mode" -e -i 1 "$xdp_rx"
	case $mode in redirect | redirect-map | redirect-multi) set -- "$@" "$xdp_out" ;; esac
	xdp_command="$*"
	xdp_version=$(xdp-bench drop --version 2>&1 | head -n 1)
}

# ---- the generator ----

# Runs where the sending device is: sh -c "$xdp_pktgen" sh DEVICE FIRST_CPU THREADS BURST
# shellcheck disable=SC2016 # these are for that shell
xdp_pktgen='
pg() {
	_file=/proc/net/pktgen/$1
	if ! { echo "$2" >"$_file"; } 2>/dev/null; then
		echo "pktgen refuses \"$2\" for $1: $(sed -n "s/^Result: //p" "$_file")" >&2
		exit 1
	fi
}
[ -e /proc/net/pktgen/pgctrl ] || { echo "no packet generator in this kernel (CONFIG_NET_PKTGEN)" >&2; exit 1; }
echo reset >/proc/net/pktgen/pgctrl
_cpu=$2
while [ "$_cpu" -lt $(($2 + $3)) ]; do
	pg "kpktgend_$_cpu" rem_device_all
	pg "kpktgend_$_cpu" "add_device $1@$_cpu"
	for _command in "flag QUEUE_MAP_CPU" "flag NO_TIMESTAMP" "count 0" "pkt_size $pkt_size" "clone_skb $clone_skb" \
		"delay $delay" "dst_mac $dst_mac" "dst_min 198.18.0.2" "dst_max 198.18.0.2" "src_min 198.18.0.1" "src_max 198.18.0.1" \
		"udp_src_min 9" "udp_src_max $((9 + flows))" "udp_dst_min 9" "udp_dst_max 9"; do
		pg "$1@$_cpu" "$_command"
	done
	if [ "$xdp_mode" = skb ]; then
		echo "flag !SHARED" >"/proc/net/pktgen/$1@$_cpu" 2>/dev/null
		if grep -q "unknown" "/proc/net/pktgen/$1@$_cpu"; then
			echo "pktgen shares its packets here, and generic XDP panics on those (BUG in pskb_expand_head): kernels before 6.7 cannot do otherwise; set generator: kpb-udp-send" >&2
			exit 1
		fi
	fi
	[ "$4" -le 1 ] || { echo "burst $4" >"/proc/net/pktgen/$1@$_cpu"; } 2>/dev/null || {
		echo "pktgen burst $4 is refused by $1 (it takes no shared packets, as a veth does not): set burst: 0" >&2
		exit 1
	}
	_cpu=$((_cpu + 1))
done'

xdp_start_pktgen() {
	modprobe pktgen 2>/dev/null || :
	xdp_burst=$burst
	if [ "$burst" = auto ]; then
		xdp_burst=32
		case $(xdp_driver "$xdp_gen" in_gen) in veth | virtio_net | tun) xdp_burst=0 ;; esac
	fi
	export pkt_size clone_skb delay dst_mac flows xdp_mode
	xdp_said=$(in_gen sh -c "$xdp_pktgen" sh "$xdp_gen" "$gen_cpu" "$xdp_threads" "$xdp_burst" 2>&1) ||
		die "$(echo "$xdp_said" | tail -n 1)"
	in_gen sh -c 'echo start >/proc/net/pktgen/pgctrl' &
	xdp_gen_pid=$!
}

# IPv6 only, one thread, as packets of the XDP kind: their ring is full or not, errors are not counted.
xdp_start_trafficgen() {
	xdp_burst=0
	$xdp_enter xdp-trafficgen udp -m "$dst_mac" -a fd99:1::2 -A fd99:1::1 -I 1 "$xdp_gen" \
		>"$RESULT_DIR/generator" 2>&1 &
	xdp_gen_pid=$!
	sleep 2
	if xdp_ended "$xdp_gen_pid"; then die "xdp-trafficgen: $(xdp_last_line "$RESULT_DIR/generator")"; fi
}

# Through sockets: slower, but these packets are as any others.
xdp_start_udp() {
	xdp_burst=$burst
	[ "$burst" != auto ] || xdp_burst=32
	xdp_cpu_list=$gen_cpu
	xdp_cpu=1
	while [ "$xdp_cpu" -lt "$xdp_threads" ]; do
		xdp_cpu_list=$xdp_cpu_list,$((gen_cpu + xdp_cpu))
		xdp_cpu=$((xdp_cpu + 1))
	done
	xdp_bytes=$((pkt_size - 42)) # Ethernet, IP and UDP headers
	[ "$xdp_bytes" -ge 1 ] || xdp_bytes=18
	# shellcheck disable=SC2016
	xdp_said=$(in_gen sh -c '"$3" addr add 198.18.0.1/24 dev "$1" && "$3" neigh replace 198.18.0.2 lladdr "$2" dev "$1" nud permanent' \
		sh "$xdp_gen" "$dst_mac" "$ip_program" 2>&1) || die "cannot give $xdp_gen an address: $xdp_said"
	$xdp_enter "$own_path" -a 198.18.0.2 -p 9 -f "$flows" -s "$xdp_bytes" -b "$xdp_burst" -T "$xdp_threads" -c "$xdp_cpu_list" -t 86400 \
		>"$RESULT_DIR/generator" 2>&1 &
	xdp_gen_pid=$!
}

xdp_start_generator() {
	[ "$role" != receiver ] || return 0
	case $generator in
	pktgen) xdp_start_pktgen ;;
	xdp-trafficgen) xdp_start_trafficgen ;;
	*) xdp_start_udp ;;
	esac
}

xdp_stop_generator() {
	[ -n "$xdp_gen_pid" ] || return 0
	if [ "$generator" = pktgen ]; then
		in_gen sh -c 'echo stop >/proc/net/pktgen/pgctrl'
		wait "$xdp_gen_pid" 2>/dev/null || :
		# shellcheck disable=SC2016
		in_gen sh -c 'for _f in /proc/net/pktgen/*@*; do
			echo "Device: ${_f##*/}"
			sed -n "/^Result:/,\$p" "$_f"
		done' >"$RESULT_DIR/generator" 2>&1
		in_gen sh -c 'echo reset >/proc/net/pktgen/pgctrl'
	else
		xdp_kept=$xdp_status
		xdp_end "$xdp_gen_pid" TERM KILL
		xdp_status=$xdp_kept
	fi
	xdp_gen_pid=
}

# ---- xdp-bench ----

xdp_start_bench() {
	echo "$xdp_rx" >"$xdp_marker"
	# shellcheck disable=SC2086 # made of plain words
	xdp-bench $xdp_command >"$RESULT_DIR/xdp-bench.out" 2>"$RESULT_DIR/xdp-bench.err" &
	xdp_pid=$!
	xdp_tries=0
	while ! ip link show dev "$xdp_rx" | grep -q 'prog/xdp'; do
		if xdp_ended "$xdp_pid"; then
			wait "$xdp_pid" || die "xdp-bench: $(xdp_last_line "$RESULT_DIR/xdp-bench.err")"
			die "xdp-bench ended at once: $(xdp_last_line "$RESULT_DIR/xdp-bench.out")"
		fi
		xdp_tries=$((xdp_tries + 1))
		[ "$xdp_tries" -le 150 ] || die "xdp-bench attached nothing within 30 s: $(xdp_last_line "$RESULT_DIR/xdp-bench.err")"
		sleep 0.2 2>/dev/null || sleep 1
	done
	xdp_attached_at=$(xdp_uptime)
	xdp_attached=native
	! ip link show dev "$xdp_rx" | grep -q 'xdpgeneric' || xdp_attached=skb
	[ "$xdp_attached" = "$xdp_mode" ] || die "asked for $xdp_mode mode, but the program is attached in $xdp_attached mode"
	# before 1.5.7 redirect-cpu does not heed -e, but SIGQUIT changes to the long form
	case $mode,$xdp_version in redirect-cpu,*version\ 1.[0-4].* | redirect-cpu,*version\ 1.5.[0-6]*)
		sleep 1
		kill -QUIT "$xdp_pid" ;;
	esac
}

# Receiving gets a thread, which can be put on a CPU. Generic XDP runs after packet steering, which can do the same.
xdp_pin() {
	[ "$rx_cpu" != none ] || return 0
	if [ "$xdp_mode" = skb ]; then
		xdp_mask=$(printf %x $((1 << (rx_cpu % 32))))
		xdp_cpu=$rx_cpu
		while [ "$xdp_cpu" -ge 32 ]; do
			xdp_mask=$xdp_mask,00000000
			xdp_cpu=$((xdp_cpu - 32))
		done
		xdp_set "/sys/class/net/$xdp_rx/queues/rx-0/rps_cpus" "$xdp_mask" ||
			die "no packet steering here (CONFIG_RPS): set rx_cpu: none"
		return
	fi
	need taskset
	xdp_set "/sys/class/net/$xdp_rx/threaded" 1 || die "no threaded NAPI here: set rx_cpu: none"
	xdp_pinned=
	for xdp_proc in /proc/[0-9]*; do
		read -r xdp_comm <"$xdp_proc/comm" 2>/dev/null || continue
		case $xdp_comm in "napi/$xdp_rx"*)
			taskset -p -c "$rx_cpu" "${xdp_proc#/proc/}" >/dev/null || die "cannot put $xdp_comm on CPU $rx_cpu"
			xdp_pinned=yes ;;
		esac
	done
	[ -n "$xdp_pinned" ] || die "no NAPI thread of $xdp_rx: set rx_cpu: none"
}

xdp_stop_bench() {
	[ -n "$xdp_pid" ] || return 0
	xdp_end "$xdp_pid" INT TERM KILL
	xdp_pid=
}

program_warmup() {
	if [ "$role" != generator ]; then
		xdp_start_bench
		xdp_pin
	fi
	xdp_start_generator
	[ "$warmup_seconds" = 0 ] || sleep "$warmup_seconds"
	if [ -n "$xdp_pid" ] && xdp_ended "$xdp_pid"; then
		xdp_stop_bench
		die "xdp-bench ended early with status $xdp_status: $(xdp_last_line "$RESULT_DIR/xdp-bench.err")"
	fi
	if [ -n "$xdp_gen_pid" ] && xdp_ended "$xdp_gen_pid"; then
		die "$generator stopped by itself: $(xdp_last_line "$RESULT_DIR/generator")"
	fi
}

# ---- what is printed ----

# xdp_driver DEVICE [PREFIX]: "veth"
xdp_driver() {
	${2:-} ethtool -i "$1" 2>/dev/null | sed -n 's/^driver: //p'
}

xdp_uptime() {
	read -r xdp_now _ </proc/uptime
	echo "$xdp_now"
}

xdp_cpu_times() {
	echo "@ $(xdp_uptime) stat"
	grep '^cpu[0-9]' /proc/stat
	for xdp_file in /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq; do
		[ -r "$xdp_file" ] || continue
		xdp_cpu=${xdp_file#*/cpu/cpu}
		echo "khz ${xdp_cpu%%/*} $(cat "$xdp_file")"
	done
	xdp_sum=
	for xdp_file in /sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count; do
		[ -r "$xdp_file" ] || continue
		xdp_sum=$((xdp_sum + $(cat "$xdp_file")))
	done
	[ -z "$xdp_sum" ] || echo "throttled $xdp_sum"
}

# Each with the time it was read at.
xdp_counters() {
	if [ -n "$xdp_gen_pid" ]; then
		if [ "$generator" = pktgen ]; then
			# shellcheck disable=SC2016
			in_gen sh -c 'for _f in /proc/net/pktgen/*@*; do
				read -r _now _ </proc/uptime
				echo "@ $_now pktgen ${_f##*/}"
				grep pkts-sofar "$_f"
			done'
		elif [ "$generator" = kpb-udp-send ]; then
			# shellcheck disable=SC2016
			in_gen sh -c 'read -r _now _ </proc/uptime
				cd "/sys/class/net/$1/statistics" && read -r _sent <tx_packets && read -r _lost <tx_dropped &&
					echo "@ $_now sent $1" && echo "pkts-sofar: $_sent errors: $_lost"' sh "$xdp_gen"
		fi
		echo "@ $(xdp_uptime) ethtool generator $xdp_gen"
		in_gen ethtool -S "$xdp_gen" 2>&1
	fi
	[ "$role" != generator ] || return 0
	echo "@ $(xdp_uptime) ethtool receiver $xdp_rx"
	ethtool -S "$xdp_rx" 2>&1
}

xdp_facts() {
	echo "# cmd: xdp-bench $xdp_command"
	echo "# version: $xdp_version"
	echo "# role: $role"
	echo "# cpus: $xdp_online"
	[ "$role" = generator ] ||
		echo "# receiver: $xdp_rx driver $(xdp_driver "$xdp_rx") speed $(cat "/sys/class/net/$xdp_rx/speed" 2>/dev/null) mode $xdp_attached cpu $rx_cpu remote $cpu"
	[ "$role" = receiver ] ||
		echo "# generator: $xdp_gen driver $(xdp_driver "$xdp_gen" in_gen) cpu $gen_cpu threads $xdp_threads burst $xdp_burst"
}

program_run() {
	xdp_facts
	echo "# ---- before"
	xdp_counters
	xdp_cpu_times
	# 1.3 prints nothing before its end: which lines are of the measured part is told by the time since its start. It takes
	# two seconds more until so many whole ones have surely passed.
	xdp_begin=$(xdp_uptime)
	timed sleep "$((seconds + 2))"
	echo "# times: attached ${xdp_attached_at:-0} begin $xdp_begin end $(xdp_uptime)"
	echo "# ---- after"
	xdp_cpu_times
	xdp_counters
	xdp_stop_bench
	xdp_stop_generator
	echo "# exit status: ${xdp_status:-0}"
	for xdp_part in stdout stderr generator; do
		echo "# ---- $xdp_part"
		case $xdp_part in
		stdout) cat "$RESULT_DIR/xdp-bench.out" 2>/dev/null ;;
		stderr) cat "$RESULT_DIR/xdp-bench.err" 2>/dev/null ;;
		generator) cat "$RESULT_DIR/generator" 2>/dev/null ;;
		esac
	done
	echo "# ---- end"
}

# The same as parse.c reads: the mean of the whole seconds within the measured part.
program_kpis() {
	[ "$role" != generator ] || return 0
	plain_text "$1/xdp-bench" |
		awk -v mode="$mode" -v want="$(to_seconds "$runtime")" -v skip="$(to_seconds "$warmup")" '
		function number(s) { gsub(/,/, "", s); return s + 0 }
		/^# times: / { skip = $6 - $4 + 0.5; skip = skip > int(skip) ? int(skip) + 1 : int(skip); last = int($8 - $4 - 0.2) - skip; if (last < want) want = last }
		/^# exit status: / { status = $4 }
		/^# ---- / { section = $3; next }
		section != "stdout" { next }
		/Packets received/ { finished = 1 }
		($1 == "Summary" || $1 ~ /->/) && $3 == "rx/s" {
			seen++
			if (seen <= skip || seen > skip + want) next
			used++
			for (i = 2; i < NF; i += 2) sum[$(i + 1)] += number($i)
		}
		END {
			sends = mode == "redirect" || mode == "redirect-map" || mode == "redirect-multi"
			if (status || section != "end" || !finished || !used || !sum["rx/s"]) exit
			if (sends && (!sum["xmit/s"] || sum["err/s"] > sum["rx/s"] / 2)) exit
			printf "xdp-bench.rx_pps %.10g\n", sum["rx/s"] / used
		}'
}

program_last_words() {
	[ $# = 0 ] || { last_words "$1"; return; }
	if [ "$role" = generator ]; then tail -n 1 "$RESULT_DIR/generator"; else xdp_last_line "$RESULT_DIR/xdp-bench.err"; fi
}

program_teardown() {
	xdp_stop_bench
	xdp_stop_generator
	[ "$role" = generator ] || xdp_leftovers
	[ -z "$xdp_bpffs" ] || umount /sys/fs/bpf 2>/dev/null || :
}
