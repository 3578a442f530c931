#!/bin/bash
# One tree that wants the bot for itself: branches without number whose builds hang. Another tree's build has its turn.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

branches=130
q() { sqlite3 "file:$dir/state/kperfbot.db?mode=ro" "$1"; }
counts() { test "$(q "$1")" "$2" "$3"; } # SQL OPERATOR NUMBER
commit() { # TREE SPEED BUILD
	printf '#!/bin/sh\necho "ops_per_sec: %s"\n' "$2" >"$dir/$1/bench.sh"
	printf 'bench:\n\t%s\n' "$3" >"$dir/$1/Makefile"
	git -C "$dir/$1" add -A
	git -C "$dir/$1" -c user.name=a -c user.email=a@example.org commit -q -m "$2"
	git -C "$dir/$1" rev-parse HEAD
}
build="cp bench.sh bench && chmod 755 bench"
mkdir -p "$dir/etc"
cp tests/demo/local-bench.yaml "$dir/etc/"
{
	printf '%s\n' "state_dir: $dir/state" "cache_dir: $dir/cache" "min_free_mb: 0" "build_timeout: 2s"
	sandbox_line
	printf '%s\n' "build_slots: 1" "judge: {min_effect: 0.01, reach: false}" "trees:"
	for t in loud meek; do
		git init -q -b main "$dir/$t"
		echo "  $t: {url: \"file://$dir/$t\", program: true, artefact: bench, machine: local, interval: 1s,"
		echo "    branches: [\"*\"], jobs: [local-bench]}"
	done
} >"$dir/etc/kperfbot.yaml"
first=$(commit loud 100 "$build")
commit meek 1 "$build" >/dev/null
seq $branches | sed "s|.*|create refs/heads/b& $first|" | git -C "$dir/loud" update-ref --stdin
background bash -c "exec nice '$kperfbot' --config '$dir/etc' daemon >'$dir/log' 2>&1"
wait_for 60 counts "SELECT count(*) FROM branch WHERE tested IS NOT NULL" -ge $((branches + 2))
ok $? "all branches are known"

commit loud 90 "sleep 60" >/dev/null
for i in $(seq $branches); do
	printf 'commit refs/heads/b%d\ncommitter a <a@example.org> %d +0000\ndata 1\nx\n' "$i" $((1700000000 + i))
	printf 'from refs/heads/main^0\nM 100644 inline n\ndata %d\n%s\n' ${#i} "$i"
done | git -C "$dir/loud" fast-import --quiet --force
wait_for 90 counts "SELECT count(*) FROM comparison" -ge 90; ok $? "they move, and many are compared"
wait_for 20 grep -q "more new heads than the 100" "$dir/log"; ok $? "the others wait for their turn"
new=$(commit meek 2 "$build #")
wait_for 180 counts "SELECT count(*) FROM build WHERE commit_oid = '$new'" = 1; ok $? "the other tree's commit is built"
wait_for 180 counts "SELECT count(*) FROM run r JOIN build b ON b.id = r.build WHERE b.commit_oid = '$new'" -gt 0
ok $? "and runs"
counts "SELECT count(*) FROM task WHERE state = 'ready' AND resource = 'build'" -gt 50
ok $? "while the first one has more than 50 builds to go"
counts "SELECT count(*) FROM comparison c JOIN tree t ON t.id = c.tree
	WHERE t.name = 'loud' AND c.state = 'open'" -le 100
ok $? "of at most 100"
is "$(grep -c "more new heads" "$dir/log")" 1 "which is said once"
done_testing
