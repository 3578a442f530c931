/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search-drift.c - does the machine drift while it is searched?
 *
 * A value's time is its place in the order of all boots, from -1/2 to 1/2: gaps in the clock, when another job had the
 * machine, are no drift. Boots of one commit at different times show a slope whoever is guilty; that is what the ends
 * are booted again for. Bayes factor of "there is a slope" as for a t test, with a normal prior of DRIFT_SCALE sigma
 * over the whole search (Gönen, Johnson, Lu, Westfall 2005). Where the odds are worth it the likelihood is the mean
 * over slopes: none, and a few around the one seen (trapezoid rule). With none only the plain model is left, and costs
 * nothing more.
 */
#include <Rmath.h>
#include "bisect/search-internal.h"

#define DRIFT_PRIOR 0.1
#define DRIFT_SCALE 1.5         /* sigma from the first boot to the last */
#define DRIFT_ODDS 0.2          /* below it is left out: the data must speak about 2 : 1 for it */

#define DRIFT_NODES 7           /* besides none */
#define NODE_STEP 0.75          /* standard deviations of the slope: all sites together know it better than each
				   alone */

struct drift_node { double slope, log_weight; };
struct moment { double when; size_t site, k; };

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->when != y->when)
		return x->when < y->when ? -1 : 1;
	return 0;
}

/* Each value's time, site after site; equal moments share theirs. */
static double *boot_times(const struct search *s)
{
	_cleanup_free_ struct moment *m = xcalloc(s->n_obs, sizeof(*m));
	_cleanup_free_ size_t *first = xcalloc(s->n_sites, sizeof(*first));
	double *time = xcalloc(s->n_obs, sizeof(*time));
	size_t n = 0;

	for (size_t i = 0; i < s->n_sites; i++) {
		first[i] = n;
		for (size_t k = 0; k < s->site[i].n; k++)
			m[n++] = (struct moment){s->site[i].when[k], i, k};
	}
	qsort(m, n, sizeof(*m), by_time);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && m[to].when == m[from].when; to++)
			;
		for (size_t j = from; j < to; j++)
			time[first[m[j].site] + m[j].k] =
				(0.5 * (double)(from + to - 1) - 0.5 * (double)(n - 1)) / (double)n;
	}
	return time;
}

struct fit { double slope, var; };

/*
 * One step of iteratively reweighted least squares: a level per site, one slope for all. Its variance is that of an
 * M-estimate (Huber 1981, chapter 6), score squared over curvature squared; at least that of plain weighted squares.
 */
static struct fit refit(const struct search *s, const double *time, double sigma, const double *level, double slope)
{
	double xy = 0, xx = 0, score = 0, curve = 0;
	size_t at = 0;

	for (size_t i = 0; i < s->n_sites; at += s->site[i++].n) {
		const struct site *t = &s->site[i];
		double sw = 0, st = 0, sy = 0;

		for (int pass = 0; pass < 2; pass++)
			for (size_t k = 0; k < t->n; k++) {
				double r = t->y[k] - level[i] - slope * time[at + k], q = 3 + r * r / (sigma * sigma),
				       w = 4 / q, d;

				if (!pass) {
					sw += w;
					st += w * time[at + k];
					sy += w * t->y[k];
					continue;
				}
				d = time[at + k] - st / sw;
				xx += w * d * d;
				xy += w * d * (t->y[k] - sy / sw);
				score += w * r * d * w * r * d;
				curve += 4 * (6 - q) / (q * q) * d * d;
			}
	}
	if (!(xx > 0) || !(curve > 0))
		return (struct fit){0, INFINITY};
	return (struct fit){xy / xx, MAX(score / (curve * curve), sigma * sigma / xx)};
}

static struct fit slope_within(const struct search *s, const double *time, double sigma)
{
	_cleanup_free_ double *level = xcalloc(s->n_sites, sizeof(*level)), *y = xmalloc(s->n_obs * sizeof(*y));
	struct fit f = {0};

	for (int round = 0; round < 6; round++) {
		size_t at = 0;

		for (size_t i = 0; i < s->n_sites; at += s->site[i++].n) {
			for (size_t k = 0; k < s->site[i].n; k++)
				y[k] = s->site[i].y[k] - f.slope * time[at + k];
			level[i] = noise_location(y, s->site[i].n, sigma);
		}
		f = refit(s, time, sigma, level, f.slope);
	}
	return f;
}

