#!/bin/bash
# Attack: names that drive a terminal, a spreadsheet, a JSON reader, a mail program, a shell or git, in what the bot
# prints.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

# printable FILE: valid UTF-8 without control, bidirectional and other hidden characters
printable() {
	/usr/bin/python3 - "$1" <<-'PY'
	import re, sys
	text = open(sys.argv[1], "rb").read().replace(b"\r\n", b"\n").decode("utf-8")
	bad = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
	                "\U000e0000-\U000e0fff]", text)
	sys.exit(f"{bad!r} in {text!r}" if bad else 0)
	PY
}
on_terminal() { script -qec "$(printf '%q ' "$@")" /dev/null </dev/null; }

esc=$'\xc2\x9b' rlo=$'\xe2\x80\xae' zwsp=$'\xe2\x80\x8b' ls=$'\xe2\x80\xa8' tag=$'\xf3\xa0\x81\x81' bad=$'\xff\xfe'

# ---- a branch that is an option of git; a culprit whose author and subject are not what they look like ----
option='--upload-pack=touch${IFS}pwned'
git init -q -b main "$dir/work"
commit() { # AUTHOR SUBJECT
	git -C "$dir/work" add .
	git -C "$dir/work" -c user.name="$1" -c user.email=eve@example.org -c i18n.commitEncoding=x commit -qm "$2"
	git -C "$dir/work" rev-parse HEAD
}
cat >"$dir/work/bench.sh" <<'SH'
#!/bin/sh
speed=100000
echo "ops_per_sec: $((speed + $(od -An -N2 -tu2 /dev/urandom) % 401 - 200))"
SH
printf 'bench: bench.sh\n\tcp bench.sh bench\n\tchmod +x bench\n' >"$dir/work/Makefile"
base=$(commit Ann "the base")
sed -i s/speed=100000/speed=95000/ "$dir/work/bench.sh"
culprit=$(commit "Eve${rlo}gro.elpmaxe@ecila${zwsp}${tag}${bad}${esc}31m" \
	"=bench${rlo}${zwsp}: take care${esc}2J${ls}${bad}"$'\033]0;x\007'" <script>")
echo >"$dir/work/NOTES"
head=$(commit Bob "notes")
git clone -q --bare "$dir/work" "$dir/up.git"
git --git-dir "$dir/up.git" update-ref -d refs/heads/main
git --git-dir "$dir/up.git" update-ref "refs/heads/$option" "$base"
port=$(free_port)
url=git://127.0.0.1:$port/up.git
serve
local_config "  allow: ['*@example.org']"
sed -i "s/branches: .*/branches: ['--upload*']/" "$dir/etc/kperfbot.yaml"
kp daemon --until-idle >"$dir/log" 2>&1; ok $? "the first poll takes the branch"
git --git-dir "$dir/up.git" update-ref "refs/heads/$option" "$head"
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
wait_for 150 case_is reported
kill -TERM ${pids[-1]}; wait_for 25 bash -c "! kill -0 ${pids[-1]}"
is "$(case_field culprit)" "$culprit" "the culprit is found on a branch that is an option"
kp report show 1 >"$dir/mail" 2>"$dir/out"; ok $? "report show"
printable "$dir/mail"; ok $? "which is safe to look at"
printable "$dir/log"; ok $? "as is the log"
/usr/bin/python3 - "$dir/mbox" >"$dir/out" 2>&1 <<'PY'
import email, email.policy, mailbox, re, sys
raw = mailbox.mbox(sys.argv[1])[0].as_bytes()
assert b"From " not in raw[:5]
m = email.message_from_bytes(raw, policy=email.policy.default)
hidden = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\U000e0000-\U000e0fff]")
for name, value in m.items():
    assert not hidden.search(str(value)), (name, value)
assert not hidden.search(m.get_content()), m.get_content()
people = [a for h in ("To", "Cc", "From") for x in m.get_all(h, []) for a in x.addresses]
assert "eve@example.org" in [a.addr_spec for a in people], people
assert [a for a in people if a.display_name.startswith("Evegro.elpmaxe")], people
PY
ok $? "the mail has neither control nor bidirectional characters, decoded or not"
for what in "case show 1" "case list" "query builds" "query cases" "compare ${base:0:12} ${head:0:12}" \
	"report render 1"; do
	for form in "" --json --csv; do
		on_terminal "$kperfbot" --config "$dir/etc" $what $form >"$dir/tty"
		[ -s "$dir/tty" ] && printable "$dir/tty" >"$dir/out" 2>&1; ok $? "on a terminal: $what $form"
	done
done
fetch=$(grep -m1 'git fetch' "$dir/mail")
is "$fetch" "	git fetch -- $url 'refs/heads/$option'" "the mail's git command has a full ref behind --"
mkdir "$dir/reader"
(cd "$dir/reader" && git init -q && sh -c "$fetch" && git cat-file -e "$culprit") >"$dir/out" 2>&1
ok $? "a reader who copies it gets the commit"
script=$(find "$dir/state/cases" -name reproduce.sh)
(cd "$dir/reader" && sh "$script" build) >"$dir/out" 2>&1; ok $? "the script fetches and builds both"
is "$(find "$dir" -name 'pwned*')" "" "and nothing else was run"
printable "$script"; ok $? "the script is safe to look at"

