#!/bin/bash
# Programs that lie with their figures and files: what is no figure ends a comparison, dice do not blind the judge for
# what comes later, and no tree takes the machine from another one.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
need_box || skip_all "$no_box"

mkdir -p "$dir/etc"
cp tests/demo/local-bench.yaml "$dir/etc/"
commit() { # TREE SCRIPT-LINE
	[ -d "$dir/$1" ] || git init -q -b main "$dir/$1"
	printf '#!/bin/sh\n%s\n' "$2" >"$dir/$1/bench.sh"
	printf 'bench:\n\tcp bench.sh bench && chmod 755 bench\n' >"$dir/$1/Makefile"
	git -C "$dir/$1" add -A
	git -C "$dir/$1" -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m "$((++serial))"
	git -C "$dir/$1" rev-parse HEAD
}
serial=0
boots=40 # a side, at most
config() { # TREE...
	cat <<-EOC
	state_dir: $dir/state
	cache_dir: $dir/cache
	min_free_mb: 0
	judge: {min_effect: 0.01, reach: false, max_boots: $boots}
	mail: {mbox: $dir/mbox}
	trees:
	EOC
	for t in "$@"; do
		echo "  $t: {url: \"file://$dir/$t\", program: true, artefact: bench, machine: local, interval: 1s,"
		echo "    branches: [main], jobs: [local-bench]}"
	done
}
sql() { sqlite3 "$dir/state/kperfbot.db" "$1"; }

base=$(commit figures 'echo "ops_per_sec: 100"')
config figures >"$dir/etc/kperfbot.yaml"
settle; ok $? "a baseline"
commit figures 'echo "ops_per_sec: 1e308"; echo "ops_per_sec: 1e308"' >/dev/null
settle; ok $? "two figures whose sum is none come to an end"
sql 'SELECT reason FROM comparison ORDER BY id DESC LIMIT 1' >"$dir/out"
has "$dir/out" "it has no figure of command.ops_per_sec that can be judged"
runs=$(sql 'SELECT count(*) FROM run')
[ "$runs" -lt 30 ]; ok $? "after $runs runs"

boots=8 # dice are thrown until there are no more
config figures >"$dir/etc/kperfbot.yaml"
commit figures 'echo "ops_per_sec: 100" # again' >/dev/null; settle
commit figures 'echo "ops_per_sec: $(od -An -N1 -tu1 /dev/urandom | awk "{print (\$1 % 2) ? 1 : 1e9}")"' >/dev/null
settle
commit figures 'echo "ops_per_sec: 100" # a third time' >/dev/null; settle
commit figures 'echo "ops_per_sec: 100" # and a fourth' >/dev/null; settle
half=$(commit figures 'echo "ops_per_sec: 50"'); settle
is "$(sql "SELECT state FROM comparison WHERE head = '$half'")" different \
	"half as fast is seen, also after a commit that threw dice"

# the program's own folder where the log goes: not our trouble, and not the end of the machine for others
rm -rf "$dir/state"
commit evil 'mkdir "$RESULT_DIR/script.log"; echo "ops_per_sec: 100"' >/dev/null
commit good 'echo "ops_per_sec: 1"' >/dev/null
config evil good >"$dir/etc/kperfbot.yaml"
settle
commit evil 'mkdir "$RESULT_DIR/script.log"; echo "ops_per_sec: 90"' >/dev/null
good=$(commit good 'echo "ops_per_sec: 2"')
settle
is "$(sql "SELECT state || ' ' || failures FROM machine WHERE name = 'local'")" "healthy 0" "the machine is well"
runs=$(sql "SELECT count(*) FROM run JOIN build ON build.id = run.build WHERE commit_oid = '$good'")
[ "$runs" -gt 0 ]; ok $? "and the other tree is measured"
done_testing
