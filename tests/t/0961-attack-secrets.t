#!/bin/bash
# Attack: read the secrets of the bot - a password in a tree's URL or in smtp_url, in mails, scripts, lists of
# processes, logs, tables and files that others may read. The server is a real one that wants a login.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

secret=hunter2-Geheim
cat >"$dir/server.py" <<'PY'
import base64, http.server, os, subprocess, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        want = "Basic " + base64.b64encode(("robot:" + sys.argv[3]).encode()).decode()
        if self.headers.get("Authorization") != want:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = dict(os.environ, GIT_PROJECT_ROOT=sys.argv[2], GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path,
                   QUERY_STRING=query, REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("Content-Type") or "",
                   CONTENT_LENGTH=str(len(body)), HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding") or "",
                   GIT_PROTOCOL=self.headers.get("Git-Protocol") or "", REMOTE_ADDR="127.0.0.1")
        out = subprocess.run(["git", "http-backend"], env=env, input=body, capture_output=True).stdout
        head, _, content = out.partition(b"\r\n\r\n")
        fields = [line.decode().split(": ", 1) for line in head.split(b"\r\n")]
        self.send_response(int(dict(fields).get("Status", "200").split()[0]))
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
PY
# every git that is started, with all its words and its environment
mkdir "$dir/bin"
printf '#!/bin/sh\n{ printf "%%s " "$0" "$@"; echo; env; } >>"%s"\nexec "%s" "$@"\n' \
	"$dir/gitlog" "$(command -v git)" >"$dir/bin/git"
chmod 755 "$dir/bin/git"
silent() { # FILE TITLE: it holds no secret
	[ -s "$1" ] && ! grep -qF "$secret" "$1"; ok $? "$2"
}
modes() { find "$@" -printf '%m %P\n'; }
kpg() { PATH=$dir/bin:$PATH kp "$@"; }

local_tree 11
web=$(free_port)
background /usr/bin/python3 "$dir/server.py" "$web" "$dir" "$secret"
url=http://127.0.0.1:$web/up.git with=http://robot:$secret@127.0.0.1:$web/up.git
wait_for 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$web"
umask 0
local_config

# ---- refused, with the way to do it right ----
for u in "$with" "http://$secret@127.0.0.1:$web/up.git" "ssh://git:$secret@example.org/x.git" \
	"$url?private_token=$secret" "https://robot:$secret/x@example.org/up.git" \
	"ext::https://robot:$secret@example.org/x" "robot:$secret@example.org:x.git" \
	"https:/robot:$secret@example.org/x.git"; do
	kpg tree add refused "$u" >"$dir/out" 2>&1; is $? 2 "tree add refuses ${u/$secret/...}"
	silent "$dir/out" "and does not repeat the secret"
	kpg tree add refused "$u" --json >"$dir/out" 2>&1
	silent "$dir/out" "nor with --json"
	case $u in ext*) ;; *) has "$dir/out" "credentials_file:" ;; esac
	sed "s|url: .*|url: $u|" "$dir/etc/kperfbot.yaml" | install -D /dev/stdin "$dir/etc2/kperfbot.yaml"
	cp "$dir/etc/local-bench.yaml" "$dir/etc2/"
	kp config check "$dir/etc2" >"$dir/out" 2>&1; is $? 2 "config check refuses it"
	silent "$dir/out" "and is silent, too"
done
for u in "smtp://robot:$secret@mail.example.org:587" "smtps://$secret@mail.example.org" \
	"http://robot:$secret@mail.example.org"; do
	sed "s|  robot_address.*|&\n  smtp: true\n  smtp_url: $u|" "$dir/etc/kperfbot.yaml" >"$dir/etc2/kperfbot.yaml"
	kp config check "$dir/etc2" >"$dir/out" 2>&1; is $? 2 "config check refuses smtp_url ${u/$secret/...}"
	silent "$dir/out" "and does not repeat the secret"
	has "$dir/out" "smtp_password_file"
done
is "$(cat "$dir/gitlog" 2>/dev/null)" "" "git was never asked"

# ---- a file of credentials ----
kpg tree add small "$url" --program --artefact bench --off >"$dir/out" 2>&1
has "$dir/out" "--credentials FILE"
file="$dir/it's a file"
echo "http://robot:$secret@127.0.0.1:$web" >"$file"
chmod 644 "$file"
kpg tree add small "$url" --credentials "$file" >"$dir/out" 2>&1; is $? 2 "a file that others can read is refused"
has "$dir/out" "chmod 600"
chmod 600 "$file"
before=$(sha256sum <"$file")
(cd "$dir" && kpg tree add small "$url" --credentials "it's a file" --interval 1s) >"$dir/out" 2>&1
ok $? "a private one is taken"
has "$dir/out" "1 branch seen"
kpg tree fetch small >"$dir/out" 2>&1; ok $? "and the tree is fetched"
sed "s/$secret/wrong/" "$file" >"$dir/wrong"
chmod 600 "$dir/wrong"
wrong=$(sha256sum <"$dir/wrong")
kpg tree add bad "$url" --credentials "$dir/wrong" --off >"$dir/out" 2>&1
has "$dir/out" "the server wants a login"
is "$(sha256sum <"$dir/wrong")" "$wrong" "a refused login is not erased from the file"
is "$(sha256sum <"$file")" "$before" "an accepted one changes nothing"
silent "$dir/gitlog" "no git saw the password on its command line or in its environment"
kp tree remove bad --purge >/dev/null 2>&1

