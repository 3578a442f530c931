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

program_teardown() {
	:
}
