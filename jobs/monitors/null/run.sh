# The skeleton of a monitor: "tools/new-job --monitor NAME" copies it. What a monitor writes goes to $RESULT_DIR/null, which
# parse.c reads. Helpers (need, die, sample_file, sample_once ...) are in jobs/prelude.sh.

# Before the run: "need COMMAND", or "die WHY" where this machine cannot be watched.
monitor_null_setup() {
	[ -r /proc/uptime ] || die "this kernel has no /proc/uptime"
}

# When the measured part begins. What watches all the time is started in the background: "command >FILE 2>&1 & null_pid=$!".
monitor_null_start() {
	read -r _uptime _ </proc/uptime
	echo "start $_uptime" >"$RESULT_DIR/null"
}

# When it ends, also when it failed or was interrupted: kill and wait for what was started.
monitor_null_stop() {
	read -r _uptime _ </proc/uptime
	echo "stop $_uptime" >>"$RESULT_DIR/null"
}
