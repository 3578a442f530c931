# ---- helpers of every job; their own variables begin with _ ----------------------------------------------------------------------------------------

export LC_ALL=C
: "${KPB_PERTURB:=0}"
: "${RESULT_DIR:=$PWD/result}"
case $RESULT_DIR in /*) ;; *) RESULT_DIR=$PWD/$RESULT_DIR ;; esac

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

restore_settings() {
	[ -f "$RESULT_DIR/changed-settings" ] || return 0
	while read -r _file _old; do
		echo "$_old" >"$_file"
	done <"$RESULT_DIR/changed-settings"
}

wait_for_file() {
	_tries=0
	while [ ! -e "$1" ]; do
		_tries=$((_tries + 1))
		[ "$_tries" -le 100 ] || die "no $1 after 10 seconds"
		sleep 0.1 2>/dev/null || sleep 1
	done
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