# ---- names for eyes and programs ----
names=("bad${bad}utf8" "c1${esc}2J" "bidi${rlo}gpj.exe" "zero${zwsp}width" "line${ls}end" "tag${tag}s"
	"=cmd|'/C'!A0" "@SUM(A1)" "+1+1" "-2+3" '-5')
for name in "${names[@]}"; do
	git --git-dir "$dir/up.git" update-ref "refs/heads/$name" "$base" 2>"$dir/out" ||
		printf '# git takes no branch %q\n' "$name"
done
git --git-dir "$dir/up.git" update-ref -d "refs/heads/$option"
kp tree add evil "$url" --off >"$dir/out" 2>&1; ok $? "a tree of such branches"
kp tree fetch evil >"$dir/out" 2>&1; ok $? "is fetched"
for name in "${names[@]}"; do git --git-dir "$dir/up.git" update-ref -d "refs/heads/$name"; done
kp tree fetch evil >"$dir/out" 2>&1; ok $? "and they go away again, which events tell"

kp query events --json >"$dir/events.json" 2>"$dir/out"; ok $? "events as JSON"
printable "$dir/events.json"; ok $? "JSON: valid UTF-8, nothing hidden"
is "$(field "$dir/events.json" '[x in t for t in ["".join(e["event"] for e in o)]
	for x in ("bad\ufffd\ufffdutf8", "c1\x9b2J", "bidi\u202egpj", "zero\u200bwidth", "tag\U000e0041s")]')" \
	"[True, True, True, True, True]" "and it holds the names"
kp query events >"$dir/term" 2>&1; printable "$dir/term"; ok $? "terminal: nothing drives it or hides"
has "$dir/term" 'bidi\xe2\x80\xaegpj.exe'
on_terminal "$kperfbot" --config "$dir/etc" query events --csv >"$dir/tty"; ok $? "--csv to a terminal"
printable "$dir/tty"; ok $? "drives it neither"
on_terminal "$kperfbot" --config "$dir/etc" query events --json >"$dir/tty"
printable "$dir/tty"; ok $? "nor does --json"
on_terminal "$kperfbot" --config "$dir/etc" sql "SELECT name AS 'x${esc}${rlo}' FROM branch" >"$dir/tty"
printable "$dir/tty"; ok $? "nor does sql, whatever its columns are called"
kp sql "SELECT name AS 'x${bad}' FROM branch" --json >"$dir/b.json" 2>"$dir/out"
printable "$dir/b.json" && field "$dir/b.json" 'len(o)' >/dev/null; ok $? "JSON: keys are no way out either"

kp sql "SELECT name, -5 AS number FROM branch" --csv >"$dir/b.csv" 2>"$dir/out"
/usr/bin/python3 - "$dir/b.csv" "$rlo" >"$dir/out" 2>&1 <<'PY'
import csv, io, sys
text = open(sys.argv[1], "rb").read().decode("utf-8")
rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
names = [r["name"] for r in rows]
assert not [n for n in names if n[0] in "=+@\t\r" or (n[0] == "-" and n != "-5")], names
for want in ("'=cmd|'/C'!A0", "'@SUM(A1)", "'+1+1", "'-2+3", "-5", "bidi" + sys.argv[2] + "gpj.exe",
             "bad\\xff\\xfeutf8"):
    assert want in names, (want, names)
assert all(r["number"] == "-5" for r in rows)
assert not [c for c in text if c < " " and c != "\n" or "\x7f" <= c < "\xa0"]
PY
ok $? "CSV: no formulas, numbers stay numbers, else exact"

# ---- what the user himself gives ----
kp tree add $'bad\xffname' "$url" --json >"$dir/e.json" 2>"$dir/out"; is $? 2 "a name that is not UTF-8 is refused"
printable "$dir/e.json" && field "$dir/e.json" 'o["error"]' >/dev/null; ok $? "and the error is JSON"
kp "verb${rlo}${esc}" >"$dir/out" 2>&1; printable "$dir/out"; ok $? "an unknown verb is shown, not obeyed"
kp config check "$dir/no${rlo}${bad}" >"$dir/out" 2>&1; printable "$dir/out"; ok $? "a folder's name, too"
for job in "$dir/etc/j${bad}.yaml" "j${bad}"; do
	kp tree add t2 "$url" --job "$job" --json >"$dir/e.json" 2>"$dir/out"; [ $? != 0 ] && printable "$dir/e.json"
	ok $? "a job whose name is not UTF-8 is refused"
done
tools/check-layers >"$dir/out" 2>&1; ok $? "there is no other way to print JSON"
done_testing
