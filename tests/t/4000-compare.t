#!/bin/bash
# compare and detect on files: what they print and what they refuse. No database is involved.
cd "$(dirname "$0")/../.." || exit 1
K=$(realpath "${KPERFBOT:-build/kperfbot}")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export KPERFBOT_STATE=$dir/state KPERFBOT_CONFIG=$dir/none
mkdir "$dir/none"
cd "$dir" || exit 1
n=0
ok() { # STATUS TITLE
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' out err 2>/dev/null; fi
}
run() { "$K" "$@" >out 2>err; status=$?; }
has() { grep -qF -- "$1" "${3:-out}"; ok $? "$2"; }
json() { # PYTHON-EXPRESSION TITLE; d is the document, r its rows by metric
	/usr/bin/python3 -c 'import json, sys
d = json.load(open("out"))
r = {x["metric"]: x for x in d.get("rows", [])}
sys.exit(not (eval(sys.argv[1])))' "$1" 2>>err
	ok $? "$2"
}

/usr/bin/python3 - <<'PY'
import random
random.seed(1)
def write(name, shift, fmt="%s,%d,%.9g\n", head="metric,run,value\n", extra=()):
    with open(name, "w", newline="") as f:
        f.write(head)
        for run in range(1, 9):
            for m in range(40):
                v = 1000 * (m + 1) * (1 + .01 * random.gauss(0, 1) + (shift if m < 5 else 0))
                f.write(fmt % ("stress-ng.m%d" % m, run, v))
            f.write(fmt % ("turbostat.Busy%", run, 50 + random.gauss(0, 1) + 100 * shift))
        for line in extra:
            f.write(line)
write("a.csv", 0, extra=["x.same,%d,7\n" % r for r in range(1, 9)] + ["x.gone,%d,3\n" % r for r in range(1, 9)])
write("b.csv", .05, extra=["x.same,%d,7\n" % r for r in range(1, 9)] + ["dmesg.BUG,%d,1\n" % r for r in range(1, 9)])
write("c.csv", 0, '"%s",%d,%.9g,note\r\n', 'Metric,RUN,Value,comment\r\n')
with open("series.csv", "w") as f:
    f.write("index,value\n")
    for i in range(60):
        for _ in range(2):
            f.write("%d,%g\n" % (100 + i, random.gauss(200 if i < 30 else 220, 2) + (40 if i == 12 else 0)))
PY

run compare a.csv b.csv --json
ok $status "compare of two files"
json 'r["stress-ng.m0"]["verdict"] == "changed" and 2 < r["stress-ng.m0"]["effect"] < 8' "a change is found, its effect is in per cent"
json 'r["stress-ng.m0"]["interval"][0] < r["stress-ng.m0"]["effect"] < r["stress-ng.m0"]["interval"][1]' "its interval holds it"
json 'sum(x["verdict"] == "changed" for k, x in r.items() if k.startswith("stress-ng.m")) in (5, 6, 7)' "the others are unchanged"
json 'r["turbostat.Busy%"]["unit"] == "points" and 3 < r["turbostat.Busy%"]["change"] < 7' "a percentage changes by points"
json 'r["x.same"]["verdict"] == "same" and r["x.same"]["effect"] == 0' "a constant is the same"
json 'r["x.gone"]["verdict"] == "vanished"' "a metric vanishes"
json 'r["dmesg.BUG"]["verdict"] == "changed" and r["dmesg.BUG"]["change"] == 100' "a failure appears"
json 'r["stress-ng.m0"]["n"] == [8, 8] and len(r["stress-ng.m0"]["mean"]) == 2 and len(r["stress-ng.m0"]["stddev_pct"]) == 2' "lists hold one number a build"
json 'd["changed"] >= 8 and d["metrics"] == len(r) and d["builds"][0]["file"] == "a.csv"' "the head counts"
run compare a.csv b.csv --json --changed
json 'all(x["verdict"] not in ("same", "unclear") for x in r.values()) and len(r) == d["changed"]' "--changed keeps changes only"
run compare a.csv b.csv c.csv --json
json 'len(r["stress-ng.m1"]["q"]) == 2 and r["stress-ng.m1"]["verdict"][0] == "changed" and r["stress-ng.m1"]["verdict"][1] != "changed"' "three files: each against the first; CRLF, quotes, more columns"
run compare a.csv b.csv
has "         %stddev     %change         %stddev" "LKP's table is the default in a pipe"
has "       fail:runs  %reproduction    fail:runs" "with failures"
run compare a.csv b.csv --table
has "interval" "--table shows intervals"
run compare a.csv b.csv --csv
/usr/bin/python3 -c 'import csv
rows = list(csv.DictReader(open("out")))
assert {"metric", "q", "effect", "interval_low", "interval_high", "verdict", "n.A"} <= set(rows[0]) and len(rows) == 44'
ok $? "--csv"
run compare a.csv b.csv --runs --metric 'stress-ng.m[01]'
has "Run 8" "--runs shows every run"
has "Delta" "... and differences"
run compare a.csv b.csv --metric 'stress-ng.m3' --json
json 'list(r) == ["stress-ng.m3"]' "--metric selects"
mkdir cfg
printf 'judge:\n  min_effects: {"stress-ng.m0": 0.2, "stress-ng.m?": 0.01, percent: 30}\n' >cfg/kperfbot.yaml
run --config cfg compare a.csv b.csv --json
json 'r["stress-ng.m0"]["verdict"] == "same" and r["stress-ng.m0"]["min_effect"] == 20' "a smallest effect from the configuration"
json 'r["stress-ng.m1"]["verdict"] == "changed" and r["stress-ng.m1"]["min_effect"] == 1' "... by the longest glob"
json 'r["turbostat.Busy%"]["verdict"] == "same" and r["turbostat.Busy%"]["min_effect"] == 30' "... by class, in points"
run --config cfg compare a.csv b.csv --json --min-effect 0.5
json 'r["stress-ng.m0"]["verdict"] == "changed" and r["stress-ng.m0"]["min_effect"] == 0.5' "the option goes before it"
for bad in -1 nan inf; do
	run compare a.csv b.csv --min-effect=$bad
	[ "$status" = 2 ]; ok $? "--min-effect $bad is refused"
	has min-effect "... by name" err
