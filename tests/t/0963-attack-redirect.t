#!/bin/bash
# Attack: a git server that sends the bot on to services that only the bot can reach, and one that asks for the logins,
# headers, cookies and the ssh agent of the bot's account.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

cat >"$dir/server.py" <<'PY'
# PORT ANSWER LOG: answers "401", a URL to send all to ('%' is the path), or serves the folder that it is started in
import http.server, sys
class H(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        with open(sys.argv[3], 'a') as f:
            told = [k + '=' + v for k, v in self.headers.items() if k in ('Authorization', 'Cookie', 'X-Secret')]
            f.write(' '.join([self.path] + told) + '\n')
        if sys.argv[2] == 'serve':
            return super().do_GET()
        self.send_response(401 if sys.argv[2] == '401' else 302)
        self.send_header(*(('WWW-Authenticate', 'Basic realm="x"') if sys.argv[2] == '401' else
                           ('Location', sys.argv[2].replace('%', self.path))))
        self.end_headers()
    do_POST = do_GET
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()
PY
server() { # ANSWER LOG: $port answers
	port=$(free_port)
	: >"$2"
	(cd "$dir" && exec /usr/bin/python3 "$dir/server.py" "$port" "$1" "$2") 2>/dev/null &
	pids+=($!); disown $!
	wait_for 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
}
export KPERFBOT_STATE=$dir/state
mkdir -p "$dir/etc"
# The account's own: where git, libcurl and ssh look for it
export HOME=$dir/home
mkdir -p "$HOME"
echo "default login me password netrc-secret" >"$HOME/.netrc"
cat >"$HOME/.gitconfig" <<EOF2
[http]
	extraHeader = X-Secret: header-secret
	cookieFile = $HOME/cookies
[credential]
	helper = "!echo username=me; echo password=helper-secret;:"
EOF2
printf '127.0.0.1\tFALSE\t/\tFALSE\t0\tid\tcookie-secret\n' >"$HOME/cookies"
chmod 600 "$HOME"/.netrc "$HOME/cookies"
unset GIT_CONFIG_GLOBAL

export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
git init -q -b main "$dir/src"
git -C "$dir/src" commit -q --allow-empty -m "an internal repository"
git clone -q --bare "$dir/src" "$dir/internal.git"
git -C "$dir/internal.git" update-server-info

# ---- the test can fail: the server serves, and is read ----
server serve "$dir/inner.log"
inner=$port
kp tree add honest "http://127.0.0.1:$inner/internal.git" --program --artefact bench --off >"$dir/out" 2>&1
ok $? "a server that serves"
kp tree fetch honest >"$dir/out" 2>&1; ok $? "is fetched from"
[ -s "$dir/inner.log" ] && ! grep -q 'secret' "$dir/inner.log"; ok $? "with nothing of the account's"

# ---- redirects ----
: >"$dir/inner.log"
server "http://127.0.0.1:$inner%" "$dir/evil.log"
kp tree add evil "http://127.0.0.1:$port/internal.git" --program --artefact bench --off >"$dir/out" 2>&1
has "$dir/out" "redirects to 'http://127.0.0.1:$inner/internal.git'"
has "$dir/out" "write it as the tree's 'url'"
kp tree fetch evil >"$dir/out" 2>&1; [ $? != 0 ]; ok $? "a tree whose server sends us on is not fetched"
server "http://127.0.0.1:$inner/admin?do=delete-all" "$dir/evil.log"
kp tree add evil2 "http://127.0.0.1:$port/x.git" --program --artefact bench --off >"$dir/out" 2>&1
kp tree fetch evil2 >"$dir/out" 2>&1
is "$(cat "$dir/inner.log")" "" "nobody was asked for anything"
! grep -q "delete-all" "$dir/out"; ok $? "and the message repeats no query"
server $'http://x/\033[2J' "$dir/evil.log"
kp tree add evil3 "http://127.0.0.1:$port/x.git" --program --artefact bench --off >"$dir/out" 2>&1
! grep -q $'\033' "$dir/out"; ok $? "nor what drives a terminal"

# ---- logins ----
server 401 "$dir/evil.log"
kp tree add evil4 "http://127.0.0.1:$port/x.git" --program --artefact bench --off >"$dir/out" 2>&1
has "$dir/out" "the server wants a login"
[ -s "$dir/evil.log" ] && ! grep -q secret "$dir/evil.log"
ok $? "no .netrc, header, cookie or helper of the account's goes to a server that asks"
echo "http://robot:meant-for-it@127.0.0.1:$port" >"$dir/file"
chmod 600 "$dir/file"
kp tree add evil5 "http://127.0.0.1:$port/x.git" --credentials "$dir/file" --program --artefact bench --off \
	>"$dir/out" 2>&1
is "$(sed -n 's/.*Authorization=Basic //p' "$dir/evil.log" | tail -n 1 | base64 -d)" robot:meant-for-it \
	"the tree's own file does"

# ---- the account's configuration is read where it says how to get out ----
server 401 "$dir/proxy.log"
git config -f "$HOME/.gitconfig" http.proxy "http://127.0.0.1:$port"
kp tree add proxied "http://git.example.org/x.git" --program --artefact bench --off >"$dir/out" 2>&1
has "$dir/proxy.log" "http://git.example.org/x.git/info/refs"

# ---- ssh ----
mkdir "$dir/bin"
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>"%s"\nexit 255\n' "$dir/ssh.log" >"$dir/bin/ssh"
chmod 755 "$dir/bin/ssh"
PATH=$dir/bin:$PATH kp tree add evil6 ssh://git@git.example.org/x.git --program --artefact bench --off >"$dir/out" 2>&1
if command -v /usr/bin/ssh >/dev/null; then
	printf '%s\n' "Host *" "ForwardAgent yes" "ForwardX11 yes" "RemoteForward 9999 127.0.0.1:22" \
		"PermitLocalCommand yes" >"$dir/sshconfig"
	# shellcheck disable=SC2046
	/usr/bin/ssh -F "$dir/sshconfig" -G $(grep '^-o.' "$dir/ssh.log") git.example.org >"$dir/ssh" 2>"$dir/out"
	ok $? "ssh takes the options"
	for line in "forwardagent no" "forwardx11 no" "clearallforwardings yes" "permitlocalcommand no" \
		"batchmode yes"; do
		grep -qix "$line" "$dir/ssh"; ok $? "$line, whatever the account's configuration says"
	done
else
	skip "no ssh"
fi
done_testing
