#!/bin/bash
# Patch series as an axis: the 2x2 matrix of a parameter and a series is measured in turns, compared as four columns, and
# bisected down to the patch. Series that do not apply, or that are hostile, end with words and leave nothing.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

mkdir -p "$dir/etc" "$dir/work"
as() { git -C "$dir/work" -c user.name="$1" -c user.email="$1@example.org" commit -qam "$2"; }
git init -q -b main "$dir/work"
cat >"$dir/work/bench.sh" <<'SH'
#!/bin/sh
# Its speed, what "--rps" adds to it, and some noise.
speed=100000 rps=4000
[ "$1" = --rps ] && speed=$((speed + rps))
echo "ops_per_sec: $((speed + $(od -An -N2 -tu2 /dev/urandom) % 401 - 200))"
SH
printf 'bench: bench.sh\n\tcp bench.sh bench\n\tchmod +x bench\n' >"$dir/work/Makefile"
git -C "$dir/work" add .
as ann "the base"
git clone -q --bare "$dir/work" "$dir/up.git"
echo >"$dir/work/NOTES"; git -C "$dir/work" add NOTES
as bob "notes: say nothing"
sed -i s/speed=100000/speed=97000/ "$dir/work/bench.sh"
as bob 'bench: take care $(touch pwned) `id`'
echo more >>"$dir/work/NOTES"
as bob "notes: say more"
git -C "$dir/work" format-patch -q --cover-letter --stdout main~3..main >"$dir/etc/care.mbox"
git -C "$dir/work" format-patch -q -o "$dir/care" main~3..main >/dev/null
base=$(git --git-dir "$dir/up.git" rev-parse main) url=$dir/up.git
sed 's/^-speed=100000/-speed=123456/' "$dir/etc/care.mbox" >"$dir/other.mbox"
printf 'From: Eve <eve@example.org>\nSubject: [PATCH] \033]0;owned\007 $(touch pwned)\n\n---\n--- /dev/null\n+++ b/../../x\n@@ -0,0 +1 @@\n+x\n' >"$dir/eve.patch"
cat >"$dir/etc/sink.yaml" <<'YAML'
monitors: []
patches: [none, care.mbox]
command:
  kpi: ops_per_sec
  run: ['"$KPB_ARTEFACT"', '"$KPB_ARTEFACT" --rps']
YAML
local_config
sed -i 's/jobs: .*/jobs: [sink]/' "$dir/etc/kperfbot.yaml"

kp job expand "$dir/etc/sink.yaml" --json >"$dir/out" 2>&1; ok $? "job expand"
kp job show "$dir/etc/sink.yaml" --json >"$dir/job.json"
is "$(field "$dir/job.json" '[(j["point"].endswith("+care"), "--rps" in j["params"]["run"]) for j in o]')" \
	"[(False, False), (False, True), (True, False), (True, True)]" "four points: plain, +RPS, +patch, +patch+RPS"
is "$(field "$dir/job.json" 'o[0]["id"] == o[2]["id"] and o[1]["id"] == o[3]["id"] and len({j["point"] for j in o})')" 4 \
	"the series is no part of the job's identity, but of the point's name"
kp job render "$dir/etc/sink.yaml" 'run=$KPB_ARTEFACT' patches=none | sh -n; ok $? "job render with key=value"
kp run sink --commit main >"$dir/out" 2>&1; is $? 2 "run wants one point"
has "$dir/out" "--matrix"

kp run sink --commit main --matrix -n 4 --json >"$dir/run.json" 2>"$dir/log"; ok $? "run --matrix"
is "$(field "$dir/run.json" '[(p["boots"], p["failed"]) for p in o]')" "[(4, 0), (4, 0), (4, 0), (4, 0)]" "measures all four"
is "$(field "$dir/run.json" '[round(p["mean"] / 1000) for p in o]')" "[100, 104, 97, 101]" "each with its own figures"
patched=$(field "$dir/run.json" 'o[2]["commit"]')
kp query runs --json >"$dir/runs.json"
is "$(field "$dir/runs.json" '["%s%s" % (r["patches"] or "", "+" * r["job"].endswith("rps")) for r in o]')" \
	"['', '+', 'care', 'care+', 'care+', 'care', '+', '', '', '+', 'care', 'care+', 'care+', 'care', '+', '']" \
	"in turns, forth and back, and the database tells them apart"