done
run compare a.csv b.csv --rule lkp --json
json 'd["rule"] == "lkp" and r["stress-ng.m0"]["verdict"] == "changed"' "the rule of lkp-tests"
printf 'metric,run,boot,value\nx.m,1,1,10\nx.m,2,1,10.1\nx.m,1,2,12\nx.m,2,2,12.1\n' >boots.csv
run compare boots.csv boots.csv --json
json 'r["x.m"]["n"] == [4, 4] and r["x.m"]["boots"] == [2, 2] and d["between_boot_share"] > .9' "runs of one boot are one value"

refuse() { # TITLE TEXT ARGS...
	run "${@:3}"
	[ "$status" = 2 ] || [ "$status" = 3 ]; ok $? "refused: $1"
	has "$2" "... and says where" err
}
printf 'metric,run,value\nx,1,5\nx,2,abc\n' >bad1.csv
printf 'metric,run,value\nx,1,5\nx,1,6\n' >bad2.csv
printf 'name,value\n' >bad3.csv
printf 'metric,run,value\n"x,1,5\n' >bad4.csv
printf 'index,value\n1,5\n0,6\n' >bad5.csv
: >bad6.csv
printf 'metric,run,value\n' >bad7.csv
printf 'metric,run,value\nx,1,5\nx,2,nan\n' >bad8.csv
printf 'metric,run,value\nx,1,-inf\n' >bad9.csv
printf 'metric,run,value\nx,1,1e999\n' >bad10.csv
printf 'index,value\n1,5\n2,nan\n' >bad11.csv
printf 'metric,run,value\nx,1,0x10\n' >bad14.csv
printf 'index,value\n' >bad12.csv
printf 'metric,run,value\nx,,5\n' >bad13.csv
refuse "no number" "bad1.csv:3: value 'abc' is no number" compare a.csv bad1.csv
refuse "the same run twice" "bad2.csv:3: a second value of metric 'x' in run '1'" compare a.csv bad2.csv
refuse "no such columns" "bad3.csv:1: there is no column 'metric'" compare a.csv bad3.csv
refuse "an open quote" "bad4.csv:2: a quote is opened and never closed" compare bad4.csv a.csv
refuse "an empty file" "bad6.csv: empty" compare bad6.csv a.csv
refuse "nothing but a head" "bad7.csv:1: there are no values below the first line" compare bad7.csv a.csv
refuse "NaN" "bad8.csv:3: value 'nan' is no finite number; leave the field empty" compare a.csv bad8.csv
refuse "an infinity" "bad9.csv:2: value '-inf' is no finite number" compare a.csv bad9.csv
refuse "an overflow" "bad10.csv:2: value '1e999' is no finite number" compare a.csv bad10.csv
refuse "NaN in a series" "bad11.csv:3: value 'nan' is no finite number" detect bad11.csv
refuse "hexadecimal" "bad14.csv:2: value '0x10' is no number" compare a.csv bad14.csv
refuse "a series without values" "bad12.csv:1: there are no values below the first line" detect bad12.csv
refuse "a run without a name" "bad13.csv:2: the run has no name" compare a.csv bad13.csv
refuse "a missing file" "there is no file 'missing.csv'" compare a.csv missing.csv
refuse "one file" "two or more" compare a.csv
refuse "an unknown rule" "'moderated' or 'lkp'" compare a.csv b.csv --rule best
refuse "a history below 0" "--history is a number of builds, not -1" compare a.csv b.csv --history=-1
run compare a.csv b.csv --metric nosuch
[ $status = 3 ]; ok $? "a metric that is nowhere: 3"
has "no metric of these builds matches 'nosuch'" "and says so" err
printf 'metric,run,value\nm\033[31m,1,1\nm\033[31m,2,2\n' >escape.csv
run compare --runs escape.csv escape.csv
grep -q "$(printf '\033')" out; [ $? = 1 ]; ok $? "no escape sequence in the head of a table"
refuse "a series that goes back" "bad5.csv:3: index 0 comes after 1" detect bad5.csv

