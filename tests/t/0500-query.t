#!/bin/sh
# query and sql on a small database: three forms from one call, wrong words, nothing but reading.
K=$(realpath "${KPERFBOT:-build/kperfbot}")
D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT
export KPERFBOT_STATE="$D/state" KPERFBOT_CONFIG="$D/etc"
mkdir -p "$D/etc"
n=0
t() { # t NAME COMMAND...: ok when the command succeeds
	n=$((n + 1)); name=$1; shift
	if "$@" >"$D/log" 2>&1; then echo "ok $n - $name"; else echo "not ok $n - $name"; sed 's/^/# /' "$D/log"; fi
}
says() { # says CODE TEXT ARGS...: exit code and words of kperfbot ARGS
	code=$1 text=$2; shift 2
	"$K" "$@" >"$D/out" 2>&1; got=$?
	[ $got = "$code" ] && grep -qF -- "$text" "$D/out" || { echo "exit $got:"; cat "$D/out"; return 1; }
}

t 'no database: exit 3' says 3 'no database' query runs
t 'a tree makes one' "$K" tree add net-next git://example.org/net-next
/usr/bin/python3 - "$D/state/kperfbot.db" <<'PY' || echo "Bail out! cannot fill the database"
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("INSERT INTO machine (id, name, driver, tbox_group) VALUES (50, 'vm9', 'qemu', 'vm-1c')")
c.execute("INSERT INTO job VALUES ('0123456789abcdef', 'sockfd', 'stress-ng', '{}', '{}', '#!/bin/sh')")
c.execute("INSERT INTO metric VALUES (1, 'a.ops', 'ops/s', 1, 1), (2, 'a.ns', 'ns', -1, 0)")
tree = c.execute("SELECT id FROM tree WHERE name = 'net-next'").fetchone()[0]
for b in (1, 2):
    c.execute("INSERT INTO build (id, tree, commit_oid, kconfig, state, time, error) VALUES (?, ?, ?, 'vm-min', 'ok', ?, ?)",
              (b, tree, "%d" % b * 40, b * 10**15, 'a "quoted", \x1b[31m text' if b == 1 else None))
    for i in range(3):
        r = c.execute("INSERT INTO run (build, job, machine, boot, replicate, verdict, started, seconds) "
                      "VALUES (?, '0123456789abcdef', 50, ?, 0, ?, ?, 5)",
                      (b, "b%d" % i, 'ok' if i else 'crashed', b * 10**15 + i)).lastrowid
        if i:
            c.execute("INSERT INTO value VALUES (?, 1, ?), (?, 2, 7.5)", (r, 100 * b + i, r))
c.commit()
PY
# j PYTHON ARGS...: the expression about x, the JSON that kperfbot ARGS prints
j() { expr=$1; shift; "$K" "$@" --json 2>"$D/err" | /usr/bin/python3 -c "import json, sys; x = json.load(sys.stdin); assert $expr, x"; }

t 'series: a row per commit, crashed runs left out' \
	j '[(r["commit"][0], r["boots"], r["mean"]) for r in x] == [("1", 2, 101.5), ("2", 2, 201.5)]' query series --metric a.ops
t 'JSON has whole commit ids' j 'all(len(r["commit"]) == 40 for r in x)' query builds
t 'metrics with direction and count' j '[(r["metric"], r["better"], r["runs"]) for r in x] == [("a.ns", "lower", 4), ("a.ops", "higher", 4)]' query metrics
t 'runs by verdict and commit' j 'len(x) == 1 and x[0]["verdict"] == "crashed"' query runs --verdict crashed --commit 111111
t 'limit keeps the newest' j '[r["id"] for r in x] == [5, 6]' query runs -n 2
t 'CSV parses, text comes back, control characters as text' sh -c '"$0" query builds --csv | /usr/bin/python3 -c "
import csv, sys
r = list(csv.DictReader(sys.stdin, strict=True))
assert len(r) == 2 and r[0][\"error\"] == \"a \\\"quoted\\\", \\\\x1b[31m text\", r"' "$K"
t 'the terminal gets no escapes' sh -c '! "$0" query builds | grep -q "$(printf "\033")"' "$K"
t 'the terminal has short ids' sh -c '"$0" query builds | grep -q " 111111111111 "' "$K"
for q in runs checks metrics builds cases trees machines queue events; do t "query $q" "$K" query $q; done
t 'an empty answer is an empty list' j 'x == []' query cases
t 'wrong question' says 2 "did you mean 'series'" query serie
t 'wrong tree' says 3 "did you mean 'net-next'" query runs --tree net-nxt
t 'wrong verdict' says 2 "did you mean 'crashed'" query runs --verdict crash
t 'filter that does not fit' says 2 '--state does not fit' query runs --state ok
t 'series without metric' says 2 'needs --metric' query series
t 'unknown option' says 2 "did you mean '--metric'" query series --metrik x
t 'errors as JSON' j '"did you mean" in x["error"]' query runz
t 'sql reads' j 'x[0]["n"] == 8' sql 'SELECT count(*) AS n FROM v_points'
t 'sql does not write' says 2 'only reading' sql 'DELETE FROM run'
t 'two statements are refused' says 2 'one statement only' sql 'SELECT 1; SELECT 2'
t 'a wrong statement says why' says 2 'no such table: runs' sql 'SELECT * FROM runs'
t 'nothing was lost' j 'len(x) == 6' query runs
echo "1..$n"
