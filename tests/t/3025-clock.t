#!/bin/bash
# A clock that goes ten years ahead and comes back, or goes back an hour while something is measured.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

# by the database: what a wrong clock left there
shift_times() { # SQL
	/usr/bin/python3 - "$dir/state/kperfbot.db" "$1" <<-'PY'
		import sqlite3, sys
		c = sqlite3.connect(sys.argv[1], timeout=20)
		c.executescript(sys.argv[2])
	PY
}
up() { git --git-dir "$dir/up.git" "$@"; }
commit_on() { # PARENT TREE
	GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org \
		up commit-tree "$2" -p "$1" -m "one more"
}
state_of() { kp sql "SELECT 'x' || state FROM comparison WHERE head = '$1'" --csv | grep '^x'; }

local_tree 13 24
local_config
kp daemon --until-idle >"$dir/log" 2>&1; ok $? "baseline"
decade=315360000000000
shift_times "UPDATE tree SET last_poll = last_poll + $decade, next_poll = next_poll + $decade"
one=$(commit_on "$base" "$(up rev-parse "$base^{tree}")")
up update-ref refs/heads/main "$one"
kp daemon --until-idle >>"$dir/log" 2>&1; ok $? "a clock that was ten years ahead"
is "$(state_of "$one")" xsame "the tree is looked at and the new head compared"
is "$(kp sql "SELECT 'x' || (next_poll < 1e6 * (strftime('%s') + 3600)) FROM tree" --csv | tail -n 1)" x1 \
	"the next look is soon"

# an interval that is shorter now
shift_times "UPDATE tree SET next_poll = last_poll + $decade, last_poll = last_poll - 2000000"
two=$(commit_on "$one" "$(up rev-parse "$base^{tree}")")
up update-ref refs/heads/main "$two"
kp daemon --until-idle >>"$dir/log" 2>&1; ok $? "an interval that was ten years and is a second now"
is "$(state_of "$two")" xsame "the tree is looked at"

# an hour back while a comparison is open: its boots are older than itself
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
up update-ref refs/heads/main "$head"
wait_for 60 bash -c "'$kperfbot' --config '$dir/etc' sql \"SELECT 'x' || count(*) FROM comparison WHERE state = 'open'\" --csv | grep -q x1"
ok $? "a question"
shift_times "UPDATE comparison SET created = created + 3600000000 WHERE state = 'open'"
wait_for 150 bash -c "'$kperfbot' --config '$dir/etc' sql \"SELECT 'x' || state FROM comparison WHERE head = '$head'\" --csv | grep -q -e xdifferent -e xbroken"
ok $? "is answered"
is "$(kp sql "SELECT 'x' || (count(*) < 80) FROM run" --csv | tail -n 1)" x1 "with no more boots than usual"
done_testing