run detect series.csv --json
ok $status "detect of a file"
json 'len(d["changepoints"]) == 1 and d["changepoints"][0]["index"] == 130 and not d["changepoints"][0]["provisional"]' "one step, at the first index of the new level; the outlier is none"
json '195 < d["changepoints"][0]["before"] < 205 and 215 < d["changepoints"][0]["after"] < 225' "levels before and after"
json 'd["changepoints"][0]["first"] <= 130 <= d["changepoints"][0]["last"]' "the range of commits in which it lies"
cp out first
run detect series.csv --json
cmp -s out first
ok $? "the same input gives the same bytes"
run detect series.csv
has "130" "a table"
[ ! -e "$dir/state" ]
ok $? "no state was written"
# odd pairs: a negative level, a base of 0 or of rounding dust, one run a side
/usr/bin/python3 - <<'PY'
def write(name, **v):
    with open(name, "w") as f:
        f.write("metric,run,value\n")
        for k, level in v.items():
            for i, d in enumerate((0, .1, -.1), 1):
                f.write("x.%s,%d,%r\n" % (k, i, level * (1 + d / 20) if level else 0))
write("odd-a.csv", neg=-40, zero=0, dust=1e-16, huge=1.8e19)
write("odd-b.csv", neg=-35, zero=5, dust=1003, huge=2.7e19)
PY
printf 'metric,run,value\nx.m,1,10\n' >one-a.csv
printf 'metric,run,value\nx.m,1,20\n' >one-b.csv
run compare odd-a.csv odd-b.csv --table
[ "$(awk '$1 == "x.neg" { print $9 }' out)" = "+12.50%" ]; ok $? "a negative level that rises"
[ "$(awk '$1 == "x.zero" { print $9, $10 }' out)" = "from 0" ]; ok $? "no percentage of 0"
[ "$(awk '$1 == "x.dust" { print $9, $10 }' out)" = "from 0" ]; ok $? "nor of what is rounding only"
run compare odd-a.csv odd-b.csv --lkp
[ "$(awk '/x.neg/ { print $2 }' out)" = "+12.5%" ]; ok $? "LKP's table: the same sign"
has "      0.00          from 0        5.00" "LKP's table: no percentage of 0"
run compare odd-a.csv odd-b.csv --runs
[ -z "$(awk 'length($0) > 60' out)" ]; ok $? "--runs: no forty digits"
has "from 0" "--runs: no percentage of 0"
run compare odd-a.csv odd-b.csv --csv
[ -z "$(grep -E 'e\+1[0-9],|inf|nan' out | grep -v '^x.huge')" ]; ok $? "CSV: numbers that are numbers"
run compare odd-a.csv odd-b.csv --json
json 'r["x.neg"]["change"] == r["x.neg"]["effect"] == 12.5 and r["x.zero"]["change"] is None and r["x.dust"]["effect"] is None' \
	"JSON: one sign, null without a base"
run compare one-a.csv one-b.csv --table
has "one run of each build: nothing can be tested" "one run a side says so"
run compare one-a.csv one-b.csv --lkp
has "one run of each build: nothing can be tested" "also beside LKP's table" err
run compare one-a.csv one-b.csv --json
json 'len(d["validity"]) == 1 and d["rows"][0]["verdict"] == "unclear"' "and in JSON"
{ echo index,value; for i in $(seq 1 40); do echo "$i,$((i > 20 ? 5 : 0))"; done; } >zero.csv
run detect zero.csv --json
json 'd["changepoints"][0]["change_pct"] is None' "detect: no percentage of 0"
run detect zero.csv --csv
[ "$(tail -n 1 out | cut -d, -f4)" = "" ]; ok $? "nor in its CSV"

echo "1..$n"
