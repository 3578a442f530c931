# ---- helpers of every job; their own variables begin with _ ----------------------------------------------------------------------------------------

export LC_ALL=C
# where Debian keeps ip, ethtool and xdp-bench, and su leaves them out
case :$PATH: in *:/usr/sbin:*) ;; *) PATH=$PATH:/usr/sbin:/sbin ;; esac
: "${KPB_PERTURB:=0}" "${KPB_ROBOT:=}"
: "${RESULT_DIR:=$PWD/result}"
case $RESULT_DIR in /*) ;; *) RESULT_DIR=$PWD/$RESULT_DIR ;; esac

# What is being done, for people.
say() {
	[ -n "$KPB_ROBOT" ] || echo "kperfbot: $*" >&2
}

# Set-up failed: the run is "incomplete" (exit 99) and says nothing about the kernel.
die() {
	echo "$*" >&2
	echo "$*" >"$RESULT_DIR/cause" 2>/dev/null
	exit 99
}

need() {
	for _tool in "$@"; do
		command -v "$_tool" >/dev/null 2>&1 || die "missing program: $_tool"
	done
}

need_root() {
	[ "$(id -u)" = 0 ] || die "must run as root"
}

# busybox's shell takes its own "ip", which knows no namespaces, before any program of that name; a function goes before
# both. Where another program starts it (timeout, time, exec), it must be named by its path.
ip_program=ip
for _dir in /sbin /usr/sbin /bin /usr/bin; do
	[ ! -x "$_dir/ip" ] || ip_program=$_dir/ip
done

ip() {
	command "$ip_program" "$@"
}

online_cpus() {
	getconf _NPROCESSORS_ONLN 2>/dev/null || nproc 2>/dev/null || grep -c '^processor' /proc/cpuinfo
}

# 4 -> 4; 50% -> half of the online CPUs, rounded down, at least 1
cpu_part() {
	case $1 in
	*%) _part=$(($(online_cpus) * ${1%\%} / 100)) ;;
	*) _part=$1 ;;
	esac
	[ "$_part" -ge 1 ] || _part=1
	echo "$_part"
}

# 90, 60s, 5m, 1h, 1d -> seconds
to_seconds() {
	case $1 in
	*s) echo "${1%s}" ;;
	*m) echo $((${1%m} * 60)) ;;
	*h) echo $((${1%h} * 3600)) ;;
	*d) echo $((${1%d} * 86400)) ;;
	*) echo "$1" ;;
	esac
}

# Writes a file under /proc/sys where the kernel has it; restore_settings puts the old value back.
set_sysctl() {
	set_file "/proc/sys/$1" "$2"
}

set_file() {
	[ -w "$1" ] || return 0
	_old=$(cat "$1") || return 0
	[ "$_old" = "$2" ] && return 0
	echo "$2" >"$1" || die "cannot write '$2' to $1"
	echo "$1 $_old" >>"$RESULT_DIR/changed-settings"
}

# The last change is taken back first: a file may have been set twice.
restore_settings() {
	[ -f "$RESULT_DIR/changed-settings" ] || return 0
	sed '1!G;h;$!d' "$RESULT_DIR/changed-settings" | while read -r _file _old; do
		[ ! -w "$_file" ] || echo "$_old" >"$_file"
	done
}

wait_for_file() {
	_tries=0
	while [ ! -e "$1" ]; do
		_tries=$((_tries + 1))
		[ "$_tries" -le 100 ] || die "no $1 after 10 seconds"
		sleep 0.1 2>/dev/null || sleep 1
	done
}

# plain_text FILE: its lines as a terminal would leave them, without colours and progress. jobs/text.c does the same.
plain_text() {
	_esc=$(printf '\033') _bel=$(printf '\007') _cr=$(printf '\r')
	sed -e "s/$_esc\\[[0-9;:?<=>]*[ -\/]*[@-~]//g" -e "s/${_esc}][^$_bel]*$_bel//g" -e "s/${_esc}[(-\/].//g" \
		-e "s/$_cr*\$//" -e "s/.*$_cr//" "$1"
}

# last_words FILE: its last line that says something
last_words() {
	plain_text "$1" | grep -v '^#' | grep '[[:alnum:]]' | tail -n 1
}

# program_last_words [FILE]: what a run that failed is explained by. A program may replace it.
program_last_words() {
	last_words "${1:-$RESULT_DIR/$program}"
}

# A monitor may replace this by something that watches the program.
timed() {
	"$@"
}

# A deterministic machine gives the same numbers each time. Replicate N runs an empty loop of its own length first, so
# that the test meets timer ticks and memory in another state. It costs no more than some 20,000 rounds.
perturb_start() {
	_rounds=$((KPB_PERTURB * 7919 % 20011))
	while [ "$_rounds" -gt 0 ]; do
		_rounds=$((_rounds - 1))
	done
}

# sample_file NAME SECONDS FILE: starts "cat FILE" every so many seconds into $RESULT_DIR/NAME, each sample after a line "uptime: S". Sets $sample_pid.
sample_file() {
	(
		trap 'kill "$_sleep" 2>/dev/null; exit 0' TERM
		while read -r _uptime _ </proc/uptime; do
			echo "uptime: $_uptime"
			cat "$3" || exit
			sleep "$2" &
			_sleep=$!
			wait "$_sleep"
		done
	) >"$RESULT_DIR/$1" 2>&1 &
	sample_pid=$!
}

# sample_end PID NAME FILE: a last sample, so that what was counted covers the whole test.
sample_end() {
	kill -TERM "$1" 2>/dev/null || :
	wait "$1" 2>/dev/null || :
	sample_once "$2" "$3"
}

# sample_once NAME FILE
sample_once() {
	{
		read -r _uptime _ </proc/uptime && echo "uptime: $_uptime"
		cat "$2"
	} >>"$RESULT_DIR/$1" 2>&1
}

# The command's own name where it is installed or in the root image; else it is compiled from the source in this script, once
# for a folder of results. Sets $own_path.
own_program() {
	own_path=$(command -v "$1") && return
	own_path=$RESULT_DIR/bin/$1
	mkdir -p "$RESULT_DIR/bin"
	"source_$(echo "$1" | tr - _)" >"$own_path.new.c" 2>/dev/null || die "the source of $1 is in scripts that were made to use it, not in this one"
	[ -n "${own_link-}" ] || [ ! -x "$own_path" ] || ! cmp -s "$own_path.new.c" "$own_path.c" || return 0
	command -v cc >/dev/null 2>&1 || die "missing program: $1, and cc to compile it (Debian packages: gcc libc6-dev)"
	mv "$own_path.new.c" "$own_path.c"
	say "compiling $1"
	# shellcheck disable=SC2086 # no or one word
	cc -O2 ${own_link-} -pthread -o "$own_path" "$own_path.c" || die "cannot compile $1"
}

# ---- two network namespaces joined by a veth pair: kpb0 (10.77.0.1, device kpb0) and kpb1 (10.77.0.2, device kpb1) ----

net_pair() {
	need_root
	[ "$ip_program" != ip ] || die "missing program: ip (Debian package iproute2)"
	net_pair_remove
	for _side in 0 1; do
		_said=$(ip netns add "kpb$_side" 2>&1) || die "cannot make a network namespace (CONFIG_NET_NS): $_said"
	done
	_said=$(ip link add kpb0 netns kpb0 type veth peer name kpb1 netns kpb1 2>&1) || die "cannot make a veth pair (CONFIG_VETH): $_said"
	for _side in 0 1; do
		ip -n "kpb$_side" addr add "10.77.0.$((_side + 1))/24" dev "kpb$_side" || die "cannot set up the veth pair"
		ip -n "kpb$_side" link set lo up
		ip -n "kpb$_side" link set "kpb$_side" up
	done
}

net_pair_remove() {
	for _pid in $(ip netns pids kpb0 2>/dev/null) $(ip netns pids kpb1 2>/dev/null); do
		kill -KILL "$_pid" 2>/dev/null || :
	done
	ip netns del kpb0 2>/dev/null || :
	ip netns del kpb1 2>/dev/null || :
}

# in_net SIDE COMMAND...: in namespace kpbSIDE; in_net - COMMAND...: right here
in_net() {
	_side=$1
	shift
	if [ "$_side" = - ]; then "$@"; else ip netns exec "kpb$_side" "$@"; fi
}

# The same for "net_exec SIDE COMMAND... &": $! is the command's own process.
net_exec() {
	_side=$1
	shift
	if [ "$_side" = - ]; then exec "$@"; else exec "$ip_program" netns exec "kpb$_side" "$@"; fi
}

# ---- the host: what it is and what is set, in $RESULT_DIR/host-facts as "key: value"; what could not be set is a "warning: ..." ----

fact() {
	echo "$1: $2" >>"$RESULT_DIR/host-facts"
}

warn() {
	fact warning "$*"
	say "warning: $*"
}

# First line of a file, "" where it cannot be read.
first_line() {
	_line=
	[ ! -r "$1" ] || read -r _line <"$1" 2>/dev/null || :
	echo "$_line"
}

# try_file NAME FILE VALUE: like set_file, but a refusal is a warning
try_file() {
	if [ ! -e "$2" ]; then
		warn "$1: no $2 here"
	elif _old=$(cat "$2" 2>/dev/null) && case $_old in *"[$3]"*) false ;; "$3") false ;; esac then
		case $_old in *\[*\]*) _old=${_old#*\[} _old=${_old%%\]*} ;; esac
		if echo "$3" 2>/dev/null >"$2"; then
			echo "$2 $_old" >>"$RESULT_DIR/changed-settings"
		else
			warn "$1: cannot write '$3' to $2"
		fi
	fi
}

try_files() {
	_name=$1 _value=$2
	shift 2
	[ -e "$1" ] || warn "$_name: no ${1##*/} here"
	for _each in "$@"; do
		[ ! -e "$_each" ] || try_file "$_name" "$_each" "$_value"
	done
}

