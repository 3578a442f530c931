# Two samples are enough for counters, and disturb least.
monitor_interrupts_setup() {
	[ -r /proc/interrupts ] || die "this kernel has no /proc/interrupts"
}

monitor_interrupts_start() {
	: >"$RESULT_DIR/interrupts"
	sample_once interrupts /proc/interrupts
}

monitor_interrupts_stop() {
	sample_once interrupts /proc/interrupts
}
