#!/bin/bash
# Searches in histories whose topic branches forked before good: the culprit is named, and no commit that only lacks a
# fix.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

# history NAME < LINES of tests/fixtures/history.py
history() {
	mkdir -p "$dir/$1"
	/usr/bin/python3 tests/fixtures/history.py "$dir/$1/up.git" >"$dir/$1/ids" || return 1
	url=file://$dir/$1/up.git state=$dir/$1/state
	local_config
}
oid() { sed -n "s/^$2 //p" "$dir/$1/ids"; }
line() { # PREFIX FROM TO LEVEL PARENT: commits one after the other
	local i p=$5
	for i in $(seq "$2" "$3"); do echo "$1$i $4 $p"; p=$1$i; done
}
# search NAME GOOD BAD
search() {
	kp bisect "$(oid "$1" "$2")" "$(oid "$1" "$3")" --tree small --json >"$dir/out.json" 2>"$dir/out"
	status=$?
	cat "$dir/out.json" >>"$dir/out"
}
found() { # NAME CULPRIT WHAT
	is "$(field "$dir/out.json" 'o["cases"][0].get("culprit")')" "$(oid "$1" "$2")" "$3"
	is "$(field "$dir/out.json" 'o["cases"][0]["state"]')" unmailed "it is proven"
	echo "# $(field "$dir/out.json" '"%d boots, %d builds" % (o["cases"][0]["boots"], o["cases"][0]["builds"])')"
}
events() { kp sql "SELECT text FROM event" --csv >"$dir/events" 2>&1; }

# A branch forked before a fix in good and is merged later.
history fix <<-END
	c0 900
	F 1000 c0
	$(line g 1 7 1000 F)
	$(line s 1 8 900 c0)
	M 1000 g7 s8
	$(line h 1 3 1000 M)
	K 900 h3
	$(line k 1 4 900 K)
END
ok $? "a branch that forked before the fix"
search fix g1 k4
found fix K "the culprit comes after the merge, as slow as the branch was"
events
! grep -q "contradicts" "$dir/events"; ok $? "at the first try"

# The same with the culprit in the branch, whose level is another one than good's; a second branch forked elsewhere, and
# a merge goes the other way, too.
history inside <<-END
	c0 700
	F 1000 c0
	$(line g 1 4 1000 F)
	$(line s 1 4 700 c0)
	K 630 s4
	$(line t 1 3 630 K)
	$(line u 1 3 1000 g1)
	X 900 t3 g3
	M 900 g4 X u3
	$(line h 1 3 900 M)
END
ok $? "a culprit inside of such a branch"
search inside g2 h3
found inside K "is found by what it does to the branch's own level"

# The merge is the culprit: none of its parents is slow, and the one it must be compared with is not the first.
history merge <<-END
	c0 900
	F 1000 c0
	$(line g 1 4 1000 F)
	$(line s 1 4 900 c0)
	M 800 s4 g4
	$(line h 1 4 800 M)
END
ok $? "a merge as the culprit, its first parent the branch"
search merge g1 h4
found merge M "is named"
is "$(field "$dir/out.json" 'o["cases"][0]["proof"]["parent"]')" "$(oid merge g4)" \
	"and compared with the parent that has good's past"

# The fork point does not build, and a history without any fork point is merged.
history odd <<-END
	c0 broken
	F 1000 c0
	$(line g 1 3 1000 F)
	$(line s 1 4 900 c0)
	$(line r 1 1 400)
	$(line q 2 3 400 r1)
	M 1000 g3 s4
	N 1000 M q3
	$(line h 1 2 1000 N)
	K 900 h2
	$(line k 1 2 900 K)
END
ok $? "a fork point that does not build, and a history without one"
search odd g1 k2
found odd K "the culprit after both merges"

# What changed lies before good: the branch is slow, and the ends are not different.
history outside <<-END
	c0 900
	F 1000 c0
	$(line g 1 3 1000 F)
	$(line s 1 4 900 c0)
	M 1000 g3 s4
	$(line h 1 3 1000 M)
END
ok $? "a change that lies before good"
search outside g1 h3
is $status 1 "nobody is named"
is "$(field "$dir/out.json" 'len([c for c in o["cases"] if c.get("culprit")])')" 0 "in no case"
done_testing
