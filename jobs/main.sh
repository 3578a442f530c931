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
	restore_host
	restore_settings
}

# Tells a machine that counts from outside where the measured part lies; elsewhere there is no such program.
mark() {
	if command -v kpb-mark >/dev/null 2>&1; then kpb-mark "$1"; fi
}

mkdir -p "$RESULT_DIR" || exit 99
rm -f "$RESULT_DIR/started" "$RESULT_DIR/cause" "$RESULT_DIR/changed-settings" "$RESULT_DIR/host-facts" \
	"$RESULT_DIR/changed-nic"
monitors_run=
trap 'clean_up' EXIT
trap 'exit 130' HUP INT TERM
prepare_host
program_setup
for monitor in $monitors; do
	"monitor_${monitor}_setup"
done
record_host
[ "$KPB_PERTURB" = 0 ] || perturb_start
start_all() {
	monitors_run=yes
	start_monitors
}
stop_all() {
	stop_monitors
	monitors_run=
}
[ "$monitor_pass" != warmup ] || start_all
program_warmup >"$RESULT_DIR/warmup" 2>&1 || die "warm-up failed: $(tail -n 1 "$RESULT_DIR/warmup")"
if [ "$monitor_pass" = warmup ]; then stop_all; else start_all; fi
[ "$KPB_PERTURB" = 0 ] || perturb_start # again: what slept in between is in step with the timer ticks
: >"$RESULT_DIR/started"
status=0
mark start
program_run >"$RESULT_DIR/$program" 2>&1 || status=$?
mark stop
[ -z "$monitors_run" ] || stop_all
tail -n 3 "$RESULT_DIR/$program"
exit "$status"
