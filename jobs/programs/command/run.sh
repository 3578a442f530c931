program_setup() {
	export KPB_ARTEFACT KPB_PERTURB
	[ "$repeat" -ge 1 ] || die "repeat must be 1 or more"
}

# run_command N: N times, until one fails
run_command() {
	rounds=$1
	while [ "$rounds" -gt 0 ]; do
		sh -c "$run" || return
		rounds=$((rounds - 1))
	done
}

program_warmup() {
	run_command "$warmup"
}

program_run() {
	if [ "$repeat" = 1 ]; then
		timed sh -c "$run"
	else # one process for all of them, so that time(1) sees the whole
		# shellcheck disable=SC2016
		timed sh -c 'n=$1; while [ "$n" -gt 0 ]; do sh -c "$2" || exit; n=$((n - 1)); done' sh "$repeat" "$run"
	fi
}

# The same as parse.c reads: "name: number" or "name=number" lines, the mean of equal names; "kpi" may stand for the first.
program_kpis() {
	awk -v want="$kpi" '
		match($0, /^[ \t]*[A-Za-z0-9_.%\/-]+[:=]/) {
			name = substr($0, 1, RLENGTH - 1); gsub(/[ \t]/, "", name)
			split(substr($0, RLENGTH + 1), word, " ")
			if (word[1] !~ /^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$/) next
			if (first == "") first = name
			sum[name] += word[1]; n[name]++
		}
		END {
			from = !n[want] && want == "kpi" ? first : want
			if (n[from]) printf "command.%s %.10g\n", want, sum[from] / n[from]
		}' "$1/command"
}

program_teardown() {
	:
}
