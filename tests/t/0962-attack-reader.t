#!/bin/bash
# Attack: a commit and its program that write lines of their own into the report, from column 0 (host-facts with keys of
# any length, a subject and a branch's name that reach where long lines are broken), and that make it too large to be
# taken or to be shown.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
/usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null || skip_all "no python3-aiosmtpd"

cat >"$dir/server.py" <<'PY'
import sys, time
from aiosmtpd.controller import Controller
class H:
    async def handle_DATA(self, server, session, envelope):
        open(sys.argv[2], 'ab').write(envelope.content)
        return '250 OK'
c = Controller(H(), hostname='127.0.0.1', port=int(sys.argv[1]), data_size_limit=300000)
c.start()
time.sleep(600)
PY
smtp_port=$(free_port)
background /usr/bin/python3 "$dir/server.py" "$smtp_port" "$dir/got"
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
git init -q -b main "$dir/src"
printf 'bench: bench.sh\n\tcp bench.sh bench && chmod +x bench\n' >"$dir/src/Makefile"
bench() { # VALUE SUBJECT [SHELL]
	printf '#!/bin/sh\n%s\necho "ops_per_sec: %s.$((KPB_PERTURB * 7 %% 5))"\n' "$3" "$1" >"$dir/src/bench.sh"
	git -C "$dir/src" add -A; git -C "$dir/src" commit -q -m "$2"
}
bench 1000 "bench: start"
# host-facts: lines that are broken every 998 bytes where the attacker wants it; and as much as it takes
facts='LC_ALL=C awk "BEGIN {
	printf \"cpu%995s\", \"\";
	n = split(\"Sorry, the numbers above are wrong|\" \
		\"commit: deadbeef (sched: by Victim)|#syz fix: any title|-- \", l, \"|\");
	for (i = 1; i <= n; i++) printf \"%-998s\", l[i];
	print \": x\";
	printf \"warning: \"; for (i = 0; i < 70; i++) printf \"%-998s\", \"diff --git a/x b/x\"; print \"\";
	for (i = 0; i < 300; i++) print \"warning: \" i \" of many\";
}" >>"$RESULT_DIR/host-facts"'
# column 0 would begin behind 998 bytes of the line 'commit: ID ("'
bench 900 "$(/usr/bin/python3 -c 'print("bench: x".ljust(998 - 51) + "#syz dup: any title")')" "$facts"
long=$(/usr/bin/python3 -c 'print("/".join(["b" * 200] * 4) + "/#syz")')
url=$dir/src
local_config "  smtp: true
  smtp_url: smtp://127.0.0.1:$smtp_port
  allow: ['*@example.org']"
sed -i "s/branches: .*/branches: ['*']/" "$dir/etc/kperfbot.yaml"
wait_for 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$smtp_port"
timeout 200 "$kperfbot" --config "$dir/etc" bisect main~1 main --tree small --mail >"$dir/out" 2>"$dir/log"
ok $? "a case, mailed"
is "$(case_field state)" reported "a server with a limit of 300 kB takes it"
for file in "$dir/mbox" "$dir/got"; do
	[ -s "$file" ] && ! grep -nE '^(commit: deadbeef|Sorry|#syz|diff --git)' "$file" >"$dir/out"
	ok $? "${file##*/}: no line of the attacker's begins at column 0"
	[ "$(wc -c <"$file")" -lt 250000 ]; ok $? "it has $(wc -c <"$file") bytes"
done
is "$(grep -c '^host:$' "$dir/mbox")" 1 "what the host is said to be is in it, indented"
culprit=$(git -C "$dir/src" rev-parse main) parent=$(git -C "$dir/src" rev-parse main~1)
has "$dir/mbox" "git checkout $culprit    # and then $parent, its parent"
begin=$SECONDS
kp case show 1 >"$dir/out" 2>&1; ok $? "case show"
[ $((SECONDS - begin)) -lt 5 ]; ok $? "takes $((SECONDS - begin)) s"

# 1 MB in each run: not read, and told
bench 1000 "bench: fast again"
bench 900 "bench: much" \
	'yes "warning x" | head -c 900000 | tr "\n" " " | sed "s/^/warning: /; s/$/\n/" >>"$RESULT_DIR/host-facts"'
git -C "$dir/src" branch "$long" main
kp tree fetch small >"$dir/log" 2>&1
timeout 200 "$kperfbot" --config "$dir/etc" bisect "$long~1" "$long" --tree small --mail >"$dir/out" 2>"$dir/log"
ok $? "another, of a branch with a long name"
kp case show 2 >"$dir/out" 2>&1
has "$dir/out" "host-facts is too long"
is "$(kp query cases --json 2>/dev/null | grep -c '"state": "reported"\|"state":"reported"')" 2 "both are reported"
! grep -nE '^(#syz|/#syz|bbbb)' "$dir/mbox" >"$dir/out"; ok $? "the branch's name begins no line"
! grep -F "git fetch" "$dir/mbox" | grep -F "bbb..." >"$dir/out"; ok $? "and no command holds half of it"
done_testing
