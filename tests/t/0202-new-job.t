#!/bin/bash
# tools/new-job: what it stamps builds, runs, and passes its own test and fuzzer replay.
cd "$(dirname "$0")/../.." || exit 1
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi; }

mkdir -p "$T/src" && cp -r Makefile lib db jobs tools tests kernels "$T/src/" && cd "$T/src" || exit 1
tools/new-job fork-rate >"$T/out" 2>&1
ok $? "tools/new-job fork-rate"
tools/new-job fork-rate >/dev/null 2>&1
[ $? = 1 ]
ok $? "not twice"
for bad in "" Fork ../x a_b x-; do
	tools/new-job "$bad" >/dev/null 2>&1
	[ $? = 2 ] || { echo "# '$bad' was taken"; false; } || break
done
ok $? "odd names are refused"

flags=(-std=gnu11 -I. -D_GNU_SOURCE -DMATHLIB_STANDALONE '-DKPB_DATADIR="x"' -Wall -Wextra -Werror -Wno-missing-field-initializers)
sources=$(find lib db jobs -name '*.c' ! -path 'jobs/agent/*' ! -path '*/guest/*')
pkgs="sqlite3 json-c yaml-0.1 libzstd smartcols libcrypto"
# shellcheck disable=SC2046,SC2086
gcc "${flags[@]}" $(pkg-config --cflags $pkgs) -O0 -shared -fPIC -o "$T/lib.so" $sources $(pkg-config --libs $pkgs) -lRmath -lm \
	2>"$T/err" &&
	gcc "${flags[@]}" -o "$T/unit" tests/unit/test-program-fork-rate.c "$T/lib.so" &&
	gcc "${flags[@]}" -o "$T/fuzz-fork-rate" tests/fuzz/fuzz-fork-rate.c tests/fuzz/replay.c "$T/lib.so"
ok $? "it compiles without a warning"
sed 's/^/# /' "$T/err"
export KPERFBOT_DATA=$T/src
"$T/unit" | sed 's/^/# /'
[ "${PIPESTATUS[0]}" = 0 ]
ok $? "its unit test passes"
"$T/fuzz-fork-rate" | sed 's/^/# /'
[ "${PIPESTATUS[0]}" = 0 ]
ok $? "its corpus replays"
cat >"$T/render.c" <<'C'
#include "jobs/job.h"
int main(void)
{
	const char *const over[] = {"runtime=1s", "monitors=time", NULL};
	struct job_list l = {0};
	struct buf b = {0};

	if (job_load("fork-rate", NULL, over, &l) < 0 || job_render(&l.v[0], &b) < 0)
		return 1;
	fputs(buf_str(&b), stdout);
	return 0;
}
C
gcc "${flags[@]}" -o "$T/render" "$T/render.c" "$T/lib.so" && "$T/render" >"$T/script" &&
	RESULT_DIR=$T/result sh "$T/script" >"$T/kpis" 2>/dev/null && grep -qx "done" "$T/result/fork-rate" &&
	grep -Eqx ' *[0-9.]+ +fork-rate.ops_per_sec' "$T/kpis"
ok $? "its script runs, and prints the KPI"
echo "1..$n"
