/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The noise of a series: its unit, its scale from differences, its autocorrelation, and the commits in units of it. */
#include "bisect/detect-internal.h"

#include <float.h>

#define RHO_ERROR 7.0           /* twice the standard error of the correlation, times sqrt(n): less is not believed */
#define EXACT .9                /* share of the commits in plateaus that shows a series without noise */
#define LEAST_LEFT .01          /* of the variance: less than that is rounding and tells nothing */
#define MOST 1e140              /* typical values, in size: what is larger is cut, so that nothing overflows */
#define FAR 1e100               /* what lies farther out, in sigmas, is cut here */

/* ---- scale ---- */

/* Quickselect (Hoare): the value of rank k. */
static double select_rank(double *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;

	while (lo < hi) {
		double pivot = v[lo + (hi - lo) / 2];
		size_t i = lo, j = hi;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			double swap = v[i];
			v[i++] = v[j];
			v[j--] = swap;
		}
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return v[k];
}

double detect_quantile(double *v, size_t n, double p)
{
	return n ? select_rank(v, n, MIN(n - 1, (size_t)(p * (double)n))) : NAN;
}

/* Spread from differences at a lag, which a step touches only once: the median of their sizes; where more than half are
 * equal (few distinct values) a higher quantile, matched to the normal distribution. */
static double spread_at_lag(const struct signal *s, size_t lag)
{
	static const double quantile[] = {.5, .75, .9}, normal[] = {.67449, 1.15035, 1.64485};
	double v = 0;

	for (size_t q = 0; q < ARRAY_SIZE(quantile) && s->n > lag && !(v > 0); q++) {
		for (size_t i = lag; i < s->n; i++)
			s->work[i - lag] = fabs(s->c[i].y - s->c[i - lag].y);
		v = detect_quantile(s->work, s->n - lag, quantile[q]) / (normal[q] * M_SQRT2);
	}
	return v;
}

/* Do nearly all commits lie in plateaus of three or more equal values? Then what differs between neighbours are
 * steps. */
static bool is_exact(const struct signal *s)
{
	size_t in = 0;

	for (size_t i = 0, k; i < s->n; i = k) {
		for (k = i + 1; k < s->n && s->c[k].y == s->c[i].y; k++)
			;
		in += k - i >= 3 ? k - i : 0;
	}
	return (double)in >= EXACT * (double)s->n;
}

/* Differences at lags 1 and 2 of noise with correlation rho have variances 2 s^2 (1 - rho) and 2 s^2 (1 - rho^2). The
 * penalty grows as the variance of a mean does: (1 + rho) / (1 - rho). */
static void estimate_noise(struct signal *s)
{
	double one = spread_at_lag(s, 1), two = spread_at_lag(s, 2), rho = one > 0 ? two * two / (one * one) - 1 : 0;

	if (is_exact(s))
		one = rho = 0;
	rho = MIN(rho, 1) - RHO_ERROR / sqrt((double)s->n);
	rho = rho > 0 ? MIN(rho, .7) : 0;
	s->sigma = one / sqrt(1 - rho);
	s->inflate = (1 + rho) / (1 - rho);
}

/* ---- commits ---- */

/* Groups equal indexes; y = their median. Returns the variance of one measurement around it, from all repeated ones. */
static double group(const int64_t *index, const double *value, size_t n, struct signal *s)
{
	double ss = 0;
	size_t df = 0;

	for (size_t i = 0, j; i < n; i = j) {
		size_t k = 0;
		double y;

		for (j = i; j < n && index[j] == index[i]; j++)
			if (isfinite(value[j]))
				s->work[k++] = MAX(-MOST, MIN(MOST, value[j] / s->unit));
		if (!k)
			continue;
		y = stat_median(s->work, k);
		for (size_t m = 0; m < k; m++)
			s->work[m] = fabs(s->work[m] - y);
		if (k > 1) {    /* robust: the median of the distances, at most weakly biased for small k */
			double d = MIN(FAR, stat_median(s->work, k) / .67449);

			ss += d * d * (double)(k - 1);
			df += k - 1;
		}
		s->c[s->n++] = (struct commit){.y = y, .index = index[i], .n = (uint32_t)k};
	}
	return df ? ss / (double)df : 0;
}

