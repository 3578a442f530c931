#!/bin/bash
# Which functions a job runs, where nobody can count from outside: watched by the kernel itself, by ftrace's function profiler
# and by kprobes, in a boot made for that. The kernel is KPB_TEST_TRACE_KERNEL or vm-net; where
# that cannot be built Debian's, which has no function profiler: there kprobes do all.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
for p in qemu-system-x86_64 busybox sqlite3 git; do command -v "$p" >/dev/null || skip_all "no $p"; done
kernel=${KPB_TEST_TRACE_KERNEL:-$(keep_dir)/vm-net/bzImage} means=ftrace
if [ -z "${KPB_TEST_TRACE_KERNEL-}" ] && ! make_target test-kernel-vm-net; then
	echo "# $no_target"
	debian_kernel
	kernel=$debian/bzImage means=kprobe
fi
echo "# $kernel"
export KPERFBOT_STATE=$dir/state
mkdir -p "$dir/etc" "$dir/state" "$dir/k"
cp "$kernel" "$dir/k/bzImage"
cat >"$dir/etc/dd.yaml" <<-'END'
suite: dd
testcase: dd
category: benchmark
monitors: []
command:
  run: "dd if=/dev/zero of=/dev/null bs=1 count=500 2>dd.log; echo 'ops: 500 ops'"
  kpi: ops
END
hits() { field "$dir/out" "[w['hits'] for w in o['watched'] if w['function'] == '$1']"; }
watch() { # OUT JOB OPTION...
	kp machine boot qemu --image "$dir/k/bzImage" --job "$2" --out "$dir/$1" --json --watch read_zero --watch write_null --watch write_full \
		--watch no_such_function "${@:3}" >"$dir/out" 2>"$dir/log"
}
watch a dd; ok $? "a boot that watches"
is "$(field "$dir/out" "o['watched_by']")" "$means" \
	"by ftrace's function profiler, or by kprobes where the kernel has none"
is "$(hits read_zero)" "[500]" "read_zero ran 500 times between the marks"
is "$(hits write_null)" "[500]" "so did write_null"
is "$(hits write_full)" "[0]" "write_full was watched in vain"
is "$(hits no_such_function)" "[]" "what the kernel does not have is in no line"
kp machine boot qemu --image "$dir/k/bzImage" --job dd --out "$dir/b" --watch 'a;b' >"$dir/out" 2>"$dir/log"; is $? 2 "no name of a function"
has "$dir/log" "is not the name of a function"

# the same by kprobes, where the profiler is not to be had: another user of ftrace is left alone
cp -r "$root/jobs" "$dir/jobs" && mkdir -p "$dir/data" && for f in "$root"/*; do ln -sf "$f" "$dir/data/"; done
rm "$dir/data/jobs" && mv "$dir/jobs" "$dir/data/jobs"
sed -i 's/function_profile_enabled/no_such_file/' "$dir/data/jobs/reach.sh"
KPERFBOT_DATA=$dir/data watch c dd; ok $? "without the function profiler"
is "$(field "$dir/out" "o['watched_by']")" kprobe "by kprobes"
is "$(hits read_zero)$(hits write_full)$(hits no_such_function)" "[500][0][]" "the same counts"
sed -i 's/kprobe_events/no_such_file/' "$dir/data/jobs/reach.sh"
KPERFBOT_DATA=$dir/data watch d dd; is $? 1 "with neither"
has "$dir/log" "no function could be watched"
if command -v perf >/dev/null; then
	sed 's/monitors: .*/monitors: [perf-stat]/; s/count=500/count=200000/' "$dir/etc/dd.yaml" >"$dir/etc/long.yaml"
	KPERFBOT_DATA=$dir/data watch e long --watch vfs_read; ok $? "but with perf in the image"
	is "$(field "$dir/out" "(o['watched_by'], [w['hits'] > 0 for w in o['watched'] if w['function'] == 'vfs_read'])")" \
		"('perf', [True])" "samples see what runs"
	is "$(hits write_full)" "[]" "what no sample met is in no line"
fi

# The same from the database: a tree whose builds are the kernel at hand, on a machine whose QEMU cannot count.
map=$(dirname "$kernel")/System.map
[ -f "$map" ] || { done_testing; exit; }
cp "$map" "$dir/k/System.map"
mkdir -p "$dir/up/drivers/char"
cat >"$dir/up/drivers/char/mem.c" <<-'END'
static ssize_t read_zero(struct file *file)
{
	return 1;
}

static ssize_t write_full(struct file *file)
{
	return 3;
}
END
g() { git -C "$dir/up" -c user.name=A -c user.email=a@example.org "$@"; }
g init -q -b main; g add -A; g commit -q -m one
one=$(g rev-parse main)
sed -i 's/return 1/return 11/; s/return 3/return 33/' "$dir/up/drivers/char/mem.c"
g commit -q -a -m both; both=$(g rev-parse HEAD)
cat >"$dir/etc/trees.yaml" <<-END
trees:
  t:
    url: $dir/up/.git
    machine: plain
    jobs: [dd]
END
sql() { sqlite3 "$dir/state/kperfbot.db" "$@"; }
cat >"$dir/qemu" <<-'END'
#!/bin/sh
case "$*" in *-plugin*) echo "this one was built without plugins" >&2; exit 1 ;; esac
exec qemu-system-x86_64 "$@"
END
chmod +x "$dir/qemu"
cat >"$dir/etc/machines.yaml" <<-END
machines:
  plain:
    driver: qemu
    qemu: $dir/qemu
END
kp run dd --commit "$both" --profile --queue >"$dir/out" 2>"$dir/log"; ok $? "queued"
for c in $one $both; do
	sql "INSERT INTO build (tree, commit_oid, kconfig, state, image_path, image_hash, time) VALUES ((SELECT id FROM tree), '$c', 'vm-min',
		'ok', '$dir/k/bzImage', '$c', 1)"
done
sql "UPDATE task SET state = 'done' WHERE kind = 'build'"
kp run dd --commit "$both" --profile --json >"$dir/out" 2>"$dir/log"; ok $? "run --profile"
is "$(field "$dir/out" "[(r['function'], r['entries'], r['means']) for r in o]")" \
	"[('read_zero', 500, '$means'), ('write_full', 0, '$means')]" "the kernel watched what the commit changes"
is "$(sql 'SELECT means, instructions, path IS NULL FROM profile')" "$means|0|1" "stored as such"
kp job suggest "$both" --json >"$dir/out" 2>"$dir/log"; ok $? "job suggest"
is "$(field "$dir/out" "[f['reach'] for f in o['jobs'][0]['functions']]")" \
	"['entered 1 times per operation', 'never executed']" "uses it"
kp compare --profile "$one" "$both" >"$dir/out" 2>"$dir/log"; [ $? != 0 ]; ok $? "there is nothing to compare by instructions"
done_testing
