#!/bin/bash
# The whole main job on a small program's tree served by git daemon: watch, build, measure, bisect 64 commits, prove,
# mail.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

local_tree 11
local_config
baseline_then_arrive; ok $? "the first poll takes the branch as it is"
kp query cases --json >"$dir/cases.json" 2>"$dir/out"
is "$(field "$dir/cases.json" 'len(o)')" 0 "and opens no case"
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
wait_for 150 case_is reported; ok $? "a case is reported"
kp queue list >"$dir/out" 2>&1; ok $? "queue list works beside the daemon"
kp machine list >"$dir/out" 2>&1; ok $? "machine list works beside the daemon"
kill -TERM ${pids[-1]}; wait_for 25 bash -c "! kill -0 ${pids[-1]}"; ok $? "SIGTERM stops it"
is "$(case_field culprit)" "$culprit" "the culprit is the planted one"
is "$(mails)" 1 "one mail in the mbox"
/usr/bin/python3 - "$dir/mbox" "$culprit" >"$dir/out" 2>&1 <<-'PY'
	import mailbox, sys
	m = mailbox.mbox(sys.argv[1])[0]
	assert sys.argv[2][:10] in m['Subject'], m['Subject']
	assert m['Message-ID'].endswith('example.org>'), m['Message-ID']
	text = m.get_payload(decode=True).decode('utf-8')
	assert 'noticed a' in text and 'regression of command.ops_per_sec' in text
	assert sys.argv[2] in text and 'reproduce' in text
PY
ok $? "it parses, and names the commit"
kp case show 1 >"$dir/out" 2>&1; ok $? "case show"
has "$dir/out" "${culprit:0:12}"
kp query series --metric command.ops_per_sec --csv >"$dir/out" 2>&1; ok $? "query series"
kp query runs --json >"$dir/runs.json" 2>"$dir/out"; ok $? "query runs --json"
is "$(field "$dir/runs.json" 'all(r["verdict"] == "ok" for r in o)')" True "all runs are ok"
kp query builds --json >"$dir/builds.json" 2>"$dir/out"; ok $? "query builds --json"
kp compare "${base:0:12}" "${head:0:12}" >"$dir/out" 2>&1; ok $? "compare"
has "$dir/out" "command.ops_per_sec"
kp compare "${base:0:12}" "${head:0:12}" --json >"$dir/cmp.json" 2>"$dir/out"
is "$(field "$dir/cmp.json" '[r["verdict"] for r in o["rows"] if r["metric"] == "command.ops_per_sec"][0]')" changed \
	"compare --json says changed"
for two in "demo-base main" "small:demo-base HEAD" "--tree=small main~61 ${head:0:12}"; do
	kp compare $two --json >"$dir/cmp2.json" 2>"$dir/out"
	cmp -s "$dir/cmp.json" "$dir/cmp2.json"; ok $? "compare $two: the same by revisions"
done
kp compare main nosuch >"$dir/out" 2>&1; is $? 3 "compare with an unknown revision"
has "$dir/out" "tree 'small' has no commit 'nosuch'"
kp report show 1 >"$dir/out" 2>&1; ok $? "report show"
script=$(find "$dir/state/cases" -name reproduce.sh)
[ -n "$script" ] && sh -n "$script"; ok $? "the reproduce script is a script"
kp daemon --until-idle >>"$dir/log" 2>&1
is "$(mails)" 1 "another start sends nothing"
kp query cases --since nonsense >"$dir/out" 2>&1; is $? 2 "a wrong time ends with 2"
kp bisect "${head:0:12}" "${base:0:12}" --tree small >"$dir/out" 2>&1; is $? 2 "good and bad swapped: a clear no"
has "$dir/out" "the two are swapped"
kp bisect nosuchrev HEAD --tree small >"$dir/out" 2>&1; is $? 3 "an unknown revision"
kp run nosuchjob --tree small --commit main >"$dir/out" 2>&1; [ $? != 0 ]; ok $? "an unknown job"
has "$dir/out" "nosuchjob"
done_testing
