# ---- the run -----------------------------------------------------------------------------------------------------

start_monitors() {
	for monitor in $monitors; do
		"monitor_${monitor}_start"
	done
}

stop_monitors() {
	for monitor in $monitors; do
		"monitor_${monitor}_stop"
	done
}

start_all() {
	monitors_run=yes
	start_monitors
}

stop_all() {
	stop_monitors
	monitors_run=
}

clean_up() {
	trap - EXIT HUP INT TERM
	say "putting back what was set"
	[ -z "${reach_functions-}" ] || reach_end
	[ -z "$monitors_run" ] || stop_monitors
	program_teardown
	restore_host
	restore_settings
}

# Tells a machine that counts from outside where the measured part lies; elsewhere there is no such program.
mark() {
	if command -v kpb-mark >/dev/null 2>&1; then kpb-mark "$1"; fi
}

# Ends the shell that it is called in.
run_once() {
	mkdir -p "$RESULT_DIR" || exit 99
	rm -f "$RESULT_DIR/started" "$RESULT_DIR/cause" "$RESULT_DIR/changed-settings" "$RESULT_DIR/host-facts" \
		"$RESULT_DIR/changed-nic"
	monitors_run=
	trap 'clean_up' EXIT
	trap 'exit 130' HUP INT TERM
	say "preparing the machine"
	prepare_host
	program_setup
	for monitor in $monitors; do
		"monitor_${monitor}_setup"
	done
	record_host
	[ "$KPB_PERTURB" = 0 ] || perturb_start
	say "warming up"
	[ "$monitor_pass" != warmup ] || start_all
	program_warmup >"$RESULT_DIR/warmup" 2>&1 || die "warm-up failed: $(program_last_words "$RESULT_DIR/warmup")"
	if [ "$monitor_pass" = warmup ]; then stop_all; else start_all; fi
	[ "$KPB_PERTURB" = 0 ] || perturb_start # again: what slept in between is in step with the timer ticks
	say "measuring"
	: >"$RESULT_DIR/started"
	status=0
	mark start
	[ -z "${reach_functions-}" ] || reach_start # jobs/reach.sh, in no run that is measured
	program_run >"$RESULT_DIR/$program" 2>&1 || status=$?
	[ -z "${reach_functions-}" ] || reach_stop
	mark stop
	[ -z "$monitors_run" ] || stop_all
	[ -z "$KPB_ROBOT" ] || tail -n 3 "$RESULT_DIR/$program"
	[ -z "$KPB_ROBOT" ] || [ "$status" = 0 ] || program_last_words
	exit "$status"
}

# ---- by hand: the robot sets KPB_ROBOT, runs once and reads the files itself --------------------------------------

usage() {
	echo "$*" >&2
	echo "usage: sh $0 [install | kpis | compile] [runs=N] [PARAMETER=VALUE...]; parameters:$job_parameters" >&2
	exit 2
}

set_value() {
	case $1 in *[!a-z0-9_]*) usage "'$1' is no parameter" ;; esac
	case "$job_parameters " in *" $1 "*) ;; *) usage "no parameter '$1'" ;; esac
	if [ "$1" = monitors ]; then
		_list=$(echo "$2" | tr ',-' ' _')
		for _each in $_list; do
			case "$monitors " in *" $_each "*) ;; *) usage "monitor '$_each' is not in this script" ;; esac
		done
		monitors=" $_list"
	else
		eval "$1=\$2"
	fi
	say "$1='$2', which is not what the job says"
}

