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

clean_up() {
	trap - EXIT HUP INT TERM
	[ -z "$monitors_run" ] || stop_monitors
	program_teardown
	restore_settings
}

mkdir -p "$RESULT_DIR" || exit 99
rm -f "$RESULT_DIR/started" "$RESULT_DIR/cause" "$RESULT_DIR/changed-settings"
monitors_run=
trap 'clean_up' EXIT
trap 'exit 130' HUP INT TERM
for cpu_governor in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do
	[ -z "$cpufreq_governor" ] || set_file "$cpu_governor" "$cpufreq_governor"
done
program_setup
for monitor in $monitors; do
	"monitor_${monitor}_setup"
done
[ "$KPB_PERTURB" = 0 ] || perturb_start
program_warmup >"$RESULT_DIR/warmup" 2>&1 || die "warm-up failed: $(tail -n 1 "$RESULT_DIR/warmup")"
monitors_run=yes
start_monitors
: >"$RESULT_DIR/started"
status=0
program_run >"$RESULT_DIR/$program" 2>&1 || status=$?
stop_monitors
monitors_run=
tail -n 3 "$RESULT_DIR/$program"
exit "$status"
