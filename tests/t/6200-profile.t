#!/bin/bash
# Counting what a kernel executes: exact, unseen by the guest, named, compared, stored. The kernel is Debian's, or
# KPB_TEST_KERNEL with its System.map beside it.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
plugin=$(dirname "$kperfbot")/tcg-count.so
for p in qemu-system-x86_64 busybox sqlite3 git; do command -v "$p" >/dev/null || skip_all "no $p"; done
[ -f "$plugin" ] || skip_all "no $plugin"
qemu-system-x86_64 -machine none -nodefaults -display none -plugin "$plugin,probe=on" >/dev/null 2>&1 </dev/null ||
	skip_all "this QEMU takes no plugins"
[ -n "${KPB_TEST_KERNEL-}" ] || debian_kernel
kernel=${KPB_TEST_KERNEL:-$debian/bzImage}
map=$(dirname "$kernel")/System.map
[ -f "$map" ] || skip_all "no System.map beside the kernel"
export KPERFBOT_STATE=$dir/state
mkdir -p "$dir/etc" "$dir/state" "$dir/k"
cp "$kernel" "$dir/k/bzImage"
cp "$map" "$dir/k/System.map"
boot() { # OUT [OPTION...]
	kp machine boot qemu-icount --image "$dir/k/bzImage" --script "$dir/job.sh" --out "$dir/$1" --json "${@:2}" >"$dir/out" 2>"$dir/log"
}
reads() { # N: reads one byte N times between the marks, and as often outside
	cat >"$dir/job.sh" <<-END
	read_zero() { dd if=/dev/zero of=/dev/null bs=1 count=\$1 2>dd.log; }
	read_zero $1
	kpb-mark start
	read_zero $1
	kpb-mark stop
	read_zero $1
	grep ctxt /proc/stat >ctxt
	cat /proc/uptime >uptime
	END
}
entries() { zstd -dc "$dir/$1/profile.zst" | awk -v f="$2" '$1 == f { print $2 }'; }

# exact, and the guest does not notice
reads 1000
boot without; ok $? "a boot without counting"
boot a --profile; ok $? "the same with it"
cmp "$dir/without/result/ctxt" "$dir/a/result/ctxt" && cmp "$dir/without/result/uptime" "$dir/a/result/uptime"
ok $? "the guest's results are the same to the digit"
is "$(entries a read_zero)" 1000 "read_zero was entered 1000 times between the marks, not more"
is "$(entries a write_null)" 1000 "so was write_null"
boot again --profile
cmp "$dir/a/profile.zst" "$dir/again/profile.zst"; ok $? "a second count is equal to the digit"
reads 1100
boot b --profile; ok $? "100 reads more"
kp machine boot qemu --image "$dir/k/bzImage" --script "$dir/job.sh" --out "$dir/q" --profile >"$dir/out" 2>"$dir/log"
ok $? "a machine with a clock of its own"
is "$(entries q read_zero)" 1100 "counts what ran, too"
kp compare --profile "$dir/a" "$dir/b" --all --json >"$dir/out" 2>"$dir/log"; ok $? "compare --profile"
is "$(field "$dir/out" "[(r['entries_A'], r['entries_B']) for r in o if r['function'] == 'read_zero']")" "[(1000, 1100)]" \
	"it shows them"
is "$(field "$dir/out" "sum(r['change'] for r in o if r['function'] not in ('everything else', 'all')) == [r['change'] for r in o if r['function'] == 'all'][0]")" \
	True "functions and user space add up to the total"
kp compare --profile "$dir/a" "$dir/b" --rows 3 >"$dir/out" 2>"$dir/log"; ok $? "as a table"
has "$dir/out" "everything else"

# what cannot be counted is refused, with the reason
printf 'kpb-mark start\n' >"$dir/job.sh"
boot x --profile; is $? 1 "no stop mark: no profile"
has "$dir/log" "before the stop mark"
printf 'true\n' >"$dir/job.sh"
boot x --profile; is $? 1 "no marks: no profile"
has "$dir/log" "counting never began"
kp machine boot local --script "$dir/job.sh" --out "$dir/x" --profile >"$dir/out" 2>"$dir/log"; is $? 1 "a machine that cannot count"
has "$dir/log" "only the drivers qemu and qemu-icount"
printf 'kpb-mark start\nkpb-mark stop\n' >"$dir/job.sh"
mv "$dir/k/System.map" "$dir/k/none"
boot x --profile; [ $? != 0 ]; ok $? "no symbols: no profile"
has "$dir/log" "System.map"
mv "$dir/k/none" "$dir/k/System.map"
is "$(kp compare --profile "$dir/a" "$dir/k" 2>&1 | grep -c 'is neither a profile file')" 1 "what is no profile is named"
head -c 100 "$dir/a/profile.zst" >"$dir/cut.zst"
kp compare --profile "$dir/a" "$dir/cut.zst" >"$dir/out" 2>"$dir/log"; is $? 1 "a torn profile is refused"

