monitor_proc_vmstat_setup() {
	[ -r /proc/vmstat ] || die "this kernel has no /proc/vmstat"
}

monitor_proc_vmstat_start() {
	sample_file proc-vmstat 1 /proc/vmstat
	proc_vmstat_pid=$sample_pid
}

monitor_proc_vmstat_stop() {
	sample_end "$proc_vmstat_pid" proc-vmstat /proc/vmstat
}
