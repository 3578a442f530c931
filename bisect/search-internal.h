/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search-internal.h - the rooms of the culprit search: search.c (what to do next), search-graph.c (which commits can be
 * told apart, how much probability lies among a commit's ancestors), search-builds.c (which will build), search-noise.c
 * (how boots scatter), search-model.c (likelihood of the classes), search-forks.c (commits that do not descend from
 * good), search-drift.c (the same, should the machine drift), search-binary.c (of boots that fail), search-gain.c (what
 * the next boot will tell).
 *
 * Two candidates with the same measured descendants have the same likelihood: they form a class. The classes are the
 * whole state of the inference, so its cost does not grow with the number of commits.
 */
#ifndef KPB_BISECT_SEARCH_INTERNAL_H
#define KPB_BISECT_SEARCH_INTERNAL_H
#include "bisect/search.h"

#define MAX_SIGMAS 8
#define MAX_LEVELS 96
#define N_SHAPES 3

enum { TABLE_GOOD, TABLE_BAD, TABLE_ONE, N_TABLES };

struct site {                   /* a commit with observations */
	uint32_t node;
	size_t n, cap;
	double *y, *when;       /* y in units of 2^exponent */
	double *ll[N_TABLES];   /* log density of all values, then that of the whole rounds of them, per cell of the grid */
	size_t done, rounds;    /* values in those two */
};

/* For each (sigma, shape) row a run of levels. */
struct grid_row { double sigma, nu, norm, log_prior, center, step; };
struct grid {
	size_t n_rows, n_levels, shapes;
	double half;            /* of the levels' width, in sigma */
	struct grid_row row[MAX_SIGMAS * N_SHAPES];
};
static inline double level_at(const struct grid *g, size_t row, size_t j)
{
	return g->row[row].center + ((double)j - 0.5 * (g->n_levels - 1)) * g->row[row].step;
}

struct noise {                  /* where the densities are tabulated: around the good level, the bad one, and one for all */
	struct grid good, bad, one;
	double sigma;
	double delta;           /* of the ends alone: first guess of the effect */
};

/* Posterior means and variances, in units of 2^exponent. */
struct estimate { double good, bad, sigma, delta, delta_sd, good_var, bad_var; };

struct classes {
	uint32_t n, words;
	uint32_t *of;           /* per node; UINT32_MAX for what is no candidate */
	uint64_t *pattern;      /* n x words: bit i: site i is bad under this class */
	double *weight;         /* prior mass, sums to 1 */
	double *loglik, *post;
	struct estimate *est;   /* under each */
};

struct chains {                 /* runs of commits with one parent and one child, which are reached only as a whole */
	uint32_t n;
	uint32_t *of;           /* per node */
};

struct pasts {                  /* which commits share a level of their own */
	uint32_t n;
	uint32_t *of;           /* per node; 0: all that good has */
	uint32_t *reference;    /* per past: the node outside of the range that has it, too, or UINT32_MAX */
};

struct shift_split { uint64_t *bad; double *own; };
struct shift {                  /* what was measured of one past */
	uint32_t past;
	size_t n, *site;
	double *own;            /* per row of the grids: log density at a level of their own */
	double *good, *bad;     /* per cell: at that level or the label's, own mixed in */
	struct shift_split *split; size_t n_splits, cap_splits; /* own where sites of these bits are bad, others good */
};
struct shifts { struct shift *shift; size_t n; double log_own, log_not; };

/* Of the n pasts that were measured: expected level of good and bad commits, [past][class]. */
struct fork_levels {
	size_t n;
	uint32_t *past;
	double (*level)[2];
};

struct search {
	struct search_config c;
	const struct dag *dag;
	double *weight;         /* per node prior, sums to 1 over the candidates */
	bool *in_range, *built, *outside;
	enum dropped *dropped, *skipped;
	struct site *site;      /* ascending by node */
	size_t n_sites, cap_sites;
	struct classes cl;
	struct chains ch;
	struct pasts past;
	struct fork_levels forks;
	bool flat;                      /* a copy without drift */
	bool classes_valid, model_valid;
	size_t n_obs;
	int exponent;           /* of the largest value: the model works with numbers around 1 */
	double none, none_prior;        /* posterior and prior of "no effect" */
	double none_bad;                /* levels known: the part of none in which all is bad, the base too */
	struct estimate est;            /* mean over the classes */
	struct estimate level;          /* good: the one level under "no effect" */
	uint32_t doubtful_end;          /* to boot before anybody is named, or UINT32_MAX */
	double drift;                   /* probability that the machine drifts */
	struct noise noise;
	double *mass;           /* per node scratch: probability among its ancestors */
	bool *seen;
	uint32_t *set;
};

struct site *search_site(const struct search *s, uint32_t node);        /* NULL: not measured */
void classes_refine(struct search *s);
void classes_release(struct classes *cl);
/* Of every node, from outside[] and the graph. */
void pasts_find(struct search *s);
void pasts_release(struct pasts *p);
static inline bool site_bit(const uint64_t *bits, size_t i) { return bits[i / 64] >> (i % 64) & 1; }
/* Is site i bad under class k? */
static inline bool site_is_bad(const struct search *s, uint32_t k, size_t i)
{
	return site_bit(s->cl.pattern + (size_t)k * s->cl.words, i);
}
static inline uint32_t site_past(const struct search *s, size_t i) { return s->past.of[s->site[i].node]; }
/* For the sites and grids as they are; own, good and bad are filled. */
void shifts_find(const struct search *s, struct shifts *ret);
void shifts_release(struct shifts *h);
/* Per row: own density where pattern says which sites are bad, as shift.own; kept in t. */
const double *shift_split(const struct search *s, struct shift *t, const uint64_t *pattern);
/* Standard deviation of the step on another level than good's. */
double shift_spread(const struct search *s);
void fork_levels_release(struct fork_levels *l);
/* Per cell of a table's grid, own mixed in; new. */
double *shift_mixed(const struct search *s, const struct shift *t, int table);
void chains_find(struct search *s);
void chains_release(struct chains *ch);
/* mass[x] = sum of value[c] over the ancestors c of x, x included. O(n) memory, exact with any merges. */
void ancestor_mass(const struct search *s, const double *value, double *mass);
/* How likely each commit is to build and boot; the caller's. */
double *build_chance(const struct search *s);
/* Grids and every site's tables for what was observed until now. */
void noise_update(struct search *s);
void site_forget(struct site *t);       /* its tables */
double noise_location(const double *y, size_t n, double sigma);
/* Levels around center for n0 values at least and n at most. */
void grid_levels(struct grid *g, double center, size_t n0, size_t n);
void grid_loglik(const struct grid *g, const double *y, size_t n, double *ll);
/* Log of the integral of exp(ll) over the levels of one row. */
double grid_integral(const struct grid *g, size_t r, const double *ll);
/* e becomes the mean of both, more with probability p. */
void estimate_merge(struct estimate *e, const struct estimate *more, double p);

/* What the data say: log likelihood of every class and of "no effect", the effect under each class, the one level of
 * none. */
struct likelihood { double *of_class, none, all_bad; struct estimate *est, level; };
void model_loglik(struct search *s, struct likelihood *ret);
/* Levels unknown: makes *l the mean over drifts of the machine, where the data do not rule them out. */
void drift_average(struct search *s, struct likelihood *l);
/* The same of values that are 0 and 1. */
void binary_loglik(struct search *s, struct likelihood *ret);
double log_add(double a, double b);     /* log(exp(a) + exp(b)) */
/* Fills cl.loglik, cl.post, none and est. */
void model_evaluate(struct search *s);
/* Levels unknown: Bayes factor of "that end has the level of the other one, what differs lies between" against class k,
 * for the likelier end. */
double model_end_odds(struct search *s, uint32_t k, uint32_t *ret_end);
/* Bits that one boot at x gives about who it was, levels unknown and all. */
double boot_information(struct search *s, uint32_t x);
/* Bits that one boot gives about a yes/no question with prior p when the two answers lie snr apart. */
double split_information(double p, double snr);

#endif
