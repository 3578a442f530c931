#!/bin/bash
# Attack: a branch that is pushed to and fro, each time with new ids, so that the same victim gets one report after
# another; and a mail server that never says farewell, so that a robot that is killed meanwhile does not know that the
# report was taken.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

cat >"$dir/server.py" <<'PY'
import socketserver, sys, time
port, asked, mood = int(sys.argv[1]), sys.argv[2], sys.argv[3]
class H(socketserver.StreamRequestHandler):
    def say(self, text): self.wfile.write(text.encode() + b'\r\n')
    def handle(self):
        self.say('220 hello')
        for line in self.rfile:
            word = line[:4].upper()
            if word == b'RCPT':
                with open(asked, 'a') as f: f.write(line.decode().strip()[8:].lower() + '\n')
            if word == b'DATA':
                self.say('354 go on')
                while self.rfile.readline() not in (b'.\r\n', b''): pass
                with open(asked, 'a') as f: f.write('text\n')
            if word == b'QUIT':
                if open(mood).read().strip() == 'slow': time.sleep(600)
                self.say('221 bye')
                return
            self.say('250 queued' if word == b'DATA' else '250 ok')
class S(socketserver.ThreadingTCPServer): allow_reuse_address = daemon_threads = True
S(('127.0.0.1', port), H).serve_forever()
PY
smtp_port=$(free_port)
echo fast >"$dir/mood"
background /usr/bin/python3 "$dir/server.py" "$smtp_port" "$dir/asked" "$dir/mood"
export GIT_AUTHOR_NAME=Ann GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=committer@example.com
git init -q -b main "$dir/src"
printf 'bench: bench.sh\n\tcp bench.sh bench && chmod +x bench\n' >"$dir/src/Makefile"
bench() { # VALUE SUBJECT AUTHOR
	printf '#!/bin/sh\n# %s\necho "ops_per_sec: %s.$((KPB_PERTURB * 7 %% 5))"\n' "$2" "$1" >"$dir/src/bench.sh"
	git -C "$dir/src" add -A; GIT_AUTHOR_EMAIL=$3 git -C "$dir/src" commit -q -m "$2"
}
bench 1000 "bench: start" victim@example.org
i=0
for author in victim@example.org Victim@example.org victim+kernel@example.org victim@example.org other@example.org; do
	i=$((i + 1))
	bench 900 "bench: slow $i" $author; git -C "$dir/src" branch "bad$i"
	bench 1000 "bench: fast $i" victim@example.org
done
url=$dir/src
local_config "  smtp: true
  smtp_url: smtp://127.0.0.1:$smtp_port
  max_per_day: 2
  allow: ['*@example.org']"
sed -i "s/branches: .*/branches: ['*']/" "$dir/etc/kperfbot.yaml"
wait_for 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$smtp_port"
for i in 1 2 3 4 5; do
	timeout 200 "$kperfbot" --config "$dir/etc" bisect "bad$i~1" "bad$i" --tree small --mail \
		>>"$dir/out" 2>>"$dir/log"
done
is "$(grep -c victim "$dir/asked")" 2 "the victim got two of four reports"
is "$(grep -c other "$dir/asked")" 1 "another author got his"
kp case list >"$dir/out" 2>&1
waits="the report waits: .*2 reports have gone there within a day, as many as 'max_per_day' allows"
is "$(grep -c "$waits" "$dir/out")" 2 "case list tells which wait, and why"
kp report send 3 --smtp >"$dir/out" 2>&1
has "$dir/out" "max_per_day"
is "$(grep -c victim "$dir/asked")" 2 "by hand neither"
sqlite3 "$dir/state/kperfbot.db" "UPDATE delivery SET time = time - 90000000000;
	UPDATE delivery SET next_try = 1 WHERE state = 'waiting';
	UPDATE task SET not_before = 1 WHERE kind = 'send'" 2>"$dir/log"
kp report send 3 --smtp >"$dir/out" 2>&1; ok $? "a day later the third is sent"
is "$(grep -c victim "$dir/asked")" 3 "to the victim"

# ---- no farewell ----
bench 900 "bench: slow 6" last@example.org
kp tree fetch small >"$dir/out" 2>&1
sed -i 's/  smtp: true/  smtp: false/' "$dir/etc/kperfbot.yaml"
timeout 200 "$kperfbot" --config "$dir/etc" bisect main~1 main --tree small >"$dir/out" 2>"$dir/log"
ok $? "one more case"
sed -i 's/  smtp: false/  smtp: true/' "$dir/etc/kperfbot.yaml"
echo slow >"$dir/mood"
: >"$dir/asked"
"$kperfbot" --config "$dir/etc" report send 6 --smtp >"$dir/out" 2>&1 &
sender=$!
delivery() {
	sqlite3 "$dir/state/kperfbot.db" \
		"SELECT state || ': ' || detail FROM delivery WHERE recipient = 'last@example.org'"
}
taken() { [ "$(delivery)" = "sent: 250 queued" ]; }
wait_for 60 taken
kill -KILL $sender; wait $sender 2>/dev/null; is $? 137 "killed while the server says no farewell"
is "$(grep -c text "$dir/asked")" 1 "which had taken the report"
taken; ok $? "that was written down"
kp report send 6 --smtp >"$dir/out" 2>&1; ok $? "sending again"
is "$(grep -c text "$dir/asked")" 1 "sends no second copy"
done_testing
