#!/bin/bash
# The demo on a small program: stopped and taken up again, it finds the planted commit, and shows the commands that do it. And
# what it rests on: daemon --progress, box remove.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
demo --help >"$dir/out"; ok $? "demo --help"

# without that a shell's background command ignores Ctrl-C
env --default-signal=INT KPERFBOT="$kperfbot" tools/demo --local --seed 9 -v >"$dir/out" 2>&1 </dev/null &
pid=$!
wait_for 60 grep -q 'case opened' "$dir/out"; ok $? "there is a case"
kill -INT $pid; wait $pid; is $? 130 "stopped"
has "$dir/out" "in the demo's own queue; the same command, and no other, goes on from here"
has "$dir/out" "64 new commits arrive on branch main: "
for word in "daemon --until-idle" "tree fetch demo" "daemon --until-idle --progress --since "; do
	has "$dir/out" "+ kperfbot --config $dir/cache/demo/local-9/etc $word"
done
flock -n "$dir/cache/demo/local-9/state/daemon.lock" true; ok $? "no daemon is left"

demo --local --seed 9 --json >"$dir/json" 2>"$dir/out"; ok $? "the same command goes on and ends well"
has "$dir/out" "going on with the demo of seed 9"
has "$dir/out" "the report's first screen"
has "$dir/out" "Subject: [demo:main] "
has "$dir/out" "         the right one; "
grep -q 'case 1 reported: report delivered' "$dir/out"; ok $? "the daemon's events are shown"
is "$(grep -c '+ kperfbot' "$dir/out")" 0 "commands only with -v"
is "$(field "$dir/json" 'o["found"] == o["true_culprit"] and o["posterior"] > 0.99 and o["effect"] < -0.03')" True "as JSON"
is "$(field "$dir/json" '[k for k, v in o.items() if v is None or v == 0]')" "[]" "with all figures"
[ -f "$(field "$dir/json" 'o["database"]')" ] && [ -f "$(field "$dir/json" 'o["mbox"]')" ]; ok $? "and where all is"
sed -n 's/^  [a-z/]*kperfbot \(--config .*\)/\1/p' "$dir/out" >"$dir/further"
is "$(wc -l <"$dir/further")" 3 "three commands to look further"
while read -r line; do
	eval "\"\$kperfbot\" $line" >"$dir/log" 2>&1; ok $? "they work: ${line##*/etc }"
done <"$dir/further"

etc=$dir/cache/demo/local-9/etc
"$kperfbot" --config "$etc" daemon --until-idle --progress --since 1d >"$dir/out" 2>"$dir/log"; ok $? "the daemon again"
grep -Eq '^\[14(39|40):[0-9]+\] demo/main: starting from ' "$dir/out"; ok $? "what has been since then, and the time from then on"
"$kperfbot" --config "$etc" daemon --until-idle --progress >"$dir/out" 2>"$dir/log"; ok $? "and without --since"
is "$(cat "$dir/out")" "" "nothing new"
"$kperfbot" --config "$etc" daemon --progress --since yesterday >"$dir/out" 2>&1; is $? 2 "a time that is none"
has "$dir/out" "--since 'yesterday' is not a time"
"$kperfbot" --config "$etc" daemon --since 1h >"$dir/out" 2>&1; is $? 2 "--since alone"

"$kperfbot" box remove >"$dir/out" 2>&1; is $? 2 "box remove wants a folder"
"$kperfbot" box remove "$dir/cache/demo" "$dir/none"; ok $? "box remove"
[ ! -e "$dir/cache/demo" ]; ok $? "it is gone, with all that was built there"
done_testing
