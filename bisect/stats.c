/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bisect/stats.h"

#include <Rmath.h>

enum { EXACT_MAX = 40 };        /* values on both sides together: the rank test enumerates up to here */

double stat_t_p(double t, double df)
{
	if (isnan(t) || isnan(df) || df <= 0)
		return NAN;
	return isinf(df) ? 2 * pnorm(-fabs(t), 0, 1, 1, 0) : 2 * pt(-fabs(t), df, 1, 0);
}

double stat_t_crit(double confidence, double df)
{
	double tail = (1 - confidence) / 2;

	if (isnan(df) || df <= 0)
		return INFINITY;
	return isinf(df) ? qnorm(tail, 0, 1, 0, 0) : qt(tail, df, 0, 0);
}

int stat_cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stat_median(double *v, size_t n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), stat_cmp_double);
	return n % 2 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
}

/* ---- rank sum ---- */

/* A run of equal values: size, twice their common midrank (an integer), how many of them are a's. */
struct tie { size_t n, rank2, in_a; };
struct tagged { double v; bool a; };

static int cmp_tagged(const void *a, const void *b) { return stat_cmp_double(a, b); }

static size_t find_ties(struct tagged *all, size_t n, struct tie *tie)
{
	size_t n_ties = 0;

	qsort(all, n, sizeof(*all), cmp_tagged);
	for (size_t i = 0, j; i < n; i = j) {
		struct tie t = {0};

		for (j = i; j < n && all[j].v == all[i].v; j++)
			t.in_a += all[j].a;
		t.n = j - i;
		t.rank2 = i + 1 + j;    /* ranks i+1 .. j */
		tie[n_ties++] = t;
	}
	return n_ties;
}

/* All ways to choose na of the n values, by their sum of doubled midranks: ways[k * width + s]. One group of ties after
 * the other; C(t, j) ways to take j of its t members. */
static double rank_exact(const struct tie *tie, size_t n_ties, size_t n, size_t na, size_t seen2)
{
	size_t width = n * (n + 1) + 1;
	_cleanup_free_ double *ways = xcalloc((na + 1) * width, sizeof(*ways));
	double all = 0, far = 0, centre = (double)na * (double)(n + 1), dist = fabs((double)seen2 - centre);
	size_t taken = 0, top = 0;

	ways[0] = 1;
	for (size_t g = 0; g < n_ties; g++) {
		for (size_t k = MIN(taken, na) + 1; k-- > 0;)
			for (size_t s = top + 1; s-- > 0;) {
				double w = ways[k * width + s], c = 1;

				if (w == 0)
					continue;
				for (size_t j = 1; j <= tie[g].n && k + j <= na; j++) {
					c = c * (double)(tie[g].n - j + 1) / (double)j;
					ways[(k + j) * width + s + j * tie[g].rank2] += w * c;
				}
			}
		taken += tie[g].n;
		top = MIN(top + tie[g].n * tie[g].rank2, width - 1);
	}
	for (size_t s = 0; s < width; s++) {
		double w = ways[na * width + s];

		all += w;
		far += fabs((double)s - centre) >= dist - .5 ? w : 0;
	}
	return far / all;
}

static double rank_normal(const struct tie *tie, size_t n_ties, size_t n, size_t na, size_t seen2)
{
	double N = (double)n, a = (double)na, b = N - a, ties = 0, var, z;

	for (size_t g = 0; g < n_ties; g++)
		ties += pow((double)tie[g].n, 3) - (double)tie[g].n;
	var = a * b / 12 * (N + 1 - ties / (N * (N - 1)));
	if (!(var > 0))
		return 1;
	z = fabs((double)seen2 / 2 - a * (N + 1) / 2) - .5;
	return z <= 0 ? 1 : MIN(1, 2 * pnorm(-z / sqrt(var), 0, 1, 1, 0));
}

double stat_rank_p(const double *a, size_t na, const double *b, size_t nb)
{
	size_t n = na + nb, n_ties, seen2 = 0;
	_cleanup_free_ struct tagged *all = xcalloc(n + 1, sizeof(*all));
	_cleanup_free_ struct tie *tie = xcalloc(n + 1, sizeof(*tie));

	if (!na || !nb)
		return 1;
	for (size_t i = 0; i < n; i++)
		all[i] = i < na ? (struct tagged){a[i], true} : (struct tagged){b[i - na], false};
	n_ties = find_ties(all, n, tie);
	for (size_t g = 0; g < n_ties; g++)
		seen2 += tie[g].in_a * tie[g].rank2;
	return (n <= EXACT_MAX ? rank_exact : rank_normal)(tie, n_ties, n, na, seen2);
}

/* ---- counts ---- */

double stat_fisher_p(size_t hits_a, size_t a, size_t hits_b, size_t b)
{
	size_t hits = hits_a + hits_b, lo = hits > b ? hits - b : 0, hi = MIN(hits, a);
	double seen, sum = 0;

	if (!a || !b || lo == hi)
		return 1;
	seen = dhyper((double)hits_a, (double)a, (double)b, (double)hits, 0) * (1 + 1e-7);
	for (size_t x = lo; x <= hi; x++) {
		double d = dhyper((double)x, (double)a, (double)b, (double)hits, 0);

		sum += d <= seen ? d : 0;
	}
	return MIN(1, sum);
}

/* ---- many tests ---- */

struct ranked { double p; size_t i; };

static int cmp_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x->i > y->i) - (x->i < y->i);
}

void stat_bh(const double *p, double *q, size_t n)
{
	_cleanup_free_ struct ranked *r = xcalloc(n + 1, sizeof(*r));
	size_t m = 0;
	double least = 1;

	for (size_t i = 0; i < n; i++) {
		q[i] = NAN;
		if (!isnan(p[i]))
			r[m++] = (struct ranked){p[i], i};
	}
	qsort(r, m, sizeof(*r), cmp_ranked);
	for (size_t k = m; k > 0; k--) {
		least = MIN(least, r[k - 1].p * (double)m / (double)k);
		q[r[k - 1].i] = least;
	}
}
