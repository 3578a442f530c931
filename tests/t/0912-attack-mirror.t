#!/bin/bash
# Pushes of noise on a small disk: a tree's mirror gets a quarter of it and no more, min_free_mb stays free, and the
# next tree is fetched.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

[ "$(id -u)" = 0 ] || skip_all "needs a small disk of its own, which takes root"
mkdir "$dir/state"
mount -t tmpfs -o size=120m none "$dir/state" 2>"$dir/out" || skip_all "no mount here: $(head -n 1 "$dir/out")"
mounts+=("$dir/state")
avail() { df -m --output=avail "$dir/state" | tail -n 1 | tr -d ' '; }
soon() { timeout 60 "$kperfbot" --config "$dir/etc" "$@" >"$dir/out" 2>&1; }
fetch() { soon tree fetch "$1"; }
tree() { # NAME
	git init -q -b main "$dir/$1"
	noise "$1" 0
	soon tree add "$1" "file://$dir/$1" --program --artefact x
}
noise() { # TREE MIB: a commit with that much of it in place of the last one
	head -c "$2M" /dev/urandom >"$dir/$1/noise"
	git -C "$dir/$1" add -A
	git -C "$dir/$1" -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m "$2"
}
configure() { # MIN_FREE_MB
	mkdir -p "$dir/etc"
	printf '%s\n' "state_dir: $dir/state" "cache_dir: $dir/cache" "min_free_mb: $1" >"$dir/etc/kperfbot.yaml"
}
configure 10
tree loud; ok $? "a tree"
tree meek; ok $? "and another one"
base=$(git -C "$dir/loud" rev-parse HEAD)
fetched=0
for i in 1 2 3 4 5 6; do
	git -C "$dir/loud" reset -q --hard "$base"
	noise loud 9
	fetch loud && fetched=$i
done
is $fetched 3 "three pushes of 9 MiB are fetched"
has "$dir/out" "one tree may have 30 MiB"
[ "$(avail)" -gt 80 ]; ok $? "$(avail) MiB of 120 are left"
"$kperfbot" --config "$dir/etc" tree list --json >"$dir/list.json"
grep -q "may have 30 MiB" "$dir/list.json"; ok $? "the tree's list says why"
noise meek 1
fetch meek; ok $? "the next tree is fetched"

configure $(($(avail) - 4))
noise meek 9
fetch meek; [ $? != 0 ]; ok $? "what would leave less than min_free_mb is not"
has "$dir/out" "larger than"
configure $(($(avail) + 1))
fetch meek; [ $? != 0 ]; ok $? "nor anything else where that is not free"
has "$dir/out" "min_free_mb"
configure 10
fetch meek; ok $? "with room again it is"
done_testing