kp query patches --json >"$dir/out"
is "$(field "$dir/out" '[(p["base"], p["patches"], p["count"], p["commit"], p["runs"]) for p in o]')" \
	"[('$base', 'care', 3, '$patched', 8)]" "query patches"

kp compare --matrix sink main --json >"$dir/cmp.json" 2>"$dir/out"; ok $? "compare --matrix"
is "$(field "$dir/cmp.json" '[b["label"].replace("run=\"$KPB_ARTEFACT\"", "").strip() for b in o["builds"]]')" \
	"['', '--rps', '+care', '+care  --rps']" "four columns"
is "$(field "$dir/cmp.json" '[(round(e), v) for r in o["rows"] for e, v in zip(r["effect"], r["verdict"])]')" \
	"[(4, 'changed'), (-3, 'changed'), (1, 'changed')]" "each against the first"
kp compare --matrix sink main >"$dir/out" 2>&1
has "$dir/out" '+care run="$KPB_ARTEFACT" --rps: '"${patched:0:10} (\"care, 3 patches on ${base:0:12}\")"
grep -Eq '^ +"[$]KPB_ARTEFACT" +"[$]KPB_ARTEFACT" --rps +[+]care/"[$]KPB_ARTEFACT" +[+]care/"[$]KPB_ARTEFACT" --rps' "$dir/out"
ok $? "LKP's table has them as heads, in short"
! grep -q '/run/' "$dir/out"; ok $? "what differs is no axis of the whole"
kp compare --matrix sink main --runs --csv >"$dir/out" 2>&1
is "$(grep -c "^\"'+care" "$dir/out"), $(grep -c 'Run 4' "$dir/out")" "12, 4" \
	"--runs: each run, average and delta of each variant"
kp compare --matrix sink main --averages --csv >"$dir/out" 2>&1
is "$(grep -c Average "$dir/out"), $(wc -l <"$dir/out")" "4, 5" "--averages: a line for each"
kp compare 'main@run="$KPB_ARTEFACT"' 'main@run="$KPB_ARTEFACT" --rps' 'main+care@run="$KPB_ARTEFACT"' \
	"${base:0:8}+care@run=\"\$KPB_ARTEFACT\" --rps" --json >"$dir/cmp2.json" 2>"$dir/out"
cmp "$dir/cmp.json" "$dir/cmp2.json" >/dev/null; ok $? "the same, column by column"
kp compare --matrix sink main 'run="$KPB_ARTEFACT"' --patches none --patches "$dir/care" --json >"$dir/out" 2>&1
is "$(field "$dir/out" '[b["label"] for b in o["builds"]], round(o["rows"][0]["effect"])')" "(['plain', '+care'], -3)" \
	"a matrix changed on the command line, as for run"
kp compare main main+care >"$dir/out" 2>&1; is $? 2 "two ways: choose one"
kp compare main main+care --job "$(field "$dir/job.json" 'o[1]["id"]')" --json >"$dir/out" 2>&1
is "$(field "$dir/out" '[b["label"] for b in o["builds"]], round(o["rows"][0]["effect"])')" "(['plain', '+care'], -3)" "one job: plain and patched"
kp compare main main@nosuchjob >"$dir/out" 2>&1; is $? 3 "a job that it was not measured with"
kp compare main main+nosuch >"$dir/out" 2>&1; is $? 3 "a series that was not applied"
has "$dir/out" "'nosuch' was never applied"

kp build main --patches "$dir/care" --json >"$dir/build.json" 2>"$dir/out"; ok $? "build --patches: a folder of patches"
is "$(field "$dir/build.json" 'o["commit"], o["cached"]')" "('$patched', True)" "the same series gives the same commit, built already"
kp run sink 'run=$KPB_ARTEFACT' --commit main --patches "$dir/care" -n 1 >"$dir/out" 2>&1; ok $? "run --patches"
kp run sink --commit main --matrix --patches none --patches "$dir/care" -n 1 --json >"$dir/run.json" 2>"$dir/log"; ok $? "as an axis by hand"
is "$(field "$dir/run.json" '[(p["boots"], p["commit"] == "'"$patched"'") for p in o]')" "[(5, False), (5, False), (5, True), (5, True)]" \
	"goes on from what is there"

