# Records for at most 10 s from the middle of the test, as lkp-tests does, with the same options; the report is made
# afterwards. Cycles where the machine can count them, else cpu-clock: perf takes that silently, so the report's own header
# says which it was. $perf_profile_cpus, which a program may set, is a list of CPUs that get a profile of their own.
monitor_perf_profile_setup() {
	need_root
	need perf
	perf_profile_pid=
	rm -f "$RESULT_DIR/perf-profile-cpu" "$RESULT_DIR/perf.data"
	perf_profile_options="-e cpu-clock -F 997"
	if perf stat -a -e cycles true 2>&1 | grep -q '^ *[0-9].*cycles'; then
		perf_profile_options="-e cycles:pp --count=1000003"
	fi
	perf_profile_time=${testtime:-${runtime:-${length:-20s}}}
	perf_profile_time=$(to_seconds "$perf_profile_time")
	perf_profile_wait=$((perf_profile_time / 2))
	perf_profile_for=$((perf_profile_time - perf_profile_wait))
	[ "$perf_profile_for" -le 10 ] || perf_profile_for=10
	# a report of what never ran would be an empty one
	[ "$perf_profile_for" -ge 1 ] || die "perf-profile needs a test of at least 2 s"
}

monitor_perf_profile_start() {
	(
		trap 'kill "$_profile_sleep" 2>/dev/null; exit 0' TERM
		sleep "$perf_profile_wait" &
		_profile_sleep=$!
		wait "$_profile_sleep"
		# shellcheck disable=SC2086 # a list of plain words
		exec perf record -q -g -a -m 256 $perf_profile_options -o "$RESULT_DIR/perf.data" -- sleep "$perf_profile_for"
	) >"$RESULT_DIR/perf-profile-log" 2>&1 &
	perf_profile_pid=$!
}

monitor_perf_profile_stop() {
	kill -TERM "$perf_profile_pid" 2>/dev/null || :
	wait "$perf_profile_pid" 2>/dev/null || :
	if [ -s "$RESULT_DIR/perf.data" ]; then
		perf report -i "$RESULT_DIR/perf.data" --children --header -U -g folded,0.5,callee --sort=dso,symbol --stdio \
			>"$RESULT_DIR/perf-profile" 2>>"$RESULT_DIR/perf-profile-log"
		if [ -n "${perf_profile_cpus-}" ]; then
			perf report -i "$RESULT_DIR/perf.data" -C "$(echo "$perf_profile_cpus" | tr ' ' ,)" --no-children -g none \
				--sort cpu,symbol --stdio \
				>"$RESULT_DIR/perf-profile-cpu" 2>>"$RESULT_DIR/perf-profile-log"
		fi
		echo "# end of report" >>"$RESULT_DIR/perf-profile"
	else
		cat "$RESULT_DIR/perf-profile-log" >"$RESULT_DIR/perf-profile"
	fi
	rm -f "$RESULT_DIR/perf.data" "$RESULT_DIR/perf.data.old"
}
