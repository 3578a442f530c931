#!/bin/bash
# judge: min_effects decides what opens a case: a change smaller than the metric's smallest effect of interest is "same".
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

local_tree 12 8
local_config
sed -i 's/^  min_effect: 0.01$/&\n  min_effects: {"command.*": 0.4}/' "$dir/etc/kperfbot.yaml"
baseline_then_arrive; ok $? "the branch stands at its base"
kp tree fetch small >>"$dir/log" 2>&1 && kp daemon --until-idle >>"$dir/log" 2>&1; ok $? "the new commits are judged"
kp query cases --json >"$dir/cases.json" 2>"$dir/out"
is "$(field "$dir/cases.json" 'len(o)')" 0 "no case for 5 % where 40 % are of interest"
kp sql "SELECT state, reason FROM comparison" --csv >"$dir/out" 2>&1
has "$dir/out" "same,"
has "$dir/out" "smallest change of interest 40.00%"
sed -i 's/"command.\*": 0.4/"command.*": 0.4, command.ops_per_sec: 0.01/' "$dir/etc/kperfbot.yaml"
kp bisect "$culprit^" "$culprit" --tree small >"$dir/out" 2>&1; ok $? "by its full name 1 % are"
has "$dir/out" "by $culprit"
done_testing
