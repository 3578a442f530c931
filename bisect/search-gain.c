/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search-gain.c - what the next boot will tell: the mutual information (bits) of one value and the question who it was.
 *
 * Under each class, and under "no effect", the value's distribution is taken as normal: the mean is that of the level
 * which the commit then has, the variance that of a boot and of what is not known about the level. A commit's own boots
 * moved both levels, each under its own label; so one whose boots lie between the levels tells little more, and the
 * ends, which no class disputes, tell much while the levels are in doubt: what a bad level would be is what says
 * whether this is one.
 */
#include <Rmath.h>
#include "bisect/search-internal.h"

#define NODE_FROM (-3.0)        /* quadrature by the trapezoid rule, in standard deviations */
#define NODE_STEP 0.5
#define NODES 13
#define NEGLIGIBLE 0.01         /* share of the doubt: classes below are left out */

struct mixture_part { double p, mean, sd; };    /* one way for the value to come about */

/* Of a mixture: the mean relative entropy of its parts to the whole. */
static double mixture_information(const struct mixture_part *part, size_t n)
{
	double bits = 0, all = 0;

	for (size_t i = 0; i < n; i++)
		all += part[i].p;
	for (size_t i = 0; i < n; i++) {
		double sum = 0, weight = 0;

		for (int k = 0; k < NODES; k++) {
			double z = NODE_FROM + k * NODE_STEP, y = part[i].mean + z * part[i].sd, w = exp(-0.5 * z * z),
			       mix = 0;

			for (size_t j = 0; j < n; j++) {
				double u = (y - part[j].mean) / part[j].sd;

				mix += part[j].p / part[j].sd * exp(-0.5 * u * u);
			}
			weight += w;
			sum += w * (-0.5 * z * z - log(part[i].sd * mix / all));
		}
		bits += part[i].p / all * sum / weight / M_LN2;
	}
	return MAX(bits, 0.0);
}

static struct mixture_part level_part(double p, double level, double var, double sigma)
{
	return (struct mixture_part){p, level, sqrt(sigma * sigma + var)};
}

/* Share of every class that makes x bad. */
static double *bad_share(struct search *s, uint32_t x)
{
	double *share = xcalloc(MAX(s->cl.n, 1u), sizeof(*share));

	dag_ancestors(s->dag, x, s->seen);
	for (uint32_t c = 0; c < s->dag->n; c++)
		if (s->seen[c] && s->cl.of[c] != UINT32_MAX)
			share[s->cl.of[c]] += s->weight[c] / s->cl.weight[s->cl.of[c]];
	return share;
}

double boot_information(struct search *s, uint32_t x)
{
	_cleanup_free_ struct mixture_part *part = xcalloc(2 * (size_t)s->cl.n + 1, sizeof(*part));
	_cleanup_free_ double *share = bad_share(s, x);
	double least = s->none;
	size_t n = 0;

	for (uint32_t k = 0; k < s->cl.n; k++)
		least = MAX(least, s->cl.post[k]);
	least = NEGLIGIBLE * (1 - least);
	if (s->none > least)
		part[n++] = level_part(s->none, s->level.good, s->level.good_var, s->level.sigma);
	for (uint32_t k = 0; k < s->cl.n; k++) {
		const struct estimate *e = &s->cl.est[k];
		double bad = share[k], p = s->cl.post[k];

		if (p * bad > least)
			part[n++] = level_part(p * bad, e->bad, e->bad_var, e->sigma);
		if (p * (1 - bad) > least)
			part[n++] = level_part(p * (1 - bad), e->good, e->good_var, e->sigma);
	}
	return mixture_information(part, n);
}
