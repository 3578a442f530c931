#!/bin/bash
# A benchmark that fails from a commit on: that commit is found, proven and reported in the benchmark's own words.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

# make_repo: commits 0 to 9, tagged c0 to c9. From 5 to 8 the program fails, from 7 on with other words; 3 does not build.
make_repo() {
	git init -q -b main "$dir/work" && cd "$dir/work" || return 1
	git config user.name Ann; git config user.email ann@example.org
	cat >bench.sh <<-'SH'
		#!/bin/sh
		# NOTES
		if [ MODE = fails ]; then echo "bench: no such WHAT" >&2; exit 3; fi
		echo "ops_per_sec: $((1000 + $$ % 7))"
	SH
	echo works >mode
	echo protocol >what
	for i in $(seq 0 9); do
		[ "$i" = 5 ] || echo "commit $i" >notes # so that 5 can be undone on top of the others
		printf 'bench: bench.sh mode what notes\n\tsed "%s" bench.sh >bench\n\tchmod +x bench\n' \
			's/NOTES/$$(cat notes)/; s/MODE/$$(cat mode)/; s/WHAT/$$(cat what)/' >Makefile
		[ "$i" = 3 ] && printf 'bench:\n\tfalse\n' >Makefile
		[ "$i" = 5 ] && echo fails >mode
		[ "$i" = 7 ] && echo port >what # the newest words are not the culprit's
		[ "$i" = 9 ] && echo works >mode
		git add -A && git commit -q -m "bench: step $i" && git tag "c$i"
	done
	cd - >/dev/null || return 1
	git clone -q --bare "$dir/work" "$dir/up.git" && git --git-dir "$dir/up.git" update-ref refs/heads/main c0
	port=$(free_port)
	url=git://127.0.0.1:$port/up.git
	serve
}
oid() { git -C "$dir/work" rev-parse "$1"; }
move_to() { git --git-dir "$dir/up.git" update-ref refs/heads/main "$1" && settle; }
state_of() { kp sql "SELECT 'x' || state || ' ' || fault FROM comparison WHERE base = '$(oid "$1")' AND head = '$(oid "$2")'" --csv | grep '^x'; }

make_repo; ok $? "a tree"
local_config
move_to c0; ok $? "baseline"
move_to c7; ok $? "a head on which the benchmark fails"
is "$(case_field culprit)" "$(oid c5)" "the culprit is the first commit that fails"
is "$(case_field state)" reported "it is reported"
is "$(mails)" 1 "by one mail"
/usr/bin/python3 - "$dir/mbox" "$(oid c5)" >"$dir/out" 2>&1 <<-'PY'
	import mailbox, sys
	m = mailbox.mbox(sys.argv[1])[0]
	assert m['Subject'].endswith('command fails'), m['Subject']
	text = m.get_payload(decode=True).decode('utf-8')
	print(text)
	assert 'noticed that command fails on:' in text and 'commit: ' + sys.argv[2] in text
	assert 'no such protocol' in text and 'no such port' not in text, 'its own words'
	assert 'the parent failed in 0 of 6 runs, the commit in 6 of 6' in ' '.join(text.split()), 'the proof'
	assert 'fails in 0 of 3 boots' in text, 'the revert'
	assert '%' not in text.split('proof:')[1].split('range:')[0].split('measured on')[0], 'no percentages of a metric'
PY
ok $? "which says what fails, how sure that is, and that undoing it helps"
kp case show 1 >"$dir/out" 2>&1; ok $? "case show"
has "$dir/out" "no such protocol"
has "$dir/out" "fails in 100% of 6 boots, its parent in 0% of 6"
is "$(case_field note)" "fails: failed: exit status 3: bench: no such protocol" "case list has its words, too"
is "$(state_of c0 c7)" "xbroken head" "the comparison tells which side fails"
kp bisect c0 c7 --tree small >"$dir/out" 2>&1; ok $? "bisect by hand of what is known"
has "$dir/out" "fails (failed: "
has "$dir/out" "by $(oid c5)"

move_to c8; ok $? "the next head fails, too"
is "$(state_of c0 c8)" "xbroken head" "and is compared with the last measured one"
is "$(mails)" 1 "without another mail"
move_to c9; ok $? "one that works again"
is "$(state_of c0 c9)" "xsame " "is compared with the last measured one, too"

# by hand, from nothing
state=$dir/other
local_config
kp bisect c1 c6 --tree small >"$dir/out" 2>&1; ok $? "bisect by hand, with another robot"
has "$dir/out" "by $(oid c5)"
has "$dir/out" "not mailed: asked by hand"
is "$(mails)" 1 "nobody is mailed"
kp bisect c1 c6 --tree small --json >"$dir/out.json" 2>/dev/null
is "$(field "$dir/out.json" '"no such protocol" in o["cases"][0]["failure"]')" True "its words in --json"

script=$(find "$dir/state/cases" -name reproduce.sh)
KPB_WORK=$dir/again timeout 120 sh "$script" >"$dir/out" 2>"$dir/err"; ok $? "the reproduce script"
has "$dir/out" "culprit  fails in 3 of 3 runs"
has "$dir/out" "parent   fails in 0 of 3 runs"
done_testing
