#!/bin/bash
# judge: proof_aligned: a difference that is one of code layout is said to be one; one that is not remains.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org

# a program whose Makefile takes KCFLAGS; LAYOUT is what it loses to where its functions stand
git init -q -b main "$dir/src"
cat >"$dir/src/Makefile" <<'EOF2'
bench: bench.in
	case "$(KCFLAGS)" in *align*) loss=0;; *) loss=$$(cat layout);; esac; \
	sed "s/LOSS/$$loss/" bench.in >bench && chmod +x bench
EOF2
commit() { # RATE LAYOUT'S-LOSS
	printf '#!/bin/sh\necho "ops_per_sec: $((%s - LOSS)).$((KPB_PERTURB * 7 %% 5))"\n' "$1" >"$dir/src/bench.in"
	echo "$2" >"$dir/src/layout"
	git -C "$dir/src" add -A && git -C "$dir/src" commit -q -m "core: $1 $2"
}
commit 1000 0; commit 1000 50; layout=$(git -C "$dir/src" rev-parse HEAD)
commit 1000 0; commit 900 0; real=$(git -C "$dir/src" rev-parse HEAD)
mkdir "$dir/etc"
cp tests/demo/local-bench.yaml "$dir/etc/"
cat >"$dir/etc/kperfbot.yaml" <<EOF2
state_dir: $dir/state
$(sandbox_line)
cache_dir: $dir/cache
min_free_mb: 0
judge: {min_effect: 0.01, proof_aligned: true}
mail: {mbox: $dir/mbox}
trees:
  small: {url: "$dir/src", branches: [main], program: true, artefact: bench, machine: local, jobs: [local-bench], interval: 1h}
EOF2
kp config show "$dir/etc" >"$dir/out" 2>&1; grep -q "^  proof_aligned *true$" "$dir/out"
ok $? "is switched on"
kp bisect "$layout^" "$layout" >"$dir/log" 2>&1; ok $? "a commit that moves code"
kp case show 1 >"$dir/out" 2>&1
has "$dir/out" "vanishes, so it comes from the code's layout"
grep -q "^proof  *-5\.0" "$dir/out"; ok $? "beside the proof with the usual build"
kp report show 1 >"$dir/out" 2>&1
grep -q "^code layout: with every function aligned to 64 bytes in both builds the difference vanishes" "$dir/out"; ok $? "the report says so"
kp bisect "$real^" "$real" >"$dir/log" 2>&1; ok $? "a commit that does more work"
kp case show 2 >"$dir/out" 2>&1; has "$dir/out" "in both builds the difference remains: -9.99"
kp query builds --csv >"$dir/out" 2>&1
is "$(grep -c 'program+align' "$dir/out")" 4 "four builds of a configuration of their own"
kp compare "$layout^" "$layout" --json >"$dir/out" 2>&1; ok $? "compare is about the usual builds"
kp compare "$layout^" "$layout" --kconfig program+align --json >"$dir/cmp.json" 2>"$dir/out"; ok $? "or about the others"
is "$(field "$dir/cmp.json" '[r["verdict"] for r in o["rows"] if r["metric"] == "command.ops_per_sec"][0]')" same "where nothing differs"
has "$dir/log" "a boot takes about"
sed -i 's/, proof_aligned: true//' "$dir/etc/kperfbot.yaml"
kp bisect "$layout~1" "$real" --confidence 0.95 >"$dir/log" 2>&1; ok $? "without the configuration"
kp case show 3 >"$dir/out" 2>&1; ! grep -q "^code layout" "$dir/out"; ok $? "there is no such build"
kp case reopen 3 --aligned >"$dir/out" 2>&1; ok $? "case reopen --aligned"
kp daemon --until-idle >>"$dir/log" 2>&1
kp case show 3 >"$dir/out" 2>&1
grep -q "^state  *unmailed" "$dir/out" && grep -q "^code layout  *with every function" "$dir/out"
ok $? "asks for it by hand"
kp case list --aligned >"$dir/out" 2>&1; is $? 2 "and only there"
done_testing
