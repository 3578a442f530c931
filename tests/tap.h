/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tap.h - C unit tests that speak TAP, run by prove.
 *
 *	int main(void) { is_int(parse(...), 0, "parses"); ok(x == 3, "x is %d", x); return tap_done(); }
 */
#ifndef KPB_TESTS_TAP_H
#define KPB_TESTS_TAP_H
#include "lib/base.h"

#include <sys/resource.h>

static int tap_n, tap_bad;

static inline bool _printf_(4, 5) tap_result(bool good, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++tap_n);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (!good) {
		tap_bad++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return good;
}
#define ok(cond, ...) tap_result((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...)                                                                                         \
	do {                                                                                                           \
		long long g_ = (got), w_ = (want);                                                                     \
		if (!ok(g_ == w_, __VA_ARGS__))                                                                        \
			printf("# got %lld, wanted %lld (%s)\n", g_, w_, err_msg());                                   \
	} while (0)
#define is_str(got, want, ...)                                                                                         \
	do {                                                                                                           \
		const char *g_ = (got), *w_ = (want);                                                                  \
		if (!ok(g_ && !strcmp(g_, w_), __VA_ARGS__))                                                           \
			printf("# got    '%s'\n# wanted '%s'\n", g_ ? g_ : "(null)", w_);                              \
	} while (0)
#define is_near(got, want, tol, ...)                                                                                   \
	do {                                                                                                           \
		double g_ = (got), w_ = (want);                                                                        \
		if (!ok(fabs(g_ - w_) <= (tol), __VA_ARGS__))                                                          \
			printf("# got %.12g, wanted %.12g +- %g\n", g_, w_, (double)(tol));                            \
	} while (0)

/* Microseconds that this process and the children it waited for have computed: what a busy machine does not change. */
static inline usec_t _unused_ cpu_usec(void)
{
	usec_t sum = 0;

	for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
		struct rusage u = {0};

		getrusage(who, &u);
		sum += (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * USEC_PER_SEC + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
	}
	return sum;
}

/* return skip_all("why"), before any test */
static inline int _unused_ _printf_(1, 2) skip_all(const char *fmt, ...)
{
	va_list ap;

	printf("1..0 # SKIP ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	return 0;
}

static inline int _unused_ tap_done(void)
{
	printf("1..%d\n", tap_n);
	return tap_bad != 0;
}

#endif
