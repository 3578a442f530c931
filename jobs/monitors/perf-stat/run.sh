# The events of lkp-tests. Which of them this machine can count is asked once for each set; the others are left out.
monitor_perf_stat_setup() {
	need_root
	need perf
	perf_stat_events=
	perf_stat_probe cpu-cycles,instructions,cache-references,cache-misses,branch-instructions,branch-misses
	if [ -n "$perf_stat_events" ]; then
		perf_stat_probe dTLB-loads,dTLB-load-misses,dTLB-stores,dTLB-store-misses,iTLB-loads,iTLB-load-misses
		perf_stat_probe node-loads,node-load-misses,node-stores,node-store-misses
	fi
	perf_stat_probe cpu-clock,task-clock,page-faults,context-switches,cpu-migrations,minor-faults,major-faults
	[ -n "$perf_stat_events" ] || die "perf stat can count nothing here: $(perf stat -a -e cpu-clock true 2>&1 | tail -n 1)"
}

# Adds those events of a comma list that are supported (one not counted now may be counted later).
perf_stat_probe() {
	for perf_stat_event in $(perf stat -a -x , -e "$1" true 2>&1 | grep -E '^([0-9]|<not counted>)' | cut -d , -f 3)
	do
		perf_stat_events="$perf_stat_events${perf_stat_events:+,}$perf_stat_event"
	done
}

monitor_perf_stat_start() {
	perf stat -a --scale -I 1000 -x , -e "$perf_stat_events" -o "$RESULT_DIR/perf-stat" >/dev/null 2>&1 &
	perf_stat_pid=$!
	wait_for_file "$RESULT_DIR/perf-stat"
}

# On SIGINT perf prints the interval that is under way, then ends.
monitor_perf_stat_stop() {
	kill -INT "$perf_stat_pid" 2>/dev/null || :
	wait "$perf_stat_pid" 2>/dev/null || :
}
