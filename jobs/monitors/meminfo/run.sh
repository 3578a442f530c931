monitor_meminfo_setup() {
	[ -r /proc/meminfo ] || die "this kernel has no /proc/meminfo"
}

monitor_meminfo_start() {
	sample_file meminfo 1 /proc/meminfo
	meminfo_pid=$sample_pid
}

monitor_meminfo_stop() {
	sample_end "$meminfo_pid" meminfo /proc/meminfo
}
