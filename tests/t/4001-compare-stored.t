#!/bin/bash
# compare and detect on the database: the one way in which commits were measured is found, or the choices are named.
cd "$(dirname "$0")/../.." || exit 1
K=$(realpath "${KPERFBOT:-build/kperfbot}")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export KPERFBOT_STATE=$dir/state KPERFBOT_CONFIG=$dir/none
mkdir "$dir/none"
n=0
ok() { # STATUS TITLE
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' "$dir/out" "$dir/err"; fi
}
run() { "$K" "$@" >"$dir/out" 2>"$dir/err"; status=$?; }
has() { grep -qF -- "$1" "$dir/${3:-out}"; ok $? "$2"; }
json() {
	/usr/bin/python3 -c 'import json, sys
d = json.load(open(sys.argv[2]))
r = {x["metric"]: x for x in d.get("rows", [])}
sys.exit(not (eval(sys.argv[1])))' "$1" "$dir/out" 2>>"$dir/err"
	ok $? "$2"
}
A=$(printf 'a%.0s' {1..40}) B=$(printf 'b%.0s' {1..40})

run compare "$A" "$B"
[ "$status" = 3 ]; ok $? "no database yet: not found"
run tree add net-next https://example.org/net-next.git
ok "$status" "a database"

cat >"$dir/fill.py" <<'PY'
import random, sqlite3, sys
random.seed(2)
db = sqlite3.connect(sys.argv[1])
q = db.execute
tree = q("SELECT id FROM tree").fetchone()[0]
for job in ("sockfd", "udp"):
    q("INSERT INTO job VALUES (?, ?, 'stress-ng', '{}', '{\"nr_threads\": \"100%\", \"test\": \"sock/fd\"}', '')", (job + "0", job))
q("INSERT INTO machine (name, driver, tbox_group) VALUES ('vm1', 'qemu', 'vm')")
q("INSERT INTO metric (id, name, kpi) VALUES (1, 'stress-ng.sockfd.ops_per_sec', 1), (2, 'vmstat.system.cs', 0), (3, 'only.udp', 0)")
machine = q("SELECT id FROM machine WHERE name = 'vm1'").fetchone()[0]
time = 1000000
def build(commit, level, jobs=("sockfd0",), boots=6, bad=0):
    global time
    b = q("INSERT INTO build (tree, commit_oid, kconfig, state, time) VALUES (?, ?, 'vm-net', 'ok', ?)", (tree, commit, time)).lastrowid
    for job in jobs:
        for i in range(boots):
            for again in range(2):
                time += 1000000
                verdict = "crashed" if i < bad else "ok"
                r = q("INSERT INTO run (build, job, machine, boot, replicate, verdict, started, seconds) VALUES (?, ?, ?, ?, ?, ?, ?, 1)",
                      (b, job, machine, "%s-%s-%d" % (commit[:6], job, i), i, verdict, time)).lastrowid
                if verdict == "ok":
                    q("INSERT INTO value VALUES (?, 1, ?)", (r, level * (1 + .005 * random.gauss(0, 1))))
                    q("INSERT INTO value VALUES (?, 2, ?)", (r, 5000 * (1 + .02 * random.gauss(0, 1))))
                    if job == "udp0":
                        q("INSERT INTO value VALUES (?, 3, 1)", (r,))
build("a" * 40, 1000)
build("b" * 40, 970)
build("c" * 40, 970, ("sockfd0", "udp0"))
build("d" * 40, 970, ("sockfd0", "udp0"), bad=2)
build("e" * 40, 970, ("udp0",))
build("0" * 40, 970, boots=0)
for i in range(30):
    build("f%039x" % i, 2000 if i < 15 else 2100, boots=2)
db.commit()
PY
/usr/bin/python3 "$dir/fill.py" "$dir/state/kperfbot.db" 2>"$dir/err"
ok $? "filled with runs"

