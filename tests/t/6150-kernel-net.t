#!/bin/bash
# The network jobs on a real kernel (vm-net): a slowdown of cpumap is found by xdp-bench-redirect-cpu and not reached by
# xdp-bench-drop; one of packet steering shows with RPS on and not with RPS off, as a matrix of parameter and patch.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
source=${KPB_DEMO_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
[ -r "$source" ] || skip_all "no $source: install the package linux-source-6.1"
for p in gcc flex bison bc qemu-system-x86_64 pahole xdp-bench ethtool ip; do
	command -v "$p" >/dev/null || skip_all "no $p"
done
need_box || skip_all "$no_box"
kernel_cache
made test-kernel-vm-net

demo --job xdp-bench-redirect-cpu --seed 2 --json >"$dir/demo.out" 2>"$dir/log"; ok $? "the demo finds the planted commit"
tail -n 1 "$dir/demo.out" >"$dir/demo.json"
culprit=$(field "$dir/demo.json" 'o["true_culprit"]')
is "$(field "$dir/demo.json" 'o["found"]')" "$culprit" "it says so"
is "$(field "$dir/demo.json" '-0.01 < o["effect"] < -0.005')" True "it costs less than a percent"
# the mail: what was touched, how often it ran, and what grew
/usr/bin/python3 - "$(field "$dir/demo.json" 'o["mbox"]')" >"$dir/mail" <<-'EOF'
	import mailbox, sys
	for m in mailbox.mbox(sys.argv[1]):
	    print(m.get_payload(decode=True).decode() if not m.is_multipart() else m.get_payload(0).get_payload(decode=True).decode())
EOF
has "$dir/mail" "xdp-bench.rx_pps"
has "$dir/mail" "functions this commit touches"
awk '/instructions per operation:/ { on = 1 } on && /everything else/ { exit } on && $4 { print }' "$dir/mail" >"$dir/grew"
sed 's/^/# /' "$dir/grew"
is "$(awk '$3 > 5 { print $4 }' "$dir/grew")" cpu_map_enqueue "the guilty function alone has grown by more than 5 instructions"

# another job does not get there, and a maintainer is told so
etc=$(dirname "$(field "$dir/demo.json" 'o["mbox"]')")/etc
run() { "$kperfbot" --config "$etc" run "$@" >"$dir/out" 2>"$dir/log"; }
run xdp-bench-drop-quick --commit "$culprit" --profile; ok $? "xdp-bench-drop is counted, too"
"$kperfbot" --config "$etc" job suggest "$culprit" --json >"$dir/suggest.json" 2>"$dir/log"; ok $? "job suggest"
is "$(field "$dir/suggest.json" '{j["job"].split("-quick")[0]: j["reached"] for j in o["jobs"]}')" \
	"{'xdp-bench-redirect-cpu': 1, 'xdp-bench-drop': 0}" "redirect-cpu executes what the culprit changes, drop never does"
is "$(field "$dir/suggest.json" 'o["jobs"][-1]["functions"][0]["reach"]')" "never executed" "in words"

# packet steering: {off, on} x {plain, patched}
run udp-sink-rps-quick --matrix --patches none --patches tests/demo/culprits/rps-mix-hash.patch --commit demo-base -n 2
ok $? "RPS off and on, plain and patched"
compare() { # RPS: changed metrics between plain and patched
	"$kperfbot" --config "$etc" compare "demo-base@rps=$1" "demo-base+rps-mix-hash@rps=$1" --json >"$dir/$1.json" 2>"$dir/log"
}
compare on; ok $? "compared with RPS on"
is "$(field "$dir/on.json" '[r["verdict"] for r in o["rows"] if r["metric"] == "sink.pps"]')" "['changed']" "the patch costs something there"
compare off; ok $? "compared with RPS off"
is "$(field "$dir/off.json" '[r["verdict"] for r in o["rows"] if r["metric"] == "sink.pps" and r["verdict"] == "changed"]')" "[]" \
	"and nothing without"
"$kperfbot" --config "$etc" compare --matrix udp-sink-rps-quick demo-base demo-base+rps-mix-hash --lkp >"$dir/out" 2>"$dir/log"
ok $? "all four side by side"
sed 's/^/# /' "$dir/out"
done_testing
