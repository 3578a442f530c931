#!/bin/bash
# A tree tries to make the bot mail strangers: by trailers, MAINTAINERS, names that look like addresses, addresses that
# route elsewhere, a patch's author. What a real SMTP server is asked for, and what the header says, are those on the
# allow-list alone.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
/usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null || skip_all "no python3-aiosmtpd"

cat >"$dir/server.py" <<'PY'
import sys, time
from aiosmtpd.controller import Controller
port, asked, text = int(sys.argv[1]), sys.argv[2], sys.argv[3]
class H:
    async def handle_RCPT(self, server, session, envelope, address, options):
        with open(asked, 'a') as f:
            f.write(address + '\n')
        envelope.rcpt_tos.append(address)
        return '250 OK'
    async def handle_DATA(self, server, session, envelope):
        with open(text, 'wb') as f:
            f.write(envelope.content)
        return '250 OK'
c = Controller(H(), hostname='127.0.0.1', port=port)
c.start()
time.sleep(600)
PY
smtp_port=$(free_port)
background /usr/bin/python3 "$dir/server.py" "$smtp_port" "$dir/asked" "$dir/text"

export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
git init -q -b main "$dir/src"
git -C "$dir/src" config mailmap.file "$dir/src/.mailmap"
/usr/bin/python3 - "$dir/src/MAINTAINERS" <<'PY'
import sys
lines = ['"victim@evil.example" <kim@example.org>', 'victim@evil.example <lee@example.org>',
         'x>, <victim@evil.example>, <pat@example.org>', 'ANN@EXAMPLE.ORG', 'Ann <aNN@Example.org>',
         'V <"victim@evil.example"@example.org>', 'V <victim%evil.example@example.org>',
         'V <evil.example!victim@example.org>', 'V <victim@evil.example@example.org>',
         'V <victim@evil.example,x@example.org>', 'V <@evil.example:victim@example.org>',
         'V <victim@evil.example(x@example.org)>', 'V <victim(@example.org)@evil.example>',
         'V <victim@evil.example x@example.org>', 'V <|/bin/sh@example.org>', 'V </var/mail/root@example.org>',
         'V <-froot@example.org>', 'V <victim@\u0435xample.org>', 'V <victim@example.org.>', 'V <victim@[127.0.0.1]>',
         'V <victim@example.org.evil.example>', 'V <victim@evil-example.org>', 'V <victim@xexample.org>',
         'V <victim@sub.example.org>', 'V <victim@evil.example\\r\\nRCPT TO:<x@example.org>>',
         'V <victim\x00@example.org>', 'V <vic\u202etim@example.org>', 'postmaster', 'V <@example.org>',
         'V <victim@evil.example>', 'L <linux-kernel+unsubscribe@example.org>', 'list-request@example.org',
         'V <list-subscribe-victim=evil.example@example.org>', 'majordomo@example.org', 'owner-list@example.org']
with open(sys.argv[1], 'wb') as f:
    f.write(b'Maintainers List\n\nBENCH\n' + b''.join(b'M:\t' + l.encode() + b'\n' for l in lines) + b'F:\tbench.sh\n')
PY
echo 'Victim <victim@mailmap.example.org> <ann@example.org>' >"$dir/src/.mailmap"
printf 'bench: bench.sh\n\tcp bench.sh bench && chmod +x bench\n' >"$dir/src/Makefile"
bench() { # VALUE
	printf '#!/bin/sh\necho "ops_per_sec: %s.$((KPB_PERTURB * 7 %% 5))"\n' "$1" >"$dir/src/bench.sh"
	git -C "$dir/src" add -A
}
bench 1000; git -C "$dir/src" commit -q -m "bench: start"
bench 950
GIT_AUTHOR_NAME='victim@evil.example, victim@other.example' GIT_AUTHOR_EMAIL='Ann@Example.ORG' \
	GIT_COMMITTER_NAME='"><victim@evil.example>' GIT_COMMITTER_EMAIL='victim@evil.example' \
	git -C "$dir/src" commit -q -F - <<'EOF2'
bench: do it another way

To: victim@trailer.example.org
Bcc: victim@trailer.example.org
X-kperfbot-would-go-to: victim@trailer.example.org

Reported-by: V <victim@trailer.example.org>
Cc: V <victim@trailer.example.org>
Suggested-by: V <victim@trailer.example.org>
Link: mailto:victim@trailer.example.org
Signed-off-by: V <victim@trailer.example.org>
EOF2
mkdir "$dir/etc"; cp tests/demo/local-bench.yaml "$dir/etc/"
config() { # ALLOW
	cat >"$dir/etc/kperfbot.yaml" <<-EOF2
	state_dir: $dir/state
	cache_dir: $dir/cache
	min_free_mb: 0
	$(sandbox_line)
	judge: {min_effect: 0.01, reach: false}
	mail:
	  robot_address: robot@robot.example.com
	  mbox: $dir/mbox
	  smtp: true
	  smtp_url: smtp://127.0.0.1:$smtp_port
	  max_recipients: 100
	  allow: $1
	trees:
	  small: {url: "$dir/src", branches: [main], program: true, artefact: bench, machine: local, interval: 1h,
	    jobs: [local-bench]}
	EOF2
}
config "['*@example.org']"
wait_for 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$smtp_port"
timeout 200 "$kperfbot" --config "$dir/etc" bisect main~1 main --mail >"$dir/log" 2>&1; ok $? "a case"
is "$(case_field state)" reported "reported"
is "$(sort "$dir/asked" | tr '\n' ' ')" \
	"Ann@Example.ORG kim@example.org lee@example.org pat@example.org x@example.org " "the server is asked for these"
/usr/bin/python3 - "$dir/text" >"$dir/out" 2>&1 <<'PY'
import email, email.policy, email.utils, sys
m = email.message_from_binary_file(open(sys.argv[1], 'rb'))
got = sorted(a.lower() for _, a in email.utils.getaddresses(m.get_all('To', []) + m.get_all('Cc', [])))
assert got == ['ann@example.org', 'kim@example.org', 'lee@example.org', 'pat@example.org', 'x@example.org'], got
assert not m.get_all('Bcc') and not m.get_all('Resent-To') and len(m.get_all('To')) == 1, m.keys()
new = email.message_from_binary_file(open(sys.argv[1], 'rb'), policy=email.policy.default)
assert sorted(a.addr_spec.lower() for h in ('To', 'Cc') for a in new[h].addresses) == got, new['To']
PY
ok $? "two parsers read the same five out of To: and Cc:, and there is no Bcc:"
kp report show 1 --json >"$dir/report.json" 2>"$dir/out"
is "$(field "$dir/report.json" '[r["left_out"] for r in o["recipients"] if "left_out" in r]')" \
	"['5 addresses that make mail software act']" "what makes list servers act is left out, and told"
is "$(field "$dir/report.json" '[r for r in o["recipients"] if "trailer" in str(r) or "mailmap" in str(r)]')" "[]" \
	"no trailer and no .mailmap makes a recipient"
is "$(field "$dir/report.json" 'sum(r.get("address", "").lower() == "ann@example.org" for r in o["recipients"])')" 1 \
	"whatever the letters' case, once"

config "['example.org']"
kp config check "$dir/etc" >"$dir/out" 2>&1; [ $? != 0 ]; ok $? "an entry of the allow-list that says nobody"
has "$dir/out" "write '*@example.org'"
done_testing
