#!/bin/bash
# A mail server that is away, then refuses, then accepts: the report arrives once, and only at allowed addresses.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
/usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null || skip_all "no python3-aiosmtpd"

cat >"$dir/server.py" <<'PY'
import sys, time
from aiosmtpd.controller import Controller
class H:
    seen = 0
    async def handle_MAIL(self, server, session, envelope, address, options):
        H.seen += 1
        if H.seen <= 2:
            return '451 4.3.2 try again later'
        envelope.mail_from = address
        return '250 OK'
    async def handle_DATA(self, server, session, envelope):
        with open(sys.argv[2], 'a') as f:
            f.write('TO ' + ' '.join(sorted(envelope.rcpt_tos)) + '\n' + envelope.content.decode('utf-8', 'replace') + '\nEND\n')
        return '250 OK'
c = Controller(H(), hostname='127.0.0.1', port=int(sys.argv[1]))
c.start()
time.sleep(600)
PY
local_tree 15 16
smtp_port=$(free_port)
local_config "  smtp: true
  smtp_url: smtp://127.0.0.1:$smtp_port
  allow: ['tove@example.org', '*@lists.example.org']
  always_cc: ['perf@lists.example.org', 'secret@example.org']"
baseline_then_arrive; ok $? "baseline"
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
wait_for 120 case_is found; ok $? "a case is found"
wait_for 30 grep -qi "connect" "$dir/log"; ok $? "the server is away: the log says so"
is "$(mails)" 1 "the mbox has its copy meanwhile"
background /usr/bin/python3 "$dir/server.py" "$smtp_port" "$dir/got"
wait_for 160 case_is reported; ok $? "refused twice, then taken: the case is reported"
wait_for 20 idle; ok $? "nothing is left to do"
is "$(grep -c '^TO ' "$dir/got")" 1 "it arrived once"
grep '^TO ' "$dir/got" >"$dir/out"
grep -q 'perf@lists.example.org' "$dir/out"; ok $? "an allowed list got it"
grep -q 'secret@example.org' "$dir/out"; is $? 1 "nobody else"
kill "${pids[-2]}" 2>/dev/null
timeout 30 "$kperfbot" --config "$dir/etc" daemon --until-idle >>"$dir/log" 2>&1
is "$(grep -c '^TO ' "$dir/got")" 1 "another start sends nothing"
is "$(mails)" 1 "nor writes the mbox again"
done_testing
