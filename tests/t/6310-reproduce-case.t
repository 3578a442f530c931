#!/bin/bash
# The script of a case in a kernel tree for real, from where both kernels are built: it makes its own root file system, boots, and
# compares. Both sides are Debian's kernel here (or KPB_TEST_KERNEL), so on the machine that counts instructions they
# must agree to the digit.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
for p in qemu-system-x86_64 stress-ng busybox cpio perf vmstat git; do command -v "$p" >/dev/null || skip_all "no $p"; done
[ -n "${KPB_TEST_KERNEL-}" ] || debian_kernel
kernel=${KPB_TEST_KERNEL:-$debian/bzImage}
export KPERFBOT_STATE=$dir/state GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
mkdir -p "$dir/etc" "$dir/state/trees" "$dir/build" "$dir/work"
printf 'mail:\n  mbox: %s/box\n  robot_address: bot@example.org\n' "$dir" >"$dir/etc/kperfbot.yaml"
git init -q -b main "$dir/src"
for i in 1 2; do git -C "$dir/src" commit -q --allow-empty -m "net: step $i"; done
git clone -q --bare "$dir/src" "$dir/state/trees/t.git"
cp "$kernel" "$dir/build/bzImage"
echo 'CONFIG_64BIT=y' >"$dir/build/config"
kp queue cancel 1 >"$dir/out" 2>&1 # makes the database
"$kperfbot" job render stress-ng-sockfd-quick ops=2000 warmup=0 monitors=time --json >"$dir/job.json"
/usr/bin/python3 - "$dir" "$(git -C "$dir/src" rev-parse HEAD~1)" "$(git -C "$dir/src" rev-parse HEAD)" >"$dir/out" 2>&1 <<'PY'
import json, sqlite3, sys
where, good, bad = sys.argv[1:]
job = json.load(open(where + "/job.json"))[0]
d = sqlite3.connect(where + "/state/kperfbot.db")
d.execute("INSERT INTO tree(id, name, url, kind, settings) VALUES (1, 't', ?, 'kernel', '{}')", (where + "/src",))
d.execute("INSERT INTO machine(id, name, driver, tbox_group) VALUES (7, 'm', 'qemu-icount', 'm')")
d.execute("INSERT INTO job VALUES (?, ?, ?, ?, ?, ?)",
          (job["id"], job["name"], job["program"], job["canonical"], json.dumps(job["params"]), job["script"]))
d.execute("INSERT INTO metric VALUES (1, 'icount.instructions_per_op', 'insns', -1, 1)")
d.execute("INSERT INTO comparison(id, tree, branch, base, head, kconfig, job, machine, state, created) "
          "VALUES (1, 1, 'main', ?, ?, 'vm-min', ?, 7, 'different', 1000000)", (good, bad, job["id"]))
for i, oid in ((1, good), (2, bad)):
    d.execute("INSERT INTO build(id, tree, commit_oid, kconfig, state, time, image_path) VALUES (?, 1, ?, 'vm-min', 'ok', 1000000, ?)",
              (i, oid, where + "/build/bzImage"))
    for j in range(3):
        run = d.execute("INSERT INTO run(build, job, machine, boot, replicate, verdict, started, seconds) "
                        "VALUES (?, ?, 7, ?, ?, 'ok', 1000000, 1)", (i, job["id"], "b%d-%d" % (i, j), j)).lastrowid
        d.execute("INSERT INTO value VALUES (?, 1, ?)", (run, 10000 + 100 * i + j))
d.execute('INSERT INTO "case"(id, comparison, metric, state, confidence, effect, effect_lo, effect_hi, culprit, posterior, '
          "boots, builds, opened, changed) VALUES (1, 1, 1, 'found', 0.99, 0.01, 0.009, 0.011, ?, 0.999, 24, 3, 1000000, 2000000)", (bad,))
d.commit()
PY
ok $? "a found case"
kp report send 1 >"$dir/out" 2>&1; ok $? "its mail"
script=$dir/state/cases/case-1/reproduce.sh
has "$dir/box" "as root: sh job.sh runs=3"
for side in parent culprit; do cp "$kernel" "$dir/work/bzImage-$side"; done
export KPB_WORK=$dir/work
for side in parent culprit; do timeout 120 sh "$script" run $side 1 >"$dir/out" 2>&1; ok $? "a boot of the $side"; done
sh "$script" compare >"$dir/out" 2>&1; ok $? "compare"
[ "$(sed -n 's/^parent *//p' "$dir/out")" = "$(sed -n 's/^culprit *//p' "$dir/out")" ] && grep -Eq '^parent +[1-9][0-9.]+ \(sd 0, 1 boots\)$' "$dir/out"
ok $? "the same kernel twice: equal to the digit"
has "$dir/out" "change   +0.000% (reported: +1.00%)"
# where the job fails, its last line is said
/usr/bin/python3 - "$script" <<'PY'
import re, sys
s = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(re.sub(r"(?m)^test=sockfd$", "test=nosuch", s))
PY
timeout 120 sh "$script" run parent 2 >"$dir/out" 2>&1; is $? 1 "a job that fails ends it"
has "$dir/out" "the job failed in the parent: "
grep -q "unrecognized option '--nosuch'" "$dir/out"; ok $? "with the tool's words"
done_testing
