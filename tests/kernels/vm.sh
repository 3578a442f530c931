#!/bin/bash
# vm.sh CONFIG DIR: linux-source-6.1 with our configuration CONFIG (vm-min, vm-net), built by kperfbot, in DIR: bzImage,
# System.map and config. What was compiled stays in the folder "cache" beside DIR, for builds of its neighbours. Exit
# status 77: it cannot be built here; the reason is on stdout.
set -u
config=$1 dir=$2 kperfbot=${KPERFBOT:-build/kperfbot}
source=${KPB_DEMO_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
cannot() { echo "$*"; exit 77; }
mkdir -p "$dir" && exec 9>"$dir/lock" && flock 9 || exit 1
[ ! -f "$dir/bzImage" ] || exit 0
[ -r "$source" ] || cannot "no $source: install the package linux-source-6.1"
for p in gcc flex bison bc pahole; do command -v "$p" >/dev/null || cannot "no $p"; done
reason=$("$kperfbot" box check 2>&1 >/dev/null) || cannot "builds cannot be isolated here: ${reason#kperfbot: }"
dir=$(realpath "$dir") cache=$(realpath "$dir/..")/cache
mkdir -p "$cache"
work=$(mktemp -d "$dir/XXXXXX") || exit 1
trap '"$kperfbot" box remove "$work"' EXIT

export KPERFBOT_CACHE=$cache KPERFBOT_STATE=$work/state
KPB_CACHE=$cache tests/demo/make-tree.sh 1 "$work/tree.git" "$source" >/dev/null || exit 1
mkdir "$work/etc"
"$kperfbot" --config "$work/etc" tree add plain "$work/tree.git" --kconfig "$config" --off &&
	"$kperfbot" --config "$work/etc" tree fetch plain &&
	"$kperfbot" --config "$work/etc" build demo-base --tree plain --json >"$work/build.json" || exit 1
image=$(sed -n 's/^ *"image": *"\(.*\)",*$/\1/p' "$work/build.json" | sed 's,\\/,/,g')
for f in System.map config bzImage; do cp "${image%/*}/$f" "$dir/$f.new" && mv "$dir/$f.new" "$dir/$f" || exit 1; done
