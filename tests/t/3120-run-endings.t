#!/bin/bash
# How run ends when there is nothing to show: a commit that does not build, boots that all fail, some that do; the
# reason, where the log is, and the exit status that --help promises.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
git init -q -b main "$dir/work"
commit() { git -C "$dir/work" add -A; git -C "$dir/work" commit -qm "$1"; git -C "$dir/work" tag "$1"; }
cat >"$dir/work/bench.sh" <<-'EOF'
#!/bin/sh
echo "ops_per_sec: 1000"
EOF
printf 'bench: bench.sh\n\tcp bench.sh bench\n\tchmod +x bench\n' >"$dir/work/Makefile"
commit good
printf 'bench:\n\t@printf "net/core/sock.c:12:3: error: it is \\033[31mwrong\\n" >&2; false\n' >"$dir/work/Makefile"
commit broken
git clone -q --bare "$dir/work" "$dir/up.git"
url=$dir/up.git
local_config
job() { # NAME COMMAND
	printf 'suite: command\ntestcase: %s\ncategory: benchmark\nmonitors: []\n\ncommand:\n  kpi: ops_per_sec\n  run: %s\n' "$1" "$2" >"$dir/etc/$1.yaml"
}
job fine "'\"\$KPB_ARTEFACT\"'"
job fails "'echo \"no such device: eth7\" >&2; exit 3'"
# every second run fails: $KPB_PERTURB is the number of the run
job half "'\"\$KPB_ARTEFACT\"; [ \$((KPB_PERTURB % 2)) = 0 ] || exit 4'"
run() { timeout 120 "$kperfbot" --config "$dir/etc" run "$@" --tree small >"$dir/stdout" 2>"$dir/out" </dev/null; }

run fine --commit good -n 2; is $? 0 "two good boots: 0"
grep -Eq 'ops_per_sec +2 +2 +1000 ' "$dir/stdout"; ok $? "both in the table"
run fine --commit broken -n 2; is $? 1 "a commit that does not build: 1"
has "$dir/out" "does not build: net/core/sock.c:12:3: error: it is \\x1b[31mwrong"
zstdcat "$(sed -n 's/^kperfbot: its log: zstdcat //p' "$dir/out")" | grep -q sock.c
ok $? "the log that it names is there"
is "$(cat "$dir/stdout")" "" "and no empty table"
run fine --commit broken -n 1 --json; is $? 1 "once more, with --json"
is "$(field "$dir/stdout" 'o')" "[]" "which can be parsed"
has "$dir/out" "does not build: net/core/sock.c:12:3"
run fails --commit good -n 2; is $? 1 "boots that all fail: 1"
has "$dir/out" "2 of 2 boots of $(git -C "$dir/work" rev-parse --short=12 good) gave no value: failed: "
has "$dir/out" "no such device: eth7"
[ -d "$(sed -n 's/^kperfbot: .*files of the last one: //p' "$dir/out")" ]; ok $? "with a folder that is there"
is "$(grep -c failed "$dir/stdout")" 2 "the table shows how they ended"
# what cannot be queued as a whole leaves nothing behind
run fails --commit good -n 9; is $? 1 "nine more fail"
git -C "$dir/work" checkout -q -b topic good
echo more >"$dir/work/NOTES"
commit topic
git -C "$dir/work" format-patch -q --stdout -1 >"$dir/etc/notes.mbox"
run fails --commit good --matrix --patches none --patches "$dir/etc/notes.mbox" -n 2; is $? 1 "a matrix with a point that only fails"
has "$dir/out" "runs of $(git -C "$dir/work" rev-parse --short=12 good) failed"
is "$(sqlite3 "$dir/state/kperfbot.db" "SELECT count(*) FROM task WHERE state IN ('ready', 'running')")" 0 \
	"the build of the other is not left in the queue"
run half --commit good -n 4; is $? 1 "some fail: 1"
has "$dir/out" "2 of 4 boots of"
grep -Eq 'ops_per_sec +2 +2 +1000 ' "$dir/stdout"; ok $? "the others are in the table"
job half "'\"\$KPB_ARTEFACT\"; [ \$((KPB_PERTURB % 9)) != 1 ] || exit 4'"
run half --commit good -n 1; is $? 1 "its first run fails"
run half --commit good -n 1; is $? 0 "the exit status is of the boots asked for now, not of earlier ones"
run fine --commit good -n 1 --queue; is $? 0 "--queue: 0"
run fine --commit nosuch; is $? 3 "no such commit: 3"
run nosuch --commit good; is $? 3 "no such job: 3"
run fine --commit good --machine nosuch; is $? 3 "no such machine: 3"
run fine; is $? 2 "wrong use: 2"
for text in "0 all boots gave values" "1 it does not build, or a boot failed" "2 wrong use" "130 stopped before the end"; do
	kp run --help | grep -qF "$text"; ok $? "--help says: $text"
	grep -qF "$text" docs/kperfbot.1; ok $? "so does the manual page"
done
done_testing
