#!/bin/bash
# People are told once of a commit: not again because a second branch has it, nor when a head goes back and forth.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

/usr/bin/python3 tests/fixtures/history.py "$dir/up.git" >"$dir/ids" <<-END
	g 1000
	a1 1000 g
	a2 1000 a1
	K 900 a2
	b1 900 K
	b2 900 b1
	c1 900 b1
	L 800 c1
	c2 800 L
END
ok $? "a history"
url=file://$dir/up.git
local_config
sed -i 's/branches: .*/branches: [main, next]/' "$dir/etc/kperfbot.yaml"
oid() { sed -n "s/^$1 //p" "$dir/ids"; }
at() { # BRANCH COMMIT...
	while [ $# -gt 0 ]; do git --git-dir "$dir/up.git" update-ref "refs/heads/$1" "$(oid "$2")"; shift 2; done
	settle
}
culprits() {
	kp sql 'SELECT state, culprit FROM "case" ORDER BY id' --csv 2>/dev/null | tail -n +2 |
		sed "$(sed 's/\(.*\) \(.*\)/s|\2|\1|/' "$dir/ids")" | tr '\n' ' '
}
at main g next g; ok $? "a baseline"
at main b2 next c1; ok $? "two branches with the same culprit"
is "$(culprits)" "reported,K reported,K " "both find it"
is "$(mails)" 1 "one mail"
kp query cases --json >"$dir/cases.json" 2>"$dir/out"
is "$(field "$dir/cases.json" 'o[1]["note"]')" \
	"case 1 told of this commit; 'kperfbot report send 2' mails this one, too" "case list says who told of it"
at main a1; at main b2; ok $? "a head that goes back and comes again"
is "$(culprits)" "reported,K reported,K reported,K " "finds it again"
is "$(mails)" 1 "without a mail"
at next c2; ok $? "another culprit"
is "$(culprits)" "reported,K reported,K reported,K reported,L " "is found"
is "$(mails)" 2 "and mailed"
kp case ignore 4 --why "known" >"$dir/out" 2>&1; ok $? "a person looks away from the second one"
at main c2; ok $? "the other branch gets it, too"
is "$(culprits | awk '{ print $NF }')" "ignored,L" "that case is ignored as well"
is "$(mails)" 2 "and nobody is mailed"
kp report send 2 >"$dir/out" 2>&1; ok $? "what was not mailed can be"
is "$(mails)" 3 "by hand"
done_testing
