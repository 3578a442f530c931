#!/bin/bash
# Builds and checkouts that want more than there is: memory, processes, disk, files, output, time. Each ends by its own
# limit, the second time it is the commit's fault, and the next commit builds. All limits are small here, so that an
# attack that gets through hurts nobody.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
need_box || skip_all "$no_box"

mkdir -p "$dir/tree" "$dir/etc"
git -C "$dir/tree" init -q -b main
commit() { # COMMAND: a commit whose build does that; its id to stdout
	printf 'prog:\n\t%s\n' "$1" >"$dir/tree/Makefile"
	git -C "$dir/tree" add -A
	git -C "$dir/tree" -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m attack
	git -C "$dir/tree" rev-parse HEAD
}
cp tests/demo/local-bench.yaml "$dir/etc/"
cat >"$dir/etc/kperfbot.yaml" <<-EOC
	state_dir: $dir/state
	cache_dir: $dir/cache
	build_memory_mb: 300
	build_disk_mb: 100
	build_files: 3000
	build_timeout: 8s
	trees:
	  hostile: {url: "file://$dir/tree", program: true, artefact: prog, machine: local, interval: 1s,
	    branches: [main], jobs: [local-bench]}
EOC
good=$(commit 'echo good >prog')
kp tree add hostile "file://$dir/tree" --program --artefact prog --machine local >"$dir/log" 2>&1
attack() { # TITLE WORDS COMMAND: its build ends by that limit
	local oid
	oid=$(commit "$3")
	kp tree fetch hostile >>"$dir/log" 2>&1
	SECONDS=0
	timeout 60 "$kperfbot" --config "$dir/etc" build "$oid" --tree hostile >"$dir/out" 2>&1
	grep -q "the build .*$2" "$dir/out"
	ok $? "$1: $(grep -o 'the build .*' "$dir/out" | head -n 1), after $SECONDS s"
}
attack "a program that takes memory" "memory" 'head -c 900000000 /dev/zero | tail -c 800000000 >/dev/null; sleep 20'
attack "many that take a little each" "memory" \
	'for i in 1 2 3 4 5 6; do (head -c 100000000 /dev/zero | tail -c 99000000; sleep 20) >/dev/null & done; wait'
attack "memory as files in /tmp" "memory" 'head -c 700000000 /dev/zero >/tmp/a; sleep 20'
attack "memory as files in /dev/shm" "memory" \
	'for i in 1 2 3; do head -c 250000000 /dev/zero >/dev/shm/a; cp /dev/shm/a /tmp/$$i; done; sleep 20'
attack "a fork bomb" "processes" 'i=0; while [ $$i -lt 1500 ]; do sleep 20 & i=$$((i+1)); done; wait'
attack "a large file" "disk" 'head -c 400000000 /dev/zero >big; sleep 20'
attack "many files" "files" 'mkdir d; cd d; seq 1 8000 | xargs touch; sleep 20'
attack "endless output" "output" 'cat /dev/zero | tr "\\0" x | head -c 300000000; sleep 20'
attack "files that come and go while they are counted" "disk\|files" \
	'i=0; while :; do i=$$((i+1)); head -c 4000000 /dev/zero >d$$i; '\
'(for k in 1 2 3 4 5 6 7 8 9; do touch x$$k; rm -f x$$k; done) 2>/dev/null; done'
attack "output by another way than writing" "output\|time" \
	'/usr/bin/python3 -c "import os; os.posix_fallocate(1, 0, 400 << 20)"; '\
'cat /dev/zero | head -c 300000000; sleep 20'
long=6$$ # seconds that no other test sleeps
attack "an endless build" "time" "sleep $long"
attack "one that does not end when asked" "time" \
	"trap '' TERM INT; (setsid sleep $long &) ; while :; do sleep 1; done"
gone() { ! pgrep -fx "sleep $long"; }
wait_for 10 gone; ok $? "nothing of it runs any more"

