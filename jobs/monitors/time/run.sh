# Runs the program under time -v: GNU time, or busybox's, which prints the same lines.
time_command=
monitor_time_setup() {
	if [ -x /usr/bin/time ] && /usr/bin/time -v -o /dev/null true 2>/dev/null; then
		time_command="/usr/bin/time"
	elif busybox time -v -o /dev/null true 2>/dev/null; then
		time_command="busybox time"
	else
		die "missing program: time (Debian package 'time', or a busybox that has it)"
	fi
}

timed() {
	${time_command:+$time_command -v -o "$RESULT_DIR/time"} "$@"
}

monitor_time_start() {
	:
}

monitor_time_stop() {
	:
}
