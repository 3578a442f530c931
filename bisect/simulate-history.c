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

const struct history histories[] = {
	{"line", "one commit after the other, or with --merges merged topic branches", make_line, NULL},
	{"outside", "both ends have one level: the change lies before the range, and nobody is to be named", make_outside, NULL},
};
const size_t n_histories = ARRAY_SIZE(histories);
