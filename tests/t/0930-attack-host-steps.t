#!/bin/bash
# What the robot itself does with a stranger's commits, from the fetch to the mail: MAINTAINERS whose patterns do not
# end, beside a branch whose head is a commit of 50 MB. The report goes out, says who may be missing, and no other
# branch waits.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

local_tree 11 16 || skip_all "no local tree"
export GIT_DIR=$dir/up.git
{
	printf 'Maintainers List\n----------------\n\n'
	printf 'EVIL\nM:\tEve <eve@example.org>\nN:\t((([a-z]+)+)+)+[0-9]!\nK:\t((.+)+)+$q\nK:\t(?R)*\n'
	nest=x; for _ in {1..60}; do nest="($nest+)"; done # POSIX matchers double their states at each level
	printf 'N:\t%s!\nK:\t%s!\n\n' "$nest" "$nest"
	printf 'HONEST\nM:\tHal <hal@example.org>\nF:\tsrc/\n\n'
	head -c 3000000 /dev/zero | tr '\0' 'x'
	printf '\nK:\t'; head -c 200000 /dev/zero | tr '\0' '('; printf '\n'
} >"$dir/MAINTAINERS"
# every commit anew, with that file in it
/usr/bin/python3 - "$dir" "$culprit" "$base" "$head" >"$dir/ids" <<-'PY'
	import subprocess, sys
	def git(*a, data=None):
	    return subprocess.run(('git',) + a, input=data, check=True, stdout=subprocess.PIPE).stdout
	blob = git('hash-object', '-w', sys.argv[1] + '/MAINTAINERS').decode().strip()
	new = {}
	for old in git('rev-list', '--topo-order', '--reverse', sys.argv[4]).decode().split():
	    raw = git('cat-file', 'commit', old)
	    tree = git('ls-tree', old) + b'100644 blob %s\tMAINTAINERS\n' % blob.encode()
	    lines = raw.split(b'\n')
	    lines[0] = b'tree ' + git('mktree', data=tree).strip()
	    for i, l in enumerate(lines):
	        if l.startswith(b'parent '): lines[i] = b'parent ' + new[l[7:].decode()].encode()
	        if not l: break
	    new[old] = git('hash-object', '-t', 'commit', '-w', '--stdin', data=b'\n'.join(lines)).decode().strip()
	print(*(new[x] for x in sys.argv[2:]))
PY
read -r culprit base head <"$dir/ids"
{
	git cat-file commit "$base" | sed '/^$/q' | sed "/^parent/d; /^tree/aparent $base"
	head -c 50000000 /dev/zero | tr '\0' 'm'
} >"$dir/big"
big=$(git hash-object -t commit -w "$dir/big")
git update-ref refs/heads/main "$base"; git update-ref refs/heads/big "$base"
unset GIT_DIR

local_config
sed -i 's/branches: \[main\]/branches: [main, big]/' "$dir/etc/kperfbot.yaml"
baseline_then_arrive; ok $? "both branches are taken as they are"
git --git-dir "$dir/up.git" update-ref refs/heads/big "$big"
background bash -c "exec prlimit --data=3000000000 '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
wait_for 200 case_is reported; ok $? "a case is reported, with little memory"
wait_for 30 test -s "$dir/mbox"; ok $? "and mailed"
is "$(case_field culprit)" "$culprit" "the culprit is the planted one"
is "$(mails)" 1 "one mail"
has "$dir/mbox" "X-kperfbot-left-out: maintainers: EVIL: a pattern that"
has "$dir/mbox" "hal@example.org"
grep -q eve@example.org "$dir/mbox"; is $? 1 "who cannot be found is left out"
grep -F "small/big moved to ${big:0:12}" "$dir/log" >"$dir/out"; ok $? "the branch with the large commit was fetched"
is "$(kp query builds --csv 2>/dev/null | grep -c "$big")" 0 "and never built"
kp case show 1 >"$dir/out" 2>&1; ok $? "case show"
done_testing
