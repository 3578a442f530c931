#!/bin/bash
# Stored series: a level that only the last commits have is answered by more boots, then by a comparison and a case.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org

git init -q -b main "$dir/src"
printf 'bench: bench.sh\n\tcp bench.sh bench && chmod +x bench\n' >"$dir/src/Makefile"
commit() { # NUMBER RATE
	printf '#!/bin/sh\n# %s\necho "ops_per_sec: %s.$((KPB_PERTURB * 7 %% 5))"\n' "$1" "$2" >"$dir/src/bench.sh"
	git -C "$dir/src" add -A && git -C "$dir/src" commit -q -m "core: step $1"
}
for i in $(seq 1 16); do commit "$i" 1000; done
before=$(git -C "$dir/src" rev-parse HEAD)
git -C "$dir/src" checkout -q -b side HEAD~3; commit side 1000; side=$(git -C "$dir/src" rev-parse HEAD)
git -C "$dir/src" checkout -q main
commit 17 950; culprit=$(git -C "$dir/src" rev-parse HEAD)
commit 18 950; commit 19 950

mkdir "$dir/etc"
cp tests/demo/local-bench.yaml "$dir/etc/"
config() { # DETECT_BOOTS
	cat >"$dir/etc/kperfbot.yaml" <<-EOF2
	state_dir: $dir/state
	$(sandbox_line)
	cache_dir: $dir/cache
	min_free_mb: 0
	judge: {min_effect: 0.01, detect_boots: $1}
	mail: {mbox: $dir/mbox}
	trees:
	  small: {url: "$dir/src", branches: [main], program: true, artefact: bench, machine: local, jobs: [local-bench], interval: 1h}
	EOF2
}
config 0
kp run local-bench --commit "$before" -n 1 >"$dir/log" 2>&1; ok $? "a first run, which makes the database"
kp daemon --until-idle >>"$dir/log" 2>&1
# the rest of the history: two boots of each commit
git -C "$dir/src" log --format=%H main >"$dir/oids"; echo "$side" >>"$dir/oids"
/usr/bin/python3 - "$dir" "$culprit" <<'PY' 2>"$dir/out"
import sqlite3, subprocess, sys
where, culprit = sys.argv[1:]
db = sqlite3.connect(where + "/state/kperfbot.db")
q = db.execute
tree, kconfig, chain, first = q("SELECT tree, kconfig, toolchain, time FROM build").fetchone()
job, machine, metric = q("SELECT job, machine, metric FROM run JOIN value ON value.run = run.id JOIN metric ON metric.id = metric "
                         "WHERE name = 'command.ops_per_sec'").fetchone()
have = q("SELECT commit_oid FROM build").fetchone()[0]
oids = open(where + "/oids").read().split()
line = oids[:-1]
bad = set(line[:line.index(culprit) + 1])
t = first - 10**9
for oid in reversed(oids):
    b = q("SELECT id FROM build WHERE commit_oid = ?", (oid,)).fetchone()
    b = b[0] if b else q("INSERT INTO build (tree, commit_oid, kconfig, state, image_hash, toolchain, time) VALUES (?, ?, ?, 'ok', ?, ?, ?)",
                         (tree, oid, kconfig, oid, chain, t)).lastrowid
    for i in range(2):
        t += 10**6
        r = q("INSERT INTO run (build, job, machine, boot, replicate, verdict, started, seconds) VALUES (?, ?, ?, ?, ?, 'ok', ?, 1)",
              (b, job, machine, "old-%s-%d" % (oid[:8], i), 50 + i, t)).lastrowid
        q("INSERT INTO value VALUES (?, ?, ?)", (r, metric, (950 if oid in bad else 1000) + (t // 10**6 * 7 % 5) / 2))
db.commit()
PY
ok $? "a history of 19 commits and one beside"

kp detect --metric command.ops_per_sec --json >"$dir/det.json" 2>"$dir/out"; ok $? "detect"
is "$(field "$dir/det.json" '[(c["commit"], c["provisional"]) for c in o["changepoints"]]')" "[('$culprit', True)]" "a provisional point"
is "$(field "$dir/det.json" '(o["branch"], o["beside"])')" "('main', 1)" "in the order of the branch, without what stands beside it"
kp detect --metric command.ops_per_sec --branch nosuch >"$dir/out" 2>&1; is $? 3 "no such branch"
kp daemon --until-idle >>"$dir/log" 2>&1
kp query events --csv >"$dir/out" 2>&1
is "$(grep -c 'may have changed' "$dir/out")" 0 "detect_boots: 0 leaves it alone"

config 3
kp detect --metric command.ops_per_sec --ask >"$dir/out" 2>&1; ok $? "detect --ask"
has "$dir/out" "may have changed by -"
has "$dir/out" "at ${culprit:0:12}: 3 more boots of it and of ${before:0:12}"
kp daemon --until-idle >>"$dir/log" 2>&1; ok $? "the daemon boots, and goes on by itself"
kp query events --csv >"$dir/out" 2>&1
is "$(grep -c 'may have changed' "$dir/out")" 1 "more boots are asked for once"
has "$dir/out" "at ${culprit:0:12}: comparing it with ${before:0:12}"
is "$(case_field state)" unmailed "the comparison makes a case, which is not mailed: it was asked by hand"
is "$(mails)" 0 "the mbox has nothing"
is "$(case_field culprit)" "$culprit" "of that commit"
kp sql "SELECT count(*) FROM task" --csv >"$dir/before" 2>&1
kp detect --metric command.ops_per_sec --ask >"$dir/out" 2>&1
has "$dir/out" "nothing to ask"
kp daemon --until-idle >>"$dir/log" 2>&1
kp sql "SELECT count(*) FROM task" --csv >"$dir/out" 2>&1
cmp -s "$dir/before" "$dir/out"; ok $? "and that is the end of it"
kp case reopen 1 --mail >"$dir/out" 2>&1; ok $? "case reopen --mail"
kp daemon --until-idle >>"$dir/log" 2>&1
is "$(case_field state) $(mails)" "reported 1" "mails it"
kp queue list --all >"$dir/out" 2>&1; ok $? "queue list --all"
[ -z "$(awk 'length($0) > 100' "$dir/out")" ]; ok $? "fits a screen of 100 columns"
has "$dir/out" "small ${culprit:0:10} boot "
has "$dir/out" "case 1 by mbox"
done_testing
