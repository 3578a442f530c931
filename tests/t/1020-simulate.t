#!/bin/bash
# bisect simulate: the forms of its output, and what it refuses.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
sim() { "$kperfbot" bisect simulate --n 16 --trials 3 "$@" >"$dir/out" 2>&1; }
sim --json; is "$?$(field "$dir/out" 'o["trials"], o["exact"]')" "0(3, 1.0)" "three searches, as JSON"
sim --null --history two-culprits --json
is "$?$(field "$dir/out" 'o["named"], o["exact"]')" "0(0.0, 1.0)" "with --null nobody is named, which is right"
sim --snr 1e-9 --max-boots 4 --json; is $? 0 "a step that nobody sees"
has "$dir/out" '"bound_runs":null'
sim --history spiral; is $? 2 "an unknown history"
has "$dir/out" "there is no history 'spiral'"
done_testing
