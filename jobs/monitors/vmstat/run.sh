monitor_vmstat_setup() {
	need vmstat
}

monitor_vmstat_start() {
	vmstat -n 1 >"$RESULT_DIR/vmstat" 2>&1 &
	vmstat_pid=$!
}

monitor_vmstat_stop() {
	kill -TERM "$vmstat_pid" 2>/dev/null || :
	wait "$vmstat_pid" 2>/dev/null || :
}
