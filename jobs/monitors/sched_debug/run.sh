# /sys/kernel/debug/sched/debug since Linux 5.13, /proc/sched_debug before. A kernel without it gives no figures, and a warning.
monitor_sched_debug_setup() {
	sched_debug_file=/proc/sched_debug sched_debug_pid='' sched_debug_mounted=''
	if [ ! -d /sys/kernel/debug/sched ] && mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null; then sched_debug_mounted=yes; fi
	[ ! -r /sys/kernel/debug/sched/debug ] || sched_debug_file=/sys/kernel/debug/sched/debug
	[ -r "$sched_debug_file" ] || warn "sched_debug: this kernel has none (CONFIG_SCHED_DEBUG, CONFIG_DEBUG_FS)"
}

monitor_sched_debug_start() {
	[ -r "$sched_debug_file" ] || return 0
	sample_file sched_debug 10 "$sched_debug_file"
	sched_debug_pid=$sample_pid
}

monitor_sched_debug_stop() {
	[ -z "$sched_debug_pid" ] || sample_end "$sched_debug_pid" sched_debug "$sched_debug_file"
	[ -z "$sched_debug_mounted" ] || umount /sys/kernel/debug 2>/dev/null || :
}
