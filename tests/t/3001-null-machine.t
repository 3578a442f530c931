#!/bin/bash
# The main job on a machine that invents its runs: what is built only says how fast it is and how often it fails, so
# that a slower commit and one that breaks something are found in seconds.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org

git init -q -b main "$dir/up"
commit() { # SPEED [FAILURE_RATE]
	echo "$*" >"$dir/up/speed"
	date +%s%N >"$dir/up/changed"
	git -C "$dir/up" add -A
	git -C "$dir/up" commit -q -m "$*"
	git -C "$dir/up" rev-parse HEAD
}
commit 1000 >"$dir/ids"
local_tree_config() {
	url=file://$dir/up
	local_config "$1"
	sed -i -e 's/artefact: .*/artefact: speed/' -e 's/machine: .*/machine: invented/' \
		-e 's/^    program: true/&\n    build_command: "true"/' "$dir/etc/kperfbot.yaml"
	sed -i 's/kpi: .*/kpi: ops_per_sec/; s/^monitors: .*/monitors: []/' "$dir/etc/local-bench.yaml"
}
# the daemon looks once more, if it is time to
poll() { kp daemon --until-idle >>"$dir/log" 2>&1; is_case "$@"; }
is_case() { # STATE CULPRIT
	kp query cases --json >"$dir/cases.json" 2>/dev/null
	[ "$(field "$dir/cases.json" '[c["state"] for c in o if c["culprit"] == "'"$2"'"]')" = "['$1']" ]
}
machine='machines:
  invented:
    driver: "null"
    seed: 7
    metric: ops_per_sec
    noise: 0.5
    value_of_build: true'
local_tree_config "$machine"
sed -i 's/"null"/null/' "$dir/etc/kperfbot.yaml"
kp config check >"$dir/out" 2>&1; is $? 2 "null without quotes is nothing in YAML"
has "$dir/out" "machine 'invented' needs a 'driver', one of: local "
has "$dir/out" '"null" in quotes'
local_tree_config "$machine"
kp config check >"$dir/out" 2>&1; ok $? "a machine of the driver null"
kp machine list --json >"$dir/machines.json" 2>"$dir/out"
is "$(field "$dir/machines.json" '"null" in [m["name"] for m in o]')" False "there is none where nobody configures one"
kp machine show invented --json >"$dir/show.json" 2>"$dir/out"
is "$(field "$dir/show.json" '[o[k] for k in ("seed", "metric", "value", "noise", "failure")]')" \
	"[7, 'ops_per_sec', 1000.0, 0.5, 'crashed']" "machine show has its own settings"
kp daemon --until-idle >"$dir/log" 2>&1; ok $? "a baseline"
for _ in 1 2 3 4 5 6; do commit 1000; done >>"$dir/ids"
slow=$(commit 950)
for _ in 1 2 3 4 5; do commit 950; done >>"$dir/ids"
wait_for 60 poll reported "$slow"; ok $? "the slower one is found and reported"
kp sql "SELECT count(*), count(DISTINCT v.value) FROM run r JOIN value v ON v.run = r.id WHERE r.verdict = 'ok'" --csv \
	>"$dir/runs.csv" 2>"$dir/out"
tail -n 1 "$dir/runs.csv" | { IFS=, read -r all different; [ "$all" -gt 10 ] && [ "$all" = "$different" ]; }
ok $? "its runs differ: $(tail -n 1 "$dir/runs.csv")"
is "$(mails)" 1 "one mail"
has "$dir/mbox" "invented from seed 7"

broken=$(commit 950 1)
for _ in 1 2 3; do commit 950 1; done >>"$dir/ids"
wait_for 60 poll reported "$broken"; ok $? "so is one that makes it crash"
kp report show 2 >"$dir/out" 2>&1
has "$dir/out" "an invented crash"
script=$dir/state/cases/case-1/reproduce.sh
sh -n "$script" && grep -q "^how='\?here'\?$" "$script"
ok $? "the script of a case builds and runs it on the reader's own machine"

# a run by hand: the same seed, replicate and build give the same number
echo true >"$dir/true.sh"
echo 12.5 >"$dir/built"
for i in 1 2; do
	kp machine boot invented --image "$dir/built" --script "$dir/true.sh" --out "$dir/boot$i" >"$dir/out" 2>&1
	ok $? "boot $i by hand"
done
cmp "$dir/boot1/result/command" "$dir/boot2/result/command"; ok $? "the same number"
grep -Eq '^ops_per_sec: 12\.[0-9]+$' "$dir/boot1/result/command"; ok $? "near what the file says"
echo nonsense >"$dir/built"
kp machine boot invented --image "$dir/built" --script "$dir/true.sh" --out "$dir/boot1" >"$dir/out" 2>&1
is $? 1 "a file without a number"
has "$dir/out" "holds no 'VALUE [FAILURE_RATE]'"
sed -i 's/noise: 0.5/noisy: 1/' "$dir/etc/kperfbot.yaml"
kp config check >"$dir/out" 2>&1; is $? 2 "a setting that it does not have"
has "$dir/out" "driver 'null' has no setting 'noisy', did you mean 'noise'?"
done_testing
