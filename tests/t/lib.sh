# shellcheck shell=bash
# lib.sh - what the shell tests share; sourced from the repository's root. TAP by ok/is/has, a scratch folder in $dir that
# goes away at the end with everything started by background().
kperfbot=$(realpath "${KPERFBOT:-build/kperfbot}")
root=$PWD
dir=$(mktemp -d)
n=0
pids=()
clean_up() {
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null; done
	for m in "${mounts[@]}"; do umount "$m" 2>/dev/null; done
	rm -rf "$dir"
}
mounts=()
trap clean_up EXIT
export KPERFBOT_DATA=$root KPERFBOT_CACHE=$dir/cache
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
unset MAKEFLAGS MFLAGS MAKELEVEL

ok() { # STATUS TITLE
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"
		for f in "$dir/out" "$dir/log"; do [ -f "$f" ] && tail -n 25 "$f" | sed 's/^/# /'; done
	fi
}
is() { # GOT WANTED TITLE
	[ "$1" = "$2" ]
	local s=$?
	ok $s "$3"
	[ $s = 0 ] || printf '# got    %s\n# wanted %s\n' "$1" "$2"
}
has() { # FILE TEXT: the text stands in the file
	grep -qF -- "$2" "$1"
	ok $? "${1##*/} says: $2"
}
done_testing() { echo "1..$n"; }
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
skip() { n=$((n + 1)); echo "ok $n - # SKIP $1"; }
# need_box: kernels and programs are built in a box here; else the reason is in $no_box
need_box() {
	no_box=$("$kperfbot" box check 2>&1 >/dev/null) && return
	no_box="builds cannot be isolated here: ${no_box#kperfbot: }"
	return 1
}
# sandbox_line: for a configuration, so that programs are built where there are no boxes, too
sandbox_line() { need_box || echo "sandbox: none"; }
demo() { KPERFBOT=$kperfbot "$root/tools/demo" "$@"; }
kp() { "$kperfbot" --config "$dir/etc" "$@"; }
field() { # JSON_FILE EXPRESSION over o
	/usr/bin/python3 -c 'import json,sys; o=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}
# A port below those that the kernel gives to outgoing connections. Each process begins at another one, each call goes
# on from there.
free_port() {
	echo >>"$dir/ports"
	/usr/bin/python3 - $$ "$(wc -l <"$dir/ports")" <<-'EOF'
	import socket, sys
	for k in range(20000):
	    port = 10000 + (int(sys.argv[1]) * 16 + int(sys.argv[2]) + k) % 20000
	    try:
	        socket.socket().bind(("127.0.0.1", port))
	    except OSError:
	        continue
	    print(port)
	    break
	EOF
}
# For tests that set up this host or make network namespaces of fixed names: one at a time, whoever starts it.
host_turn() { exec 9</run && flock 9; } # ip itself locks /run/netns
background() { "$@" & pids+=($!); disown $!; }
wait_for() { # SECONDS COMMAND...: until it succeeds
	local end=$((SECONDS + $1)); shift
	until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || return 1; sleep 0.1; done
}
wait_until_not() { # SECONDS COMMAND...: until it fails
	local seconds=$1; shift
	fails() { ! "$@"; }
	wait_for "$seconds" fails "$@"
}
state_dir() { echo "${state:-$dir/state}"; }
# A daemon holds the state folder.
daemon_runs() { [ -f "$(state_dir)/daemon.lock" ] && ! flock -n "$(state_dir)/daemon.lock" true; }
idle() { [ "$(kp query queue --state ready,running --csv | wc -l)" = 1 ]; } # the head line
# The next daemon looks at every tree at once.
due_now() {
	local db
	db=$(state_dir)/kperfbot.db
	[ ! -f "$db" ] || sqlite3 -cmd '.timeout 20000' "$db" 'UPDATE tree SET next_poll = 0'
}
settle() { # [SECONDS]: takes in what the trees have now, and does all that comes of it
	due_now && timeout "${1:-200}" "$kperfbot" --config "$dir/etc" daemon --until-idle >>"$dir/log" 2>&1
}

# local_tree SEED [COMMITS]: a small program's tree in $dir/up.git served by git daemon; main stands at the base. Sets url,
# base, head, culprit, serve_pid.
local_tree() {
	bash tests/demo/make-local-tree.sh "$1" "$dir/up.git" "${2:-64}" >"$dir/demo.json" || return 1
	base=$(field "$dir/demo.json" 'o["base"]') head=$(field "$dir/demo.json" 'o["head"]')
	culprit=$(field "$dir/demo.json" 'o["culprit"]')
	git --git-dir "$dir/up.git" update-ref refs/heads/main "$base"
	port=$(free_port)
	url=git://127.0.0.1:$port/up.git
	serve
}
serve() {
	git daemon --listen=127.0.0.1 --port="$port" --base-path="$dir" --export-all --reuseaddr "$dir/up.git" >"$dir/gitd" 2>&1 &
	serve_pid=$!
	pids+=($serve_pid)
	disown $serve_pid
	wait_for 10 git ls-remote "$url"
}
# local_config [LINES]: a configuration that watches it
local_config() {
	mkdir -p "$dir/etc"
	need_box || echo "# ${no_box%%,*}: sandbox: none"
	cp tests/demo/local-bench.yaml "$dir/etc/"
	cat >"$dir/etc/kperfbot.yaml" <<-EOF
	state_dir: ${state:-$dir/state}
	cache_dir: $dir/cache
	min_free_mb: 0
	$(sandbox_line)
	judge:
	  min_effect: 0.01
	mail:
	  robot_address: robot@example.org
	  mbox: $dir/mbox
	$1
	trees:
	  small:
	    url: $url
	    branches: [main]
	    interval: 1s
	    program: true
	    artefact: bench
	    machine: local
	    jobs: [local-bench]
	EOF
}
# The first poll takes main as it is; then the new commits arrive.
baseline_then_arrive() {
	kp daemon --until-idle >"$dir/log" 2>&1 || return 1
	git --git-dir "$dir/up.git" update-ref refs/heads/main "$head"
}
mails() { [ -f "$dir/mbox" ] && /usr/bin/python3 -c 'import mailbox,sys; print(len(mailbox.mbox(sys.argv[1])))' "$dir/mbox" || echo 0; }
case_field() { kp query cases --json 2>/dev/null >"$dir/cases.json" && field "$dir/cases.json" "o[0][\"$1\"]"; }
case_is() { [ "$(case_field state)" = "$1" ]; }

# keep_dir: what tests keep for each other and for the next run of the suite (kernels, a Debian guest).
keep_dir() {
	local keep=${KPB_TEST_CACHE:-$root/build/test-kernel}
	mkdir -p "$keep" && realpath "$keep"
}
# make_target TARGET: makes something that tests boot, unless it is there. 1: it cannot be made here, and why is in $no_target.
# Where it fails the test ends.
make_target() {
	local log status
	log=$(KPERFBOT=$kperfbot make -s --no-print-directory -C "$root" "$1" 2>&1) && return
	no_target=$(echo "$log" | grep -v '^make' | tail -n 1)
	case $log in *"Error 77"*) return 1 ;; esac
	echo "$log" | tail -n 25 | sed 's/^/# /'
	ok 1 "make $1"; done_testing; exit 1
}
made() { make_target "$1" || skip_all "$no_target"; }
# $debian: a folder with bzImage, System.map and config of Debian's cloud kernel, which needs no build
debian_kernel() { made test-kernel-debian; debian=$(keep_dir)/debian-kernel; }
# $guest: a plain Debian 12 for QEMU with the packages of tests/guest/packages
debian_guest() { made test-guest; guest=$(keep_dir)/debian-guest; }
# For tests that build kernels: the cache that is kept, which one of them at a time has.
kernel_cache() {
	exec 8>"$(keep_dir)/lock" && flock 8
	KPERFBOT_CACHE=$(keep_dir)/cache
	mkdir -p "$KPERFBOT_CACHE"
}
# boot_guest SECONDS: boots it with the folder $dir/in, whose "main" it runs; what that writes to its third disk comes
# to $dir/got
boot_guest() {
	local status begin=$SECONDS
	tar -C "$dir/in" -cf "$dir/in.tar" .
	truncate -s 64M "$dir/out.tar"
	mkdir -p "$dir/got"
	timeout "$1" qemu-system-x86_64 -no-user-config -nodefaults -display none -no-reboot -machine pc -accel tcg \
		-cpu max -smp 2 -m 1024M -nic none -serial file:"$dir/serial" \
		-kernel "$guest/vmlinuz" -initrd "$guest/initrd" \
		-append "console=ttyS0 panic=-1 quiet" -drive "file=$guest/root.img,format=raw,if=virtio,snapshot=on" \
		-drive "file=$dir/in.tar,format=raw,if=virtio,readonly=on" \
		-drive "file=$dir/out.tar,format=raw,if=virtio,cache=unsafe" >"$dir/qemu" 2>&1
	status=$?
	tr -d '\r' <"$dir/serial" >"$dir/console"
	tar -C "$dir/got" -xf "$dir/out.tar" 2>>"$dir/qemu"
	echo "# $((SECONDS - begin)) s in all"
	return $status
}
