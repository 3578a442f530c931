/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search-forks.c - commits of the range that do not descend from good.
 *
 * What a commit of the range has of the time before it is its past: the fork points among its ancestors (nodes outside
 * of the range, search_outside()). Whoever descends from good has all of good's past, and one of the two levels. A
 * branch that forked earlier lacks what came into good after that: its commits have a level of their own, which may be
 * good's or not. One past has one such level, with the culprit's step on top of it; the fork point itself is measured
 * to know it.
 */
#include <search.h>
#include <Rmath.h>
#include "bisect/search-internal.h"

#define MANY_FORKS 64            /* a commit with more of them has a past of its own */
#define SHIFT_PRIOR 0.2         /* of a level that is not good's */
#define SHIFT_WIDTH 4.0         /* of its flat density, in effects */
#define STEP_SCATTER 0.15       /* of the step on another level, relative */
#define STEP_NODES 5            /* to average over it, and how far they lie apart: */
#define STEP_NODE 0.8           /* standard deviations */

/* ---- pasts ---- */

struct fork_past { uint32_t id, n, fork[]; };

static int cmp_past(const void *a, const void *b)
{
	const struct fork_past *x = a, *y = b;

	return x->n != y->n ? (x->n > y->n) - (x->n < y->n) : memcmp(x->fork, y->fork, x->n * sizeof(x->fork[0]));
}

struct past_table { void *tree; struct fork_past **past; uint32_t n, cap; };

static void past_table_release(struct past_table *t)
{
	tdestroy(t->tree, free);
	free(t->past);
}

/* The id of that past; takes p. */
static uint32_t past_id(struct past_table *t, struct fork_past *p)
{
	struct fork_past **at = tsearch(p, &t->tree, cmp_past);

	if (!at)
		abort();
	if (*at != p) {
		free(p);
		return (*at)->id;
	}
	p->id = t->n;
	GROW(t->past, t->n, t->cap);
	t->past[t->n++] = p;
	return p->id;
}

static uint32_t past_one(struct past_table *t, uint32_t fork)
{
	struct fork_past *p = xcalloc(1, sizeof(*p) + sizeof(p->fork[0]));

	p->n = 1;
	p->fork[0] = fork;
	return past_id(t, p);
}

/* What a merge at node has of both. */
static uint32_t past_union(struct past_table *t, uint32_t one, uint32_t two, uint32_t node)
{
	const struct fork_past *a = t->past[one], *b = t->past[two];
	struct fork_past *p;
	uint32_t i = 0, k = 0;

	if (one == 0 || two == 0 || one == two)
		return MIN(one, two);
	if (a->n + b->n > MANY_FORKS)
		return past_one(t, node);
	p = xcalloc(1, sizeof(*p) + (a->n + b->n) * sizeof(p->fork[0]));
	while (i < a->n || k < b->n) {
		uint32_t fork = k >= b->n || (i < a->n && a->fork[i] < b->fork[k]) ? a->fork[i] : b->fork[k];

		i += i < a->n && a->fork[i] == fork;
		k += k < b->n && b->fork[k] == fork;
		p->fork[p->n++] = fork;
	}
	return past_id(t, p);
}

void pasts_release(struct pasts *p)
{
	free(p->of);
	free(p->reference);
	*p = (struct pasts){0};
}

void pasts_find(struct search *s)
{
	const struct dag *d = s->dag;
	_cleanup_(past_table_release) struct past_table t = {0};
	struct pasts *out = &s->past;

	pasts_release(out);
	out->of = xcalloc(d->n, sizeof(*out->of));
	past_one(&t, 0);
	for (uint32_t x = 1; x < d->n; x++) {
		bool starts = d->first[x] == d->first[x + 1];
		uint32_t id = starts || s->outside[x] ? past_one(&t, x) : out->of[d->parent[d->first[x]]];

		for (uint32_t e = d->first[x]; e < d->first[x + 1]; e++)
			id = past_union(&t, id, out->of[d->parent[e]], x);
		out->of[x] = id;
	}
	out->n = t.n;
	out->reference = xmalloc(t.n * sizeof(*out->reference));
	for (uint32_t i = 0; i < t.n; i++)
		out->reference[i] = UINT32_MAX;
	for (uint32_t x = d->n; x-- > 0;)
		if (!x || s->outside[x])
			out->reference[out->of[x]] = x;
}

/* ---- their levels ---- */

void shifts_release(struct shifts *h)
{
	for (size_t f = 0; f < h->n; f++) {
		struct shift *t = &h->shift[f];

		for (size_t k = 0; k < t->n_splits; k++) {
			free(t->split[k].bad);
			free(t->split[k].own);
		}
		free(t->split);
		free(t->site);
		free(t->own);
		free(t->good);
		free(t->bad);
	}
	free(h->shift);
	*h = (struct shifts){0};
}

/* Log density of all values of t's sites in each row, the level integrated out, those of bad sites moved down by
 * step. */
