#!/bin/sh
# Runs in the service's place: each line says what was tried and whether it could be done.
try() { # WHAT COMMAND...
	what=$1
	shift
	if "$@" >/dev/null 2>&1; then echo "can $what"; else echo "cannot $what"; fi
}
opens() { (: >>"$1"); }
try "write to /usr" opens /usr/bin/x
try "write to /etc" opens /etc/x
try "write to /srv" opens /srv/x
try "write to /var/lib" opens /var/lib/x
try "write to /run" opens /run/x
try "write to core_pattern" opens /proc/sys/kernel/core_pattern
try "write to its state" opens /var/lib/kperfbot/x
try "write to its cache" opens /var/cache/kperfbot/x
try "see /home" test -e /home/ann/secret
try "read what is root's" cat /srv/secret
try "read the guest's disk" head -c 1 /dev/vda
try "read the kernel's log" dmesg
try "see another's process" test -d /proc/1/fd
try "see that there are others" test -d /proc/1
try "become root" setpriv --reuid 0 cat /etc/shadow
try "become another user" setpriv --reuid 1 --clear-groups true
try "raise itself by a setuid program" su -c true
try "load a module" modprobe loop
try "see modules" ls /usr/lib/modules/*
try "set the clock" date -s 2030-01-01
try "trace" perl -e 'exit(syscall(101, 0, 0, 0, 0) < 0)'
try "open a packet socket" perl -e 'exit(!socket(S, 17, 2, 0))'
try "open an internet socket" perl -e 'exit(!socket(S, 2, 1, 0))'
try "make a device" mknod /var/lib/kperfbot/disk b 254 0
try "make a setuid program" sh -c 'cp /bin/true /var/lib/kperfbot/t && chmod u+s /var/lib/kperfbot/t'
try "give ids to a child" unshare --user --map-users=200001,0,2 --map-groups=200001,0,2 true
try "make a box" unshare --user --map-root-user --map-users=265535,1,1 --map-groups=265535,1,1 bwrap \
	--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup --hostname box \
	--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
	--proc /proc --dev /dev --tmpfs /tmp --bind /var/lib/kperfbot /tmp/x true
try "make a control group" mkdir "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/x"
true
