/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench.h - random numbers with a fixed seed (set `state` first), CPU time and the table's lines of the judge's
 * benches. */
#ifndef KPB_TESTS_BENCH_BENCH_H
#define KPB_TESTS_BENCH_BENCH_H
#include "lib/base.h"

#include <time.h>

static uint64_t state;

static double uniform(void)     /* xorshift64* */
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return ((double)(state * 2685821657736338717ULL >> 11) + .5) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()); }

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void _printf_(3, 4) line(const char *what, const char *target, const char *fmt, ...)
{
	va_list ap;

	printf("%-72s | %-14s | ", what, target);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

#endif
