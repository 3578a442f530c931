#!/bin/bash
# case and report: the verbs, on a database with one found case in it and a git tree beside.
cd "$(dirname "$0")/../.." || exit 1
kperfbot=$(realpath "${KPERFBOT:-build/kperfbot}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export KPERFBOT_STATE="$dir/state" KPERFBOT_CACHE="$dir/cache" KPERFBOT_CONFIG="$dir/etc" GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' "$dir/out"; fi; }
k() { "$kperfbot" "$@" >"$dir/out" 2>&1; }
has() { grep -qF -- "$1" "$dir/out"; ok $? "says: $1"; }

mkdir "$dir/etc" "$dir/state" "$dir/state/trees"
printf 'mail:\n  robot_name: kperfbot\n  mbox: %s/box\n  robot_address: bot@robot.example.org\n' "$dir" >"$dir/etc/kperfbot.yaml"
git init -q -b main "$dir/src"
for i in 1 2 3; do
	echo "$i" >"$dir/src/f"
	git -C "$dir/src" add -A
	git -C "$dir/src" commit -q -m "core: step $i"
done
git clone -q --bare "$dir/src" "$dir/state/trees/t.git"
good=$(git -C "$dir/src" rev-parse HEAD~2) bad=$(git -C "$dir/src" rev-parse HEAD~1) tip=$(git -C "$dir/src" rev-parse HEAD)

k case list; [ $? != 0 ]; ok $? "without a database there is nothing to list"
has "there is no database"
k queue cancel 1 # makes the database
/usr/bin/python3 - "$dir" "$good" "$bad" "$tip" <<'PY'
import json, sqlite3, sys
where, good, bad, tip = sys.argv[1:]
d = sqlite3.connect(where + "/state/kperfbot.db")
d.execute("PRAGMA foreign_keys = ON")
d.execute("INSERT INTO tree(id, name, url, kind, settings) VALUES (1, 't', ?, 'program', ?)",
          (where + "/src", json.dumps({"build_command": "make", "artefact": "f"})))
d.execute("INSERT INTO machine(id, name, driver, tbox_group) VALUES (77, 'm', 'local', 'local')")
d.execute("INSERT INTO job VALUES ('0123456789abcdef', 'j', 'command', '{}', ?, 'true\n')", (json.dumps({"run": "x"}),))
d.execute("INSERT INTO metric VALUES (1, 'command.speed', 'ops/s', 1, 1)")
d.execute("INSERT INTO comparison(id, tree, branch, base, head, kconfig, job, machine, state, created) "
          "VALUES (1, 1, 'main', ?, ?, 'program', '0123456789abcdef', 77, 'different', 1000000)", (good, tip))
for i, oid in ((1, good), (2, bad)):
    d.execute("INSERT INTO build(id, tree, commit_oid, kconfig, state, time) VALUES (?, 1, ?, 'program', 'ok', 1000000)", (i, oid))
    for j in range(6):
        cur = d.execute("INSERT INTO run(build, job, machine, boot, replicate, verdict, started, seconds) "
                        "VALUES (?, '0123456789abcdef', 77, ?, ?, 'ok', 1000000, 1)", (i, "b%d-%d" % (i, j), j))
        d.execute("INSERT INTO value VALUES (?, 1, ?)", (cur.lastrowid, (100 if i == 1 else 95) + j % 3 * 0.1))
proof = {"parent": good, "boots_parent": 6, "boots_culprit": 6, "mean_parent": 100.1, "mean_culprit": 95.1, "effect": -0.05,
         "lo": -0.0511, "hi": -0.0489, "p": 2e-7}
d.execute('INSERT INTO "case"(id, comparison, metric, state, confidence, effect, effect_lo, effect_hi, culprit, posterior, '
          "boots, builds, opened, changed) VALUES (1, 1, 1, 'found', 0.99, -0.0502, -0.052, -0.048, ?, 0.9993, 24, 3, 1000000, 2000000)",
          (bad,))
d.execute('INSERT INTO proof("case", commit_oid, state, %s) VALUES (1, ?, \'shown\', %s)' % (", ".join(proof), ", ".join("?" * len(proof))),
          (bad, *proof.values()))
d.execute("INSERT INTO event(time, \"case\", text) VALUES (1500000, 1, 'something happened\x1b[2J')")
d.commit()
PY
ok $? "a found case"

k case list; ok $? "case list"
has "command.speed"
k case show 1; ok $? "case show"
has "case 1"
has "(\"core: step 2\")"
has "0.9993 of 0.99 asked for"
has "-5.00% (-5.11% to -4.89%), p = 2e-07, 6 boots of the parent and 6 of the commit in turns"
has "24 boots, 3 builds"
has 'something happened\x1b[2J'
has "kperfbot compare ${good:0:12} ${bad:0:12}"
[ "$(wc -l <"$dir/out")" -le 45 ]; ok $? "on one screen"
k case show 1 --json && /usr/bin/python3 -c "
import json, sys
o = json.load(open(sys.argv[1]))
assert o['culprit'] == sys.argv[2] and o['effect' if 'effect' in o else 'change'] == -0.0502 and o['boots'] == 24, o
assert o['events'][0]['event'].startswith('something'), o" "$dir/out" "$bad"; ok $? "the same as JSON"
k --config "$dir/etc" --state "$dir/state" case show 1
has "kperfbot --config $dir/etc --state $dir/state compare ${good:0:12} ${bad:0:12}"
k case show 2; [ $? = 3 ]; ok $? "no such case: status 3"
k case show two; [ $? = 2 ]; ok $? "no number: status 2"

k report show 1; [ $? = 3 ]; ok $? "no report yet: status 3"
has "report render 1"
k report render 1; ok $? "report render"
has "kperfbot noticed a 5.0% regression of command.speed on:"
has "X-kperfbot-would-go-to: Ann <ann@example.org>"
has "-5.0%"
[ ! -e "$dir/state/cases/case-1" ] && [ ! -e "$dir/box" ]; ok $? "which leaves nothing behind"
k report send 1; ok $? "report send"
has "report of case 1 is in $dir/box"
k report send 1; ok $? "once more"
k report send 1 --force; [ $? = 1 ]; ok $? "by force: refused"
has "was sent by mbox already"
/usr/bin/python3 -c "
import mailbox, sys
b = mailbox.mbox(sys.argv[1], create=False)
assert len(b) == 1 and b[0]['Subject'] == sys.argv[2], (len(b), b[0]['Subject'])
assert b[0]['To'] == 'kperfbot <bot@robot.example.org>', b[0]['To']
assert '-5.0%' in b[0].get_payload()" "$dir/box" "[t:main] [core]  ${bad:0:10}:  command.speed 5.0% regression" >"$dir/out" 2>&1
ok $? "the mbox holds one mail"
k report send 1 --smtp; [ $? = 1 ]; ok $? "SMTP is off by default"
has "smtp is switched off"
sh -n "$dir/state/cases/case-1/reproduce.sh"; ok $? "the case has its script"
k report show 1 --json && /usr/bin/python3 -c "
import json, sys
o = json.load(open(sys.argv[1]))
assert o['recipients'][0] == {'address': 'ann@example.org', 'name': 'Ann', 'header': 'To', 'reason': 'author of ' + sys.argv[2][:10],
                              'allowed': False}, o" "$dir/out" "$bad"; ok $? "report show --json"

k case ignore 1; [ $? = 2 ]; ok $? "ignore wants a reason"
k case ignore 1 --why 'wanted: adds a check'; ok $? "case ignore"
k case show 1; has "wanted: adds a check"
grep -q '^state *ignored' "$dir/out"; ok $? "is ignored"
k case reopen 1; ok $? "case reopen"
has "case 1 is found now"
k case reopen 1; [ $? = 2 ]; ok $? "which is open already"
echo "1..$n"
