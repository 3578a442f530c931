#!/bin/bash
# A stored series is in the order of the graph, whatever dates commits claim; and a step where what measures changed is
# no commit's: nothing is asked about it.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org

git init -q -b main "$dir/src"
printf 'bench: bench.sh\n\tcp bench.sh bench && chmod +x bench\n' >"$dir/src/Makefile"
printf '#!/bin/sh\necho "ops_per_sec: 1000"\n' >"$dir/src/bench.sh"
for i in $(seq 0 40); do
	date=$((1700000000 + 3600 * i)); [ "$i" = 30 ] && date=86400; [ "$i" = 33 ] && date=4000000000
	echo "$i" >"$dir/src/step"
	git -C "$dir/src" add -A
	GIT_AUTHOR_DATE="@$date +0000" GIT_COMMITTER_DATE="@$date +0000" git -C "$dir/src" commit -q -m "core: step $i"
done
git -C "$dir/src" log --format=%H main >"$dir/oids"
before=$(git -C "$dir/src" rev-parse main~20) first=$(git -C "$dir/src" rev-parse main~39)
mkdir "$dir/etc"
cp tests/demo/local-bench.yaml "$dir/etc/"
cat >"$dir/etc/kperfbot.yaml" <<EOF2
state_dir: $dir/state
$(sandbox_line)
cache_dir: $dir/cache
min_free_mb: 0
judge: {min_effect: 0.01}
mail: {mbox: $dir/mbox}
trees:
  small: {url: "$dir/src", branches: [main], program: true, artefact: bench, machine: local, jobs: [local-bench], interval: 1h}
EOF2
kp run local-bench --commit "$first" -n 1 >"$dir/log" 2>&1; ok $? "a first run, which makes the database"
cat >"$dir/fill.py" <<'PY'
import sqlite3, sys
where, what = sys.argv[1:]
db = sqlite3.connect(where + "/state/kperfbot.db")
q = db.execute
q("PRAGMA foreign_keys = ON")
tree, kconfig, chain, first = q("SELECT tree, kconfig, toolchain, time FROM build").fetchone()
job, machine, metric = q("SELECT job, machine, metric FROM run JOIN value ON value.run = run.id JOIN metric ON metric.id = metric "
                         "WHERE name = 'command.ops_per_sec'").fetchone()
setup = q("SELECT max(text) FROM setup").fetchone()[0]
old = q("INSERT INTO setup (text) VALUES (?)", (setup + "root image\told\n",)).lastrowid
new = q("INSERT INTO setup (text) VALUES (?)", (setup + "root image\tnew\n",)).lastrowid
line = open(where + "/oids").read().split()[::-1]
q("DELETE FROM run")
for i, oid in enumerate(line):
    if i in (0, 30):    # never measured
        continue
    b = q("SELECT id FROM build WHERE commit_oid = ?", (oid,)).fetchone()
    b = b[0] if b else q("INSERT INTO build (tree, commit_oid, kconfig, state, image_hash, toolchain, time) VALUES (?, ?, ?, 'ok', ?, ?, ?)",
                         (tree, oid, kconfig, oid, chain, first - 10**9)).lastrowid
    for k in range(2):
        r = q("INSERT INTO run (build, job, machine, boot, replicate, verdict, started, seconds) VALUES (?, ?, ?, ?, ?, 'ok', ?, 1)",
              (b, job, machine, "%s-%d" % (oid[:8], k), 50 + k, first - 10**9 + i)).lastrowid
        q("INSERT INTO value VALUES (?, ?, ?)", (r, metric, (900 if i > 20 else 1000) + (i * 7 + k * 3) % 5 / 2))
        if what == "image":
            q("INSERT INTO run_setup VALUES (?, ?)", (r, new if i > 20 else old))
db.commit()
PY
/usr/bin/python3 "$dir/fill.py" "$dir" image 2>"$dir/out"
ok $? "39 measured commits; the root image changes where the level does"
kp detect --metric command.ops_per_sec --json >"$dir/det.json" 2>"$dir/out"; ok $? "detect"
is "$(field "$dir/det.json" 'o["values"]')" 78 "sees all 39 commits in spite of the one of 1970"
next=$(git -C "$dir/src" rev-parse main~19)
is "$(field "$dir/det.json" '[(c["commit"], c["measured_otherwise"]) for c in o["changepoints"]]')" "[('$next', 'root image old -> new')]" \
	"the step is where the root image changed"
kp detect --metric command.ops_per_sec --ask >"$dir/out" 2>&1
has "$dir/out" "nothing to ask"
has "$dir/out" "40 boots that were measured otherwise than the newest are left out"
kp sql "SELECT count(*) FROM comparison WHERE base <> head" --csv >"$dir/out" 2>&1
is "$(tail -n 1 "$dir/out")" 0 "no comparison"

/usr/bin/python3 - "$dir" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1] + "/state/kperfbot.db")
db.execute("UPDATE run_setup SET setup = (SELECT max(id) FROM setup)")
db.commit()
PY
kp detect --metric command.ops_per_sec --json >"$dir/det.json" 2>"$dir/out"
is "$(field "$dir/det.json" '[(c["commit"], c["measured_otherwise"]) for c in o["changepoints"]]')" "[('$next', None)]" \
	"measured alike the step is the commit's"
kp detect --metric command.ops_per_sec --ask >"$dir/out" 2>&1
has "$dir/out" "has changed by -9.9"
has "$dir/out" "at ${next:0:12}: comparing it with ${before:0:12}"
done_testing
