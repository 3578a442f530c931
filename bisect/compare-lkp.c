/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lkp-tests' published decision (its lib/changed_stat.rb, read July 2026): ranges against medians. */
#include "bisect/compare-class.h"
#include "bisect/compare-internal.h"

struct lkp_side { double *v; size_t n; double min, max, median; };

/* Ascending without values of -1 (lkp's "no value"), a 32nd cut off at each end, at most 3. */
static struct lkp_side trimmed(double *v, size_t n, size_t cap)
{
	struct lkp_side s = {v, 0};
	size_t cut;

	for (size_t i = 0; i < n; i++)
		if (v[i] != -1)
			v[s.n++] = v[i];
	qsort(v, s.n, sizeof(*v), stat_cmp_double);
	cut = MIN(s.n >> 5, cap);
	s.v += cut;
	s.n -= 2 * cut;
	if (s.n) {
		s.min = s.v[0];
		s.max = s.v[s.n - 1];
		s.median = s.v[s.n / 2];        /* the upper one, called mean there */
	}
	return s;
}

static bool ranges_apart(const struct lkp_side *b, const struct lkp_side *a)
{
	return (a->min > b->median && a->median > b->max) || (b->min > a->median && b->median > a->max);
}

static bool large_enough(const char *name, const struct lkp_side *b, const struct lkp_side *a)
{
	double lo = MIN(a->median, b->median), hi = MAX(a->median, b->median), ratio = lo == 0 ? 5 : MIN(5, hi / lo);

	return ratio > 1.01 && ratio > metric_lkp_ratio(name) && !metric_lkp_hidden(name, hi, hi - lo);
}

/* base and other: one value per run, absent ones as zeros; reordered. */
bool cmp_lkp_changed(const char *name, double *base, size_t nb, double *other, size_t na)
{
	size_t cap = nb <= 3 ? 1 : 3;
	struct lkp_side b, a;
	bool vanished = true;

	if (metric_is_fail(name)) {
		double top_a = 0, top_b = 0;

		for (size_t i = 0; i < na; i++)
			top_a = MAX(top_a, other[i]);
		for (size_t i = 0; i < nb; i++)
			top_b = MAX(top_b, base[i]);
		return top_a != top_b;
	}
	if (nb < 3 && na < 3)
		return false;
	for (size_t i = 0; i < na; i++)
		vanished = vanished && other[i] == 0;
	b = trimmed(base, nb, cap);
	a = trimmed(other, na, cap);
	if (!a.n || !b.n)
		return false;
	if (startswith(name, "perf-profile"))
		return vanished ? MAX(a.median, b.median) > 5 : ranges_apart(&b, &a);
	return ranges_apart(&b, &a) && large_enough(name, &b, &a);
}