kp run sink --matrix --commit main --patches "$dir/other.mbox" >"$dir/out" 2>&1; is $? 1 "a series that does not apply"
has "$dir/out" "mail 3 (other.mbox, \"bench: take care \$(touch pwned) \`id\`\") does not apply on ${base:0:12}: patch failed: bench.sh:"
kp build main --patches "$dir/eve.patch" >"$dir/out" 2>&1; is $? 1 "a hostile one"
has "$dir/out" "invalid path"
! grep -q "$(printf '[\033\007]')" "$dir/out"; ok $? "the terminal is safe"
kp run sink --matrix --commit main --patches "$dir/none.mbox" >"$dir/out" 2>&1; ok $((! $?)) "no such file"
[ -z "$(find "$dir" -name pwned)" ] && [ ! -e "$dir/state/trees/small.git.patching" ]; ok $? "no shell has run, no folder is left"
is "$(git --git-dir "$dir/state/trees/small.git" for-each-ref refs/kperfbot/patched | wc -l)" 2 "and no reference to them"

job=$(field "$dir/job.json" 'o[0]["name"]')
kp bisect main main+care --job "$job" --mail --json >"$dir/bisect.json" 2>"$dir/log"; ok $? "bisect over the series"
is "$(git --git-dir "$dir/state/trees/small.git" log -1 --format=%an,%s "$(field "$dir/bisect.json" 'o["cases"][0]["culprit"]')")" \
	'bob,bench: take care $(touch pwned) `id`' "names the patch"

mail() { /usr/bin/python3 -c 'import mailbox,sys; print(mailbox.mbox(sys.argv[1])[int(sys.argv[2])].get_payload(decode=True).decode())' "$dir/mbox" "$1"; }
mail 0 >"$dir/out" 2>&1
has "$dir/out" "patch 2 of 3 of the patch series care, applied on $base of"
! grep -q kperfbot@localhost "$dir/mbox"; ok $? "who applied it is nobody to write to"
kp case show 1 >"$dir/out" 2>&1
has "$dir/out" "care, patch 2 of 3 on ${base:0:12}"
script=$(find "$dir/state/cases" -name reproduce.sh)
(mkdir "$dir/again" && cd "$dir/again" && BOOTS=2 sh "$script") >"$dir/out" 2>&1; ok $? "the reproduce script makes the commits anew"
grep -Eq '^change +-[23]\.[0-9]+%' "$dir/out"; ok $? "and finds the same"

# A watched tree's series is asked about on each new head.
sed -i "s/jobs: .*/jobs: [one]/; /jobs:/a\    patches: [none, care.mbox, other.mbox]" "$dir/etc/kperfbot.yaml"
cp "$dir/other.mbox" "$dir/etc/"
grep -v patches: "$dir/etc/sink.yaml" | sed 's/run:.*/run: "$KPB_ARTEFACT --rps"/' >"$dir/etc/one.yaml"
git -C "$dir/work" checkout -q main~3; echo new >"$dir/work/README"; git -C "$dir/work" add README; as ann "readme"
git -C "$dir/work" push -q "$dir/up.git" HEAD:main
kp daemon --until-idle >"$dir/log" 2>&1; ok $? "the daemon sees a new head"
kp sql "SELECT base, head, state FROM comparison WHERE branch = 'main' ORDER BY id" --json >"$dir/cmp.json"
head=$(git --git-dir "$dir/up.git" rev-parse main)
is "$(field "$dir/cmp.json" '[(c["base"] == "'$base'", c["base"] == "'$head'", c["state"]) for c in o]')" \
	"[(True, False, 'same'), (False, True, 'different')]" "compares it with the old one, and the series on it with it"
kp query cases --json >"$dir/cases.json"
is "$(git --git-dir "$dir/state/trees/small.git" log -1 --format=%s "$(field "$dir/cases.json" 'o[-1]["culprit"]')")" \
	'bench: take care $(touch pwned) `id`' "and finds the patch"
kp query events --json >"$dir/events.json"
is "$(field "$dir/events.json" 'any("other.mbox" in e["event"] and "does not apply" in e["event"] for e in o)')" True "an event tells of the one that does not apply"

sed -i "s/patches: .*/patches: [none, nosuch.mbox]/" "$dir/etc/kperfbot.yaml"
kp query runs >"$dir/out" 2>&1; is $? 2 "a tree's series must be there"
has "$dir/out" "there is no patch series '$dir/etc/nosuch.mbox'"
done_testing