static void own_rows(const struct search *s, const struct shift *t, const uint64_t *bad, double step, double *ret)
{
	struct grid own = s->noise.good;
	_cleanup_free_ double *y = NULL, *ll = NULL;
	size_t n = 0;

	for (size_t k = 0; k < t->n; k++)
		n += s->site[t->site[k]].n;
	y = xmalloc(n * sizeof(*y));
	n = 0;
	for (size_t k = 0; k < t->n; k++) {
		const struct site *at = &s->site[t->site[k]];

		for (size_t j = 0; j < at->n; j++)
			y[n++] = at->y[j] - (bad && site_bit(bad, t->site[k]) ? step : 0);
	}
	grid_levels(&own, noise_location(y, n, s->noise.sigma), n, n);
	ll = xcalloc(own.n_rows * own.n_levels, sizeof(*ll));
	grid_loglik(&own, y, n, ll);
	for (size_t r = 0; r < own.n_rows; r++)
		ret[r] = grid_integral(&own, r, ll) - log(SHIFT_WIDTH * MAX(fabs(s->noise.delta), s->noise.sigma));
}

double shift_spread(const struct search *s)
{
	const struct site *base = search_site(s, 0), *head = search_site(s, s->dag->n - 1);
	double se = s->c.means_known ? 0 : s->noise.sigma * sqrt(1.0 / base->n + 1.0 / head->n);

	return hypot(se, STEP_SCATTER * s->noise.delta);
}

void fork_levels_release(struct fork_levels *l)
{
	free(l->past);
	free(l->level);
	*l = (struct fork_levels){0};
}

/* The culprit's step is on top of it: about what the ends show, which the mean is over. */
static void split_rows(const struct search *s, const struct shift *t, const uint64_t *bad, double *ret)
{
	const struct noise *w = &s->noise;
	double spread = shift_spread(s), step[STEP_NODES], weight[STEP_NODES], sum = 0;
	_cleanup_free_ double *one = xcalloc(w->good.n_rows, sizeof(*one));

	for (int k = 0; k < STEP_NODES; k++) {
		double z = (k - STEP_NODES / 2) * STEP_NODE;

		step[k] = w->delta + z * spread;
		weight[k] = dnorm(z, 0, 1, 0);
		sum += weight[k];
	}
	for (size_t r = 0; r < w->good.n_rows; r++)
		ret[r] = -INFINITY;
	for (int k = 0; k < STEP_NODES; k++) {
		own_rows(s, t, bad, step[k], one);
		for (size_t r = 0; r < w->good.n_rows; r++)
			ret[r] = log_add(ret[r], one[r] + log(weight[k] / sum));
	}
}

const double *shift_split(const struct search *s, struct shift *t, const uint64_t *pattern)
{
	size_t words = s->cl.words;
	_cleanup_free_ uint64_t *bad = xcalloc(words, sizeof(*bad));
	struct shift_split *now;

	for (size_t k = 0; k < t->n; k++)
		if (site_bit(pattern, t->site[k]))
			bad[t->site[k] / 64] |= UINT64_C(1) << (t->site[k] % 64);
	for (size_t k = 0; k < t->n_splits; k++)
		if (!memcmp(t->split[k].bad, bad, words * sizeof(*bad)))
			return t->split[k].own;
	GROW(t->split, t->n_splits, t->cap_splits);
	now = &t->split[t->n_splits++];
	now->own = xcalloc(s->noise.good.n_rows, sizeof(double));
	split_rows(s, t, bad, now->own);
	now->bad = TAKE_PTR(bad);
	return now->own;
}

/* Sum over t's sites of one of their tables, mixed with the own level. */
double *shift_mixed(const struct search *s, const struct shift *t, int table)
{
	const struct noise *w = &s->noise;
	const struct grid *g = table == TABLE_GOOD ? &w->good : table == TABLE_BAD ? &w->bad : &w->one;
	double *sum = xcalloc(g->n_rows * g->n_levels, sizeof(*sum));

	for (size_t k = 0; k < t->n; k++)
		for (size_t j = 0; j < g->n_rows * g->n_levels; j++)
			sum[j] += s->site[t->site[k]].ll[table][j];
	for (size_t j = 0; j < g->n_rows * g->n_levels; j++)
		sum[j] = log_add(sum[j] + log1p(-SHIFT_PRIOR), t->own[j / g->n_levels] + log(SHIFT_PRIOR));
	return sum;
}

void shifts_find(const struct search *s, struct shifts *ret)
{
	struct shifts h = {.shift = xcalloc(s->n_sites + 1, sizeof(*h.shift)), .log_own = log(SHIFT_PRIOR),
			   .log_not = log1p(-SHIFT_PRIOR)};

	for (size_t i = 0; i < s->n_sites; i++) {
		uint32_t past = s->past.of[s->site[i].node];
		size_t f = 0;

		if (!past)
			continue;
		while (f < h.n && h.shift[f].past != past)
			f++;
		if (f == h.n)
			h.shift[h.n++] = (struct shift){.past = past, .site = xcalloc(s->n_sites, sizeof(size_t))};
		h.shift[f].site[h.shift[f].n++] = i;
	}
	for (size_t f = 0; f < h.n; f++) {
		struct shift *t = &h.shift[f];

		t->own = xcalloc(s->noise.good.n_rows, sizeof(double));
		own_rows(s, t, NULL, 0, t->own);
		t->good = shift_mixed(s, t, TABLE_GOOD);
		t->bad = shift_mixed(s, t, TABLE_BAD);
	}
	*ret = h;
}
