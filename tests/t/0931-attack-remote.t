#!/bin/bash
# Git servers that are up to no good: a list of branches without end, a pack of kilobytes that stands for 64 GiB, a pack
# without end on a small disk. Each is an error in bounded time, memory and disk, and the next tree is fetched.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

port=$(free_port)
background /usr/bin/python3 tests/hostile-git.py "$port"
wait_for 10 bash -c ": >/dev/tcp/127.0.0.1/$port"
mkdir -p "$dir/etc"
# the disk of the mirrors: small, where we may mount one
mkdir "$dir/state"
[ "$(id -u)" = 0 ] && mount -t tmpfs -o size=200m none "$dir/state" 2>/dev/null && mounts+=("$dir/state")
printf 'state_dir: %s\ncache_dir: %s\nmin_free_mb: 0\n' "$dir/state" "$dir/cache" >"$dir/etc/kperfbot.yaml"

# all that is started here shares 8 GiB a process, in case that a limit does not hold
limited() { timeout 200 prlimit --as=8589934592 "$kperfbot" --config "$dir/etc" "$@" >"$dir/out" 2>&1; }

start=$SECONDS
limited tree add refs "git://127.0.0.1:$port/refs" --program --artefact x
has "$dir/out" "cannot list 'git://127.0.0.1:$port/refs'"
[ $((SECONDS - start)) -lt 100 ]; ok $? "in $((SECONDS - start)) s"
grep -E "larger than git may take|too many branches|longer than|[Oo]ut of memory" "$dir/out" >/dev/null
ok $? "branches without end: $(head -n 1 "$dir/out")"

limited tree add many "git://127.0.0.1:$port/many" --program --artefact x
has "$dir/out" "more than 10000 branches"

limited tree add expand "git://127.0.0.1:$port/expand" --program --artefact x; ok $? "a tree that lists as others do"
start=$SECONDS
limited tree fetch expand; [ $? != 0 ]; ok $? "its pack, which stands for 64 GiB, is an error"
[ $((SECONDS - start)) -lt 100 ]; ok $? "in $((SECONDS - start)) s"
grep -E "larger than git may take|[Oo]ut of memory" "$dir/out" >/dev/null; ok $? "that says so: $(tail -n 1 "$dir/out")"

if [ ${#mounts[@]} -gt 0 ]; then
	limited tree add flood "git://127.0.0.1:$port/flood" --program --artefact x; ok $? "one more"
	limited tree fetch flood; [ $? != 0 ]; ok $? "a pack without end is an error"
	free=$(df --output=avail -m "$dir/state" | tail -n 1)
	[ "$free" -gt 50 ]; ok $? "of 200 MB disk $free are left"
else
	skip "a pack without end: needs a small disk of its own, which takes root"
fi

local_tree 5 8
limited tree add good "$url" --program --artefact bench; ok $? "an honest tree"
limited tree fetch good; ok $? "is fetched"
done_testing
