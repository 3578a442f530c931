#!/bin/bash
# Commits between that do not build: the answer is a set, in text and in JSON.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

/usr/bin/python3 tests/fixtures/history.py "$dir/up.git" >"$dir/ids" <<-END
	c1 1000
	c2 broken c1
	c3 broken c2
	c4 900 c3
END
ok $? "a history"
url=file://$dir/up.git
local_config
oid() { sed -n "s/^$1 //p" "$dir/ids"; }
whole="$(oid c2) $(oid c3) $(oid c4)"
kp tree fetch small >"$dir/out" 2>&1; ok $? "fetched"
kp bisect c1 c4 --json >"$dir/json" 2>"$dir/out"
is "$(field "$dir/json" '" ".join(sorted(c["commit"] for c in o["cases"][0]["set"]))')" "$(printf '%s\n' $whole | sort | tr '\n' ' ' | sed 's/ $//')" \
	"bisect --json names the set"
kp case show 1 --json >"$dir/json" 2>"$dir/out"
is "$(field "$dir/json" 'len(o["set"])')" 3 "so does case show --json"
kp bisect c1 c4 >"$dir/out" 2>&1
has "$dir/out" "one of $(oid c2)"
kp case show 1 >"$dir/out" 2>&1
has "$dir/out" "one of         $(oid c2 | cut -c1-12)"
done_testing