prepare_host() {
	_cpu=/sys/devices/system/cpu
	[ -z "$cpufreq_governor" ] || try_files cpufreq_governor "$cpufreq_governor" "$_cpu"/cpu*/cpufreq/scaling_governor
	case $turbo in
	on | off)
		if [ -e $_cpu/intel_pstate/no_turbo ]; then
			try_file turbo $_cpu/intel_pstate/no_turbo "$([ "$turbo" = on ] && echo 0 || echo 1)"
		else
			try_file turbo $_cpu/cpufreq/boost "$([ "$turbo" = on ] && echo 1 || echo 0)"
		fi
		;;
	esac
	[ -z "$cstates" ] || limit_cstates
	[ -z "$thp" ] || try_file thp /sys/kernel/mm/transparent_hugepage/enabled "$thp"
	[ -z "$aslr" ] || try_file aslr /proc/sys/kernel/randomize_va_space "$([ "$aslr" = on ] && echo 2 || echo 0)"
	[ -z "$nic" ] || prepare_nic
	[ -z "$idle_check" ] || wait_for_idle
}

limit_cstates() {
	[ -e $_cpu/cpu0/cpuidle/state0 ] || warn "cstates: no cpuidle here"
	for _state in "$_cpu"/cpu*/cpuidle/state*; do
		[ -r "$_state/latency" ] || continue
		[ "$(first_line "$_state/latency")" -le "$cstates" ] || try_file cstates "$_state/disable" 1
	done
}

