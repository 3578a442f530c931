#!/bin/bash
# Which slowdown 'demo --job' plants, and what it refuses before any work is done.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
export KPERFBOT_CACHE=$dir/cache KPERFBOT_STATE=$dir/state
demo() { KPERFBOT=$kperfbot tools/demo "$@" >"$dir/out" 2>&1; }

demo --job nosuch; is $? 3 "a job that is not there"
has "$dir/out" "nosuch"
demo --job neper-udp_rr; is $? 2 "a job that nothing is planted for"
has "$dir/out" "plants nothing that slows the job 'neper-udp_rr'"
demo --machine local; is $? 3 "a machine that boots nothing"
has "$dir/out" "qemu-icount or on qemu"
demo --seed -1; is $? 2 "a seed that is none"
demo extra; is $? 2 "an operand"
[ ! -e "$dir/cache/demo" ]; ok $? "nothing was made"
done_testing
