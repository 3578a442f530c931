/* SPDX-License-Identifier: GPL-2.0-or-later */
/* simulate-internal.h - one simulated search (simulate.c) and the histories that it can be played on
 * (simulate-history.c). */
#ifndef KPB_BISECT_SIMULATE_INTERNAL_H
#define KPB_BISECT_SIMULATE_INTERNAL_H
#include "bisect/simulate.h"

#define SIMULATE_NOBODY UINT32_MAX

struct simulated_history;
struct trial {
	const struct simulate_config *c;
	const struct simulated_history *history;
	struct rng rng;
	struct dag dag;
	uint32_t culprit;       /* SIMULATE_NOBODY: the right answer names nobody */
	uint32_t second;        /* as right as the culprit; SIMULATE_NOBODY: there is none */
	double *level;          /* per node, in standard deviations above the good base's */
	bool *outside;          /* per node: a fork point before the range; NULL: there is none */
	bool *broken, *built, *booted;  /* per node: does not build; was built, had a good boot in this trial */
	uint32_t boots, builds;
	uint32_t kind;          /* the history's own: of drift, ... */
	double size, phase;
};

struct simulated_history {
	const char *name, *what;        /* what: for --help */
	/* Fills dag, culprit, second, and level and broken by trial_levels() first. */
	void (*make)(struct trial *t);
	/* One boot's value in standard deviations, noise and all; NAN: it failed. NULL: boot_plain(). */
	double (*boot)(struct trial *t, uint32_t node);
};
extern const struct simulated_history histories[];
extern const size_t n_histories;

/* For a finished dag: allocates level and broken; the culprit's and the second step, commits that do not build
 * (--skip). */
void trial_levels(struct trial *t);
/* Adds step to the level of node and all that descend from it; nothing for SIMULATE_NOBODY, nor with --null. */
void trial_step(struct trial *t, uint32_t node, double step);
/* Any node but the base. */
uint32_t trial_pick(struct trial *t);
/* Level, noise, drift and outliers as the configuration says. */
double boot_plain(struct trial *t, uint32_t node);

#endif
