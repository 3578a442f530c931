#!/bin/bash
# A git server with many watched trees lists them and then keeps every fetch waiting: a tree from elsewhere is fetched
# meanwhile.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

q() { sqlite3 "file:$dir/state/kperfbot.db?mode=ro" "$1"; }
sees() { [ "$(q "SELECT count(*) FROM branch WHERE head = '$1'")" = 1 ]; }
commit() {
	git -C "$dir/zgood" -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m x
	git -C "$dir/zgood" rev-parse HEAD
}
port=$(free_port)
background /usr/bin/python3 tests/hostile-git.py "$port"
wait_for 10 bash -c ": >/dev/tcp/127.0.0.1/$port"
git init -q -b main "$dir/zgood"
first=$(commit)
mkdir -p "$dir/etc"
cp tests/demo/local-bench.yaml "$dir/etc/"
{
	printf 'state_dir: %s\ncache_dir: %s\nmin_free_mb: 0\n' "$dir/state" "$dir/cache"
	sandbox_line
	echo "trees:"
	tree() { # NAME URL
		echo "  $1: {url: \"$2\", program: true, artefact: bench, machine: local, interval: 1s,"
		echo "    jobs: [local-bench]}"
	}
	for i in $(seq 20); do tree "e$i" "git://127.0.0.1:$port/stall$i"; done
	tree zgood "file://$dir/zgood"
} >"$dir/etc/kperfbot.yaml"
background bash -c "exec nice '$kperfbot' --config '$dir/etc' daemon >'$dir/log' 2>&1"
wait_for 30 sees "$first"; ok $? "the other tree is seen"
stalled() { pgrep -f "work fetch e[0-9]" | xargs -r ps -o args= -p | grep -F "$dir/"; }
wait_for 30 stalled; ok $? "a fetch waits for the server that stalls"
second=$(commit)
wait_for 20 sees "$second"; ok $? "and its next commit"
third=$(commit)
wait_for 20 sees "$third"; ok $? "and one more: all trees have come round again"
is "$(stalled | wc -l)" 1 "one is all that waits for that server"
done_testing
