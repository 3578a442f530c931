
# ---- which of $reach_functions run between the marks: by ftrace's function profiler, else by kprobes, else in samples of perf. ----
# ---- Only in runs made for that, since watching costs time. $RESULT_DIR/reach has the means, then a line for each function: -------
# ---- "hits NAME N" where it was watched, "seen NAME N" where samples met it. What is in no line could not be watched. --------------

reach_tracing=/sys/kernel/tracing
reach_means=

reach_start() {
	[ -d "$reach_tracing/events" ] || mount -t tracefs tracefs "$reach_tracing" 2>/dev/null || :
	[ -d "$reach_tracing/events" ] || reach_tracing=/sys/kernel/debug/tracing
	reach_ftrace_start || reach_kprobe_start || reach_perf_start || :
}

reach_stop() {
	[ -n "$reach_means" ] || {
		echo "none: this kernel has neither function_profile_enabled nor kprobe_events for them, and there is no perf" >"$RESULT_DIR/reach"
		return
	}
	echo "means $reach_means" >"$RESULT_DIR/reach"
	"reach_${reach_means}_stop" >>"$RESULT_DIR/reach" 2>/dev/null
	reach_means=
}

# Once more at the end, for a script that was stopped between the marks: nothing stays switched on.
reach_end() {
	[ -z "$reach_means" ] || reach_stop
}

# Where somebody else traces already, hands off.
reach_ftrace_start() {
	[ -w "$reach_tracing/function_profile_enabled" ] && [ -w "$reach_tracing/set_ftrace_filter" ] || return 1
	[ "$(cat "$reach_tracing/function_profile_enabled")$(cat "$reach_tracing/current_tracer")" = 0nop ] || return 1
	[ "$(grep -vc '^#' "$reach_tracing/set_ftrace_filter")" = 0 ] || return 1
	reach_watched=
	for _function in $reach_functions; do
		if echo "$_function" 2>/dev/null >>"$reach_tracing/set_ftrace_filter"; then reach_watched="$reach_watched $_function"; fi
	done
	[ -n "$reach_watched" ] || return 1
	reach_means=ftrace
	echo 1 >"$reach_tracing/function_profile_enabled" || reach_ftrace_undo
}

reach_ftrace_undo() {
	echo 0 >"$reach_tracing/function_profile_enabled"
	echo >"$reach_tracing/set_ftrace_filter"
	reach_means=
	return 1
}

# trace_stat/functionCPU: "  NAME HITS TIME us AVERAGE us VARIANCE us", the most time first
reach_ftrace_stop() {
	echo 0 >"$reach_tracing/function_profile_enabled"
	cat "$reach_tracing"/trace_stat/function[0-9]* | awk -v watched="$reach_watched" '
		BEGIN { n = split(watched, name, " "); for (i = 1; i <= n; i++) hits[name[i]] = 0 }
		$1 in hits && $2 ~ /^[0-9]+$/ { hits[$1] += $2 }
		END { for (i = 1; i <= n; i++) printf "hits %s %.0f\n", name[i], hits[name[i]] }'
	echo >"$reach_tracing/set_ftrace_filter"
}

reach_kprobe_start() {
	[ -w "$reach_tracing/kprobe_events" ] || return 1
	reach_watched=
	_number=0
	for _function in $reach_functions; do
		_number=$((_number + 1))
		if echo "p:kpb/r$_number $_function" 2>/dev/null >>"$reach_tracing/kprobe_events"; then
			reach_watched="$reach_watched $_number $_function"
		fi
	done
	[ -n "$reach_watched" ] || return 1
	reach_means=kprobe
	echo 1 >"$reach_tracing/events/kpb/enable" || reach_kprobe_undo
}

reach_kprobe_undo() {
	[ ! -e "$reach_tracing/events/kpb/enable" ] || echo 0 >"$reach_tracing/events/kpb/enable"
	# shellcheck disable=SC2086 # numbers and names
	set -- $reach_watched
	while [ $# -ge 2 ]; do
		echo "-:kpb/r$1" >>"$reach_tracing/kprobe_events"
		shift 2
	done
	reach_means=
	return 1
}

# kprobe_profile: "  rN HITS MISSED", in some kernels "kpb/rN"; missed are those that met another probe at work
reach_kprobe_stop() {
	awk -v watched="$reach_watched" '
		BEGIN { n = split(watched, word, " "); for (i = 1; i <= n; i += 2) name["r" word[i]] = word[i + 1] }
		{ sub(/.*\//, "", $1) }
		$1 in name { printf "hits %s %.0f\n", name[$1], $2 + $3 }' "$reach_tracing/kprobe_profile"
	reach_kprobe_undo || :
}

# With call chains: each function on the stack of a sample was entered.
reach_perf_start() {
	command -v perf >/dev/null 2>&1 || return 1
	perf record -q -a -g -e cpu-clock -F 997 -o "$RESULT_DIR/reach.data" -- sleep 86400 >/dev/null 2>&1 &
	reach_perf=$!
	sleep 1
	kill -0 "$reach_perf" 2>/dev/null || return 1
	reach_means=perf
}

reach_perf_stop() {
	kill -INT "$reach_perf"
	wait "$reach_perf" || :
	perf script -i "$RESULT_DIR/reach.data" -F ip,sym 2>/dev/null | awk -v wanted="$reach_functions" '
		BEGIN { n = split(wanted, name, " "); for (i = 1; i <= n; i++) seen[name[i]] = 0 }
		$2 in seen { seen[$2]++ }
		END { for (i = 1; i <= n; i++) if (seen[name[i]]) printf "seen %s %.0f\n", name[i], seen[name[i]] }'
	rm -f "$RESULT_DIR/reach.data"
}
