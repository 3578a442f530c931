#!/bin/bash
# measure.sh WORKDIR [NAME...]: measures what patches do to stress-ng sockfd, without kperfbot, as a check on both. Builds
# the config vm-min from the source of the package linux-source-6.1 once as it is, once with all innocent patches, and
# once with each culprit (or NAME) on top of the plain source; boots each in QEMU, counting instructions, from two
# different starts; prints a table. WORKDIR keeps source, objects and images, so that a second call goes on from there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
config=$here/../../kernels/configs/vm-min.config
source=${KPB_DEMO_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
die() { echo "measure.sh: $*" >&2; exit 1; }

[[ $# -ge 1 ]] || die "usage: measure.sh WORKDIR [NAME...]"
mkdir -p "$1"
work=$(cd "$1" && pwd)
shift
src=$work/linux-source-6.1 obj=$work/o
innocent() { awk '!/^#/ && $1 !~ /^culprit/ { print $2 }' "$here/series"; }
names=("$@")
[[ $# -gt 0 ]] || mapfile -t names < <(awk '$1 == "culprit" { print $2 }' "$here/series")

find_patch() {
	local f
	for f in "$here"/{culprits,patches}/"$1".patch; do [[ ! -e $f ]] || { echo "$f"; return; }; done
	die "there is no patch \"$1\""
}

applied=()
undo() {
	local i
	for ((i = ${#applied[@]} - 1; i >= 0; i--)); do patch -s -R -p1 -d "$src" < "${applied[i]}"; done
	applied=()
}
trap undo EXIT

kmake() {
	KBUILD_BUILD_TIMESTAMP=2024-01-01 KBUILD_BUILD_USER=demo KBUILD_BUILD_HOST=demo KBUILD_BUILD_VERSION=1 \
		nice make -s -C "$src" O="$obj" -j"$(nproc)" "$@"
}

# image NAME PATCH...: builds $work/NAME.bzImage from the source with these patches
image() {
	local name=$1 file
	shift
	[[ ! -e $work/$name.bzImage ]] || return 0
	for file; do
		file=$(find_patch "$file")
		patch -s -p1 -d "$src" < "$file"
		applied+=("$file")
	done
	kmake bzImage > "$work/$name.log" 2>&1 || die "\"$name\" does not build: see \"$work/$name.log\""
	cp "$obj/arch/x86/boot/bzImage" "$work/$name.bzImage"
	undo
}

# An initramfs, not compressed: busybox, stress-ng, and an init that runs it
root_image() {
	local root=$work/root file
	[[ ! -e $work/root.cpio ]] || return 0
	rm -rf "$root"
	mkdir -p "$root"/{bin,dev,proc,sys,tmp}
	cp "$(type -P busybox)" "$(type -P stress-ng)" "$root/bin/"
	for file in $(ldd "$(type -P stress-ng)" | grep -o '/[^ ]*'); do
		mkdir -p "$root$(dirname "$file")"
		cp -L "$file" "$root$file"
	done
	cat > "$root/init" <<-'INIT'
		#!/bin/busybox sh
		busybox=/bin/busybox
		$busybox mount -t proc proc /proc
		$busybox mount -t sysfs sys /sys
		$busybox mount -t devtmpfs dev /dev
		$busybox mount -t tmpfs tmp /tmp
		cd /tmp
		start=$($busybox sed 's/.*start=//' /proc/cmdline)
		$busybox sleep 0.$((start * 37 % 100 + 10))
		/bin/stress-ng --sockfd 1 --timeout 1 --no-rand-seed >/dev/null 2>&1
		/bin/stress-ng --sockfd 1 --timeout 5 --metrics --no-rand-seed 2>&1
		$busybox reboot -f
	INIT
	chmod +x "$root/init"
	(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet) > "$work/root.cpio"
}

# ops NAME START: the bogo operations of 5 s of guest time
ops() {
	timeout 300 qemu-system-x86_64 -M pc -accel tcg,thread=single -icount shift=3,sleep=off -smp 1 -cpu qemu64 -m 512 \
		-rtc base=2024-01-01,clock=vm -nodefaults -display none -serial stdio -no-reboot \
		-kernel "$work/$1.bzImage" -initrd "$work/root.cpio" \
		-append "console=ttyS0 nokaslr norandmaps random.trust_cpu=off quiet start=$2" < /dev/null |
		awk '/ metrc: .* sockfd / { print $5; found = 1 } END { exit !found }' ||
		die "\"$1\" did not come to an end of the test"
}

base=0
# row NAME: its line of the table; the first one is the base of the others
row() {
	local a b
	a=$(ops "$1" 1)
	b=$(ops "$1" 2)
	awk -v name="$1" -v a="$a" -v b="$b" -v base="$base" 'BEGIN {
		mean = (a + b) / 2
		printf "%-20s %8d %8d  %s\n", name, a, b, base ? sprintf("%+.2f %%", 100 * (mean / base - 1)) : "" }'
	[[ $base != 0 ]] || base=$(((a + b) / 2))
}

if [[ ! -d $src ]]; then
	mkdir "$src.new"
	tar -xf "$source" -C "$src.new" --strip-components=1
	mv "$src.new" "$src"
fi
if [[ ! -e $obj/.config ]]; then
	mkdir -p "$obj"
	kmake tinyconfig
	cat "$config" >> "$obj/.config"
	kmake olddefconfig
fi
root_image

image base
row base
image innocent $(innocent)
row innocent
for name in "${names[@]}"; do
	image "$name" "$name"
	row "$name"
done