check_tools() {
	job_needs
	_missing='' _found=''
	for _tool in $need_programs; do
		case $_tool in
		/*) ;; # set-up knows more about these
		*) if command -v "$_tool" >/dev/null 2>&1; then _found="$_found $_tool"; else _missing="$_missing $_tool"; fi ;;
		esac
	done
	for _tool in $need_own; do
		command -v "$_tool" >/dev/null 2>&1 || command -v cc >/dev/null 2>&1 || _missing="$_missing $_tool (or cc)"
	done
	[ -z "$_missing" ] || die "missing program:$_missing; 'sh $0 install' installs these Debian packages: $need_packages"
	say "all programs are there:$_found"
}

install_packages() {
	job_needs
	_missing=
	for _package in $need_packages; do
		case $(dpkg-query -W -f '${Status}' "$_package" 2>/dev/null) in
		*' installed') ;;
		*) _missing="$_missing $_package" ;;
		esac
	done
	if [ -z "$_missing" ]; then
		say "nothing to install: $need_packages"
		return
	fi
	need_root
	need apt-get
	say "apt-get install$_missing"
	apt-get update -q || return
	# shellcheck disable=SC2086 # a list of words
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $_missing
}

# Programs of our own are compiled once for all runs, into $RESULT_DIR/bin.
compile_own() {
	for _own in $need_own; do
		own_program "$_own"
	done
	PATH=$PATH:$RESULT_DIR/bin
}

# For another machine, one that may have no compiler and no libraries.
compile_static() {
	job_needs
	mkdir -p "$RESULT_DIR" || exit 99
	own_link=-static
	compile_own
}

# print_kpis FOLDER...: one line for each KPI, in the manner of the mail: mean, deviation, name, and each run's value
print_kpis() {
	for job_folder in "$@"; do
		program_kpis "$job_folder"
	done | awk '
		/^#/ { print; next }
		{
			if (!n[$1]++) name[++names] = $1
			values[$1] = values[$1] " " $2
			sum[$1] += $2
		}
		END {
			for (i = 1; i <= names; i++) {
				m = name[i]
				mean = sum[m] / n[m]
				split(values[m], each, " ")
				for (v = k = 0; k < n[m];) { d = each[++k] - mean; v += d * d / n[m] }
				relative = mean ? 100 * sqrt(v) / (mean < 0 ? -mean : mean) : 0
				if (n[m] == 1) printf "%14.10g           %s\n", mean, m
				else printf "%14.10g ± %5.2f%%  %s  (%d runs:%s)\n", mean, relative, m, n[m], values[m]
			}
		}'
}

# Status 0 and no figures is a failure too: some tools end with 0 whatever happens.
judge_run() {
	if [ "$1" = 0 ] && [ -z "$(program_kpis "$RESULT_DIR")" ]; then
		say "$program ended with status 0, but gave no figures: $(program_last_words 2>/dev/null)"
		exit 1
	elif [ "$1" = 99 ] && [ -s "$RESULT_DIR/cause" ]; then
		say "it could not be set up: $(cat "$RESULT_DIR/cause" 2>/dev/null)"
	elif [ "$1" != 0 ] && [ "$1" != 130 ]; then
		say "$program failed with status $1: $(program_last_words 2>/dev/null)"
	fi
	[ "$1" = 0 ] || exit "$1"
}

run_all() {
	mkdir -p "$RESULT_DIR" || exit 99
	say "job $job_name; files go to $RESULT_DIR"
	check_tools
	compile_own
	job_top=$RESULT_DIR job_run=1 job_stopped=
	# ends after the run, which gets the signal too where it comes from a terminal
	trap 'job_stopped=yes' HUP INT TERM
	set --
	while [ "$job_run" -le "$job_runs" ]; do
		[ "$job_runs" = 1 ] || RESULT_DIR=$job_top/$job_run
		say "run $job_run of $job_runs"
		status=0
		(run_once) || status=$?
		[ -z "$job_stopped" ] || exit 130
		judge_run "$status"
		set -- "$@" "$RESULT_DIR"
		job_run=$((job_run + 1))
	done
	echo "$job_runs" >"$job_top/runs"
	print_kpis "$@"
}

kpis_of_folder() {
	job_top=$RESULT_DIR job_run=1
	job_runs=$(cat "$job_top/runs" 2>/dev/null) || job_runs=1
	[ "$job_runs" -gt 1 ] || set -- "$RESULT_DIR"
	while [ "$job_runs" -gt 1 ] && [ "$job_run" -le "$job_runs" ]; do
		set -- "$@" "$job_top/$job_run"
		job_run=$((job_run + 1))
	done
	print_kpis "$@" | grep . || die "no figures in $RESULT_DIR"
}

[ -z "$KPB_ROBOT" ] || [ $# != 0 ] || run_once

job_runs=1 job_action=run_all
for job_word in "$@"; do
	case $job_word in
	install) job_action=install_packages ;;
	kpis) job_action=kpis_of_folder ;;
	compile) job_action=compile_static ;;
	runs=[1-9] | runs=[1-9][0-9] | runs=[1-9][0-9][0-9]) job_runs=${job_word#runs=} ;;
	[a-z]*=*) set_value "${job_word%%=*}" "${job_word#*=}" ;;
	*) usage "'$job_word' is not understood" ;;
	esac
done
set --
$job_action
