#!/bin/bash
# Numbers of a published comparison (neper tcp_rr and tcp_stream, five runs before and after GRO for cpumap): the same
# averages, the same differences as its author printed, and the conclusion that was drawn from them.
cd "$(dirname "$0")/../.." || exit 1
K=$(realpath "${KPERFBOT:-build/kperfbot}")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export KPERFBOT_STATE=$dir/state KPERFBOT_CONFIG=$dir/none
mkdir "$dir/none"
cp tests/fixtures/compare/cpumap-base.csv "$dir/base" && cp tests/fixtures/compare/cpumap-gro.csv "$dir/gro"
cd "$dir" || exit 1
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' out; fi; }

"$K" compare base gro --runs --csv >out 2>err
ok $? "compare --runs"
/usr/bin/python3 - <<'P'
import csv
rows = list(csv.reader(open("out")))
head = [h.replace("neper.", "") for h in rows[0][2:]]
assert head == ["tcp_rr.transactions", "tcp_rr.latency_p50", "tcp_rr.latency_p90", "tcp_rr.latency_p99", "tcp_stream.throughput"], head
said = {
    ("base", "Average"): ["2683850.6", "0.000084854", "0.00010367", "0.00012543", "15191.76"],
    ("gro", "Average"): ["2711884.2", "0.000081782", "0.00011135", "0.000136182", "19820.388"],
    ("gro", "Run 4"): ["2862366", "0.00008127", "0.00009471", "0.00010623", "19374.49"],
}
got = {(r[0], r[1]): r[2:] for r in rows[1:]}
for key, want in said.items():
    for a, b in zip(got[key], want):
        assert abs(float(a) - float(b)) <= 1e-9 * abs(float(b)), (key, a, b)
delta = ["%.2f%%" % float(v) for v in got["gro", "Delta"]]
assert delta == ["1.04%", "-3.62%", "7.41%", "8.57%", "30.47%"], delta
assert len(rows) == 1 + 6 + 7, len(rows)
P
ok $? "averages and deltas are the ones printed in the mail, a row for each run"
"$K" compare base gro --runs >out
grep -q '^gro *Delta *+1.04% *-3.62% *+7.41% *+8.57% *+30.47%$' out
ok $? "and so they stand in the table"
"$K" compare base gro --json >out
/usr/bin/python3 - <<'P'
import json
r = {x["metric"]: x for x in json.load(open("out"))["rows"]}
assert r["neper.tcp_stream.throughput"]["verdict"] == "changed" and 26 < r["neper.tcp_stream.throughput"]["interval"][0]
for m in ("transactions", "latency_p50", "latency_p90", "latency_p99"):
    assert r["neper.tcp_rr." + m]["verdict"] in ("no change shown", "unclear"), m
P
ok $? "the throughput changed (about 30 % was the mail's conclusion), the rest did not"
echo "1..$n"
