monitor_mpstat_setup() {
	[ -r /proc/stat ] || die "this kernel has no /proc/stat"
}

monitor_mpstat_start() {
	sample_file mpstat 1 /proc/stat
	mpstat_pid=$sample_pid
}

monitor_mpstat_stop() {
	sample_end "$mpstat_pid" mpstat /proc/stat
}
