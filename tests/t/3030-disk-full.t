#!/bin/bash
# The disk fills up while runs are stored: nothing stored is lost, and with room again the work goes on to the same end.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

mkdir "$dir/small"
mount -t tmpfs -o size=200m none "$dir/small" 2>/dev/null || skip_all "cannot mount a small tmpfs (not root?)"
mounts+=("$dir/small")
state=$dir/small/state
local_tree 14 32
local_config
baseline_then_arrive; ok $? "baseline"
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
runs() { sqlite3 "file:$state/kperfbot.db?mode=ro" "SELECT count(*) FROM run WHERE verdict = 'ok'" 2>/dev/null || echo 0; }
enough() { [ "$(runs)" -ge 5 ]; }
wait_for 60 enough; ok $? "some runs are stored"
dd if=/dev/zero of="$dir/small/filler" bs=64k >/dev/null 2>&1
is "$(df --output=avail "$dir/small" | tail -n 1 | tr -d ' ')" 0 "the disk is full"
wait_for 30 grep -qiE "full|no space" "$dir/log"; said=$?
before=$(runs)
ok $said "the log says so"
kill -0 "${pids[-1]}"; ok $? "the daemon lives"
rm "$dir/small/filler"
is "$(sqlite3 "file:$state/kperfbot.db?mode=ro" 'PRAGMA integrity_check')" ok "the database is whole"
[ "$before" -ge 5 ]; ok $? "what was stored is still there ($before runs)"
wait_for 200 case_is reported; ok $? "with room again the case is reported"
is "$(case_field culprit)" "$culprit" "the culprit is the planted one"
is "$(sqlite3 "file:$state/kperfbot.db?mode=ro" 'SELECT count(*) FROM value v LEFT JOIN run r ON r.id = v.run WHERE r.id IS NULL')" 0 \
	"no value without its run"
is "$(mails)" 1 "one mail"
done_testing