# a tree with two commits, whose builds are the kernel at hand
mkdir -p "$dir/up/drivers/char"
cat >"$dir/up/drivers/char/mem.c" <<-'END'
static inline int fill(void)
{
	return 2;
}

static ssize_t read_zero(struct file *file)
{
	fill();
	return 1;
}

static ssize_t write_full(struct file *file)
{
	return 3;
}
END
g() { git -C "$dir/up" -c user.name=A -c user.email=a@example.org "$@"; }
g init -q -b main; g add -A; g commit -q -m one
touched() { # WHAT EXPRESSION: a commit on the first one; prints its id
	g checkout -q --detach main
	sed -i "$2" "$dir/up/drivers/char/mem.c"
	g commit -q -a -m "$1"
	g branch "$1"
	g rev-parse HEAD
}
first=$(g rev-parse main)
zero=$(touched zero 's/return 1/return 11/'); inlined=$(touched inlined 's/return 2/return 22/')
full=$(touched full 's/return 3/return 33/')
g checkout -q main
cat >"$dir/etc/trees.yaml" <<-END
trees:
  t:
    url: $dir/up/.git
    machine: qemu-icount
    jobs: [dd]
END
cat >"$dir/etc/dd.yaml" <<-'END'
suite: dd
testcase: dd
category: benchmark
monitors: []
command:
  run: "dd if=/dev/zero of=/dev/null bs=1 count=500 2>dd.log; echo 'ops: 500 ops'"
  kpi: ops
END
kp job suggest "$zero" >"$dir/out" 2>&1; is $? 3 "nothing is known before a profile is there"
has "$dir/out" "no job has a profile yet"
sql() { sqlite3 "$dir/state/kperfbot.db" "$@"; }
for c in "$first" "$zero" "$full"; do
	kp run dd --commit "$c" --profile --queue >"$dir/out" 2>"$dir/log"; ok $? "queued"
	sql "INSERT INTO build (tree, commit_oid, kconfig, state, image_path, time) VALUES ((SELECT id FROM tree), '$c', 'vm-min', 'ok',
		'$dir/k/bzImage', 1);
	     UPDATE task SET state = 'done' WHERE kind = 'build'"
done
kp run dd --commit "$first" --profile --json >"$dir/out" 2>"$dir/log"; ok $? "run --profile"
is "$(field "$dir/out" "[r['entries'] for r in o if r['function'] == 'read_zero']")" "[500]" "it counted the job's reads"
is "$(sql 'SELECT count(*) FROM run')" 0 "no run is stored: it is never one of the measured ones"
is "$(sql "SELECT entries FROM reach JOIN function ON function.id = reach.function WHERE name = 'read_zero'")" 500 "reach is stored"
kp run dd --commit "$zero" --profile >"$dir/out" 2>"$dir/log"; ok $? "and for another commit"
kp compare --profile "$first" "$zero" >"$dir/out" 2>"$dir/log"; ok $? "compare --profile of commits"
has "$dir/out" "per operation; A: 500 operations, B: 500"
kp job suggest "$zero" --json >"$dir/out" 2>"$dir/log"; ok $? "job suggest"
is "$(field "$dir/out" "(o['jobs'][0]['reached'], o['jobs'][0]['functions'][0]['reach'])")" "(1, 'entered 1 times per operation')" \
	"the job reaches what the commit touches"
kp job suggest "$inlined" >"$dir/out" 2>"$dir/log"; ok $? "an inlined function"
has "$dir/out" "inlined, in read_zero, entered 1 times per operation"
kp job suggest "$full" >"$dir/out" 2>"$dir/log"; is $? 1 "a function that the job never enters: exit code 1"
has "$dir/out" "never executed"
kp job suggest nothing >"$dir/out" 2>&1; is $? 3 "no such commit"

# was the change reached? Of a pair of commits, from the profile of the second one
kp run dd --commit "$full" --profile >"$dir/out" 2>"$dir/log"; ok $? "a profile of the commit that the job never enters"
for c in "$first" "$zero" "$full"; do
	kp run dd --commit "$c" >"$dir/out" 2>"$dir/log"; ok $? "a measured boot"
done
kp compare "$first" "$zero" --table --all >"$dir/out" 2>"$dir/log"; ok $? "compare"
has "$dir/out" "${zero:0:12}: reach passed: 1 of 1 changed function executed: read_zero (entered 1 times per operation)"
kp compare "$first" "$full" --json >"$dir/out" 2>"$dir/log"; ok $? "compare with a change that is not reached"
is "$(field "$dir/out" "[v for v in o['validity'] if 'reach failed: this benchmark never executes write_full: its numbers say nothing about this change' in v] != []")" \
	True "says so"
kp compare "$first" "$full" >"$dir/out" 2>"$dir/log"; ok $? "LKP's text stays as it is"
has "$dir/log" "reach failed: this benchmark never executes write_full"
is "$(grep -c reach "$dir/out")" 0 "the warning goes beside it"
kp compare "$zero" "$first" --table --all >"$dir/out" 2>"$dir/log"; ok $? "the other way round"
has "$dir/out" "${first:0:12}: reach passed"
done_testing
