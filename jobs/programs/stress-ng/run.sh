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

# The same as parse.c reads. operations / "ops/s(usr+sys)" is the CPU time, of which parse.c says why it is exact.
program_kpis() {
	plain_text "$1/stress-ng" | awk -v test="$test" -v ns="${KPB_NS_PER_INSN:-0}" '
		/skipping stressor|will be skipped|\] disabled |aborted early/ { skipped = 1 }
		/\] successful run completed/ { finished = 1 }
		$1 != "stress-ng:" || $3 !~ /^\[/ { next }
		$4 == "stressor" && $5 == "bogo" {
			for (i = columns = 0; i++ < NF;) columns += $i ~ /^(bogo|real|usr|sys|CPU|RSS)$/
			found = 0
		}
		columns && !found && $4 == test && NF == 4 + columns && $5 ~ /^[0-9]+$/ && $9 ~ /^[0-9.]+$/ {
			ops = $5; rate = $9; cpu = $10 + 0; found = 1
		}
		END {
			if (skipped || !finished || !(ops > 0)) exit
			printf "stress-ng.%s.ops_per_sec %.10g\n", test, rate
			if (ns > 0 && cpu > 0) printf "icount.instructions_per_op %.10g\n", 1e9 / cpu / ns
		}'
}

# The same order as in parse.c: why it skipped the stressor, the first failure or error, the last word on the stressor,
# others.
program_last_words() {
	plain_text "${1:-$RESULT_DIR/stress-ng}" | awk -v test="$test" '
		function take(n, first) { if (n > rank || (n == rank && !first)) { rank = n; words = $0 } }
		{ tagged = $1 == "stress-ng:" && $3 ~ /^\[/; tag = $2 }
		tagged { sub(/^stress-ng: +[a-z]+: +\[[0-9]+\] +/, "") }
		/skipping stressor|will be skipped|^disabled / { take(5, 1); next }
		tagged && (tag == "fail:" || tag == "error:") && !/No stress workers/ { take(4, 1); next }
		tagged && index($0, test ":") == 1 { take(3); next }
		tagged && /aborted early/ { take(2, 1); next }
		!tagged && /[[:alnum:]]/ && !/^Try / { take(1) }
		END { print words }'
}

program_teardown() {
	:
}
