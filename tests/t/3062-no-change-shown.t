#!/bin/bash
# Boots that are too noisy to show a change of interest have not shown that there is none: nobody reads "same" then.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org

git init -q -b main "$dir/src"
printf 'bench: bench.sh\n\tcp bench.sh bench && chmod +x bench\n' >"$dir/src/Makefile"
commit() { # NUMBER SPREAD
	printf '#!/bin/sh\n# %s\necho "ops_per_sec: $((100000 + (KPB_PERTURB * 37 %% 61 - 30) * %s))"\n' "$1" "$2" >"$dir/src/bench.sh"
	git -C "$dir/src" add -A && git -C "$dir/src" commit -q -m "core: step $1"
	git -C "$dir/src" rev-parse HEAD
}
noisy=$(commit 1 50) still_noisy=$(commit 2 50) calm=$(commit 3 1) still_calm=$(commit 4 1)
mkdir "$dir/etc"
cp tests/demo/local-bench.yaml "$dir/etc/"
cat >"$dir/etc/kperfbot.yaml" <<EOF2
state_dir: $dir/state
$(sandbox_line)
cache_dir: $dir/cache
min_free_mb: 0
judge: {min_effect: 0.002, min_boots: 4, max_boots: 8}
mail: {mbox: $dir/mbox}
trees:
  small: {url: "$dir/src", branches: [main], program: true, artefact: bench, machine: local, jobs: [local-bench], interval: 1h}
EOF2
kp bisect "$calm" "$still_calm" --tree small >"$dir/out" 2>"$dir/log"
has "$dir/out" ": same: "
! grep -q 'not excluded' "$dir/out"; ok $? "where a change of interest is excluded they are the same"
kp bisect "$noisy" "$still_noisy" --tree small >"$dir/out" 2>"$dir/log"
has "$dir/out" ": no change shown: "
has "$dir/out" ", not excluded: -"
has "$dir/out" "smallest change of interest 0.20%"
! grep -qw same "$dir/out"; ok $? "nobody calls them the same"
kp query events --csv >"$dir/out" 2>&1
has "$dir/out" "comparison ${noisy:0:12}..${still_noisy:0:12}: no change shown: "
kp bisect "$noisy" "$still_noisy" --tree small --json >"$dir/out" 2>"$dir/log"
is "$(field "$dir/out" 'o["comparison"]')" "no change shown" "the same word in JSON"
kp compare "$noisy" "$still_noisy" --all --json -m command.ops_per_sec >"$dir/out" 2>"$dir/log"
is "$(field "$dir/out" 'o["rows"][0]["verdict"]')" "no change shown" "and in compare"
done_testing