# The old values are kept as ethtool prints them and put back option by option.
prepare_nic() {
	ethtool_do -K offloads "$nic_offloads"
	ethtool_do -G rings "$nic_rings"
	ethtool_do -C coalesce "$nic_coalesce"
	[ -z "$irq_cpus" ] || spread_irqs
}

# ethtool_do OPTION NAME "key value key value": -K gro off
ethtool_do() {
	[ -n "$3" ] || return 0
	command -v ethtool >/dev/null 2>&1 || { warn "$2: no ethtool here"; return 0; }
	_words=$3
	# shellcheck disable=SC2086 # a list of plain words
	set -- "$1" "$2" $_words
	_option=$1 _name=$2
	shift 2
	while [ $# -ge 2 ]; do
		_was=$(ethtool_now "$_option" "$1")
		if ! ethtool "$_option" "$nic" "$1" "$2" >/dev/null 2>&1; then
			warn "$_name: ethtool $_option $nic $1 $2 was refused"
		elif [ -z "$_was" ]; then
			warn "$_name: $1 is $2 now, and stays so: what it was cannot be told"
		elif [ "$_was" != "$2" ]; then
			echo "$_option $nic $1 $_was" >>"$RESULT_DIR/changed-nic"
		fi
		shift 2
	done
}

# What ethtool's matching lower-case option says of one key: short names of -k, the current rings of -g, or -c's own words.
ethtool_now() {
	_key=$2
	case $1 in
	-K)
		case $2 in
		gro) _key=generic-receive-offload ;; gso) _key=generic-segmentation-offload ;; lro) _key=large-receive-offload ;;
		tso) _key=tcp-segmentation-offload ;; rx) _key=rx-checksumming ;; tx) _key=tx-checksumming ;; sg) _key=scatter-gather ;;
		esac
		ethtool -k "$nic" 2>/dev/null | sed -n "s/^ *$_key: *\([^ ]*\).*/\1/p" | head -n 1
		;;
	-G)
		case $2 in rx) _key=RX ;; tx) _key=TX ;; esac
		ethtool -g "$nic" 2>/dev/null | sed -n "/^Current/,\$s/^$_key:[[:space:]]*//p" | head -n 1
		;;
	-C) ethtool -c "$nic" 2>/dev/null | sed -n "s/^$_key:[[:space:]]*//p" | head -n 1 ;;
	esac
}

