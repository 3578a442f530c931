#!/bin/bash
# The figures of a real thread about XDP: compare comes to the averages, differences and verdicts that its authors
# reached.
cd "$(dirname "$0")/../.." || exit 1
K=$(realpath "${KPERFBOT:-build/kperfbot}")
cd tests/fixtures/xdp-mail || exit 1
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
export KPERFBOT_STATE=$T/state KPERFBOT_CONFIG=$T/none
mkdir "$T/none"
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' "$T/out"; fi; }
compare() { "$K" compare "$1" "$2" --all --json >"$T/out" 2>&1; ok $? "compare $1 $2"; }
json() { # EXPRESSION TITLE; r is the rows by metric
	/usr/bin/python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
r = {x["metric"]: x for x in d["rows"]}
def near(metric, a, b, percent):
    x = r[metric]
    return abs(x["mean"][0] - a) < 1 and abs(x["mean"][1] - b) < 1 and abs(x["change"] - percent) < .0005
sys.exit(not (eval(sys.argv[2])))' "$T/out" "$1" 2>>"$T/out"
	ok $? "$2"
}

compare unpatched.csv patched.csv
json 'len(r) == 10 and d["changed"] == 0' '"just noise", "in the same range": nothing changed'
json 'near("redirect-cpu.rx_pps", 9080106.5, 9146184, .7277)' 'redirect-cpu: 9,080,106 to 9,146,184 pkt/s, +0.73%'
json 'near("redirect-cpu.kthread_pps", 9080108, 9146193, .7278)' 'and the same on the other CPU'
json 'near("drop.A-to-B.performance.t1", 13270153, 13343223, .5506)' 'drop, A to B: +0.55%'
json 'near("drop.B-to-A.powersave.t2", 10312212.33, 11163323, 8.2534)' 'drop, B to A, powersave: +8.25%, one run against three'
json 'near("drop.B-to-A.performance.t2", 14854233, 14880199, .1748)' 'drop at the limit of the link: +0.17%'

compare performance.csv powersave.csv
json 'r["drop.B-to-A.t2"]["verdict"] == "changed" and -35 < r["drop.B-to-A.t2"]["effect"] < -23' '"BoxA hit the CPU limit during receive while lowering the CPU-freq"'
json 'r["drop.A-to-B.t1"]["verdict"] in ("no change shown", "unclear") and abs(r["drop.A-to-B.t1"]["effect"]) < 1' '"BoxB seems to be unaffected by lowing CPU frequency"'
"$K" compare performance.csv powersave.csv --runs >"$T/out" 2>&1 && grep -q 'Average .*14867216 .*13306688' "$T/out" &&
	grep -q 'Delta .*-29.21% .*-0.19%' "$T/out"
ok $? 'in the form of mails'
echo "1..$n"
