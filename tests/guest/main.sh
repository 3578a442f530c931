#!/bin/sh
# Runs in the guest after its boot: each script of the list, with nothing around it. What it said, how it ended and what it left
# behind go to /run/guest/out/NAME, and at the end as a tar archive onto the third disk.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
exec </dev/null >/dev/console 2>&1
hostname plain
ip link set lo up

# What a script may not change for good.
state() {
	grep -s . /proc/sys/kernel/sched_* /proc/sys/kernel/randomize_va_space /proc/sys/net/core/rps_sock_flow_entries \
		/sys/kernel/mm/transparent_hugepage/enabled
	ls /sys/class/net /run /run/netns /root /sys/fs/bpf 2>&1
	cut -d ' ' -f 2,3 /proc/mounts
	ps --ppid 2 -p 2 --deselect -o comm= | grep -v -e '^ps$' -e '^grep$' -e '^sh$'
}

# what ip and mount leave behind when they are used for the first time
ip netns add first && ip netns del first
mkdir -p /root/work /run/mount
state >/run/guest/state
while read -r name words; do
	out=/run/guest/out/$name
	mkdir -p "$out"
	cp /run/guest/state "$out/before"
	begin=$(cut -d ' ' -f 1 /proc/uptime)
	status=0
	# shellcheck disable=SC2086 # a list of words
	(cd /root/work && timeout 200 sh "/run/guest/jobs/${name%%,*}.sh" $words >"$out/stdout" 2>"$out/stderr") || status=$?
	echo "$status" >"$out/status"
	echo "$begin $(cut -d ' ' -f 1 /proc/uptime)" >"$out/uptime"
	mkdir -p "$out/result" # what was compiled stays there, as for somebody who runs several scripts in one folder
	find /root/work/result -mindepth 1 -maxdepth 1 ! -name bin -exec mv {} "$out/result" \;
	state >/run/guest/state
	cp /run/guest/state "$out/after"
	tar -C /run/guest/out -cf /dev/vdc . && sync # each time, should the guest be stopped
	echo "guest: $name: status $status, $(cat "$out/uptime")"
done </run/guest/list
echo b >/proc/sysrq-trigger
sleep 60
