/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search-builds.c - which commits will build and boot, told by those that did and those that did not.
 *
 * What breaks a build is a commit, and a later one mends it: along the graph "broken" is a Markov chain of two states.
 * With b the share of broken commits, and r = exp(-1/L) for rows of length L (0: every commit for itself), d commits on
 * it is
 *
 *	P(broken | broken) = b + (1 - b) r^d        P(broken | builds) = b - b r^d
 *
 * Only the nearest commit before and the nearest one after matter, whose states are known. b and L are learnt: the
 * likelihood is the product of the chain's steps from each known commit's nearest known ancestor, exact on a line.
 * Every octave of L has the same prior probability, so that between a broken commit and one that builds the edge may be
 * anywhere, and the best probe of it is the middle; lone failures make L small and their neighbours worth a try.
 */
#include "bisect/search-internal.h"

#define MAX_LENGTHS 24          /* octaves of the length of a row */

static const double shares[] = {0.03, 0.1, 0.3, 0.6}, share_prior[] = {0.4, 0.35, 0.2, 0.05};
#define N_SHARES ARRAY_SIZE(shares)

enum proven { UNKNOWN, BUILDS, BROKEN };
struct near { uint32_t far; uint8_t is; };      /* the nearest known commit on one side, and how many steps away */

/* The chains that may be: their probabilities and powers of r. */
struct octaves { size_t n; double *power[MAX_LENGTHS], p[MAX_LENGTHS][N_SHARES]; };

static void octaves_release(struct octaves *o)
{
	for (size_t k = 0; k < o->n; k++)
		free(o->power[k]);
}

/* P(to, d commits after from) */
static double chain_step(const struct octaves *o, size_t k, size_t v, enum proven from, enum proven to, uint32_t far)
{
	double keep = o->power[k][far], end = to == BROKEN ? shares[v] : 1 - shares[v];

	return end + (from == to ? keep - end * keep : -end * keep);
}

static enum proven state(const struct search *s, uint32_t x)
{
	return s->skipped[x] ? BROKEN : s->built[x] || x == 0 ? BUILDS : UNKNOWN;
}

static void nearer(struct near *n, struct near by)
{
	if (by.is != UNKNOWN && (n->is == UNKNOWN || by.far < n->far || (by.far == n->far && by.is == BROKEN)))
		*n = by;
}

static struct near from_here(const struct search *s, const struct near *n, uint32_t x)
{
	enum proven is = state(s, x);

	return is != UNKNOWN ? (struct near){1, is} : (struct near){n[x].far + 1, n[x].is};
}

static void neighbours(const struct search *s, struct near *before, struct near *after)
{
	const struct dag *d = s->dag;

	for (uint32_t x = 0; x < d->n; x++)
		for (uint32_t e = d->first[x]; e < d->first[x + 1]; e++)
			nearer(&before[x], from_here(s, before, d->parent[e]));
	for (uint32_t x = d->n; x-- > 0;)
		for (uint32_t e = d->first[x]; e < d->first[x + 1]; e++)
			nearer(&after[d->parent[e]], from_here(s, after, x));
}

static void octaves_learn(const struct search *s, const struct near *before, struct octaves *o)
{
	double max = -INFINITY, sum = 0;

	for (size_t length = 1; o->n < MAX_LENGTHS && length <= s->dag->n; length *= 2) {
		double r = length == 1 ? 0 : exp(-1.0 / length);
		double *power = xcalloc((size_t)s->dag->n + 1, sizeof(*power));

		power[0] = 1;
		for (size_t i = 1; i <= s->dag->n && power[i - 1] > 1e-30; i++)
			power[i] = power[i - 1] * r;
		o->power[o->n++] = power;
	}
	for (size_t k = 0; k < o->n; k++)
		for (size_t v = 0; v < N_SHARES; v++) {
			double l = log(share_prior[v]);

			for (uint32_t x = 0; x < s->dag->n; x++)
				if (before[x].is != UNKNOWN && state(s, x) != UNKNOWN)
					l += log(chain_step(o, k, v, before[x].is, state(s, x), before[x].far));
			o->p[k][v] = l;
			max = MAX(max, l);
		}
	for (size_t k = 0; k < o->n; k++)
		for (size_t v = 0; v < N_SHARES; v++)
			sum += o->p[k][v] = exp(o->p[k][v] - max);
	for (size_t k = 0; k < o->n; k++)
		for (size_t v = 0; v < N_SHARES; v++)
			o->p[k][v] = o->p[k][v] / sum < 1e-4 ? 0 : o->p[k][v] / sum;
}

static double builds_here(const struct octaves *o, struct near before, struct near after)
{
	double sum = 0;

	for (size_t k = 0; k < o->n; k++)
		for (size_t v = 0; v < N_SHARES; v++) {
			double yes = 1 - shares[v], no = shares[v];

			if (!(o->p[k][v] > 0))
				continue;
			if (before.is != UNKNOWN) {
				yes = chain_step(o, k, v, before.is, BUILDS, before.far);
				no = chain_step(o, k, v, before.is, BROKEN, before.far);
			}
			if (after.is != UNKNOWN) {
				yes *= chain_step(o, k, v, BUILDS, after.is, after.far);
				no *= chain_step(o, k, v, BROKEN, after.is, after.far);
			}
			sum += o->p[k][v] * yes / (yes + no);
		}
	return sum;
}

double *build_chance(const struct search *s)
{
	uint32_t n = s->dag->n;
	_cleanup_free_ struct near *before = xcalloc(n, sizeof(*before)), *after = xcalloc(n, sizeof(*after));
	_cleanup_(octaves_release) struct octaves o = {0};
	double *chance = xmalloc(n * sizeof(*chance));
	bool all = true;

	for (uint32_t x = 0; x < n; x++) {
		chance[x] = 1;
		all &= !s->skipped[x];
	}
	if (all)
		return chance;
	neighbours(s, before, after);
	octaves_learn(s, before, &o);
	for (uint32_t x = 0; x < n; x++)
		chance[x] = s->skipped[x] ? 0 : s->built[x] ? 1 : builds_here(&o, before[x], after[x]);
	return chance;
}
