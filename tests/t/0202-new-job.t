#!/bin/bash
# tools/new-job: what it stamps, a program and a monitor, builds, runs, and passes its own test and fuzzer replay.
cd "$(dirname "$0")/../.." || exit 1
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi; }

mkdir -p "$T/src" && cp -r Makefile VERSION lib db jobs tools tests kernels "$T/src/" && cd "$T/src" || exit 1
find . -type f | sort >"$T/before"
tools/new-job fork-rate >"$T/out" 2>&1
ok $? "tools/new-job fork-rate"
tools/new-job --monitor load-avg >"$T/out" 2>&1
ok $? "tools/new-job --monitor load-avg"
find . -type f -newer "$T/before" | sed 's|^\./||' | sort >"$T/touched"
find . -type f | sort | comm -13 "$T/before" - | sed 's|^\./||' | cmp -s - "$T/touched" && ! grep -vE 'fork-rate|load-avg' "$T/touched"
ok $? "both are new files; none that was there is touched"
for taken in "fork-rate" "--monitor fork-rate" "load-avg" "--monitor load-avg" "--monitor sched-debug" "vmstat" "--monitor neper" \
	"config"; do
	# shellcheck disable=SC2086
	tools/new-job $taken >/dev/null 2>"$T/err"
	[ $? = 1 ] && grep -q 'there already' "$T/err" || { echo "# '$taken' was taken"; false; } || break
done
ok $? "not twice, nor as the other kind, nor one that differs by '_' alone"
for bad in "" Fork ../x a_b x- warmup turbo "--monitor" "--monitor -x" "--monitors x"; do
	# shellcheck disable=SC2086
	tools/new-job $bad >/dev/null 2>&1
	[ $? = 2 ] || { echo "# '$bad' was taken"; false; } || break
done
ok $? "odd names are refused"
find . -type f | sort | comm -13 "$T/before" - | sed 's|^\./||' | cmp -s - "$T/touched"
ok $? "and make no file"

make -s BUILD="$T/build" "$T/build/generated/job-list.h" &&
	grep -qx 'JOB_PROGRAM(fork_rate, "fork-rate")' "$T/build/generated/job-list.h" &&
	grep -qx 'JOB_MONITOR(load_avg, "load-avg")' "$T/build/generated/job-list.h"
ok $? "the Makefile lists them"
flags=(-std=gnu11 -I. "-I$T/build" -D_GNU_SOURCE -DMATHLIB_STANDALONE '-DKPB_DATADIR="x"' '-DKPB_VERSION="x"' -Wall -Wextra -Werror
	-Wno-missing-field-initializers)
sources=$(find lib jobs -name '*.c' ! -path 'jobs/agent/*' ! -path '*/guest/*')
pkgs="json-c yaml-0.1 libzstd smartcols libcrypto"
# shellcheck disable=SC2046,SC2086
gcc "${flags[@]}" $(pkg-config --cflags $pkgs) -O0 -shared -fPIC -o "$T/lib.so" $sources $(pkg-config --libs $pkgs) -lRmath -lm \
	2>"$T/err"
ok $? "it compiles without a warning, and without the database"
sed 's/^/# /' "$T/err"
export KPERFBOT_DATA=$T/src
for made in program-fork-rate monitor-load-avg; do
	gcc "${flags[@]}" -o "$T/unit" "tests/unit/test-$made.c" "$T/lib.so" && "$T/unit" >"$T/out"
	ok $? "the unit test of $made passes"
	grep '^not' "$T/out" | sed 's/^/# /'
	gcc "${flags[@]}" -o "$T/fuzz-${made#*-}" "tests/fuzz/fuzz-${made#*-}.c" tests/fuzz/replay.c "$T/lib.so" &&
		"$T/fuzz-${made#*-}" >"$T/out"
	ok $? "its corpus replays"
	grep '^not' "$T/out" | sed 's/^/# /'
done
gcc "${flags[@]}" -o "$T/unit" tests/unit/test-job-list.c "$T/lib.so" && "$T/unit" >"$T/out"
ok $? "nothing is missing beside them"
grep '^not' "$T/out" | sed 's/^/# /'
! grep -rlw 'null' jobs/monitors/load-avg tests/fuzz/fuzz-load-avg.c tests/unit/test-monitor-load-avg.c
ok $? "nothing of the monitor that it was copied from is left in it"
cat >"$T/render.c" <<'C'
#include "jobs/job.h"
int main(void)
{
	const char *const over[] = {"runtime=1s", "monitors=time,null,load-avg", NULL};
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
for monitor in null load-avg; do
	grep -Eqx 'start [0-9.]+' "$T/result/$monitor" && grep -Eqx 'stop [0-9.]+' "$T/result/$monitor"
	ok $? "the monitor $monitor was started and stopped"
done
echo "1..$n"
