# Setup steps and the command line are those of lkp-tests, so that results can be laid side by side. The limit on open
# files is fixed because sockfd opens as many as it may.
program_setup() {
	need_root
	need stress-ng
	threads=$(cpu_part "$nr_threads")
	seconds=$(to_seconds "$testtime")
	ulimit -n "$nofile" || die "cannot set the limit on open files to $nofile"
	set_sysctl kernel/sched_autogroup_enabled 0
	case $test in ping-sock) set_sysctl net/ipv4/ping_group_range "0 2147483647" ;; esac
	# a fixed seed, or for a perturbed replicate another fixed one
	seed=--no-rand-seed
	if [ "$KPB_PERTURB" -gt 0 ]; then seed="--seed $KPB_PERTURB"; fi
	options=${method:+--$test-method $method}
	options="$options${type:+ --$test-type $type}"
	case $sched in
	fifo | rr)
		# with the throttle on, a stressor that takes a whole CPU would be stopped for 50 ms of each second
		set_sysctl kernel/sched_rt_runtime_us -1
		options="$options --sched $sched --sched-prio 1"
		;;
	batch) options="$options --sched batch" ;;
	esac
	work=
	if [ "$ops" -gt 0 ]; then work="--$test-ops $ops"; fi
}

program_warmup() {
	warmup_seconds=$(to_seconds "$warmup")
	[ "$warmup_seconds" -gt 0 ] || return 0
	# shellcheck disable=SC2086 # $seed and $options are lists of plain words
	stress-ng --timeout "$warmup_seconds" --times --verify --metrics $seed $options "--$test" "$threads"
}

program_run() {
	# shellcheck disable=SC2086
	timed stress-ng --timeout "$seconds" --times --verify --metrics $seed $options "--$test" "$threads" $work
}

program_teardown() {
	:
}
