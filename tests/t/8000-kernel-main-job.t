#!/bin/bash
# The demo itself on a real kernel: 23 commits, one slows stress-ng sockfd, one does not compile; and on the same tree, served
# by git daemon, kernels that panic and that hang at boot.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
source=${KPB_DEMO_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
[ -r "$source" ] || skip_all "no $source: install the package linux-source-6.1"
for p in gcc flex bison bc qemu-system-x86_64 stress-ng; do command -v "$p" >/dev/null || skip_all "no $p"; done
need_box || skip_all "$no_box"
kernel_cache
made test-kernel-vm-min

demo --seed 1 --json >"$dir/demo.out" 2>"$dir/log"; ok $? "the demo finds the planted commit"
tail -n 1 "$dir/demo.out" >"$dir/demo.json"
is "$(field "$dir/demo.json" 'o["found"]')" "$(field "$dir/demo.json" 'o["true_culprit"]')" "it says so"
is "$(field "$dir/demo.json" 'o["posterior"] >= 0.99')" True "with the asked posterior"
mbox=$(field "$dir/demo.json" 'o["mbox"]')
is "$(/usr/bin/python3 -c 'import mailbox,sys; print(len(mailbox.mbox(sys.argv[1])))' "$mbox")" 1 "one mail in the mbox"
grep -Eq '^  reach: (passed|unknown): ' "$mbox"; ok $? "the mail tells whether the changed functions ran"
grep -q '^functions this commit touches:' "$mbox" && grep -q '^instructions per operation:' "$mbox"
ok $? "how often each, and by how many instructions what grew"
etc=$(dirname "$mbox")/etc
"$kperfbot" --config "$etc" query metrics --json >"$dir/metrics.json" 2>"$dir/out"; ok $? "query metrics"
for m in stress-ng.sockfd.ops stress-ng.sockfd.ops_per_sec icount.instructions_per_op stress-ng.time.elapsed_time \
	perf-stat.ps.context-switches; do
	is "$(field "$dir/metrics.json" "any(x['metric'] == '$m' for x in o)")" True "there is $m"
done
"$kperfbot" --config "$etc" case show 1 >"$dir/out" 2>&1; ok $? "case show"
"$kperfbot" --config "$etc" query builds --json >"$dir/builds.json" 2>"$dir/out"
is "$(field "$dir/builds.json" '[b["warnings"] for b in o if b["warnings"]]')" "[]" "every option of vm-min survived"

# kernels that do not come up
bash tests/demo/make-tree.sh 1 "$dir/up.git" "$source" >"$dir/out" 2>&1 || KPB_CACHE=$KPERFBOT_CACHE \
	bash tests/demo/make-tree.sh 1 "$dir/up.git" "$source" >"$dir/out" 2>&1
base=$(git -C "$dir/up.git" rev-parse demo-base)
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
branch() { # NAME CODE: base with code more at the end of net/core/scm.c
	local blob
	export GIT_INDEX_FILE=$dir/index
	git -C "$dir/up.git" read-tree "$base" &&
		blob=$({ git -C "$dir/up.git" cat-file blob "$base:net/core/scm.c"; printf '%s\n' "$2"; } |
			git -C "$dir/up.git" hash-object -w --stdin) &&
		git -C "$dir/up.git" update-index --cacheinfo "100644,$blob,net/core/scm.c" &&
		git -C "$dir/up.git" update-ref "refs/heads/$1" \
			"$(git -C "$dir/up.git" commit-tree -p "$base" -m "$1" "$(git -C "$dir/up.git" write-tree)")"
	unset GIT_INDEX_FILE
}
branch panics 'static int __init scm_test(void) { panic("planted"); return 0; } core_initcall(scm_test);'
branch hangs 'static int __init scm_test(void) { for (;;) cpu_relax(); return 0; } core_initcall(scm_test);'
port=$(free_port); url=git://127.0.0.1:$port/up.git; serve; ok $? "served by git daemon"
mkdir -p "$dir/etc"
cat >"$dir/etc/kperfbot.yaml" <<-EOF
state_dir: $dir/state
machines:
  qemu-icount:
    driver: qemu-icount
    boot_timeout: 60s
trees:
  k:
    url: $url
    branches: [panics, hangs]
    jobs: [stress-ng-sockfd-quick]
EOF
for what in panics hangs; do
	kp run stress-ng-sockfd-quick --tree k --commit $what >"$dir/out" 2>"$dir/log"; is $? 1 "a kernel that $what: the run fails"
done
kp query runs --json >"$dir/runs.json" 2>"$dir/out"
is "$(field "$dir/runs.json" '[r["verdict"] for r in o]')" "['boot-failed', 'boot-failed']" "neither comes up"
field "$dir/runs.json" '"\n".join(str(r["cause"]) for r in o)' >"$dir/causes"
has "$dir/causes" "planted"
has "$dir/causes" "hang while booting"
done_testing
