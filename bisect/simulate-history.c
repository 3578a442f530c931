/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The histories of "bisect simulate --history": each makes a graph, a truth, and how a measurement behaves. */
#include "bisect/simulate-internal.h"

/* Any of lo .. hi. */
static uint32_t between(struct trial *t, uint32_t lo, uint32_t hi)
{
	return lo + (uint32_t)(rng_uniform(&t->rng) * (hi - lo + 1));
}

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

/* ---- what goes wrong on a line ---- */

/* One row of commits that do not build, up to a third of all, or two; half of the time the culprit is in or next to
 * it. */
static void make_blocks(struct trial *t)
{
	uint32_t n = t->c->n, len = between(t, 1, MAX(n / 3, 1)), rows = rng_uniform(&t->rng) < 0.3 && n > 6 ? 2 : 1;
	bool near = rng_uniform(&t->rng) < 0.5;

	make_line(t);
	for (uint32_t k = 0; k < rows; k++) {
		uint32_t size = MAX(len / rows, 1), from = between(t, 1, n - MIN(size, n - 1));
		uint32_t at = between(t, MAX(from, 2) - 1, from + size);

		for (uint32_t x = from; x < MIN(from + size, t->dag.n - 1); x++)
			t->broken[x] = true;
		if (near && !k) {
			trial_step(t, t->culprit, -t->c->snr);
			t->culprit = MIN(at, n);
			trial_step(t, t->culprit, t->c->snr);
		}
	}
}

/* The machine gets slower and faster again: a steady drift, a wave of one or two periods in 100 boots, or a jump half
 * way. */
static void make_drift(struct trial *t)
{
	make_line(t);
	t->kind = between(t, 0, 2);
	t->size = (rng_uniform(&t->rng) < 0.5 ? -1 : 1) * (0.5 + 1.5 * rng_uniform(&t->rng));
	t->phase = rng_uniform(&t->rng);
}

static double boot_drift(struct trial *t, uint32_t node)
{
	double when = t->boots / 100.0, now;

	now = t->kind == 0 ? when :
	      t->kind == 1 ? 0.5 * sin(2 * M_PI * ((1 + t->phase) * when + t->phase)) : when > 0.1 + t->phase / 2;
	return boot_plain(t, node) + t->size * now;
}

/* Builds and boots that fail now and then for no reason of the commit's. */
static void make_flaky(struct trial *t)
{
	make_line(t);
	for (uint32_t x = 1; x + 1 < t->dag.n; x++)
		t->broken[x] |= rng_uniform(&t->rng) < 0.03;
}

static double boot_flaky(struct trial *t, uint32_t node)
{
	double y = boot_plain(t, node);

	return rng_uniform(&t->rng) < 0.05 ? NAN : y;
}

/* A second step in the same direction, half as large to twice. */
static void make_two_culprits(struct trial *t)
{
	make_line(t);
	do
		t->second = trial_pick(t);
	while (t->second == t->culprit && t->c->n > 1);
	trial_step(t, t->second, t->c->snr * (0.5 + 1.5 * rng_uniform(&t->rng)));
}

const struct simulated_history histories[] = {
	{"line", "one commit after the other, or with --merges merged topic branches", make_line, NULL},
	{"blocks", "rows of commits that do not build, up to a third of all; the smallest set is right, too",
	 make_blocks, NULL},
	{"drift", "the machine drifts by up to 2 sigma in 100 boots, goes up and down, or jumps", make_drift,
	 boot_drift},
	{"flaky", "3 % of builds and 5 % of boots fail for reasons outside the commit", make_flaky, boot_flaky},
	{"two-culprits", "a second step, half to twice as large: either is right", make_two_culprits, NULL},
	{"merge-window", "topic branches that forked before good, most of them before a fix in good", make_merge_window,
	 NULL},
	{"outside", "both ends have the same level: the change lies before the range, and no commit may be named",
	 make_outside, NULL},
};
const size_t n_histories = ARRAY_SIZE(histories);