run compare aaaaaaaa bbbbbbbb --json
json 'r["stress-ng.sockfd.ops_per_sec"]["verdict"] == "changed" and -3.6 < r["stress-ng.sockfd.ops_per_sec"]["effect"] < -2.4' "a change between two commits"
json 'd["tree"] == "net-next" and d["job"] == "sockfd" and d["machine"] == "vm" and d["builds"][0]["commit"] == "a" * 40' "says where it was measured"
json 'r["vmstat.system.cs"]["boots"] == [6, 6] and r["vmstat.system.cs"]["n"] == [12, 12] and d["between_boot_share"] is not None' "boots and runs are told apart"
run compare aaaaaaaa bbbbbbbb
has "kconfig/nr_threads/tbox_group/test/testcase:" "LKP's axes, sorted"
has "  vm-net/100%/vm/sock-fd/stress-ng" "... and their values"
/usr/bin/python3 - "$dir/state/kperfbot.db" <<'PY' 2>"$dir/err"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for commit, words in ("a", "at the limit: 14854233 pkt/s are 99.8% of the 14880952 that 10000 Mb/s carry"), ("b", "70%"):
    for (run,) in db.execute("SELECT run.id FROM run JOIN build ON build.id = build WHERE commit_oid = ?", (commit * 40,)).fetchall():
        db.execute("INSERT INTO run_check VALUES (?, 'line-rate', ?, ?, ?)",
                   (run, "unknown" if commit == "a" else "pass", words, commit == "a"))
        last = run
db.execute("UPDATE run SET verdict = 'untrusted', cause = 'generator: x' WHERE id = ?", (last,))
db.execute("INSERT INTO run_check VALUES (?, 'generator', 'fail', 'offered 100, \x1b[1mreceived 100', 0)", (last,))
db.commit()
PY
ok $? "some runs were at the limit of the link, one had a slow generator"
run compare aaaaaaaa bbbbbbbb --json
json 'r["stress-ng.sockfd.ops_per_sec"]["n"] == [12, 11]' "the untrusted run is not used"
json 'd["validity"][0].startswith("aaaaaaaaaaaa: line-rate capped in 12 of 12 runs") and "at the limit" in d["validity"][0]' "the limit is told"
json '"bbbbbbbbbbbb: generator failed in 1 of 1 runs" in d["validity"][1]' "so is the failed check"
json '"bbbbbbbbbbbb: reach unknown" in d["validity"][2] and len(d["validity"]) == 3' "nobody has looked whether the change was reached"
run compare aaaaaaaa bbbbbbbb --table
has "line-rate capped in 12 of 12 runs" "in the table, too"
! grep -q "$(printf '\033')\[1m" "$dir/out"; ok $? "without escapes"
run compare cccccccc dddddddd --json
[ "$status" = 2 ]; ok $? "two jobs: ambiguous"
has "--job=udp0" "... the choices are listed" err
run compare cccccccc dddddddd --job udp --json
ok "$status" "... and one can be chosen by name"
json 'r["last_state.crashed"]["mean"][1] > 0 and r["last_state.crashed"]["boots"] == [12, 12]' "crashes are counted over all runs"
json 'r["only.udp"]["n"] == [12, 8]' "... and give no values"
run compare aaaaaaaa eeeeeeee
[ "$status" = 3 ]; ok $? "no job in common: not found"
run compare aaaaaaaa 00000000
[ "$status" = 3 ]; ok $? "no runs: not found"
has "has no runs yet" "... and says so" err
run compare main main~1
[ "$status" = 3 ]; ok $? "revisions of a tree that was not fetched: not found"
has "tree 'net-next' was not fetched yet; 'kperfbot tree fetch net-next'" "... and what to do" err
run compare other:main aaaaaaaa
has "tree 'net-next' was not fetched yet" "a name before a colon that is no tree" err
run tree add other https://example.org/other.git
run compare main aaaaaaaa
[ "$status" = 2 ]; ok $? "a revision where there are two trees"
has "write NAME:main or --tree NAME (net-next, other)" "... asks for one" err
run compare aaaaaaaa bbbbbbbb cccccccc --json
json 'len(r["stress-ng.sockfd.ops_per_sec"]["q"]) == 2' "three commits"
run compare aaaaaaaa bbbbbbbb --history 0 --json
cp "$dir/out" "$dir/none.json"
run compare aaaaaaaa bbbbbbbb --json
json 'r["vmstat.system.cs"]["interval"] != {x["metric"]: x for x in json.load(open(sys.argv[2][:-3] + "none.json"))["rows"]}["vmstat.system.cs"]["interval"]' "earlier builds sharpen the spread"

