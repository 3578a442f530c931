/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <Rmath.h>
#include "bisect/verdict.h"
#include "lib/change.h"

/* Effect variances in units of the spread's. The small ones serve noisy metrics, the large ones deterministic machines,
 * where a step is hundreds of standard deviations. */
static const struct { double g, weight; } mixture[] = {
	{4, 0.35}, {25, 0.35}, {400, 0.15}, {1e4, 0.1}, {1e6, 0.05},
};

double verdict_log_e(double t, double df, double m)
{
	double log_e = -INFINITY, q = fabs(t) / sqrt(df), top = q > 1e8 ? 2 * log(q) : log1p(q * q);

	for (size_t i = 0; i < ARRAY_SIZE(mixture); i++) {
		double k = 1 + m * mixture[i].g, r = q / sqrt(k), below = r > 1e8 ? 2 * log(r) : log1p(r * r);
		double l = log(mixture[i].weight) - 0.5 * log(k) + 0.5 * (df + 1) * (top - below);
		double hi = MAX(log_e, l), lo = MIN(log_e, l);

		log_e = lo == -INFINITY ? hi : hi + log1p(exp(lo - hi));
	}
	return log_e;
}

double verdict_critical(double alpha, double df, double m)
{
	double lo = 0, hi = 1, want = -log(alpha);

	while (verdict_log_e(hi, df, m) < want) {
		hi *= 2;
		if (hi > 1e12)
			return INFINITY;
	}
	for (int i = 0; i < 60; i++) {
		double mid = 0.5 * (lo + hi);

		if (verdict_log_e(mid, df, m) < want)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

/* Mean and sum of squares; the values come scaled to about 1. */
static void mean_and_ss(const double *v, size_t n, int exponent, double *ret_mean, double *ret_ss)
{
	double sum = 0, ss = 0, rest = 0, mean;

	for (size_t i = 0; i < n; i++)
		sum += ldexp(v[i], -exponent);
	mean = sum / n;
	for (size_t i = 0; i < n; i++) {
		double d = ldexp(v[i], -exponent) - mean;

		rest += d;
		ss += d * d;
	}
	*ret_mean = mean + rest / n;
	*ret_ss = MAX(ss - rest * rest / n, 0.0);
}

struct look {
	double diff, sd, df, unit;      /* unit: the level that relative changes refer to */
	double none;                    /* largest difference of no interest */
	size_t na, nb;
};

static double harmonic(size_t na, size_t nb)
{
	return (double)na * nb / ((double)na + nb);
}

/* Pooled spread with what history and resolution know. */
static void pool_spread(const struct verdict_config *c, double ss, struct look *l)
{
	double df = (double)l->na + l->nb - 2, var = ss / df, prior = c->prior_sd * l->unit,
	       low = MAX(c->sigma_floor, 1e-9) * l->unit;

	l->df = df;
	if (c->prior_df > 0 && prior > 0 && pf(var / (prior * prior), df, c->prior_df, 0, 0) > 0.01) {
		var = (ss + c->prior_df * prior * prior) / (df + c->prior_df);
		l->df += c->prior_df;
	}
	l->sd = MAX(sqrt(var), low);
}

static double t_of(const struct look *l, double diff, double m)
{
	return diff <= 0 ? 0 : l->sd > 0 ? diff * sqrt(m) / l->sd : INFINITY;
}

/* Could max_boots a side show an effect as large as the data still allow (upper 90 % limit)? */
static bool futile(const struct verdict_config *c, const struct look *l)
{
	double m = harmonic(l->na, l->nb), df = l->df + 2.0 * c->max_boots - l->na - l->nb;
	double upper = fabs(l->diff) + qt(0.9, l->df, 1, 0) * l->sd / sqrt(m) - l->none;

	return verdict_log_e(t_of(l, upper, 0.5 * c->max_boots), df, 0.5 * c->max_boots) < -log(c->alpha);
}

/* Boots a side until a decision if what was seen stays as it is; never more than half as many again at once. */
static size_t boots_needed(const struct verdict_config *c, const struct look *l)
{
	size_t n = MIN(l->na, l->nb), step = MAX(n / 2, (size_t)1), k;

	for (k = 1; k < step; k++) {
		double m = harmonic(l->na + k, l->nb + k), df = l->df + 2.0 * k;
		double half = verdict_critical(0.05, df, m) * l->sd / sqrt(m);

		if (verdict_log_e(t_of(l, fabs(l->diff) - l->none, m), df, m) >= -log(c->alpha) ||
		    fabs(l->diff) + half < l->none)
			break;
	}
	return c->max_boots ? MIN(k, c->max_boots - n) : k;
}

static void decide(const struct verdict_config *c, const struct look *l, struct verdict_result *r)
{
	double m = harmonic(l->na, l->nb), log_e = verdict_log_e(t_of(l, fabs(l->diff) - l->none, m), l->df, m);
	double half = verdict_critical(0.05, l->df, m) * l->sd / sqrt(m);
	size_t n = MIN(l->na, l->nb);

	r->p = MIN(1.0, exp(-log_e));
	r->effect = l->unit > 0 ? l->diff / l->unit : 0;
	r->lo = l->unit > 0 ? (l->diff - half) / l->unit : 0;
	r->hi = l->unit > 0 ? (l->diff + half) / l->unit : 0;
	r->verdict = VERDICT_SAME;
	if (log_e >= -log(c->alpha)) {
		r->verdict = VERDICT_DIFFERENT;
		r->why = "the difference lies beyond the smallest of interest";
	} else if (l->diff == 0 && l->sd <= MAX(c->sigma_floor, 1e-9) * l->unit) {
		r->why = "all boots are equal";
	} else if (fabs(l->diff) + half < l->none) {
		r->why = "any difference is below the smallest of interest";
	} else if (c->max_boots && n >= c->max_boots) {
		r->unshown = true;
		r->why = "no difference shown within the allowed boots";
	} else if (c->max_boots && n >= 3 && futile(c, l)) {
		r->unshown = true;
		r->why = "the allowed boots could not show what difference is still possible";
	} else {
		r->verdict = VERDICT_MORE;
		r->more_boots = boots_needed(c, l);
		r->why = "not decided yet";
	}
}

static int check(const struct verdict_config *c, const double *v, size_t n, double *max)
{
	if (!(c->alpha > 0 && c->alpha < 1) || !(c->min_effect >= 0) || !(c->prior_sd >= 0) || !(c->prior_df >= 0) ||
	    !(c->sigma_floor >= 0))
		return err_set(-EINVAL, "verdict settings: alpha '%g' must lie between 0 and 1, the rest not below 0",
			       c->alpha);
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(v[i]))
			return err_set(-EINVAL, "value '%g' is no measurement: leave the boot out", v[i]);
		*max = MAX(*max, fabs(v[i]));
	}
	return 0;
}

