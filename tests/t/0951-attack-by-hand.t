#!/bin/bash
# What people ask by hand is mailed to nobody, whatever the verb, unless --mail is given; what a branch brings is.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

local_tree 11 16
git --git-dir "$dir/up.git" update-ref refs/heads/main "$head"
local_config
sed -i 's/min_effect: 0.01/min_effect: 0.01\n  detect_boots: 0/' "$dir/etc/kperfbot.yaml"
settle; ok $? "main is at its head"
quiet() { # WHAT: no mail, and no case that would make one
	settle
	kp query cases --state suspected,confirmed,bisecting,proving,found,reported --csv 2>/dev/null >"$dir/cases"
	is "$(mails) $(tail -n +2 "$dir/cases" | wc -l)" "0 0" "$1: nobody is mailed"
}
kp run local-bench --tree small --commit "$culprit^" -n 3 >"$dir/out" 2>&1; ok $? "run"
kp run local-bench --tree small --commit "$culprit" -n 3 >"$dir/out" 2>&1; ok $? "run of the culprit"
quiet run
kp build "$head" --tree small >"$dir/out" 2>&1; ok $? "build"
quiet build
kp compare "$culprit^" "$culprit" >"$dir/out" 2>&1; ok $? "compare"
quiet compare
timeout 200 "$kperfbot" --config "$dir/etc" bisect "$culprit^" "$culprit" --tree small >"$dir/out" 2>>"$dir/log"
ok $? "bisect"
is "$(tail -n 1 "$dir/out")" "not mailed: asked by hand, without --mail; 'kperfbot report send 1' mails it" \
	"its last line says so"
quiet bisect
is "$(case_field state)" unmailed "the case is unmailed"
is "$(case_field note)" "by hand, so not mailed; 'kperfbot report send 1' mails it" \
	"case list tells how to mail it"
kp case show 1 >"$dir/out" 2>&1
grep -q '^asked by  *hand, so nobody is mailed$' "$dir/out" &&
	grep -q '^to mail it  *kperfbot report send 1$' "$dir/out"
ok $? "so does case show"
kp report show 1 >"$dir/out" 2>&1; ok $? "its report can be read"
timeout 200 "$kperfbot" --config "$dir/etc" bisect "$culprit^" "$culprit" --tree small --json \
	>"$dir/bisect.json" 2>>"$dir/log"
is "$(field "$dir/bisect.json" '(o["cases"][0]["state"], o["cases"][0]["asked"])')" "('unmailed', 'hand')" \
	"bisect --json"
kp case ignore 1 --why test >"$dir/out" 2>&1
kp case reopen 1 >"$dir/out" 2>&1; ok $? "case reopen"
has "$dir/out" "not mailed"
quiet "case reopen"
kp report send 1 >"$dir/out" 2>&1; ok $? "report send"
is "$(case_field state) $(mails)" "reported 1" "mails it"

# A report that cannot be written is one that nobody has; what it says to do helps.
rm -rf "$dir/state" "$dir/mbox"; mkdir "$dir/state"; settle
touch "$dir/state/cases" # no folder for its files
timeout 200 "$kperfbot" --config "$dir/etc" bisect "$culprit^" "$culprit" --tree small --mail \
	>"$dir/out" 2>>"$dir/log" &
wait_for 100 grep -q 'cannot write the report' "$dir/log"; kill $!; wait $! 2>/dev/null
sqlite3 -cmd ".timeout 5000" "$dir/state/kperfbot.db" \
	"UPDATE task SET max_attempts = 1, not_before = 0 WHERE kind = 'report'"
settle
is "$(case_field state) $(mails)" "undelivered 0" "the report cannot be written"
case_field note >"$dir/out"; has "$dir/out" "cannot write the report"
rm "$dir/state/cases"
kp report send 1 --force >"$dir/out" 2>&1; ok $? "report send writes and sends it"
is "$(case_field state) $(mails)" "reported 1" "then it is reported"

# --mail, after all
rm -rf "$dir/state" "$dir/mbox"
settle
timeout 200 "$kperfbot" --config "$dir/etc" bisect "$culprit^" "$culprit" --tree small >"$dir/out" 2>>"$dir/log"
quiet "bisect again"
timeout 200 "$kperfbot" --config "$dir/etc" bisect "$culprit^" "$culprit" --tree small --mail >"$dir/out" 2>>"$dir/log"
ok $? "bisect --mail of the same"
is "$(case_field state) $(mails)" "reported 1" "mails it"
! grep -q 'not mailed' "$dir/out"; ok $? "and does not say otherwise"

# A case of the daemon's that a person reopens is that person's.
rm -rf "$dir/state" "$dir/mbox"
git --git-dir "$dir/up.git" update-ref refs/heads/main "$culprit^"
settle
git --git-dir "$dir/up.git" update-ref refs/heads/main "$culprit"
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
wait_for 60 case_is proving; ok $? "a case of the daemon's"
kill "${pids[-1]}"; wait_for 25 bash -c "! kill -0 ${pids[-1]}"
kp case show 1 >"$dir/out" 2>&1; grep -q '^asked by  *the daemon$' "$dir/out"; ok $? "case show says so"
kp case ignore 1 --why test >"$dir/out" 2>&1
kp case reopen 1 >"$dir/out" 2>&1; ok $? "case reopen"
quiet "case reopen of the daemon's"
is "$(case_field state)" unmailed "it is unmailed"
git --git-dir "$dir/up.git" update-ref refs/heads/main "$culprit^"; settle
git --git-dir "$dir/up.git" update-ref refs/heads/main "$culprit"; settle
is "$(mails)" 0 "the same move of the branch does not change that"

# What a person has asked before does not keep the daemon from mailing what its branch brings.
rm -rf "$dir/state" "$dir/mbox"
settle
timeout 200 "$kperfbot" --config "$dir/etc" bisect "$culprit^" "$culprit" --tree small >"$dir/out" 2>>"$dir/log"
is "$(case_field state) $(mails)" "unmailed 0" "by hand first"
git --git-dir "$dir/up.git" update-ref refs/heads/main "$culprit^"; settle
git --git-dir "$dir/up.git" update-ref refs/heads/main "$culprit"; settle
is "$(case_field state) $(mails)" "reported 1" "then the branch moves: mailed once"
done_testing
