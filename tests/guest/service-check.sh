#!/bin/sh
# Runs as root beside the service: asks it for some runs, waits for them, and writes down what it sees in
# /run/guest/out.
out=/run/guest/out
mkdir -p "$out"
kp() {
	timeout 200 runuser -u kperfbot -- env KPERFBOT_STATE=/var/lib/kperfbot KPERFBOT_CACHE=/var/cache/kperfbot \
		kperfbot "$@"
}
echo "check: begins at $(cut -d ' ' -f 1 /proc/uptime)"
systemctl is-active kperfbot >"$out/active"
for _ in $(seq 100); do
	runuser -u kperfbot -- git --git-dir /var/lib/kperfbot/trees/small.git rev-parse main >/dev/null 2>&1 && break
	sleep 1
done
systemctl show -p StatusText -p ActiveState kperfbot >"$out/state"
kp run local-bench --tree small --commit main -n 2 >"$out/run" 2>&1
echo $? >"$out/run-status"
[ "$(cat "$out/run-status")" = 0 ] || ps -eo user,pid,ppid,stat,wchan:20,etimes,args --forest >"$out/processes"
kp query runs --json >"$out/runs.json" 2>&1
kp sql "SELECT (SELECT 1 - max(exposed) FROM build), (SELECT 1 - max(exposed) FROM run)" --csv >"$out/isolated" 2>&1
kp query builds --json >"$out/builds.json" 2>&1
pid=$(systemctl show -P MainPID kperfbot)
cp "/proc/$pid/status" "/proc/$pid/uid_map" "$out/"
stat -c '%U %a %n' /var/lib/kperfbot /var/cache/kperfbot /var/lib/kperfbot/kperfbot.db >"$out/modes"
find /sys/fs/cgroup/system.slice/kperfbot.service -type d >"$out/groups"
systemd-analyze security --no-pager kperfbot >"$out/security"
systemctl start probe; systemctl show -P ExecMainStatus probe >"$out/probe-status"
systemctl kill -s HUP kperfbot
for _ in $(seq 100); do
	journalctl --no-pager -o cat -u kperfbot | grep -q "configuration read again" && break
	sleep 0.2
done
systemctl is-active kperfbot >"$out/after-hup"
systemctl stop kperfbot; systemctl show -P Result kperfbot >"$out/stopped"
ls -l /run/kperfbot-ids >"$out/ids-after" 2>&1
systemctl start kperfbot; systemctl is-active kperfbot >"$out/again"
journalctl --no-pager -o cat -u kperfbot -u check >"$out/journal"
journalctl --no-pager -o cat -u probe >"$out/probe"
echo "check: ends at $(cut -d ' ' -f 1 /proc/uptime)"
tar -C "$out" -cf /dev/vdc . && sync
echo b >/proc/sysrq-trigger
sleep 60
