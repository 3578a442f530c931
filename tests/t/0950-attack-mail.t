#!/bin/bash
# A mail server that puts off one recipient, refuses another and takes a third: each has its own fate, told by case
# show; and one that refuses everybody: the case is not reported, says so, and what to do helps.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
/usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null || skip_all "no python3-aiosmtpd"

# Its mood is the word in a file; what it took goes to another, what it was asked to a third.
cat >"$dir/server.py" <<'PY'
import sys, time
from aiosmtpd.controller import Controller
port, mood, got = int(sys.argv[1]), sys.argv[2], sys.argv[3]
class H:
    async def handle_RCPT(self, server, session, envelope, address, options):
        now = open(mood).read().strip()
        if now == 'refuse':
            return '550 5.7.1 nobody here wants this'
        if address.lower().startswith('gone@'):
            return '550 5.1.1 no such user'
        if address.lower().startswith('grey@') and now == 'grey':
            return '450 4.2.0 greylisted \x1b[2J'
        envelope.rcpt_tos.append(address)
        return '250 OK'
    async def handle_DATA(self, server, session, envelope):
        text = envelope.content.decode('utf-8', 'replace')
        head = text.split('\r\n\r\n')[0].split('\r\n')
        pick = ' | '.join(l for l in head if l.lower().startswith(('message-id:', 'to:', 'cc:')))
        with open(got, 'a') as f:
            f.write('TO ' + ' '.join(sorted(envelope.rcpt_tos)) + ' | ' + pick + '\n')
        return '250 OK'
c = Controller(H(), hostname='127.0.0.1', port=port)
c.start()
time.sleep(600)
PY
local_tree 15 16
git --git-dir "$dir/up.git" update-ref refs/heads/main "$head"
smtp_port=$(free_port)
local_config "  smtp: true
  smtp_url: smtp://127.0.0.1:$smtp_port
  allow: ['*@lists.example.org']
  always_cc: ['ok@lists.example.org', 'Grey@lists.example.org', 'gone@lists.example.org']"
: >"$dir/got"
echo grey >"$dir/mood"
background /usr/bin/python3 "$dir/server.py" "$smtp_port" "$dir/mood" "$dir/got"
wait_for 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$smtp_port"
timeout 200 "$kperfbot" --config "$dir/etc" bisect "$culprit^" "$culprit" --tree small --mail >"$dir/out" 2>"$dir/log"
ok $? "a case, mailed at once"
has "$dir/out" "1 of 3 recipients have to wait"
is "$(case_field state)" reported "one recipient has it: the case is reported"
is "$(cut -d'|' -f1 "$dir/got")" "TO ok@lists.example.org " "who was accepted has it"
kp case show 1 >"$dir/out" 2>&1
grep -q '^smtp .*ok@lists.example.org sent: 250 OK$' "$dir/out"; ok $? "case show: sent"
grep -q '^smtp .*gone@lists.example.org failed: the server refused it: 550 5.1.1 no such user$' "$dir/out"
ok $? "refused, with the server's words"
grep -q '^smtp .*Grey@lists.example.org waiting: .*450 4.2.0 greylisted .*, tried again later$' "$dir/out"
ok $? "put off, with its words"
! grep -q $'\033' "$dir/out"; ok $? "which drive no terminal"
kp case show 1 --json >"$dir/show.json" 2>"$dir/out"
is "$(field "$dir/show.json" 'sorted((d["way"], d["state"]) for d in o["deliveries"])')" \
	"[('mbox', 'sent'), ('smtp', 'failed'), ('smtp', 'sent'), ('smtp', 'waiting')]" "the same as JSON"
echo ok >"$dir/mood"
timeout 100 "$kperfbot" --config "$dir/etc" daemon --until-idle >>"$dir/log" 2>&1; ok $? "a daemon goes on"
is "$(wc -l <"$dir/got")" 2 "one more mail"
is "$(sed -n 2p "$dir/got" | cut -d'|' -f1)" "TO Grey@lists.example.org " "to who was put off, alone"
is "$(sed -n 2p "$dir/got" | cut -d'|' -f2-)" "$(sed -n 1p "$dir/got" | cut -d'|' -f2-)" \
	"the same Message-ID, To and Cc"
sed -n 2p "$dir/got" >"$dir/out"
has "$dir/out" "Cc: ok@lists.example.org, Grey@lists.example.org, gone@lists.example.org"
kp report send 1 --smtp >"$dir/out" 2>&1; ok $? "once more by hand"
has "$dir/out" "to 2 of 3 recipients"
is "$(wc -l <"$dir/got") $(mails)" "2 1" "sends nothing"

# Everybody refused.
echo refuse >"$dir/mood"
rm -rf "$dir/state" "$dir/got" "$dir/mbox"; : >"$dir/got"
timeout 200 "$kperfbot" --config "$dir/etc" bisect "$culprit^" "$culprit" --tree small --mail >"$dir/out" 2>"$dir/log"
has "$dir/out" "'kperfbot report send 1 --smtp --force' tries again"
is "$(case_field state)" undelivered "all refused: the case is not reported"
kp case list >"$dir/out" 2>&1; has "$dir/out" "undelivered"
refused="ok@lists.example.org: the server refused it: 550 5.7.1 nobody here wants this"
again="'kperfbot report send 1 --smtp --force' tries again"
is "$(case_field note)" "nobody has the report: no recipient has the report: $refused; $again" \
	"case list says why and what to do"
kp case show 1 >"$dir/out" 2>&1
has "$dir/out" "550 5.7.1 nobody here wants this"
has "$dir/out" "kperfbot report send 1 --smtp --force"
! grep -q 'delivered by smtp' "$dir/log"; ok $? "nothing says that it was delivered"
is "$(mails)" 1 "the mbox has its copy"
kp daemon --until-idle >>"$dir/log" 2>&1
is "$(case_field state)" undelivered "it stays so"
kp report send 1 --smtp >"$dir/out" 2>&1; is $? 1 "sent again without force"
echo ok >"$dir/mood"
kp report send 1 --smtp --force >"$dir/out" 2>&1; ok $? "what it said to do"
is "$(case_field state)" reported "helps"
is "$(wc -l <"$dir/got")" 1 "one mail"
kp report send 1 --smtp --force >"$dir/out" 2>&1
is "$(wc -l <"$dir/got")" 1 "by force, still one"

# Nobody is allowed.
rm -rf "$dir/state" "$dir/got" "$dir/mbox"; : >"$dir/got"
sed -i "s/allow: .*/allow: []/" "$dir/etc/kperfbot.yaml"
timeout 200 "$kperfbot" --config "$dir/etc" bisect "$culprit^" "$culprit" --tree small --mail >"$dir/out" 2>"$dir/log"
is "$(case_field state)" undelivered "nobody is allowed: nobody has it"
kp case list --json >"$dir/out" 2>&1; has "$dir/out" "passes the allow-list"
is "$(wc -l <"$dir/got")" 0 "nothing was sent"
done_testing
