#!/bin/bash
# What is seen while a build takes its time: on stderr a line for each change of the work, on a terminal one line that
# changes; stdout stays what it was; --quiet says nothing.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
git init -q -b main "$dir/work"
commit() { git -C "$dir/work" add -A; git -C "$dir/work" commit -qm "$1"; git -C "$dir/work" tag "$2"; }
printf '#!/bin/sh\necho "ops_per_sec: 1000"\n' >"$dir/work/bench.sh"
printf 'bench: bench.sh\n\t@echo compiling; sleep 2\n\tcp bench.sh bench\n\tchmod +x bench\n' >"$dir/work/Makefile"
commit "the \$(start)" v1
for i in 2 3 4 5; do
	[ $i != 4 ] || sed -i s/1000/900/ "$dir/work/bench.sh"
	echo "# $i" >>"$dir/work/bench.sh"
	commit "step $i" v$i
done
git clone -q --bare "$dir/work" "$dir/up.git"
url=$dir/up.git
local_config
short() { git -C "$dir/work" rev-parse --short=12 "$1^{commit}"; }
run() { timeout 300 "$kperfbot" --config "$dir/etc" "$@" >"$dir/stdout" 2>"$dir/out" </dev/null; }
line() { # TITLE REGEX: such a line stands on stderr
	grep -Eq -- "$2" "$dir/out"; ok $? "$1"
}
run run local-bench --commit v1 -n 3 --json; is $? 0 "run"
line "a build, its commit, and how far all is" \
	"^\[0:0[0-9]\] building $(short v1)(, 0:0[0-9])?, boots 0/3; (under 1|at most [0-9]+) min left$"
is "$(field "$dir/stdout" 'o[0]["boots"]')" 3 "stdout can be parsed"
run run local-bench --commit v2 -n 2; is $? 0 "another commit"
line "what such a build takes as a rule" "^\[0:0[0-9]\] building $(short v2)"
head -n 1 "$dir/stdout" | grep -q '^time'; ok $? "stdout is the table"
run run local-bench --commit v3 -n 2 --quiet; is $? 0 "--quiet"
is "$(cat "$dir/out")" "" "nothing is said"
[ -s "$dir/stdout" ]; ok $? "but the result"
run run nosuch --commit v1 --quiet; is $? 3 "--quiet and a mistake"
has "$dir/out" "nosuch"

# a terminal
if command -v script >/dev/null; then
	git --git-dir "$dir/up.git" update-ref refs/heads/main "$(git -C "$dir/work" rev-parse v5)"
	TERM=xterm timeout 120 script -qec "$kperfbot --config $dir/etc run local-bench --commit v4 -n 2" "$dir/typescript" >/dev/null </dev/null
	tr '\r' '\n' <"$dir/typescript" >"$dir/out"
	esc=$(printf '\033')
	line "a line that takes the place of the last one" \
		"^$esc\[K\[0:0[0-9]\] building $(short v4), 0:0[1-9] \(usually 0:0[2-9]\), boots 0/2; under 1 min left"
	[ "$(grep -c 'building' "$dir/out")" -ge 2 ]; ok $? "which goes on while the build does"
	is "$(grep -c "[^K]\[0:.*[^ ]$esc\[K..:" "$dir/out")" 0 "messages of workers do not mix with it"
	grep -q "^$esc\[Ktime .*tree" "$dir/out"; ok $? "it is taken off before the table"
else
	skip "no script"
fi

run bisect v1 v5 --job local-bench --json; is $? 0 "bisect"
is "$(git -C "$dir/work" log -1 --format=%s "$(field "$dir/stdout" 'o["cases"][0]["culprit"]')")" "step 4" \
	"finds it, in JSON on stdout"
line "shows what it builds" "^\[0:[0-9]+\] building $(short v5)"
line "and boots" "^\[0:[0-9]+\] measuring [0-9a-f]{12} boot [0-9]+"
run bisect v1 v5 --job local-bench --quiet; is $? 0 "bisect --quiet"
is "$(cat "$dir/out")" "" "says nothing"

# somebody else does the work
printf 'suite: command\ntestcase: slow\ncategory: benchmark\nmonitors: []\n\ncommand:\n  kpi: ops_per_sec\n  run: '"'"'sleep 2; "$KPB_ARTEFACT"'"'"'\n' >"$dir/etc/slow.yaml"
background "$kperfbot" --config "$dir/etc" daemon >"$dir/daemon.log" 2>&1
wait_for 20 daemon_runs
background "$kperfbot" --config "$dir/etc" run slow --commit v2 -n 2 >"$dir/first" 2>&1
wait_for 20 grep -q measuring "$dir/first"
run run slow --commit v3 -n 1; is $? 0 "run with a daemon, behind other work"
has "$dir/out" "a daemon is running here: it does the work"
line "the other work is named" "waiting for other work: measuring $(short v2) boot [12]"
line "then its own" "measuring $(short v3) boot"

# build
printf 'bench: bench.sh\n\t@echo compiling more; sleep 1\n\tcp bench.sh bench\n\tchmod +x bench\n' >"$dir/work/Makefile"
commit "step 6" v6
git -C "$dir/work" push -q "$dir/up.git" main v6
kp tree fetch small >/dev/null 2>&1
run build v6 --json; is $? 0 "build"
line "says what, and what is usual" "^building $(short v6) of small \(program\), usually 0:0[0-9]$"
is "$(field "$dir/stdout" 'o["state"]')" ok "stdout can be parsed"
run build v6 --quiet; is "$(cat "$dir/out")" "" "build --quiet says nothing"
done_testing
