#!/bin/bash
# The unit for systemd: how exposed it is, that it has no mistakes, and that 'make install' puts all that it names where
# it names it. 6320-service-guest.t runs it.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
command -v systemd-analyze >/dev/null || skip_all "no systemd-analyze"

systemd-analyze security --offline=true --threshold=30 etc/kperfbot.service >"$dir/out" 2>&1
ok $? "an exposure of at most 3.0"
tail -n 1 "$dir/out" | sed 's/^/# /'
sed '/^SystemCallFilter/d' etc/kperfbot.service >"$dir/open.service"
! systemd-analyze security --offline=true --threshold=30 "$dir/open.service" >"$dir/out" 2>&1
ok $? "without the system call filter it would be more"

make -s install-files BUILD="$(dirname "$kperfbot")" DESTDIR="$dir/root" >"$dir/out" 2>&1; ok $? "make install"
unit=$dir/root/usr/local/lib/systemd/system/kperfbot.service
for f in $(sed -n 's/^Exec[A-Za-z]*=+\{0,1\}//p' "$unit" | tr ' ' '\n' | grep '^/usr/local/' | sort -u); do
	[ -x "$dir/root$f" ]; ok $? "$f is there"
done
sed "s|/usr/local/|$dir/root&|g" "$unit" >"$dir/kperfbot.service"
systemd-analyze verify --man=no "$dir/kperfbot.service" >"$dir/out" 2>&1 && [ ! -s "$dir/out" ]
ok $? "systemd-analyze verify"
sed -i 's/^ProtectHome=yes/ProtectHome=maybe/' "$dir/kperfbot.service"
systemd-analyze verify --man=no "$dir/kperfbot.service" >"$dir/out" 2>&1
has "$dir/out" "protect home value, ignoring: maybe"
"$dir/root/usr/local/share/kperfbot/tools/demo" --help >"$dir/out" 2>&1; ok $? "the demo is installed"
make -s install-files BUILD="$(dirname "$kperfbot")" DESTDIR="$dir/other" PREFIX=/opt/k >"$dir/out" 2>&1
is "$(grep -c /usr/local "$dir/other/opt/k/lib/systemd/system/kperfbot.service")" 0 "another PREFIX is in the unit, too"

printf 'root:x:0:0::/root:/bin/sh\n' >"$dir/passwd"
mkdir -p "$dir/sys/etc" && cp "$dir/passwd" "$dir/sys/etc/"
if command -v systemd-sysusers >/dev/null && systemd-sysusers --root="$dir/sys" --dry-run \
	"$dir/root/usr/local/lib/sysusers.d/kperfbot.conf" >"$dir/out" 2>&1; then
	grep -q "Creating user 'kperfbot'" "$dir/out"; ok $? "systemd-sysusers makes the account"
else
	skip "systemd-sysusers cannot be tried: $(tail -n 1 "$dir/out")"
fi

tools/service ids root >"$dir/out" 2>&1; [ $? != 0 ]; ok $? "service ids root is refused"
tools/service >"$dir/out" 2>&1; is $? 2 "no verb: wrong use"
tools/service run nobody >"$dir/out" 2>&1; is $? 2 "nor is one without a program any use"
has "$dir/out" "usage: service ids USER"
if [ ! -e /run/kperfbot-ids ]; then
	tools/service run nobody echo works >"$dir/out" 2>&1
	is "$(cat "$dir/out")" works "without a namespace the program runs all the same: it refuses builds by itself"
fi
done_testing
