/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spread.h - mean and variance of numbers that come one by one, by Welford's recurrence (Technometrics 4, 1962). The
 * difference of a sum of squares and a squared sum has no digits left where the spread is a millionth of the mean.
 *
 *	struct spread s = {0};
 *	spread_add(&s, x);
 *	sqrt(spread_variance(&s));
 */
#ifndef KPB_LIB_SPREAD_H
#define KPB_LIB_SPREAD_H
#include "lib/base.h"

struct spread { size_t n; double mean, m2; };   /* m2: sum of squared distances from the mean */

static inline void spread_add(struct spread *s, double x)
{
	double d = x - s->mean;

	s->mean += d / (double)++s->n;
	s->m2 += d * (x - s->mean);
}

/* Of all that there is (divided by n), not of a sample of it; NAN of nothing. */
static inline double spread_variance(const struct spread *s) { return s->n ? s->m2 / (double)s->n : NAN; }

#endif
