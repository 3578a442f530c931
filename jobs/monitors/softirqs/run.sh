# Two samples are enough for counters, and disturb least.
monitor_softirqs_setup() {
	[ -r /proc/softirqs ] || die "this kernel has no /proc/softirqs"
}

monitor_softirqs_start() {
	: >"$RESULT_DIR/softirqs"
	sample_once softirqs /proc/softirqs
}

monitor_softirqs_stop() {
	sample_once softirqs /proc/softirqs
}
