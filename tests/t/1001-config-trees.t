#!/bin/bash
# Trees between the files, 'tree add' and the database: what is changed, kept, switched off and on, removed and renamed.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

git init -q --bare -b main "$dir/up.git"
printf 'commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nx\n' |
	git --git-dir "$dir/up.git" fast-import --quiet
mkdir "$dir/etc"
trees() { # NAME...: the files name these
	printf 'state_dir: %s/state\ncache_dir: %s/cache\nmin_free_mb: 0\n' "$dir" "$dir" >"$dir/etc/kperfbot.yaml"
	[ $# = 0 ] || echo trees: >>"$dir/etc/kperfbot.yaml"
	for t; do
		printf '  %s:\n    url: %s\n    program: true\n    artefact: x\n    machine: local\n    interval: 1s\n' \
			"$t" "file://$dir/up.git" >>"$dir/etc/kperfbot.yaml"
	done
}
setting() { kp sql "SELECT settings ->> '$2' AS x FROM tree WHERE name = '$1'" --json | grep -o '"x": *[^}]*' | sed 's/.*: *//'; }
watch() { kp tree list --json >"$dir/list" && field "$dir/list" "[t['watch'] for t in o if t['name'] == '$1'][0]"; }

trees
add() { kp tree add a "$dir/up.git" --program --artefact x "$@" >"$dir/out" 2>&1; }
add --interval 1h --max-commits 50 --label L --cc ann@example.org; ok $? "a tree by hand"
add --label M; is "$(setting a interval)" 3600 "what is not given stays"
is "$(setting a max_commits)" 50 "all of it"
add --interval 5m --max-commits 20000; is "$(setting a interval)" 300 "the default can be given again"
is "$(setting a max_commits)" 20000 "of each"
add --max-commits 0; is $? 2 "0 commits are refused"
add --label '' --cc '' --artefact x; is "$(setting a branch_label)" null "an empty value takes a text back"
is "$(setting a mail_cc)" '"[]"' "and a list"
kp tree remove a >"$dir/out" 2>&1; is "$(watch a)" off "not watched any more"
add --label N; is "$(watch a)" off "a change does not switch it on"
has "$dir/out" "it is off; --on switches it on"
add --on; is "$(watch a)" on "--on does"
add --off; is "$(watch a)" off "--off the other way"
add --on --off; is $? 2 "not both"

rm -rf "$dir/state"; trees f
kp tree list >"$dir/out" 2>&1; ok $? "a tree of the files before there is a database"
has "$dir/out" "not fetched yet"
kp tree fetch f >"$dir/out" 2>&1; ok $? "is fetched without a daemon"
has "$dir/out" "1 branch moved"
trees f e; kp compare e:main e:main >"$dir/out" 2>&1
has "$dir/out" "tree 'e' was not fetched yet; 'kperfbot tree fetch e' does that"
kp tree fetch g >"$dir/out" 2>&1; is $? 3 "another one is not known"
kp tree add f "$dir/up.git" --label X >"$dir/out" 2>&1; has "$dir/out" "change it there"
kp tree remove f >"$dir/out" 2>&1; has "$dir/out" "write 'enabled: false' there"

add; trees f g
kp daemon --until-idle >"$dir/log" 2>&1; ok $? "a daemon takes two of the files"
is "$(watch f)$(watch g)$(watch a)" ononon "they are watched, and the one by hand"
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
daemon=${pids[-1]}
printf 'commit refs/heads/main\ncommitter A <a@example.org> 1700000001 +0000\ndata 1\ny\nfrom refs/heads/main^0\n' |
	git --git-dir "$dir/up.git" fast-import --quiet
wait_for 20 grep -q "g/main moved to $(git --git-dir "$dir/up.git" rev-parse --short=12 main)" "$dir/log" # it runs
trees h g; kill -HUP "$daemon"
wait_for 20 grep -q "tree 'f' is not in the configuration any more and not watched" "$dir/log"
ok $? "a renamed one ends"
wait_for 20 grep -q "h/main moved to" "$dir/log"; ok $? "and begins anew"
grep -q "'f' is not in .* '[gh]' begins anew at the same URL" "$dir/log"; ok $? "which is said"
is "$(watch f)$(watch g)$(watch h)$(watch a)" offononon "the others stay as they are"
kp tree list >"$dir/out"; has "$dir/out" "it is not in the configuration any more"
kp bisect main main --tree g --job nosuch >"$dir/out" 2>&1
is "$(watch g)" on "questions by hand switch nothing off"
sed -i "s,^state_dir: .*,state_dir: $dir/other," "$dir/etc/kperfbot.yaml"; kill -HUP "$daemon"
wait_for 20 grep -q "that takes a new start" "$dir/log"; ok $? "another state folder is not taken while it runs"
kill -0 "$daemon"; ok $? "and it goes on"
trees f h g; kill -HUP "$daemon"
wait_for 20 bash -c "[ \"\$('$kperfbot' --config '$dir/etc' sql \"SELECT 'is' || enabled AS x FROM tree WHERE name = 'f'\" --csv | tail -n 1)\" = is1 ]"
ok $? "one that comes back is watched again"
trees; kill -HUP "$daemon"
wait_for 20 grep -q "tree 'g' is not in the configuration" "$dir/log"; ok $? "all go"
is "$(watch a)" on "but for the one by hand"

kp tree add dead "file://$dir/none.git" --program --artefact x --off >"$dir/out" 2>&1
for failures in 0 1 24; do
	sqlite3 "$dir/state/kperfbot.db" "UPDATE tree SET poll_failures = $failures WHERE name = 'dead'"
	kp tree fetch dead >"$dir/out" 2>&1
done
kp query events >"$dir/out" 2>&1
is "$(grep -c "'dead' cannot be reached" "$dir/out")" 1 "a tree that cannot be reached is told once"
is "$(grep -c "'dead' still cannot be reached, after 25 failed tries" "$dir/out")" 1 "and not forgotten"
kill -TERM "$daemon"; wait_for 25 bash -c "! kill -0 $daemon"; ok $? "the daemon ends"

# a case whose end is not in the mirror ends, and 'tree list' says why
sqlite3 "$dir/state/kperfbot.db" "INSERT INTO job VALUES ('j', 'j', 'command', '{}', '{}', 'true');
	INSERT INTO metric (name) VALUES ('m');
	INSERT INTO comparison (id, tree, branch, base, head, kconfig, job, machine, state, created, asked)
	SELECT 1, id, 'main', '$(printf 0%.0s {1..40})', 'x', 'program', 'j', 1, 'different', 1, 'daemon'
	FROM tree WHERE name = 'a';
	INSERT INTO \"case\" (comparison, metric, state, confidence, opened, changed, note, stopped)
	VALUES (1, 1, 'not-reproduced', 0.9, 1, 1, 'cannot go on: no commit', 'error')"
kp tree list >"$dir/out"; has "$dir/out" "main: case 1 cannot go on: no commit"
done_testing
