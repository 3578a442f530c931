#!/bin/bash
# Kernel builds, with a configuration that takes a minute: the same source gives the same image wherever and whenever it
# is built; a comment changes nothing, code does, an error is named. That the real configurations build is seen by 6150
# (vm-net) and 8000 (vm-min).
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
source=${KPB_DEMO_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
[ -r "$source" ] || skip_all "no $source: install the package linux-source-6.1"
for p in gcc flex bison bc; do command -v "$p" >/dev/null || skip_all "no $p"; done
need_box || skip_all "$no_box"
mkdir -p "$dir/etc" "$dir/data/kernels/configs"
kernel_cache
export KPERFBOT_STATE=$dir/state KPERFBOT_DATA=$dir/data
for f in "$root"/* "$root"/kernels/*; do ln -s "$f" "$dir/data/${f#"$root/"}" 2>/dev/null; done
cat >"$dir/data/kernels/configs/tiny.config" <<-'EOF'
	CONFIG_64BIT=y
	CONFIG_LOCALVERSION="-tiny"
	CONFIG_KERNEL_LZ4=y
	CONFIG_PRINTK=y
	CONFIG_NET=y
	CONFIG_UNIX=y
EOF
grep ' is not set$' kernels/configs/vm-min.config >>"$dir/data/kernels/configs/tiny.config"

# the demo's first commit, and three of our own on it, made without checking anything out
repo=$dir/repo.git
KPB_CACHE=$KPERFBOT_CACHE tests/demo/make-tree.sh 1 "$repo" "$source" >"$dir/out" 2>"$dir/log"; ok $? "a kernel tree"
base=$(git -C "$repo" rev-list --max-parents=0 main)
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_AUTHOR_DATE='1717200000 +0000'
export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org GIT_COMMITTER_DATE='1717200000 +0000'
branch() { # NAME FILE LINE: base with a line more at the end of a file
	local blob
	export GIT_INDEX_FILE=$dir/index
	git -C "$repo" read-tree "$base" &&
		blob=$({ git -C "$repo" cat-file blob "$base:$2"; printf '%s\n' "$3"; } | git -C "$repo" hash-object -w --stdin) &&
		git -C "$repo" update-index --cacheinfo "100644,$blob,$2" &&
		git -C "$repo" update-ref "refs/heads/$1" \
			"$(git -C "$repo" commit-tree -p "$base" -m "$1" "$(git -C "$repo" write-tree)")"
}
git -C "$repo" update-ref refs/heads/base "$base"
branch comment net/core/scm.c '/* a comment changes nothing */' &&
	branch code net/core/scm.c 'int kperfbot_test_symbol = 42;' &&
	branch broken net/core/scm.c '#error broken on purpose'
ok $? "with a comment, a change and an error on top"
build() { # REV: result in $dir/REV
	kp build "$1" --tree k --kconfig tiny --json >"$dir/$1" 2>"$dir/log"
}
get() { field "$dir/$1" "o['$2']"; }

add() { kp tree add k "$repo" --kconfig tiny --branch base --branch comment --branch code --branch broken >"$dir/out" 2>&1 &&
	kp tree fetch k >"$dir/out" 2>&1; }
add; ok $? "the tree is added and fetched"
build base; ok $? "the base builds"
is "$(get base state)" ok "state"
is "$(get base warnings)" None "every option survived"
is "$(sha256sum <"$(get base image)" | cut -d' ' -f1)" "$(get base image_hash)" "the hash is that of the file"
[ -s "$(dirname "$(get base image)")/System.map" ]; ok $? "with its symbols"
build comment; ok $? "the comment builds"
is "$(get comment image_hash)" "$(get base image_hash)" "a comment gives the same image"
build code; ok $? "the change builds"
[ "$(get code image_hash)" != "$(get base image_hash)" ]; ok $? "a change gives another"
build broken; is $? 1 "the error does not build"
is "$(get broken state)" broken "and is the commit's fault"
get broken error >"$dir/error"
has "$dir/error" "net/core/scm.c:"
has "$dir/error" "#error broken on purpose"

# somewhere else, with nothing finished to take and nothing to go on from
first=$(get base image_hash)
export KPERFBOT_CACHE=$dir/cache2 KPERFBOT_STATE=$dir/another/place
add && build base; ok $? "builds in another state folder"
is "$(get base cached)" False "really"
is "$(get base image_hash)" "$first" "the image is the same to the bit"
[ -n "$(find "$KPERFBOT_CACHE/objects" -name scm.o)" ]; ok $? "its objects are kept for descendants"
is "$(grep -rlF "$dir" "$KPERFBOT_CACHE/objects" --include='*.o' --include='*.a' | head -n 1)" "" \
	"no path of ours is in them"
done_testing
