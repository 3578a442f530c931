/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Change points of a series: noise from differences, exact segmentation with a bounded loss, then points that are too
 * weak for what their neighbourhood shows are taken away again. */
#include "bisect/detect-int.h"

#define CAP_SIGMAS 3.5          /* beyond, a commit counts as an outlier and says nothing about its level */
#define PENALTY 10.0            /* times ln(commits) */
#define MIN_STRENGTH 5.0        /* least z of a point against the spread of its own two segments */
#define END_STRENGTH 6.0        /* least z of a level that too few commits have yet */
#define OUT 2.5                 /* sigmas off the level: such a commit belongs to an excursion */
#define MAX_EXPECTED .1         /* chance excursions of that length in the history of a level */
#define SMALL .01               /* a relative change below this must be .. */
#define SMALL_SIGMAS 3.0        /* .. that large against the noise of one commit: tiny and blurred convinces nobody */
#define WINDOW 30               /* commits on each side that a point is judged by */
#define RHO_ERROR 7.0           /* twice the standard error of the correlation, times sqrt(n): what is below is not believed */
#define FAR 1e100               /* what lies farther out, in sigmas, is cut here */

struct series {
	struct commit *c; size_t n;
	double unit;            /* a power of two near the values' size: nothing overflows or underflows in it */
	double centre, sigma;   /* of one commit, in units */
	double inflate;         /* of the penalty, for noise that is correlated */
	double *work;
};
struct cut { size_t at; double before, after, strength; bool end; };

/* ---- noise ---- */

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
static double spread_at_lag(const struct series *s, size_t lag)
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

/* Differences at lags 1 and 2 of noise with correlation rho have variances 2 s^2 (1 - rho) and 2 s^2 (1 - rho^2). The
 * penalty grows as the variance of a mean does: (1 + rho) / (1 - rho). */
static void estimate_noise(struct series *s)
{
	double one = spread_at_lag(s, 1), two = spread_at_lag(s, 2), rho = one > 0 ? two * two / (one * one) - 1 : 0;

	rho = MIN(rho, 1) - RHO_ERROR / sqrt((double)s->n);
	rho = rho > 0 ? MIN(rho, .7) : 0;
	s->sigma = one / sqrt(1 - rho);
	s->inflate = (1 + rho) / (1 - rho);
}

/* ---- commits ---- */

