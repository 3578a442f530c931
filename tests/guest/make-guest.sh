#!/bin/bash
# make-guest.sh DIR PACKAGE...: a plain Debian 12 for QEMU in DIR: root.img (minbase, Debian's cloud kernel, the packages),
# vmlinuz, and an initrd that only mounts the disk. All of it comes from the mirrors that this machine's apt is set up for, by
# mmdebstrap. Exit status 77: that cannot be done here; the reason is on stdout.
set -u
dir=$1
shift
cannot() { echo "$*"; exit 77; }
[ "$(id -u)" = 0 ] || cannot "needs root"
for p in mmdebstrap mke2fs busybox cpio gzip apt-get modprobe; do
	command -v "$p" >/dev/null || cannot "no $p"
done

# "URI suite component" of Debian 12 itself, its updates and its security archive
mirrors() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
		sed -En 's/^Debian bookworm(-updates|-security)? ([^ ]+ [^ ]+ [^ ]+)$/\2/p' | sort -u
}
[ -n "$(mirrors)" ] || apt-get update -q >/dev/null 2>&1
list=$(mirrors)
[ -n "$list" ] || cannot "apt knows no mirror of Debian 12 here"
mkdir -p "$dir" || exit 1
apt-config dump --no-empty --format '%f "%v";%n' Acquire | grep -E '^Acquire::(http|https|Check-)' >"$dir/apt.conf"
echo 'Acquire::Languages "none";' >>"$dir/apt.conf"

# netperf, for tcp_crr, is in non-free; a mirror without that is no reason to give up
main=$(echo "$list" | sed -n 's/ bookworm main$/ bookworm/p' | head -n 1)
cat >"$dir/more.sh" <<END
echo "deb $main non-free" >"\$1/etc/apt/sources.list.d/non-free.list"
chroot "\$1" sh -c "apt-get update -q && apt-get install -y -q --no-install-recommends netperf" ||
	rm "\$1/etc/apt/sources.list.d/non-free.list"
rm -rf "\$1"/var/lib/apt/lists/* "\$1"/var/cache/apt/*.bin
END
chmod +x "$dir/more.sh"

rm -rf "$dir/root" "$dir/root.img"
packages=$(IFS=,; echo "$*")
# no initrd is made from inside: it would take longer than all the rest
if ! echo "$list" | sed 's/^/deb /' | mmdebstrap --mode=root --variant=minbase --format=directory --aptopt="$dir/apt.conf" \
	--include="linux-image-cloud-amd64,$packages" --dpkgopt='path-exclude=/etc/kernel/postinst.d/initramfs-tools' \
	--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
	--customize-hook="$dir/more.sh" bookworm "$dir/root" - >"$dir/log" 2>&1; then
	rm -rf "$dir/root"
	cannot "mmdebstrap made no guest: $(grep '^E:' "$dir/log" | tail -n 1)"
fi

version=$(basename "$dir"/root/lib/modules/*)
cp "$dir/root/boot/vmlinuz-$version" "$dir/vmlinuz" || exit 1
rm -rf "$dir/initrd.d"
mkdir -p "$dir/initrd.d/bin" "$dir/initrd.d/dev" "$dir/initrd.d/root"
cp "$(command -v busybox)" "$dir/initrd.d/bin/busybox"
n=100
for module in $(modprobe -d "$dir/root" -S "$version" -a --show-depends virtio_pci virtio_blk ext4 crc32c_generic | sed -n 's/^insmod //p' | awk '!seen[$1]++'); do
	n=$((n + 1))
	cp "$module" "$dir/initrd.d/$n.ko"
done
cat >"$dir/initrd.d/init" <<'END'
#!/bin/busybox sh
busybox mount -t devtmpfs dev /dev
for module in /*.ko; do busybox insmod "$module"; done
busybox mount -t ext4 /dev/vda /root
for what in proc:proc sysfs:sys devtmpfs:dev tmpfs:run tmpfs:tmp; do busybox mount -t "${what%:*}" none "/root/${what#*:}"; done
busybox mkdir /root/run/guest
busybox tar -C /root/run/guest -xf /dev/vdb
exec busybox switch_root /root /bin/sh /run/guest/main
END
chmod +x "$dir/initrd.d/init"
(cd "$dir/initrd.d" && find . | cpio -o -H newc --quiet -R 0:0 | gzip -1) >"$dir/initrd" || exit 1
size=$(($(du -sm "$dir/root" | cut -f 1) + 2500))
mke2fs -q -t ext4 -O ^has_journal -E lazy_itable_init=1 -d "$dir/root" "$dir/root.img.new" "${size}M" >>"$dir/log" || exit 1
dpkg-query --admindir="$dir/root/var/lib/dpkg" -W -f '${Package}\n' >"$dir/has" || exit 1
rm -rf "$dir/root" "$dir/initrd.d"
mv "$dir/root.img.new" "$dir/root.img"
