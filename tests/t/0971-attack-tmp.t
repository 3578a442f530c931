#!/bin/bash
# Folders that everybody can write to: whoever is there first must not decide what we read or destroy. Without HOME the
# bot says what to set, and no source names a file there that somebody else can foresee.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
mkdir -p "$dir/empty"
bare() { env -i PATH="$PATH" KPERFBOT_DATA="$root" "$@"; }

bare "$kperfbot" config check "$dir/empty" >"$dir/out" 2>&1; is $? 2 "no HOME: no cache"
has "$dir/out" "cache_dir: HOME is not set: set it, or KPERFBOT_CACHE to a folder"
bare HOME=here "$kperfbot" config check "$dir/empty" >"$dir/out" 2>&1; is $? 2 "nor with a HOME that is no whole path"
bare KPERFBOT_STATE="$dir/s" KPERFBOT_CACHE="$dir/c" "$kperfbot" config check "$dir/empty" >"$dir/out" 2>&1
ok $? "the variables that it names help"
mkdir "$dir/named"
printf 'state_dir: %s\ncache_dir: %s\n' "$dir/s" "$dir/c" >"$dir/named/kperfbot.yaml"
bare "$kperfbot" config check "$dir/named" >"$dir/out" 2>&1; ok $? "so does the configuration"
bare XDG_STATE_HOME="$dir/s" XDG_CACHE_HOME="$dir/c" "$kperfbot" config show "$dir/empty" >"$dir/out" 2>&1
ok $? "and XDG_CACHE_HOME"

# the attack: the folders of somebody without HOME are links to what is dear to them, in a /tmp of our own
mkdir -p "$dir/dear/.cache" "$dir/box"
cat >"$dir/attack" <<-END
mkdir /tmp/.cache /tmp/.local
ln -s '$dir/dear' /tmp/.cache/kperfbot
ln -s '$dir/dear' /tmp/.local/state
KPERFBOT_STATE= KPERFBOT_CONFIG='$dir/empty' KPERFBOT='$kperfbot' '$root/tools/demo' --local --seed 1
END
own_tmp=(bwrap --dev-bind / / --tmpfs /tmp --bind "$dir" "$dir" --bind "$root" "$root")
if "${own_tmp[@]}" true 2>/dev/null; then
	bare timeout 60 "${own_tmp[@]}" sh "$dir/attack" >"$dir/out" 2>&1
	[ $? != 0 ]; ok $? "a demo without HOME does not start"
	is "$(find "$dir/dear" -type f)" "" "and writes nowhere"
else
	skip "bubblewrap cannot make a /tmp of its own here"
fi

# names in such folders, but for those that mkdtemp() or mktemp makes, what a box or a guest sees as its own, and
# options
foreseen() { # FILE...
	grep -nE '[" =(>]/(tmp|var/tmp|dev/shm|run/lock|var/lock)/[A-Za-z0-9_.$%{-]' "$@" |
		grep -vE -e 'XXXXXX|^kernels/[a-z-]*\.[ch]:[0-9]+:#define BOX' \
			-e 'touch /tmp/x|^tests/t/090|"/tmp/kperfbot/artefact 7'
}
foreseen $(find lib db jobs kernels bisect reporters bot tools tests/unit tests/fuzz tests/bench tests/demo tests/t \
	.ci Makefile etc -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.t' -o -name '*.py' -o -perm -u+x \
	-o -name Makefile -o -path 'etc/*' \) \
	! -path '*/0971-*') >"$dir/out"
is "$(cat "$dir/out")" "" "no foreseeable name in a folder that everybody can write to"
printf 'int f = open("/tmp/kperfbot.log");\n' >"$dir/x.c"
foreseen "$dir/x.c" >"$dir/out"; ok $? "one would be seen"
done_testing
