#!/bin/bash
# A topic branch that forked before a fix in good fails all along; another commit on the main line is the first that
# fails.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

step() { git add -A && git commit -q -m "$1" && git tag "$1"; } # TAG
make_repo() {
	git init -q -b main "$dir/work" && cd "$dir/work" || return 1
	git config user.name Ann; git config user.email ann@example.org
	cat >bench.sh <<-'SH'
		#!/bin/sh
		# NOTES
		if [ MODE = fails ]; then echo "bench: no such protocol" >&2; exit 3; fi
		echo "ops_per_sec: $((1000 + $$ % 7))"
	SH
	printf 'bench: bench.sh mode notes\n\tsed "%s" bench.sh >bench\n\tchmod +x bench\n' \
		's/NOTES/$$(cat notes)/; s/MODE/$$(cat mode)/' >Makefile
	echo x >notes; echo fails >mode; step old
	git checkout -q -b topic
	for i in 1 2 3 4 5 6 7 8; do echo "topic $i" >notes; step "topic$i"; done
	git checkout -q main; echo works >mode; step good
	for i in 1 2; do echo "main $i" >notes; step "main$i"; done
	echo fails >mode; step culprit
	for i in 4 5; do echo "main $i" >notes; step "main$i"; done
	git merge -q topic >/dev/null 2>&1; echo merged >notes; echo fails >mode; step merged
	echo "main 7" >notes; step bad
	cd - >/dev/null || return 1
	git clone -q --bare "$dir/work" "$dir/up.git"
	port=$(free_port)
	url=git://127.0.0.1:$port/up.git
	serve
}

make_repo; ok $? "a tree"
local_config
kp bisect good bad --tree small >"$dir/out" 2>&1; ok $? "bisect"
has "$dir/out" "by $(git -C "$dir/work" rev-parse culprit)"
kp case show 1 >"$dir/out" 2>&1
has "$dir/out" "fails in 100% of 6 boots, its parent in 0% of 6"
has "$dir/out" "fails in 0 of 3 boots"
kp query cases --json >"$dir/cases.json" 2>"$dir/out"
is "$(field "$dir/cases.json" 'o[0]["boots"] <= 60')" True "with few boots"
done_testing
