/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the variances of many metrics say about the variance of one: Smyth 2004 (Stat. Appl. Genet. Mol. Biol. 3:3) with
 * the winsorised fit and the treatment of outlying variances of Phipson, Lee, Majewski, Alexander and Smyth 2016 (Ann.
 * Appl. Stat. 10:946). */
#include "bisect/stats.h"

#include <Rmath.h>

#define WINSOR_LOW .05
#define WINSOR_HIGH .10
#define DF0_MAX 1e4             /* beyond: as good as all the same */
#define DF0_MIN 1e-2

static size_t usable_logs(const double *s2, size_t n, double *z)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(s2[i]) && s2[i] > 0)
			z[m++] = log(s2[i]);
	return m;
}

static void moments(const double *z, size_t n, double *mean, double *var)
{
	double s = 0, ss = 0;

	for (size_t i = 0; i < n; i++)
		s += z[i];
	*mean = s / (double)n;
	for (size_t i = 0; i < n; i++)
		ss += (z[i] - *mean) * (z[i] - *mean);
	*var = ss / (double)(n - 1);
}

static double log_f_quantile(double p, double d, double d0)
{
	return log(isinf(d0) ? qchisq(p, d, 1, 0) / d : qf(p, d, d0, 1, 0));
}

/* Density of log F at z, for the same two cases. */
static double log_f_density(double z, double d, double d0)
{
	double x = exp(z);

	return x * (isinf(d0) ? d * dchisq(x * d, d, 0) : df(x, d, d0, 0));
}

/* Mean and variance of log F(df, df0) with its tails winsorised: Simpson's rule between the two quantiles, the cut
 * tails as point masses there. */
static void winsorised_theory(double d, double d0, double *mean, double *var)
{
	enum { STEPS = 64 };
	double lo = log_f_quantile(WINSOR_LOW, d, d0), hi = log_f_quantile(1 - WINSOR_HIGH, d, d0),
	       h = (hi - lo) / STEPS;
	double s = WINSOR_LOW * lo + WINSOR_HIGH * hi, ss = WINSOR_LOW * lo * lo + WINSOR_HIGH * hi * hi;

	for (int i = 0; i <= STEPS; i++) {
		double z = lo + h * i, w = h / 3 * (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2) * log_f_density(z, d, d0);

		s += w * z;
		ss += w * z * z;
	}
	*mean = s;
	*var = ss - s * s;
}

static void winsorise(double *z, size_t n)
{
	size_t lo = (size_t)(WINSOR_LOW * (double)n), hi = n - 1 - (size_t)(WINSOR_HIGH * (double)n);

	qsort(z, n, sizeof(*z), stat_cmp_double);
	for (size_t i = 0; i < n; i++)
		z[i] = i < lo ? z[lo] : i > hi ? z[hi] : z[i];
}

/* The winsorised variance falls with df0: bisection on log df0. */
static double solve_df0(double d, double var)
{
	double m, v, lo = log(DF0_MIN), hi = log(DF0_MAX);

	winsorised_theory(d, INFINITY, &m, &v);
	if (var <= v)
		return INFINITY;
	for (int i = 0; i < 30; i++) {
		double mid = (lo + hi) / 2;

		winsorised_theory(d, exp(mid), &m, &v);
		if (v > var)
			lo = mid;
		else
			hi = mid;
	}
	return hi >= log(DF0_MAX) - 1e-3 ? INFINITY : exp((lo + hi) / 2);
}

struct outlier { double s2; size_t i; };

static int cmp_outlier_desc(const void *a, const void *b)
{
	const struct outlier *x = a, *y = b;

	return x->s2 != y->s2 ? (x->s2 < y->s2) - (x->s2 > y->s2) : (x->i > y->i) - (x->i < y->i);
}

static double f_tail(double f, double d, double d0)
{
	return isinf(d0) ? pchisq(f * d, d, 0, 0) : pf(f, d, d0, 0, 0);
}

/* A variance too large for the fitted F borrows less. w = tail probability over the share of metrics that lie as far
 * out (1 where the fit holds); the largest one gets the df0 at which it would be an even bet, the others a mean
 * weighted by w, never more than a less extreme one. */
static void shrink_outliers(const double *s2, size_t n, double d, const struct stat_prior *prior, double *ret_df0)
{
	_cleanup_free_ struct outlier *o = xcalloc(n + 1, sizeof(*o));
	double tail, worst, least = 0;
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		ret_df0[i] = prior->df0;
		if (isfinite(s2[i]) && s2[i] > prior->s0sq)     /* smaller ones are no outliers */
			o[m++] = (struct outlier){s2[i], i};
	}
	if (!m)
		return;
	qsort(o, m, sizeof(*o), cmp_outlier_desc);
	tail = MAX(f_tail(o[0].s2 / prior->s0sq, d, prior->df0), 1e-300);
	if (tail >= .5 / (double)n)
		return;
	worst = log(.5) / log(tail) * MIN(prior->df0, DF0_MAX);
	for (size_t k = 0; k < m; k++) {
		double t = f_tail(o[k].s2 / prior->s0sq, d, prior->df0), w = MIN(1, t * (double)n / ((double)k + .5));

		if (w >= 1)
			break;
		least = MAX(least, w * MIN(prior->df0, DF0_MAX) + (1 - w) * worst);
		ret_df0[o[k].i] = least;
	}
}

struct stat_prior stat_prior_fit(const double *s2, size_t n, double d, double *ret_df0)
{
	_cleanup_free_ double *z = xcalloc(n + 1, sizeof(*z));
	size_t m = usable_logs(s2, n, z);
	struct stat_prior prior = {0, 0};
	double mean, var, t_mean, t_var;

	if (m >= 3 && d > 0) {
		winsorise(z, m);
		moments(z, m, &mean, &var);
		prior.df0 = solve_df0(d, var);
		winsorised_theory(d, prior.df0, &t_mean, &t_var);
		prior.s0sq = exp(mean - t_mean);
	}
	if (ret_df0 && prior.df0 > 0)
		shrink_outliers(s2, n, d, &prior, ret_df0);
	else if (ret_df0)
		for (size_t i = 0; i < n; i++)
			ret_df0[i] = 0;
	return prior;
}
