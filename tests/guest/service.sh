#!/bin/sh
# Runs in the guest after its boot, as process 1: installs the bot as README says, gives it a small program's tree over
# git's own protocol, and becomes Debian's systemd, which starts the service and, beside it,
# tests/guest/service-check.sh.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec </dev/null >/dev/console 2>&1
chmod 755 /run
cp -a /run/guest/root/. /
ldconfig
systemd-sysusers
usermod --add-subuids 200000-265535 --add-subgids 200000-265535 kperfbot
install -d -m 755 /etc/kperfbot /srv /home/ann
cp -r /run/guest/tree.git /srv/
echo secret >/home/ann/secret
echo secret >/srv/secret && chmod 600 /srv/secret
cp /run/guest/etc/* /etc/kperfbot/
unit() { # NAME LINES
	printf '%s\n' "$2" >"/etc/systemd/system/$1.service"
}
unit git "[Service]
ExecStart=/usr/bin/git daemon --listen=127.0.0.1 --base-path=/srv --export-all"
# the same confinement around somebody who tries what the bot should not be able to
sed -e 's|^ExecStart=.*|ExecStart=/usr/local/lib/kperfbot/service run kperfbot /run/guest/probe|' \
	-e '/^\(ExecStartPre\|ExecStopPost\|WatchdogSec\|Restart\)/d' \
	-e 's/^Type=.*/Type=oneshot/' /usr/local/lib/systemd/system/kperfbot.service >/etc/systemd/system/probe.service
unit check "[Unit]
After=kperfbot.service git.service
[Service]
ExecStart=/run/guest/check
StandardOutput=tty
TTYPath=/dev/console"
cat >/etc/systemd/system/test.target <<-'END'
	[Unit]
	Requires=basic.target
	Wants=git.service kperfbot.service check.service
END
for u in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
	systemd-timesyncd.service getty@tty1.service serial-getty@ttyS0.service systemd-random-seed.service \
	systemd-udev-trigger.service e2scrub_reap.service; do
	ln -sf /dev/null "/etc/systemd/system/$u"
done
exec /lib/systemd/systemd --unit=test.target --show-status=no