int verdict_two(const struct verdict_config *c, const double *a, size_t na, const double *b, size_t nb,
		struct verdict_result *ret)
{
	struct verdict_result r = {.verdict = VERDICT_MORE, .p = 1, .lo = -INFINITY, .hi = INFINITY};
	size_t least = MAX(c->min_boots, (size_t)2), n = MIN(na, nb);
	struct look l = {.na = na, .nb = nb};
	double max = 0, mean_a, mean_b, ss_a, ss_b;
	int err, e;

	if ((err = check(c, a, na, &max)) < 0 || (err = check(c, b, nb, &max)) < 0)
		return err;
	if (n < 2) {
		r.more_boots = least - n;
		r.why = "too few boots";
		*ret = r;
		return 0;
	}
	e = max > 0 ? ilogb(max) : 0;
	mean_and_ss(a, na, e, &mean_a, &ss_a);
	mean_and_ss(b, nb, e, &mean_b, &ss_b);
	l.diff = mean_b - mean_a;
	l.unit = change_no_base(mean_a, mean_b) ? fabs(mean_b) : fabs(mean_a);
	l.none = c->min_effect * l.unit;
	pool_spread(c, ss_a + ss_b, &l);
	decide(c, &l, &r);
	if (n < least) {
		r.verdict = VERDICT_MORE;
		r.more_boots = least - n;
		r.unshown = false;
		r.why = "too few boots";
	}
	r.mean_a = ldexp(mean_a, e);
	r.mean_b = ldexp(mean_b, e);
	r.sd = ldexp(l.sd, e);
	*ret = r;
	return 0;
}