# Its interrupts in turn to the CPUs of a list "0,2-3".
spread_irqs() {
	_list=$(cpu_list "$irq_cpus")
	# shellcheck disable=SC2086
	set -- $_list
	for _irq in "/sys/class/net/$nic/device/msi_irqs"/*; do
		[ -e "$_irq" ] || { warn "irq_cpus: $nic has no interrupts of its own"; return 0; }
		try_file irq_cpus "/proc/irq/${_irq##*/}/smp_affinity_list" "$1"
		_first=$1
		shift
		set -- "$@" "$_first"
	done
}

# 0,2-4 -> 0 2 3 4
cpu_list() {
	for _range in $(echo "$1" | tr , ' '); do
		_from=${_range%-*} _to=${_range#*-}
		while [ "$_from" -le "$_to" ]; do
			printf '%s ' "$_from"
			_from=$((_from + 1))
		done
	done
}

# Per cent of all CPUs' time that was not idle in one second.
busy_percent() {
	read -r _ _u _n _s _i _w _q _t _st _ </proc/stat
	_busy=$((_u + _n + _s + _q + _t + _st)) _idle=$((_i + _w))
	sleep 1
	read -r _ _u _n _s _i _w _q _t _st _ </proc/stat
	_busy=$((_u + _n + _s + _q + _t + _st - _busy)) _idle=$((_i + _w - _idle))
	[ $((_busy + _idle)) -gt 0 ] || _idle=1
	echo $((100 * _busy / (_busy + _idle)))
}

wait_for_idle() {
	for _try in 1 2 3 4 5 6 7 8 9 10; do
		_percent=$(busy_percent)
		[ "$_percent" -ge "$idle_check" ] || break
	done
	fact busy_before_percent "$_percent"
	[ "$_percent" -lt "$idle_check" ] || warn "not idle: $_percent % busy before the test"
}

record_files() {
	while read -r _key _path; do
		[ ! -r "$_path" ] || fact "$_key" "$(first_line "$_path")"
	done
}

record_host() {
	record_files <<-'FILES'
		kernel /proc/sys/kernel/osrelease
		kernel_version /proc/sys/kernel/version
		kernel_command_line /proc/cmdline
		cpus_online /sys/devices/system/cpu/online
		cpus_isolated /sys/devices/system/cpu/isolated
		smt /sys/devices/system/cpu/smt/control
		governor /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
		frequency_driver /sys/devices/system/cpu/cpu0/cpufreq/scaling_driver
		frequency_min_khz /sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq
		frequency_max_khz /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq
		no_turbo /sys/devices/system/cpu/intel_pstate/no_turbo
		boost /sys/devices/system/cpu/cpufreq/boost
		cpuidle_driver /sys/devices/system/cpu/cpuidle/current_driver
		cpuidle_governor /sys/devices/system/cpu/cpuidle/current_governor
		clocksource /sys/devices/system/clocksource/clocksource0/current_clocksource
		thp /sys/kernel/mm/transparent_hugepage/enabled
		thp_defrag /sys/kernel/mm/transparent_hugepage/defrag
		ksm /sys/kernel/mm/ksm/run
		aslr /proc/sys/kernel/randomize_va_space
		numa_balancing /proc/sys/kernel/numa_balancing
		nmi_watchdog /proc/sys/kernel/nmi_watchdog
		sched_autogroup /proc/sys/kernel/sched_autogroup_enabled
		bpf_jit /proc/sys/net/core/bpf_jit_enable
		load_average /proc/loadavg
	FILES
	sed -n 's/^model name[[:space:]]*: */cpu: /p; s/^microcode[[:space:]]*: */microcode: /p; /^$/q' /proc/cpuinfo >>"$RESULT_DIR/host-facts"
	for _file in /sys/devices/system/cpu/cpu0/cpuidle/state*; do
		[ -r "$_file/name" ] || continue
		fact "cstate.$(first_line "$_file/name")" "latency $(first_line "$_file/latency") us, disabled $(first_line "$_file/disable")"
	done
	for _file in /sys/devices/system/cpu/vulnerabilities/*; do
		[ ! -r "$_file" ] || fact "mitigation.${_file##*/}" "$(first_line "$_file")"
	done
	[ -z "$nic" ] || record_nic
}

record_nic() {
	fact "nic.$nic.mtu" "$(first_line "/sys/class/net/$nic/mtu")"
	fact "nic.$nic.speed" "$(first_line "/sys/class/net/$nic/speed")"
	for _irq in "/sys/class/net/$nic/device/msi_irqs"/*; do
		[ ! -e "$_irq" ] || fact "nic.$nic.irq.${_irq##*/}" "$(first_line "/proc/irq/${_irq##*/}/smp_affinity_list")"
	done
	command -v ethtool >/dev/null 2>&1 || return 0
	for _option in -k -g -c -a -l -i; do
		ethtool "$_option" "$nic" 2>/dev/null | sed -n "s/^[[:space:]]*\([^:]*\):[[:space:]]*\(..*\)/nic.$nic.ethtool$_option.\1: \2/p"
	done >>"$RESULT_DIR/host-facts"
}

restore_host() {
	[ -f "$RESULT_DIR/changed-nic" ] || return 0
	while read -r _option _nic _key _was; do
		ethtool "$_option" "$_nic" "$_key" "$_was" >/dev/null 2>&1 || :
	done <"$RESULT_DIR/changed-nic"
	rm -f "$RESULT_DIR/changed-nic"
}
