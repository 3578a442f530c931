#!/bin/bash
# The canary: where the machine changes together with the commits, nobody is accused; where it is steady, it stands in nobody's way.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org

# "bench" is a script: it prints a rate and leaves the machine in a state that the canary's job sees
commit() { # RATE MACHINE'S-RATE-AFTERWARDS
	cat >"$dir/src/bench.sh" <<-SH
	#!/bin/sh
	echo $2 >"$dir/machine"
	echo "ops_per_sec: $1.\$((KPB_PERTURB * 7 % 5))"
	SH
	git -C "$dir/src" add -A && git -C "$dir/src" commit -q -m "core: $1 $2"
}
git init -q -b main "$dir/src"
printf 'bench: bench.sh\n\tcp bench.sh bench && chmod +x bench\n' >"$dir/src/Makefile"
commit 1000 1000; git -C "$dir/src" tag canary-1
commit 1001 1000; base=$(git -C "$dir/src" rev-parse HEAD)
commit 900 900; git -C "$dir/src" branch disturbed
commit 1002 1000; commit 800 1000
steady=$(git -C "$dir/src" rev-parse HEAD)

mkdir "$dir/etc"
cp tests/demo/local-bench.yaml "$dir/etc/"
cat >"$dir/etc/look.yaml" <<EOF2
suite: command
testcase: look
category: benchmark
monitors: []
command:
  run: 'echo "rate: \$(cat $dir/machine).\$((KPB_PERTURB * 3 % 4))"'
  kpi: rate
  better: higher
EOF2
config() { # CANARY-LINES
	cat >"$dir/etc/kperfbot.yaml" <<-EOF2
	state_dir: $dir/state
	cache_dir: $dir/cache
	min_free_mb: 0
	$(sandbox_line)
	judge: {min_effect: 0.01}
	mail: {mbox: $dir/mbox}
	machines:
	  local:
	    driver: local
	$1
	trees:
	  small: {url: "$dir/src", branches: [main, disturbed], program: true, trusted: true, artefact: bench,
	    machine: local, jobs: [local-bench]}
	EOF2
}
config '    canary: {jobs: look}'
kp config check "$dir/etc" >"$dir/out" 2>&1; is $? 2 "a canary with mistakes"
has "$dir/out" "unknown key 'jobs', did you mean 'job'?"
has "$dir/out" "machine 'local': a canary needs a 'job' and a 'commit'"
config '    canary: {job: look, commit: canary-1, tree: smal}'
kp config check "$dir/etc" >"$dir/out" 2>&1; has "$dir/out" "canary: there is no tree 'smal'"
config '    canary: {job: look, commit: canary-1}'
kp config show "$dir/etc" >"$dir/out" 2>&1; has "$dir/out" "canary: look at canary-1"

kp bisect "$base" disturbed --json >"$dir/out" 2>"$dir/log"; is $? 1 "the machine changes with the commit: nobody is named"
is "$(field "$dir/out" 'o["comparison"]')" disturbed "the comparison ends as disturbed"
has "$dir/out" "machine 'local' was not steady"
kp query cases --json >"$dir/cases.json" 2>/dev/null
is "$(field "$dir/cases.json" 'len(o)')" 0 "no case"
kp machine show local >"$dir/out" 2>&1; has "$dir/out" "suspect"
kp query events --csv >"$dir/out" 2>&1
is "$(grep -c 'measuring again' "$dir/out")" 2 "it was measured afresh twice"
kp compare "$base" disturbed --json >"$dir/out" 2>&1; has "$dir/out" "undecided: machine 'local' was not steady"
kp machine resume local >/dev/null 2>&1
kp sql "SELECT count(*) FROM run JOIN job ON job.id = run.job WHERE job.name LIKE 'look%'" --csv >"$dir/out" 2>&1
[ "$(tail -1 "$dir/out")" -ge 9 ]; ok $? "the canary ran beside"

kp bisect main~1 main >"$dir/out" 2>&1; is $? 0 "a steady machine: the commit is named"
has "$dir/out" "by $steady"
has "$dir/out" "canary"
kp case show 1 >"$dir/out" 2>&1; has "$dir/out" "steady: command.rate"
done_testing