# a tree of a few KB that unpacks to more than there is
bomb() { # LEVELS WIDTH: trees that hold the same tree that often
	local blob tree i k
	blob=$(head -c 100000 /dev/zero | git -C "$dir/tree" hash-object -w --stdin)
	tree=$(for k in $(seq "$2"); do printf '100644 blob %s\tf%d\n' "$blob" "$k"; done | git -C "$dir/tree" mktree)
	for i in $(seq "$1"); do
		tree=$(for k in $(seq "$2"); do printf '040000 tree %s\td%d\n' "$tree" "$k"; done |
			git -C "$dir/tree" mktree)
	done
	git -C "$dir/tree" -c user.name=A -c user.email=a@example.org commit-tree -p HEAD -m bomb "$tree"
}
oid=$(bomb 9 10)
git -C "$dir/tree" update-ref refs/heads/main "$oid"
kp tree fetch hostile >>"$dir/log" 2>&1
SECONDS=0
timeout 120 "$kperfbot" --config "$dir/etc" build "$oid" --tree hostile >"$dir/out" 2>&1
grep -q "program: broken" "$dir/out"
ok $? "a git bomb: $(grep '^error' "$dir/out" | head -n 1), after $SECONDS s"
git -C "$dir/tree" update-ref refs/heads/main "$good"
git -C "$dir/tree" reset -q --hard

# what the host has to clean up
attack2() { # TITLE COMMAND STATE
	local oid
	oid=$(commit "$2")
	kp tree fetch hostile >>"$dir/log" 2>&1
	timeout 60 "$kperfbot" --config "$dir/etc" build "$oid" --tree hostile >"$dir/out" 2>&1
	grep -q "program: $3" "$dir/out"
	ok $? "$1"
}
name=$(printf 'x%.0s' $(seq 200))
attack2 "40 nested folders of 200 characters" \
	"for i in \$\$(seq 40); do mkdir $name && cd $name; done; true; echo x >\$(CURDIR)/prog" ok
attack2 "1000 nested folders, locked behind it" \
	'd=$$PWD; for i in $$(seq 1000); do mkdir d && cd d; done; chmod 0 $$d/d; echo x >$$d/prog' ok
attack2 "200 sparse files of 7 GiB as the artefact" \
	'mkdir prog; cd prog; for i in $$(seq 200); do truncate -s 7G f$$i; done' broken
has "$dir/out" "is larger than 2048 MiB"
attack2 "a sparse file" 'truncate -s 7G prog' broken
attack2 "a folder with a pipe in it" 'mkdir prog; mkfifo prog/p' broken
attack2 "a link to a device" 'ln -s /dev/zero prog' broken
attack2 "a link to a link that leads out" 'mkdir d; ln -s /etc d/e; ln -s d/e/passwd prog' broken
attack2 "a folder that contains itself" 'mkdir prog; ln -s . prog/self; ln -s ../prog prog/again' ok
attack2 "names that are options and control characters" \
	'mkdir prog; cd prog; touch -- -rf --checkpoint-action=exec=id "$$(printf "a\\nb")"' ok
is "$(find "$dir/state/worktrees" -mindepth 3 2>/dev/null | wc -l)" 0 "nothing of any of them is left"
kp build "$good" --tree hostile >"$dir/out" 2>&1
ok $? "a good commit builds after all of this"

# twice, and it is the commit's fault: one task, and the next one has the slot
base=$(commit 'echo one >prog')
kp daemon --until-idle >"$dir/daemon" 2>&1
head=$(commit 'sleep 600')
due_now
SECONDS=0
sed -i 's/build_timeout: 8s/build_timeout: 2s/' "$dir/etc/kperfbot.yaml"
timeout 100 "$kperfbot" --config "$dir/etc" daemon --until-idle >"$dir/daemon" 2>&1
sqlite3 "$dir/state/kperfbot.db" "SELECT state || ': ' || error FROM build WHERE commit_oid = '$head'" >"$dir/out"
has "$dir/out" "broken: the build took longer than its time limit, twice"
[ $SECONDS -lt 60 ]; ok $? "which took $SECONDS s"
done_testing