/* Weights: variance of a commit = its own luck + that of its measurements over their number. Then y in sigmas. */
static void scale(struct signal *s, double within)
{
	double own, mean_inverse = 0, total = s->sigma * s->sigma;

	for (size_t i = 0; i < s->n; i++)
		mean_inverse += 1.0 / s->c[i].n;
	mean_inverse /= (double)s->n;
	own = MAX(total - within * mean_inverse, .25 * total);
	within = (total - own) / mean_inverse;
	for (size_t i = 0; i < s->n; i++) {
		struct commit *c = &s->c[i];
		double y = (c->y - s->centre) / s->sigma;

		c->y = MAX(-FAR, MIN(FAR, y));
		c->weight = total / (own + within / c->n);
		c->cap = CAP_SIGMAS * CAP_SIGMAS * MIN(c->n, 2u);
	}
}

double detect_level(const struct commit *c, size_t from, size_t to, double *work)
{
	double x, sum = 0, w = 0;

	for (size_t i = from; i < to; i++)
		work[i - from] = c[i].y;
	x = detect_quantile(work, to - from, .5);
	for (size_t i = from; i < to; i++)
		if (c[i].weight * (c[i].y - x) * (c[i].y - x) <= c[i].cap) {
			sum += c[i].weight * c[i].y;
			w += c[i].weight;
		}
	return w > 0 ? sum / w : x;
}

/* From the median size, so that one wild value does not set it. */
static double unit_of(const double *value, size_t n, double *work)
{
	size_t k = 0;
	double typical;

	for (size_t i = 0; i < n; i++)
		if (isfinite(value[i]) && value[i] != 0)
			work[k++] = fabs(value[i]);
	typical = detect_quantile(work, k, .5);
	return k ? ldexp(1, MAX(-1000, MIN(1000, ilogb(typical)))) : 1;
}

void detect_prepare(struct signal *s, double min_effect, const int64_t *index, const double *value, size_t n)
{
	double within, least;

	s->unit = unit_of(value, n, s->work);
	within = group(index, value, n, s);
	if (s->n < 3)
		return;
	for (size_t i = 0; i < s->n; i++)
		s->work[i] = s->c[i].y;
	s->centre = detect_quantile(s->work, s->n, .5);
	estimate_noise(s);
	least = MAX(fabs(s->centre) * MAX(4 * DBL_EPSILON, min_effect / 10), 1e-140);   /* at least rounding */
	s->sigma = MAX(s->sigma, least);
	scale(s, within);
}

/* ---- what the levels leave over ---- */

double detect_spread(const struct signal *s, size_t from, size_t to, double level, double least)
{
	for (size_t i = from; i < to; i++)
		s->work[i - from] = fabs(s->c[i].y - level);
	return MAX(least, detect_quantile(s->work, to - from, .5) / .67449);
}

/* Each commit less its level, outliers moved in; 0 on average in each segment. */
static void residuals(const struct signal *s, size_t from, size_t to, double *r)
{
	double level = detect_level(s->c, from, to, s->work), mean = 0,
	       clip = CAP_SIGMAS * detect_spread(s, from, to, level, 1);

	for (size_t i = from; i < to; i++) {
		r[i] = MAX(-clip, MIN(clip, s->c[i].y - level));
		mean += r[i] / (double)(to - from);
	}
	for (size_t i = from; i < to; i++)
		r[i] -= mean;
}

/* The lags count up to the first that is within two standard errors of nothing. */
void detect_correlate(struct signal *s, const struct cut *cut, size_t n)
{
	_cleanup_free_ double *r = xcalloc(s->n, sizeof(*r));
	double ss = 0;

	for (size_t i = 0; i <= n; i++)
		residuals(s, i ? cut[i - 1].at : 0, i < n ? cut[i].at : s->n, r);
	for (size_t i = 0; i < s->n; i++)
		ss += r[i] * r[i] / (double)s->n;
	ss = MAX(ss, LEAST_LEFT);
	s->lags = 0;
	for (size_t lag = 1; lag <= MAX_LAGS && lag < s->n / 4; lag++) {
		double sum = 0, pairs = 0, rho;

		for (size_t i = 0; i <= n; i++)
			for (size_t k = (i ? cut[i - 1].at : 0) + lag; k < (i < n ? cut[i].at : s->n); k++, pairs++)
				sum += r[k] * r[k - lag];
		rho = sum / ss / MAX(pairs, 1);
		if (rho * sqrt(pairs) < 2)
			break;
		s->rho[s->lags++] = MIN(rho, 1);
	}
}

double detect_inflation(const struct signal *s, size_t m)
{
	double f = 1;

	for (size_t lag = 1; lag <= s->lags && lag < m; lag++)
		f += 2 * (1 - (double)lag / (double)m) * s->rho[lag - 1];
	return f;
}
