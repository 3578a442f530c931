#!/bin/bash
# What is measured is foreign code, too: a program that asks for powers while its speed is taken gets none in the box. A
# tree that is trusted, and 'sandbox: none', give it all: then each report says so.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
need_box || skip_all "$no_box"

mkdir -p "$dir/tree" "$dir/etc" "$dir/srv"
echo "the smtp password" >"$dir/srv/password"
chmod 644 "$dir/srv/password"
port=$(free_port)
background /usr/bin/python3 -m http.server --bind 127.0.0.1 --directory "$dir/srv" "$port"
wait_for 10 curl -sf "http://127.0.0.1:$port/password"
cat >"$dir/tree/attack.sh" <<SH
#!/bin/sh
tried() { n=\$1; shift; if "\$@" >/dev/null 2>&1; then echo "REACHED \$n"; else echo "held \$n"; fi; }
tried "a password" cat "$dir/srv/password"
tried "the state" ls "$dir/state"
tried "the network" /usr/bin/python3 -c 'import socket; socket.create_connection(("127.0.0.1", $port), 2)'
tried "core_pattern" sh -c ': >>/proc/sys/kernel/core_pattern'
tried "other processes" grep -aq http.server /proc/[0-9]*/cmdline
tried "the script" sh -c 'echo >>/tmp/kperfbot/job.sh'
tried "root" test "\$(id -u)" = 0
echo "ops_per_sec: SPEED"
SH
git -C "$dir/tree" init -q -b main
commit() { # SPEED
	sed "s/SPEED/$1/" "$dir/tree/attack.sh" >"$dir/tree/bench.sh"
	printf 'bench:\n\tcp bench.sh bench && chmod 755 bench\n' >"$dir/tree/Makefile"
	git -C "$dir/tree" add -A
	git -C "$dir/tree" -c user.name=A -c user.email=a@example.org commit -q -m "speed $1"
	git -C "$dir/tree" rev-parse HEAD
}
cp tests/demo/local-bench.yaml "$dir/etc/"
config() { # SANDBOX TRUSTED
	cat >"$dir/etc/kperfbot.yaml" <<-EOC
		state_dir: $dir/state
		cache_dir: $dir/cache
		sandbox: $1
		min_free_mb: 0
		judge: {min_effect: 0.01, reach: false}
		mail: {robot_address: robot@example.org, mbox: $dir/mbox}
		trees:
		  hostile: {url: "file://$dir/tree", branches: [main], interval: 1s, program: true, artefact: bench,
		    machine: local, jobs: [local-bench], trusted: $2}
	EOC
}
seen() { # COMMIT: what its last run found
	local result
	result=$(sqlite3 "$dir/state/kperfbot.db" "SELECT result_dir FROM run JOIN build ON build.id = run.build
		WHERE commit_oid = '$1' ORDER BY run.id DESC LIMIT 1")
	cat "$result"/result/* 2>/dev/null | grep -aE '^(REACHED|held) ' | sort -u
}
config box false
one=$(commit 100)
kp daemon --until-idle >"$dir/log" 2>&1
kp run local-bench --tree hostile --commit "$one" -n 2 >"$dir/out" 2>&1; ok $? "in the box"
is "$(seen "$one" | grep -c '^held')" 7 "seven powers are refused"
is "$(seen "$one" | grep REACHED)" "" "and none is had"
is "$(sqlite3 "$dir/state/kperfbot.db" 'SELECT max(exposed) FROM run')" 0 "the runs are isolated"

story() { # TITLE SPEED: a slower commit comes and is mailed
	rm -f "$dir/mbox"
	commit "$2" >/dev/null
	settle 300
	is "$(mails)" 1 "$1: a report"
}
story "in the box" 90
is "$(grep -c '^not isolated:' "$dir/mbox")" 0 "which does not speak of isolation"
config box true
story "trusted" 80
has "$dir/mbox" "not isolated: the code of this tree ran with all rights of the robot"
is "$(seen "$(git -C "$dir/tree" rev-parse HEAD)" | grep -c 'REACHED a password\|REACHED the network')" 2 \
	"a trusted tree reaches all"
config none false
story "no sandbox" 70
has "$dir/mbox" "not isolated: the code of this tree ran with all rights of the robot"
is "$(sqlite3 "$dir/state/kperfbot.db" 'SELECT exposed FROM build ORDER BY id DESC LIMIT 1')" 1 "the build says it, too"
config box false
kp build main --tree hostile >"$dir/out" 2>&1
is "$(grep -c 'not isolated\|kept from before' "$dir/out")" 0 "what was built without a box is not taken with one"

# a program that ran well and then only fails is not run for ever; one whose image went is built again
image=$(sqlite3 "$dir/state/kperfbot.db" 'SELECT image_path FROM build ORDER BY id DESC LIMIT 1')
base=$(git -C "$dir/tree" rev-parse HEAD)
rm -rf "${image%/*}"
kp run local-bench --tree hostile --commit "$base" -n 3 >"$dir/out" 2>&1
ok $? "a run whose image was removed to make room"
[ -f "$image" ]; ok $? "which is there again"
printf '#!/bin/sh\nexit 7\n%*s' "$(($(stat -c %s "$image") - 17))" '' >"$image"
commit 50 >/dev/null
settle; ok $? "runs that only fail come to an end"
failed=$(sqlite3 "$dir/state/kperfbot.db" "SELECT count(*) FROM run JOIN build ON build.id = run.build
	WHERE commit_oid = '$base' AND verdict = 'failed'")
[ "$failed" -ge 3 ] && [ "$failed" -le 16 ]; ok $? "after $failed of them"
sqlite3 "$dir/state/kperfbot.db" "SELECT state || ' ' || reason FROM comparison WHERE base = '$base'" >"$dir/out"
has "$dir/out" " runs of ${base:0:12} failed, the last one: failed: exit status 7"

# a word that is no mode, and who asks what it means
sed -i 's/sandbox: box/sandbox: off/' "$dir/etc/kperfbot.yaml"
kp config check >"$dir/out" 2>&1
has "$dir/out" "'sandbox' takes 'box' or 'none'"
"$kperfbot" tree --help >"$dir/out" 2>&1
has "$dir/out" "--trusted"
has "$dir/out" "Use it for your own trees only"
done_testing
