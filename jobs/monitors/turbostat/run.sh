# It needs the processor's own registers, which few virtual machines have: without them no figures, and a warning.
monitor_turbostat_setup() {
	turbostat_pid=
	if ! command -v turbostat >/dev/null 2>&1; then
		warn "turbostat: not installed (Debian package linux-cpupower)"
	elif ! turbostat --quiet true >/dev/null 2>&1; then
		warn "turbostat: $(turbostat --quiet true 2>&1 | tail -n 1)"
	else
		turbostat_pid=wanted
	fi
}

monitor_turbostat_start() {
	[ -n "$turbostat_pid" ] || return 0
	turbostat --quiet --interval 1 >"$RESULT_DIR/turbostat" 2>&1 &
	turbostat_pid=$!
}

monitor_turbostat_stop() {
	[ -n "$turbostat_pid" ] || return 0
	kill -INT "$turbostat_pid" 2>/dev/null || :
	wait "$turbostat_pid" 2>/dev/null || :
}
