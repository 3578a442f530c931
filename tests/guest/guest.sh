#!/bin/bash
# guest.sh DIR: the Debian guest of make-guest.sh with the packages of the file "packages", made once in DIR, and again
# where these have changed. Exit status 77: that cannot be done here; the reason is on stdout.
set -u
dir=$1 packages=tests/guest/packages
for p in qemu-system-x86_64 busybox; do command -v $p >/dev/null || { echo "no $p"; exit 77; }; done
mkdir -p "$dir" && exec 9>"$dir/lock" && flock 9 || exit 1
if [ -f "$dir/root.img" ] && cmp -s "$dir/packages" $packages; then exit 0; fi
# shellcheck disable=SC2046 # words
bash tests/guest/make-guest.sh "$dir" $(cat $packages) && cp $packages "$dir/packages"
