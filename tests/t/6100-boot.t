#!/bin/bash
# Real boots: equal runs, and every way in which a boot can go wrong, each with its verdict and cause. The kernel is
# Debian's, or KPB_TEST_KERNEL.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
for p in qemu-system-x86_64 stress-ng busybox; do command -v "$p" >/dev/null || skip_all "no $p"; done
[ -n "${KPB_TEST_KERNEL-}" ] || debian_kernel
kernel=${KPB_TEST_KERNEL:-$debian/bzImage}
export KPERFBOT_STATE=$dir/state
mkdir -p "$dir/etc" "$dir/state"
machine() { printf '  %s:\n    driver: qemu-icount\n    tbox_group: t\n' "$1"; shift; for l; do echo "    $l"; done; }
{
	echo machines:
	machine panic 'append: "rdinit=/bin/false"'
	machine hang 'append: "rdinit=/bin/cat"' 'boot_timeout: 25s'
	machine silent 'boot_timeout: 10s'
} >"$dir/etc/machines.yaml"
script() { printf '%s\n' "$1" >"$dir/job.sh"; }
boot() { m=$1; shift; kp machine boot "$m" --image "$kernel" --script "$dir/job.sh" --out "$dir/boot" --json "$@" >"$dir/out" 2>"$dir/log"; }
verdict() { # VERDICT CAUSE_PART TITLE
	is "$(field "$dir/out" "o['verdict']")" "$1" "$3"
	field "$dir/out" "o['cause']" >"$dir/cause"
	has "$dir/cause" "$2"
}

# one kernel, the same start: equal to the digit, also when the host is busy
script 'set -e
grep ctxt /proc/stat >before
stress-ng --sockfd 1 --timeout 1 --no-rand-seed --metrics --yaml s.yaml >out 2>&1
grep ctxt /proc/stat >after
cat /proc/uptime >uptime'
boot qemu-icount --program stress-ng --perturb 3; ok $? "a boot runs its script"
grep -q 'bogo-ops: [1-9]' "$dir/boot/result/s.yaml"; ok $? "stress-ng counted operations"
mv "$dir/boot" "$dir/first"
for _ in 1 2; do nice -n 19 sh -c 'while :; do :; done' & pids+=($!); done
boot qemu-icount --program stress-ng --perturb 3; ok $? "a second boot, beside two busy loops"
for p in "${pids[@]}"; do kill "$p"; done; pids=()
for f in s.yaml before after uptime out; do
	cmp "$dir/first/result/$f" "$dir/boot/result/$f" >"$dir/log" 2>&1; ok $? "$f is equal to the digit"
done
zstd -dc "$dir/first/console.log.zst" >"$dir/c1"; zstd -dc "$dir/boot/console.log.zst" >"$dir/c2"
cmp "$dir/c1" "$dir/c2" >"$dir/log" 2>&1; ok $? "the consoles are equal too"
[ ! -e "$dir/boot/.boot" ]; ok $? "no temporary files are left"

script 'exit 99'
boot qemu-icount
is "$(field "$dir/out" "(o['verdict'], o['exit_status'])")" "('ok', 99)" "the exit status of the script"
script 'while :; do :; done'
boot qemu-icount --timeout 2
verdict timeout "longer than 2 s" "an endless script"
script 'reboot -f; sleep 9'
boot qemu-icount
verdict crashed "before the script's end" "a guest that resets itself"
script 'echo garbage >/dev/ttyS1; exit 0'
boot qemu-icount
verdict crashed "no result stream" "a script that writes to the port of the results"
script 'mkdir "a b"; echo x >"a b/c"; exit 0'
boot qemu-icount
verdict crashed "no plain file" "a file name that is not taken"

script 'true'
boot panic
verdict boot-failed "kernel panic: " "a kernel that panics"
is "$(field "$dir/out" "'Kernel panic' in o['console_tail']")" True "the last console lines tell of it"
boot hang
verdict boot-failed "hang while booting" "a kernel that hangs"
good=$kernel
kernel=$dir/loop # the 32-bit entry point (Documentation/x86/boot.rst: after setup_sects + 1 sectors) jumps to itself
cp "$good" "$kernel"
sects=$(od -An -tu1 -j497 -N1 "$good" | tr -d ' ')
for off in 0 512; do printf '\353\376' | dd of="$kernel" bs=1 seek=$(((sects + 1) * 512 + off)) conv=notrunc status=none; done
boot silent
verdict boot-failed "no boot: the kernel printed nothing" "a kernel that says nothing"
kernel=$dir/text; echo "not a kernel" >"$kernel"
boot silent
verdict boot-failed "no boot" "a file that is no kernel"
kernel=$good

# the guest dies in the middle of a test
script 'while :; do :; done'
qemu() { pgrep -f "path=$dir/boot/console.log"; }
started() { grep -q 'script starts' "$dir/boot/console.log" 2>/dev/null; }
boot qemu-icount --timeout 600 & worker=$!
wait_for 120 started; ok $? "a test is on"
kill -9 "$(qemu)"; wait "$worker"
verdict crashed "the guest died: QEMU was killed from outside by signal 9" "QEMU killed"

# and we die: QEMU goes with us
boot qemu-icount --timeout 600 & worker=$!
wait_for 120 qemu; ok $? "QEMU runs"
kill -9 "$(pgrep -P "$worker" || echo "$worker")"; wait "$worker" 2>/dev/null
wait_until_not 10 qemu
is "$(qemu)" "" "after kill -9 no QEMU is left"
done_testing
