#!/bin/bash
# debian.sh DIR: Debian's cloud kernel, which needs no build, in DIR: bzImage, System.map and config. Fetched by apt and
# unpacked, not installed. Exit status 77: it cannot be had here; the reason is on stdout.
set -u
dir=$1 kperfbot=${KPERFBOT:-build/kperfbot}
cannot() { echo "$*"; exit 77; }
mkdir -p "$dir" && exec 9>"$dir/lock" && flock 9 || exit 1
[ ! -f "$dir/System.map" ] || exit 0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
	sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p' | head -n 1)
[ -n "$package" ] || cannot "apt knows no linux-image-cloud-amd64 here"
reason=$(cd "$dir" && apt-get download -q "$package" 2>&1 && dpkg -x "$package"_*.deb new && rm "$package"_*.deb) ||
	cannot "$package cannot be fetched: $(echo "$reason" | tail -n 1)"
mv "$dir"/new/boot/vmlinuz-* "$dir/bzImage" && mv "$dir"/new/boot/config-* "$dir/config" && rm -rf "$dir/new" || exit 1

# the package has no System.map: the kernel itself tells its symbols
echo "grep -v '\\[' /proc/kallsyms | gzip >map.gz" >"$work/job.sh"
KPERFBOT_STATE=$work "$kperfbot" --config "$work" machine boot qemu-icount --image "$dir/bzImage" \
	--script "$work/job.sh" --out "$work/boot" || exit 1
zcat "$work/boot/result/map.gz" >"$dir/map.new" && grep -q ' T _etext$' "$dir/map.new" &&
	mv "$dir/map.new" "$dir/System.map"
