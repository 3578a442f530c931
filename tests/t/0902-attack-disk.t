#!/bin/bash
# A small disk, and trees that want all of it: what can be made again is removed when room is short, a build never gets
# the last of the disk, and other trees go on, also after leftovers of killed builds.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
need_box || skip_all "$no_box"
[ "$(id -u)" = 0 ] || skip_all "only root can mount a disk"
mkdir "$dir/disk" "$dir/etc"
truncate -s 260M "$dir/image"
mkfs.ext4 -q -m 0 -N 20000 "$dir/image" && mount -o loop "$dir/image" "$dir/disk" 2>"$dir/out" ||
	skip_all "cannot mount: $(cat "$dir/out")"
mounts+=("$dir/disk")
cat >"$dir/etc/kperfbot.yaml" <<-EOC
	state_dir: $dir/disk/state
	cache_dir: $dir/disk/cache
	min_free_mb: 0
EOC
make_tree() { # NAME
	mkdir "$dir/$1"
	git -C "$dir/$1" init -q -b main
	kp tree add "$1" "file://$dir/$1" --program --artefact prog --machine local >>"$dir/log" 2>&1
}
commit() { # TREE COMMAND
	printf 'prog:\n\t%s\n' "$2" >"$dir/$1/Makefile"
	git -C "$dir/$1" add -A
	git -C "$dir/$1" -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m x
	kp tree fetch "$1" >>"$dir/log" 2>&1
	git -C "$dir/$1" rev-parse HEAD
}
free_mb() { df --output=avail -m "$dir/disk" | tail -n 1; }
make_tree fat
make_tree good
good=0
for i in 1 2 3 4 5 6 7 8; do
	oid=$(commit fat "echo $i; head -c 40M /dev/zero >prog")
	kp build "$oid" --tree fat >"$dir/out" 2>&1 && good=$((good + 1))
done
is $good 8 "eight builds of 40 MiB each, one after the other, on a disk of 260 MiB"
free=$(free_mb)
[ "$free" -ge 16 ]; ok $? "$free MiB are left"
[ "$(ls "$dir/disk/cache/builds" | wc -l)" -lt 8 ]; ok $? "the oldest ones went"

oid=$(commit fat 'head -c 2G /dev/zero >big; sleep 20')
timeout 60 "$kperfbot" --config "$dir/etc" build "$oid" --tree fat >"$dir/out" 2>&1
has "$dir/out" "the build wrote more to the disk than its limit"
oid=$(commit fat 'mkdir d; cd d; seq 1 30000 | xargs touch; sleep 20')
timeout 60 "$kperfbot" --config "$dir/etc" build "$oid" --tree fat >"$dir/out" 2>&1
is $? 1 "one that takes all inodes fails, too"
[ "$(df --output=iavail "$dir/disk" | tail -n 1)" -gt 10000 ]; ok $? "and its files are gone"
oid=$(commit good 'echo x >prog')
kp build "$oid" --tree good >"$dir/out" 2>&1
ok $? "another tree builds"

# leftovers: of builds that were killed, and sources of a tree that nobody builds any more
rm -rf "$dir"/disk/cache/builds/*
mkdir -p "$dir/disk/cache/objects/.tmp-99999999-x/o" "$dir/disk/cache/builds/.tmp-99999998-x" \
	"$dir/disk/state/worktrees/gone-vm-min/src"
head -c 20M /dev/zero >"$dir/disk/cache/objects/.tmp-99999999-x/o/a"
head -c 10M /dev/zero >"$dir/disk/cache/builds/.tmp-99999998-x/a"
head -c 60M /dev/zero >"$dir/disk/state/worktrees/gone-vm-min/src/a"
touch "$dir/disk/state/worktrees/gone-vm-min/lock"
fill=$(($(free_mb) - 20))
head -c ${fill}M /dev/zero >"$dir/disk/theirs" # somebody else's
oid=$(commit good 'echo y >prog')
kp build "$oid" --tree good >"$dir/out" 2>&1
ok $? "with 20 MiB left a build makes room by itself"
is "$(find "$dir/disk/cache" "$dir/disk/state/worktrees/gone-vm-min" -name a | wc -l)" 0 \
	"by what killed builds and old trees left"
[ -f "$dir/disk/theirs" ]; ok $? "and by nothing else"
rm "$dir/disk/theirs"

# the daemon, which takes no new work on a full disk, makes room first
cp tests/demo/local-bench.yaml "$dir/etc/"
sed -i 's/min_free_mb: 0/min_free_mb: 60/' "$dir/etc/kperfbot.yaml"
cat >>"$dir/etc/kperfbot.yaml" <<-EOC
	trees:
	  good: {url: "file://$dir/good", program: true, artefact: prog, machine: local, branches: [main], interval: 1s,
	    jobs: [local-bench]}
EOC
kp daemon --until-idle >"$dir/log" 2>&1
for i in 1 2; do
	oid=$(commit fat "echo 2$i; head -c 40M /dev/zero >prog")
	kp build "$oid" --tree fat >"$dir/out" 2>&1
done
head -c $(($(free_mb) - 30))M /dev/zero >"$dir/disk/theirs"
oid=$(commit good 'echo z >prog')
state=$dir/disk/state due_now
timeout 60 "$kperfbot" --config "$dir/etc" daemon --until-idle >"$dir/log" 2>&1
is "$(sqlite3 "$dir/disk/state/kperfbot.db" "SELECT state FROM build WHERE commit_oid = '$oid'")" ok \
	"the daemon made room and built"

# a run whose build made room waits until there is some: it is not given up
rm -rf "$dir"/disk/cache/builds/*
head -c $(($(free_mb) - 2))M /dev/zero >>"$dir/disk/theirs"
kp run local-bench --tree good --commit "$oid" --machine local -n 1 --queue >"$dir/out" 2>&1
ok $? "one more run is queued"
sql() { sqlite3 "$dir/disk/state/kperfbot.db" "$1"; }
task=$(sql "SELECT id FROM task WHERE kind = 'run' AND state = 'ready' ORDER BY id DESC LIMIT 1")
sql "UPDATE task SET state = 'running', attempts = 1 WHERE id = $task"
kp work task "$task" >"$dir/out" 2>&1
is "$(sql "SELECT state FROM task WHERE id = $task")" ready "no room to build it again: the run waits"
has "$dir/out" "MiB free, a build needs"
done_testing
