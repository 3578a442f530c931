/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bisect/failure.h"

#define WEIGHT 4.0              /* boots that what is expected before any is worth */
#define RATE_A 0.05
#define RATE_B 0.95
#define FUTILE_BOOTS 12         /* a side, after which data that speak against a difference end it ... */
#define FUTILE_EQUAL 6          /* ... or so many without a single one */

static double chance(double rate, bool fails) { return fails ? rate : 1 - rate; }

/* log E after the first n blocks. */
static double log_e(const bool *a, const bool *b, size_t n)
{
	double fa = WEIGHT * RATE_A, fb = WEIGHT * RATE_B, sum = 0;

	for (size_t i = 0; i < n; i++) {
		double pa = fa / (WEIGHT + i), pb = fb / (WEIGHT + i), p0 = (pa + pb) / 2;

		sum += log(chance(pa, a[i]) / chance(p0, a[i])) + log(chance(pb, b[i]) / chance(p0, b[i]));
		fa += a[i];
		fb += b[i];
	}
	return sum;
}

/* Boots a side that would do if all went on as a clear difference does, but at most as many as there are. */
static size_t boots_missing(double log_now, double log_goal, size_t n)
{
	size_t more = (size_t)ceil((log_goal - log_now) / log(3.7));

	return MIN(MAX(more, 1u), MAX(n, 2u));
}

static size_t count(const bool *v, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += v[i];
	return k;
}

void verdict_fails(double alpha, size_t max_boots, const bool *a, size_t na, const bool *b, size_t nb,
		   struct failure_result *ret)
{
	size_t n = MIN(na, nb);
	double e = log_e(a, b, n), best = 0;
	struct failure_result v = {.fails_a = count(a, na), .fails_b = count(b, nb), .verdict = VERDICT_MORE,
				   .why = "not yet clear"};
	bool more_often = v.fails_b * (double)na > v.fails_a * (double)nb;

	for (size_t i = 1; i <= n; i++)
		best = MAX(best, log_e(a, b, i));
	v.p = more_often ? exp(-best) : 1;
	if (e >= -log(alpha) && more_often) {
		v.verdict = VERDICT_DIFFERENT;
		v.why = "one fails, the other one does not";
	} else if (n >= max_boots || (n >= FUTILE_BOOTS && e < 0) || e >= -log(alpha) ||
		   (n >= FUTILE_EQUAL && !memcmp(a, b, n * sizeof(*a)))) {
		v.verdict = VERDICT_SAME;
		v.why = "no difference in failures shown";
	} else {
		v.more_boots = MIN(boots_missing(e, -log(alpha), n), max_boots - n);
	}
	*ret = v;
}