# ---- the main job behind a login; then as an old database has it, with the password in the URL ----
sed -i "s|    url: .*|&\n    credentials_file: $file|" "$dir/etc/kperfbot.yaml"
kp config check >"$dir/out" 2>&1; ok $? "config check takes 'credentials_file'"
PATH=$dir/bin:$PATH baseline_then_arrive; ok $? "the branch is watched"
PATH=$dir/bin:$PATH background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
wait_for 150 case_is reported; ok $? "a case is reported"
kill -TERM ${pids[-1]}; wait_for 25 bash -c "! kill -0 ${pids[-1]}"
sed -i "/credentials_file/d; /^trees:/,\$d" "$dir/etc/kperfbot.yaml"
sqlite3 "$dir/state/kperfbot.db" "UPDATE tree SET url = '$with', poll_error = 'cannot reach ''$with''',
	settings = json_remove(settings, '\$.credentials_file', '\$.of_file'), enabled = 1, next_poll = 0;
	INSERT INTO event (time, text) VALUES (1, 'tree cannot be reached: fatal: unable to access ''$with/'': x');
	UPDATE report SET text = text || '$with';"
is "$(sqlite3 "$dir/state/kperfbot.db" "SELECT count(*) FROM tree WHERE url LIKE '%$secret%'")" 1 \
	"an old database holds a password"
for form in "" --csv --json; do
	for what in "tree list" "query trees" "query events" "case show 1" "report show 1" "report render 1"; do
		kp $what $form >"$dir/out" 2>&1; silent "$dir/out" "$what $form"
	done
	kp sql "SELECT url, poll_error, settings FROM tree" $form >"$dir/out" 2>&1; silent "$dir/out" "sql $form"
done
kp report render 1 >"$dir/out" 2>&1; has "$dir/out" "git fetch -- $url refs/heads/main"
kp config show >"$dir/out" 2>&1; silent "$dir/out" "config show"
rm -rf "$dir/state/cases"
sqlite3 "$dir/state/kperfbot.db" "DELETE FROM delivery; DELETE FROM report"
kp report send 1 >"$dir/out" 2>&1; silent "$dir/out" "report send"
silent "$dir/mbox" "the mail"
silent "$dir/state/cases/case-1/reproduce.sh" "the script"
is "$(grep -rlF "$secret" "$dir/state/cases")" "" "and what lies beside it"
kpg tree fetch small >"$dir/out" 2>&1; is $? 2 "such a tree is fetched no more"
silent "$dir/out" "fetch is silent"
has "$dir/out" "credentials_file:"
sqlite3 "$dir/state/kperfbot.db" "UPDATE tree SET next_poll = 0, poll_failures = 0"
PATH=$dir/bin:$PATH kp daemon --until-idle >"$dir/dlog" 2>&1; silent "$dir/dlog" "the daemon's log"
has "$dir/dlog" "credentials_file:"
silent "$dir/gitlog" "and still no git has seen it"
is "$(grep -rlF "$secret" "$dir/state" | grep -v 'kperfbot.db')" "" \
	"it lies nowhere in the state folder but in the old row"

# ---- files that others may read ----
is "$(stat -c %a "$dir/state" "$dir/cache" "$dir/state/kperfbot.db" "$dir/mbox" | xargs)" "700 700 600 600" \
	"umask 0: state, cache, database and mbox are private"
sqlite3 "$dir/state/kperfbot.db" "UPDATE tree SET url = '$url', enabled = 0"
chmod 755 "$dir/state" "$dir/cache"
chmod 644 "$dir/state/kperfbot.db"
kp tree list >"$dir/out" 2>&1
kp daemon --until-idle >"$dir/out" 2>&1; ok $? "folders and a database that others can read"
is "$(stat -c %a "$dir/state" "$dir/cache" "$dir/state/kperfbot.db" | xargs)" "700 700 600" "are closed at the start"
is "$(find "$dir/state" -name 'kperfbot.db*' -perm /077)" "" "with what lies beside it"
is "$(find "$dir/cache/builds" "$dir/state/trees" ! -type l \( -perm /022 -o ! -perm -044 \))" "" \
	"what builds under another uid need stays readable, and nobody writes it"
touch "$dir/state/of-others"
chmod 755 "$dir/state"
kp daemon --until-idle >"$dir/out" 2>&1
is "$(stat -c %a "$dir/state" "$dir/state/kperfbot.db" | xargs)" "755 600" \
	"a folder that holds other things is left as it is"
has "$dir/out" "holds other things"
rm "$dir/state/of-others"
mv "$dir/etc" "$dir/etc-0"; mv "$dir/state" "$dir/state-0"; mv "$dir/cache" "$dir/cache-0"
umask 077
url=$dir/up.git
local_config
kp daemon --until-idle >"$dir/log" 2>&1
kp build main --tree small >"$dir/out" 2>&1
ok $? "umask 077: a build"
is "$(find "$dir/cache/builds" "$dir/state/trees" ! -type l ! -perm -044)" "" "is readable within its private folder"
is "$(stat -c %a "$dir/state" "$dir/cache" | xargs)" "700 700" "which is private"
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$dir"
	as_other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	! as_other cat "$dir/state/kperfbot.db" >"$dir/out" 2>&1; ok $? "another user cannot read the database"
	as_other "$kperfbot" --config / --state "$dir/state" query trees >"$dir/out" 2>&1
	has "$dir/out" "another user's"
fi
done_testing
