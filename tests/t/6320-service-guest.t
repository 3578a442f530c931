#!/bin/bash
# The service under Debian 12's own systemd, in QEMU: installed by 'make install', started by systemd, confined as its
# unit says. It fetches, builds in a box and measures; and somebody in its place cannot do what it need not do.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
debian_guest
mkdir -p "$dir/in/etc" "$dir/got"
make -s install-files BUILD="$(dirname "$kperfbot")" DESTDIR="$dir/in/root" >"$dir/log" 2>&1; ok $? "make install"
# its libraries come along: the guest's packages do not change with them
mkdir -p "$dir/in/root/usr/local/lib"
ldd "$kperfbot" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
	grep -Ev '/lib(c|m|pthread|dl|rt|resolv)\.so' | xargs -I{} cp -L {} "$dir/in/root/usr/local/lib/"
bash tests/demo/make-local-tree.sh 3 "$dir/in/tree.git" 8 >"$dir/demo.json" 2>"$dir/out"; ok $? "a program's tree"
cp tests/demo/local-bench.yaml "$dir/in/etc/"
cat >"$dir/in/etc/kperfbot.yaml" <<-'EOF'
min_free_mb: 0
trees:
  small:
    url: git://127.0.0.1/tree.git
    branches: [main]
    interval: 1h
    program: true
    artefact: bench
    machine: local
    jobs: [local-bench]
EOF
cp tests/guest/service.sh "$dir/in/main"
cp tests/guest/service-check.sh "$dir/in/check"
cp tests/guest/service-probe.sh "$dir/in/probe"
chmod -R a+rX "$dir/in"
boot_guest 900; ok $? "the guest boots, runs the service and ends"
[ -s "$dir/got/journal" ] || { tail -n 30 "$dir/console" | sed 's/^/# /'; done_testing; exit; }
[ -z "${KPB_KEEP-}" ] || cp -r "$dir/got" "$KPB_KEEP"
grep '^check: ' "$dir/console" | sed 's/^/# /'
tell() { sed 's/^/# /' "$dir/got/$1" | tail -n 30; }

is "$(cat "$dir/got/active")" active "the service is up"
is "$(cat "$dir/got/run-status")" 0 "it has built a commit and measured it" || { tell run; tell journal; }
is "$(field "$dir/got/runs.json" '[r["verdict"] for r in o]')" "['ok', 'ok']" "twice"
is "$(field "$dir/got/builds.json" '[b["state"] for b in o]')" "['ok']" "from one build"
is "$(tail -n 1 "$dir/got/isolated")" 1,1 "both in a box"
grep -q 'kperfbot.service/kperfbot-main$' "$dir/got/groups"; ok $? "in control groups that systemd has handed over"
is "$(awk '/^NoNewPrivs|^Seccomp:|^CapBnd/ { print $1, $2 }' "$dir/got/status" | paste -sd ' ')" \
	"CapBnd: 00000000000000c0 NoNewPrivs: 1 Seccomp: 2" \
	"under a filter, with no way up, its capabilities being those over its own ids"
own='$1 == $2 && $3 == 1 || $2 >= 200000 && $2 + $3 <= 265536 { n++ } END { print n == NR }'
is "$(awk "$own" "$dir/got/uid_map")" 1 "its ids are its own and the subordinate ones"
is "$(grep -v '\.db$' "$dir/got/modes" | cut -d ' ' -f 1,2 | sort -u)" "kperfbot 700" \
	"state and cache are its own, 0700"
is "$(tail -n 1 "$dir/got/security" | sed 's/.*: //; s/ .*//')" 3.0 "what runs has the exposure that the file has"
is "$(cat "$dir/got/after-hup" "$dir/got/stopped" "$dir/got/again" | paste -sd ' ')" "active success active" \
	"it lives through SIGHUP, stops cleanly and starts again"
has "$dir/got/ids-after" "No such file"

can="write to its state
write to its cache
open an internet socket
make a box
give ids to a child
make a control group"
sed -n 's/^can //p' "$dir/got/probe" | sort >"$dir/can"
is "$(cat "$dir/can")" "$(echo "$can" | sort)" "all that somebody in its place can do"
is "$(grep -c '^cannot ' "$dir/got/probe")" 22 "out of what was tried"
grep '^cannot ' "$dir/got/probe" | sed 's/^/# /'
done_testing