/* Groups equal indexes; y = their median. Returns the variance of one measurement around it, from all repeated ones. */
static double group(const int64_t *index, const double *value, size_t n, struct series *s)
{
	double ss = 0;
	size_t df = 0;

	for (size_t i = 0, j; i < n; i = j) {
		size_t k = 0;
		double y;

		for (j = i; j < n && index[j] == index[i]; j++)
			if (isfinite(value[j]))
				s->work[k++] = value[j] / s->unit;
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
static void scale(struct series *s, double within)
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

/* ---- points ---- */

/* Spread of commits around their segment's level inside the windows on both sides, never below 1 (the noise). */
static double local_spread(const struct series *s, size_t from, size_t at, size_t to, double before, double after)
{
	for (size_t i = from; i < to; i++)
		s->work[i - from] = fabs(s->c[i].y - (i < at ? before : after));
	return MAX(1, detect_quantile(s->work, to - from, .5) / .67449);
}

static double weight_of(const struct series *s, size_t from, size_t to)
{
	double w = 0;

	for (size_t i = from; i < to; i++)
		w += s->c[i].weight;
	return w;
}

static void measure(const struct series *s, size_t prev, size_t next, struct cut *cut)
{
	size_t from = cut->at > prev + WINDOW ? cut->at - WINDOW : prev, to = MIN(next, cut->at + WINDOW);
	double a = detect_level(s->c, from, cut->at, s->work), b = detect_level(s->c, cut->at, to, s->work);

	cut->before = detect_level(s->c, prev, cut->at, s->work);
	cut->after = detect_level(s->c, cut->at, next, s->work);
	cut->strength = fabs(b - a) / local_spread(s, from, cut->at, to, a, b) /
			sqrt(1 / weight_of(s, from, cut->at) + 1 / weight_of(s, cut->at, to)) / sqrt(s->inflate);
}

/* In units. */
static double raw(const struct series *s, double y) { return s->centre + y * s->sigma; }

static bool too_small(const struct series *s, const struct cut *c, double min_effect)
{
	double change = fabs(c->after - c->before), level = fabs(raw(s, c->before));

	return change * s->sigma < min_effect * level || (change * s->sigma < SMALL * level && change < SMALL_SIGMAS);
}

static size_t boundary(const struct cut *cut, size_t n, size_t i, size_t end, int step)
{
	if (step < 0)
		return i ? cut[i - 1].at : 0;
	return i + 1 < n ? cut[i + 1].at : end;
}

/* The weakest point goes, its neighbours are measured again, until all that is left is strong enough. */
static size_t drop_weak(const struct series *s, const struct detect_config *c, struct cut *cut, size_t n)
{
	for (size_t i = 0; i < n; i++)
		measure(s, boundary(cut, n, i, s->n, -1), boundary(cut, n, i, s->n, 1), &cut[i]);
	for (;;) {
		size_t worst = n;

		for (size_t i = 0; i < n; i++) {
			size_t prev = boundary(cut, n, i, s->n, -1), next = boundary(cut, n, i, s->n, 1);
			bool is_short = cut[i].at - prev < c->min_segment || next - cut[i].at < c->min_segment;

			if ((is_short || cut[i].strength < MIN_STRENGTH || too_small(s, &cut[i], c->min_effect)) &&
			    (worst == n || cut[i].strength < cut[worst].strength))
				worst = i;
		}
		if (worst == n)
			return n;
		n--;
		memmove(cut + worst, cut + worst + 1, (n - worst) * sizeof(*cut));
		for (size_t i = worst ? worst - 1 : 0; i < n && i <= worst; i++)
			measure(s, boundary(cut, n, i, s->n, -1), boundary(cut, n, i, s->n, 1), &cut[i]);
	}
}

/* Would k commits in a row off the level to that side be news? Not where it happened before and went back, nor where
 * single ones are so frequent that it is to be expected in a history of this length. */
static bool is_news(const struct series *s, size_t from, size_t to, size_t k, double level, double side)
{
	double n = (double)(to - from), out = 1;
	size_t run = 0;

	for (size_t i = from; i < to; i++) {
		run = side * (s->c[i].y - level) < OUT ? 0 : run + 1;
		if (run >= k)
			return false;
		out += run > 0;
	}
	return n * pow(out / (n + 1), (double)k) < MAX_EXPECTED;
}

/* A level that only the last commits have: too few for the segmentation to pay for, or fewer than a segment needs. Each
 * of them must lie beyond the noise, on the same side, all together far beyond, as it never was before. */
static bool find_end(const struct series *s, const struct detect_config *c, size_t from, struct cut *ret)
{
	struct cut best = {0};

	for (size_t k = 1; k <= 8 && s->n >= from + k + 5; k++) {
		struct cut cut = {.at = s->n - k, .end = true};
		double side = s->c[cut.at].y;
		uint32_t runs = 0;

		measure(s, from, s->n, &cut);
		side = copysign(1, side - cut.before);
		for (size_t i = cut.at; i < s->n; i++) {
			runs += s->c[i].n;
			if (side * (s->c[i].y - cut.before) < OUT)
				cut.strength = 0;
		}
		if (cut.strength >= END_STRENGTH && (k > 1 || runs > 2) && cut.strength > best.strength &&
		    !too_small(s, &cut, c->min_effect) && is_news(s, from, cut.at, k, cut.before, side))
			best = cut;
	}
	*ret = best;
	return best.at > 0;
}

static size_t find_cuts(const struct series *s, const struct detect_config *c, struct cut *cut)
{
	_cleanup_free_ uint32_t *start = xcalloc(s->n + 1, sizeof(*start));
	double penalty = (c->penalty > 0 ? c->penalty : PENALTY) * log((double)MAX(s->n, (size_t)20)) * s->inflate;
	size_t n = detect_segment(s->c, s->n, penalty, start), k = 0;

	for (size_t i = 1; i < n; i++)
		cut[k++].at = start[i];
	k = drop_weak(s, c, cut, k);
	if (find_end(s, c, k ? cut[k - 1].at : 0, &cut[k])) {
		if (k)
			measure(s, k > 1 ? cut[k - 2].at : 0, cut[k].at, &cut[k - 1]);
		k++;
	}
	return k;
}

static void report(const struct series *s, const struct detect_config *c, const struct cut *cut, size_t n,
		   struct detect_result *ret)
{
	*ret = (struct detect_result){xcalloc(n + 1, sizeof(*ret->v)), n, s->unit * s->sigma};
	for (size_t i = 0; i < n; i++) {
		size_t after = s->n - cut[i].at;

		ret->v[i] = (struct detect_point){
			.index = s->c[cut[i].at].index, .before = s->unit * raw(s, cut[i].before),
			.after = s->unit * raw(s, cut[i].after),
			.provisional = cut[i].end || (i + 1 == n && after < 2 * c->min_segment && cut[i].strength < 2 * END_STRENGTH),
			.strength = cut[i].strength,
		};
	}
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

static int check(const int64_t *index, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (index[i] < index[i - 1])
			return err_set(-EINVAL, "index %" PRId64 " comes after %" PRId64 "; sort the series first", index[i],
				       index[i - 1]);
	return n > UINT32_MAX ? err_set(-E2BIG, "a series of %zu values is too long", n) : 0;
}

int detect_run(const struct detect_config *cfg, const int64_t *index, const double *value, size_t n, struct detect_result *ret)
{
	struct detect_config c = *cfg;
	_cleanup_free_ struct commit *commit = NULL;
	_cleanup_free_ double *work = NULL;
	_cleanup_free_ struct cut *cut = NULL;
	struct series s;
	double within, least;
	int r = check(index, n);

	if (r < 0)
		return r;
	c.min_segment = c.min_segment ? c.min_segment : 5;
	commit = xcalloc(n + 1, sizeof(*commit));
	work = xcalloc(n + 1, sizeof(*work));
	cut = xcalloc(n + 1, sizeof(*cut));
	s = (struct series){.c = commit, .work = work, .inflate = 1};
	s.unit = unit_of(value, n, work);
	within = group(index, value, n, &s);
	if (s.n < 3) {
		*ret = (struct detect_result){xcalloc(1, sizeof(*ret->v)), 0, 0};
		return 0;
	}
	for (size_t i = 0; i < s.n; i++)
		work[i] = s.c[i].y;
	s.centre = detect_quantile(work, s.n, .5);
	estimate_noise(&s);
	least = MAX(fabs(s.centre) * MAX(1e-9, c.min_effect / 10), 1e-300);     /* a constant series has noise, too */
	s.sigma = MAX(s.sigma, least);
	scale(&s, within);
	report(&s, &c, cut, find_cuts(&s, &c, cut), ret);
	return 0;
}

void detect_result_release(struct detect_result *r)
{
	free(r->v);
	*r = (struct detect_result){0};
}
