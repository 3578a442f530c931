/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search.h - finds the commit that moved a metric, with the fewest boots that the noise allows. Pure: no I/O, no SQL,
 * no clock, deterministic; all of its state can be rebuilt by feeding the observations again in any order of commits,
 * each commit's in time order.
 *
 *	struct search *s;
 *	search_new(&cfg, &dag, &s);
 *	search_outside(s, i);                      before the first step: a fork point in good's past
 *	search_drop(s, i, DROPPED_SAME_IMAGE);     before the first step: cannot be the culprit
 *	loop:
 *		search_step(s, &step);
 *		SEARCH_MEASURE: build (if needed) and boot step.node step.boots times; search_observe() each value, or
 *		                search_skip() when it does not build or boot
 *		SEARCH_FOUND, SEARCH_SET, SEARCH_NOT_REPRODUCED, SEARCH_GAVE_UP: see struct
 */
#ifndef KPB_BISECT_SEARCH_H
#define KPB_BISECT_SEARCH_H
#include "lib/dag.h"
#include "lib/states.h"

struct search_config {
	double confidence;      /* asked posterior, e.g. 0.99 */
	double min_effect;      /* smallest relative change of interest (0.002 = 0.2 %): below it "not reproduced" */
	bool means_known;       /* history gives level and spread: */
	double mean_good, mean_bad, sigma;
	double sigma_floor;     /* relative resolution of the metric (deterministic machines): never believe in less */
	bool binary;            /* values are 1 (failed), 0 (worked), effects differences of rates: search-binary.c */
	double nu;              /* degrees of freedom of the t likelihood; 0: learnt, see search-noise.c */
	double boot_cost;       /* seconds per boot and run */
	double build_cost;      /* seconds per commit that is not built */
	uint32_t max_boots;     /* give up beyond; 0: 2000 */
	const double *prior;    /* per node weight, or NULL for equal */
};

enum search_action { SEARCH_MEASURE, SEARCH_FOUND, SEARCH_SET, SEARCH_NOT_REPRODUCED, SEARCH_GAVE_UP };

struct search_step {
	enum search_action action;
	uint32_t node;          /* to measure, or the culprit */
	uint32_t boots;         /* how many more there now */
	double posterior;       /* of node, or of the whole set */
	uint32_t *set;          /* SEARCH_SET: candidates that cannot be told apart, ascending; owned by the search */
	uint32_t set_n;
	double effect, effect_lo, effect_hi;    /* bad against good level, relative, 95 % interval */
	double excluded;        /* NOT_REPRODUCED: effects above this (relative) are excluded at the asked confidence */
	double expected_boots;  /* rough estimate of the boots still to come */
	const char *why;        /* short reason for people, static */
};

struct search;
int search_new(const struct search_config *cfg, const struct dag *dag, struct search **ret);    /* dag is borrowed */
void search_free(struct search *s);
/* The node's image equals that of all its parents, or its change cannot matter: it gets no prior; observations there
 * count for the level of its parent. */
int search_drop(struct search *s, uint32_t node, enum dropped why);
enum dropped search_dropped(const struct search *s, uint32_t node);
/* The node is no commit of the range but one of good's ancestors, at which a branch forks that is merged later: it can
 * be measured and is never blamed. What descends from such nodes only, and not from node 0, has a level of its own,
 * which may be good's or not; so has what descends from no other node at all (an unrelated history). */
int search_outside(struct search *s, uint32_t node);
int search_built(struct search *s, uint32_t node);      /* measuring there costs no build */
/* It cannot be measured: it does not build or boot, or its runs fail. It may be the culprit all the same. */
int search_skip(struct search *s, uint32_t node, enum dropped why);
enum dropped search_skipped(const struct search *s, uint32_t node);
/* A boot's value (runs of one boot averaged). when: any increasing number (time), for drift. */
int search_observe(struct search *s, uint32_t node, double value, double when);
int search_step(struct search *s, struct search_step *ret);
/* The parent to compare a commit with: the first one that has the same past, so that nothing but the commit (and what
 * else it merges) lies between; without one the first. UINT32_MAX where it has none. */
uint32_t search_parent(const struct search *s, uint32_t node);
/* Posterior of "node is the culprit"; sums to 1 with search_posterior_none(). */
double search_posterior(const struct search *s, uint32_t node);
double search_posterior_none(const struct search *s);

#endif