run detect --metric stress-ng.sockfd.ops_per_sec --job sockfd --json
ok "$status" "detect on a stored series"
json 'any(c["commit"] == "f%039x" % 15 and 4 < c["change_pct"] < 6 for c in d["changepoints"])' "finds the step and its commit"
run detect --metric stress-ng.sockfd.ops_per_sec
has "--job=udp0" "two jobs: the choices are listed" err
run detect --metric no.such
[ "$status" = 3 ]; ok $? "no such metric: not found"

# what measured belongs to a result: other files in the image of one side, of some runs of a side, or of one stretch of
# the series
cat >"$dir/setups.py" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
q = db.execute
def setup(text):
    q("INSERT OR IGNORE INTO setup (text) VALUES (?)", (text,))
    return q("SELECT id FROM setup WHERE text = ?", (text,)).fetchone()[0]
def text(bench, compiler="gcc 12"):
    return "compiler\t%s\nfile usr/bin/stress-ng\t%s\nmachine\tQEMU 7.2\nroot image\t%s%s\n" % (compiler, bench, bench, bench)
def measured(commit, texts):
    runs = q("SELECT run.id FROM run JOIN build ON build.id = run.build WHERE commit_oid = ? ORDER BY run.id", (commit,)).fetchall()
    for i, (r,) in enumerate(runs):
        q("INSERT OR REPLACE INTO run_setup VALUES (?, ?)", (r, setup(texts[i * len(texts) // len(runs)])))
measured("a" * 40, [text("0.15")])
measured("b" * 40, [text("0.16")])
measured("c" * 40, [text("0.15"), text("0.15", "gcc 13"), text("0.15")])
for i in range(30):
    measured("f%039x" % i, [text("0.15" if i < 15 else "0.16")])
db.commit()
PY
/usr/bin/python3 "$dir/setups.py" "$dir/state/kperfbot.db" 2>"$dir/err"
ok $? "setups"
run compare aaaaaaaa bbbbbbbb --table
has "bbbbbbbbbbbb was measured in another way than the first, which may be the only difference: files that measure: usr/bin/stress-ng 0.15 -> 0.16" \
	"another benchmark on one side is named"
run compare aaaaaaaa bbbbbbbb --lkp
has "usr/bin/stress-ng 0.15 -> 0.16" "also beside LKP's table" err
run compare aaaaaaaa cccccccc --json --job sockfd
json 'any("cccccccccccc was measured in 2 ways: compiler gcc 12 -> gcc 13" in x for x in d["validity"])' \
	"two compilers on one side, too"
run compare aaaaaaaa bbbbbbbb --metric vmstat.system.cs --json
json 'sum("in another way" in x for x in d["validity"]) == 1' "once"

run detect --metric stress-ng.sockfd.ops_per_sec --job sockfd --json
json 'any(c["commit"] == "f%039x" % 15 and "usr/bin/stress-ng 0.15 -> 0.16" in (c["measured_otherwise"] or "") for c in d["changepoints"])' \
	"a step where the benchmark changed is not the commit's"
json 'd["setups"] == 3 and all(c["measured_otherwise"] or c["commit"] != "f%039x" % 15 for c in d["changepoints"])' \
	"and only that is said"
run detect --metric stress-ng.sockfd.ops_per_sec --job sockfd --csv
has "measured otherwise from here" "in the table, too"
echo "1..$n"
