/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The histories of "bisect simulate --history": each makes a graph, a truth, and how a measurement behaves. */
#include "bisect/simulate-internal.h"

static void make_line(struct trial *t)
{
	simulate_history(&t->rng, t->c->n + 1, t->c->merges, &t->dag);
	t->culprit = trial_pick(t);
	t->second = trial_pick(t);
	if (!(t->c->second != 0))
		t->second = SIMULATE_NOBODY;
	trial_levels(t);
}

/* The change lies before good, so both ends have one level; now and then something happens between that is undone. */
static void make_outside(struct trial *t)
{
	uint32_t from, to;

	simulate_history(&t->rng, t->c->n + 1, t->c->merges, &t->dag);
	t->culprit = t->second = SIMULATE_NOBODY;
	trial_levels(t);
	from = trial_pick(t);
	to = trial_pick(t);
	if (t->c->merges || rng_uniform(&t->rng) < 0.5)
		return;
	trial_step(t, MIN(from, to), t->c->snr);
	trial_step(t, MAX(from, to), -t->c->snr);
}

/* ---- merge window ---- */

#define FORKS_MAX 6             /* in good's past, oldest first: nodes 1 .. n_forks */
struct window { struct trial *t; struct dag_builder b; uint32_t n_forks, tip, n_old, old[64]; };

static uint32_t between(struct trial *t, uint32_t lo, uint32_t hi)
{
	return lo + (uint32_t)(rng_uniform(&t->rng) * (hi - lo + 1));
}

static uint32_t window_commits(struct window *w, uint32_t at, uint32_t n)
{
	while (n-- > 0) {
		dag_add(&w->b, &at, 1);
		at = w->b.d.n - 1;
	}
	return at;
}

/* Where a topic branch starts: mostly at a fork point, else on another branch (nested), the mainline, or nowhere. */
static uint32_t window_start(struct window *w)
{
	double u = rng_uniform(&w->t->rng);

	if (u < 0.03) {
		dag_add(&w->b, NULL, 0);
		return w->b.d.n - 1;
	}
	if (u < 0.2 && w->n_old)
		return w->old[between(w->t, 0, w->n_old - 1)];
	return u < 0.4 ? w->tip : between(w->t, 1, w->n_forks);
}

/* One topic branch; now and then it has merged an older branch or the mainline on its way (criss-cross). */
static uint32_t window_branch(struct window *w)
{
	uint32_t at = window_commits(w, window_start(w), between(w->t, 1, 12)), parents[2];
	double u = rng_uniform(&w->t->rng);

	if (u < 0.25) {
		parents[0] = at;
		parents[1] = u < 0.1 || !w->n_old ? w->tip : w->old[between(w->t, 0, w->n_old - 1)];
		dag_add(&w->b, parents, 1 + (parents[1] != at));
		at = window_commits(w, w->b.d.n - 1, between(w->t, 0, 5));
	}
	if (w->n_old < ARRAY_SIZE(w->old))
		w->old[w->n_old++] = at;
	return at;
}

static void window_merge(struct window *w)
{
	uint32_t parents[5] = {w->tip}, n = 1, branches = rng_uniform(&w->t->rng) < 0.15 ? between(w->t, 2, 4) : 1;

	while (branches-- > 0) {
		uint32_t at = window_branch(w);
		bool twice = false;

		for (uint32_t k = 0; k < n; k++)
			twice |= parents[k] == at;
		if (!twice)
			parents[n++] = at;
	}
	dag_add(&w->b, parents, n);
	w->tip = window_commits(w, w->b.d.n - 1, between(w->t, 0, 2));
}

/* A commit of good's past, after fork number after, changed the level by step: who has no later fork lacks that. */
static void window_past(struct trial *t, uint32_t n_forks, uint32_t after, double step)
{
	_cleanup_free_ bool *has = xcalloc(t->dag.n, sizeof(*has));

	for (uint32_t x = 0; x < t->dag.n; x++) {
		has[x] = !x || (x > after && x <= n_forks);
		for (uint32_t e = t->dag.first[x]; e < t->dag.first[x + 1]; e++)
			has[x] |= has[t->dag.parent[e]];
		t->level[x] -= has[x] ? 0 : step;
	}
}

/* Three of four topic branches forked before good, and good's past has a fix or two of the kind that is looked for. */
static void make_merge_window(struct trial *t)
{
	struct window w = {.t = t, .n_forks = between(t, 1, FORKS_MAX)};

	dag_add(&w.b, NULL, 0);
	for (uint32_t k = 0; k < w.n_forks; k++)
		dag_add(&w.b, &k, k > 0);
	while (w.b.d.n < t->c->n + 1 + w.n_forks)
		window_merge(&w);
	dag_take(&w.b, &t->dag);
	do
		t->culprit = trial_pick(t);
	while (t->culprit <= w.n_forks);
	t->second = SIMULATE_NOBODY;
	trial_levels(t);
	t->outside = xcalloc(t->dag.n, sizeof(bool));
	for (uint32_t k = 1; k <= w.n_forks; k++) {
		t->outside[k] = true;
		t->broken[k] |= rng_uniform(&t->rng) < 0.1;
	}
	for (int k = 0; k < 2; k++) { /* exactly the culprit's step undone, or any other */
		double u = rng_uniform(&t->rng);
		double step = u < 0.4 ? -t->c->snr : u < 0.7 ? 2 * t->c->snr * rng_normal(&t->rng) : 0;

		window_past(t, w.n_forks, between(t, 1, w.n_forks), step);
	}
}

const struct history histories[] = {
	{"line", "one commit after the other, or with --merges merged topic branches", make_line, NULL},
	{"merge-window", "topic branches that forked before good, most of them before a fix in good", make_merge_window,
	 NULL},
	{"outside", "both ends have one level: the change lies before the range, and nobody is to be named", make_outside,
	 NULL},
};
const size_t n_histories = ARRAY_SIZE(histories);
