#!/bin/bash
# Every verb has --help that names its usage; the manual page in docs/ is what the program prints; exit codes.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
"$kperfbot" --help >"$dir/help"; ok $? "--help"
for v in $(sed -n 's/^  \([a-z]*\) .*/\1/p' "$dir/help"); do
	"$kperfbot" "$v" --help >"$dir/out" 2>&1; ok $? "$v --help"
	grep -q "^usage: kperfbot $v" "$dir/out"; ok $? "$v --help tells the usage"
	grep -q -- "--json" "$dir/out"; ok $? "$v knows --json"
	"$kperfbot" "$v" --nosuchoption >"$dir/out" 2>&1; is $? 2 "$v: an unknown option ends with 2"
done
"$kperfbot" man >"$dir/kperfbot.1"; ok $? "man"
cmp "$dir/kperfbot.1" docs/kperfbot.1 >"$dir/out" 2>&1; ok $? "docs/kperfbot.1 is up to date (make man)"
for o in 'min\-effect=PERCENT' 'until\-idle' 'queue' 'outlier\-sigma=K' 'until=TIME'; do
	grep -qF -- "\-\-$o" "$dir/kperfbot.1"; ok $? "the manual has the option --${o//\\/}"
done
"$kperfbot" query runs --state >/dev/null 2>&1; is $? 2 "a missing value ends with 2"
"$kperfbot" --state "$dir/none" query runs >"$dir/out" 2>&1; is $? 3 "no database yet: 3"
has "$dir/out" "there is no database"
json() { field "$dir/out" '"error" in o'; }
"$kperfbot" compare --nosuch --json >"$dir/out" 2>/dev/null; is "$?$(json)" 2True "--json behind a wrong option: the error is JSON"
"$kperfbot" nosuch --json >"$dir/out" 2>/dev/null; is "$?$(json)" 2True "and with an unknown verb"
"$kperfbot" --json >"$dir/out" 2>/dev/null; is "$?$(json)" 2True "and before the verb"
"$kperfbot" --config "$dir/none" tree list --json >"$dir/out" 2>/dev/null; is "$?$(json)" 3True "and without the configuration"
"$kperfbot" config show etc --json >"$dir/out"
is "$(field "$dir/out" 'o["folder"], len(o["trees"]) > 2, o["trees"][0]["enabled"]')" "('etc', True, False)" "config show --json"
"$kperfbot" --config=etc config show >"$dir/out"; is "$? $(grep -c '^folder *etc$' "$dir/out")" "0 1" "--config=DIR"
"$kperfbot" --state >"$dir/out" 2>&1; is $? 2 "--state without a folder"
has "$dir/out" "option '--state' needs a folder"
"$kperfbot" run x --state "$dir" >"$dir/out" 2>&1; is $? 2 "--state behind the verb"
has "$dir/out" "'--state' goes before the verb: kperfbot --state DIR run"
"$kperfbot" --state "$dir/none" query cases --state found >"$dir/out" 2>&1; is $? 3 "where a verb has such an option it is that one"
"$kperfbot" detect "$dir" >"$dir/out" 2>&1; is $? 2 "a folder is no file"
refused() { # TEXT COMMAND...: the value is named
	"$kperfbot" "${@:2}" >"$dir/out" 2>&1; is $? 2 "${*:2}"
	has "$dir/out" "$1"
}
refused "not -3" run job --commit main -n -3
refused "not 1.5" bisect a b --confidence 1.5
refused "--fdr must lie between 0 and 1, not 2" compare a b --fdr 2
refused "--confidence must lie between 0 and 1, not 0" compare a b --confidence 0
refused "not 0" tree add x /nowhere --max-commits 0
refused "--min-segment is a number of commits, 1 or more, not 0" detect x.csv --min-segment 0
refused "--penalty is a number, 0 or more, not -1" detect x.csv --penalty -1
refused "the configuration folder 'README.md' is no folder" config check README.md
is "$("$kperfbot" --version)" "kperfbot $(cat VERSION)" "--version is that of the file VERSION"
is "$(sed -n "s/^## //p" NEWS.md | head -1)" "$(cat VERSION)" "and NEWS.md begins with it"
"$kperfbot" --help >/dev/full 2>"$dir/out"; [ $? != 0 ]; ok $? "a full output is noticed"
done_testing