/* Slopes to average over: *ret_n of them, the first is none. */
static void drift_nodes(struct search *s, const double *time, struct drift_node ret[DRIFT_NODES + 1], size_t *ret_n)
{
	double sigma = s->noise.sigma, tau = DRIFT_SCALE * sigma, df = -1, se2, t2, g, odds, step;
	struct fit f;

	s->drift = 0;
	*ret_n = 1;
	ret[0] = (struct drift_node){0, 0};
	for (size_t i = 0; i < s->n_sites; i++)
		df += s->site[i].n - 1.0;
	if (df < 3)
		return;
	f = slope_within(s, time, sigma);
	if (!isfinite(f.var))
		return;
	se2 = f.var * (double)s->n_obs / df;
	g = tau * tau / se2;
	t2 = f.slope * f.slope / se2;
	odds = DRIFT_PRIOR / (1 - DRIFT_PRIOR) / sqrt(1 + g) *
	       pow((1 + t2 / df) / (1 + t2 / (df * (1 + g))), (df + 1) / 2);
	if (odds < DRIFT_ODDS)
		return;
	s->drift = odds / (1 + odds);
	step = NODE_STEP / sqrt(1 / se2 + 1 / (tau * tau));
	ret[0].log_weight = log(1 - DRIFT_PRIOR);
	for (int k = 0; k < DRIFT_NODES; k++) {
		double slope = f.slope * g / (1 + g) + (k - DRIFT_NODES / 2) * step;

		ret[(*ret_n)++] = (struct drift_node){slope, log(DRIFT_PRIOR * step) + dnorm(slope, 0, tau, 1)};
	}
}

/* The search as it would be without that slope. */
static void flattened(const struct search *s, const double *time, double slope, struct search *ret)
{
	size_t at = 0;

	*ret = *s;
	ret->noise = (struct noise){0};
	ret->flat = true;
	ret->site = xcalloc(s->n_sites, sizeof(*ret->site));
	for (size_t i = 0; i < s->n_sites; at += s->site[i++].n) {
		ret->site[i] = (struct site){.node = s->site[i].node, .n = s->site[i].n};
		ret->site[i].y = xmalloc(s->site[i].n * sizeof(double));
		for (size_t k = 0; k < s->site[i].n; k++)
			ret->site[i].y[k] = s->site[i].y[k] - slope * time[at + k];
	}
}

static void flattened_release(struct search *s)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		site_forget(&s->site[i]);
		free(s->site[i].y);
	}
	free(s->site);
}

void estimate_merge(struct estimate *e, const struct estimate *more, double p)
{
	double d = e->delta + p * (more->delta - e->delta);
	double d2 = (1 - p) * (e->delta * e->delta + e->delta_sd * e->delta_sd) +
		    p * (more->delta * more->delta + more->delta_sd * more->delta_sd);

	*e = (struct estimate){e->good + p * (more->good - e->good), e->bad + p * (more->bad - e->bad),
			       e->sigma + p * (more->sigma - e->sigma), d, sqrt(MAX(d2 - d * d, 0.0)),
			       e->good_var + p * (more->good_var - e->good_var),
			       e->bad_var + p * (more->bad_var - e->bad_var)};
}

void drift_average(struct search *s, struct likelihood *l)
{
	_cleanup_free_ double *time = boot_times(s), *of_class = xcalloc(MAX(s->cl.n, 1u), sizeof(double));
	_cleanup_free_ struct estimate *e = xcalloc(MAX(s->cl.n, 1u), sizeof(*e));
	struct drift_node node[DRIFT_NODES + 1];
	size_t n;

	drift_nodes(s, time, node, &n);
	l->none += node[0].log_weight;
	for (uint32_t k = 0; k < s->cl.n; k++)
		l->of_class[k] += node[0].log_weight;
	for (size_t j = 1; j < n; j++) {
		struct likelihood one = {.of_class = of_class, .est = e};
		struct search flat;

		flattened(s, time, node[j].slope, &flat);
		model_loglik(&flat, &one);
		l->none = log_add(l->none, one.none + node[j].log_weight);
		for (uint32_t k = 0; k < s->cl.n; k++) {
			double more = one.of_class[k] + node[j].log_weight;

			l->of_class[k] = log_add(l->of_class[k], more);
			estimate_merge(&l->est[k], &e[k], exp(more - l->of_class[k]));
		}
		flattened_release(&flat);
	}
}
