/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * simulate.h - the culprit search against synthetic histories: the very code of search.c, with random numbers in place
 * of boots. Pure and deterministic: the same configuration gives the same result on any machine.
 *
 *	simulate_config_default(&c);
 *	c.n = 1024;
 *	c.snr = 2;
 *	r = simulate_search(&c, &result);
 */
#ifndef KPB_BISECT_SIMULATE_H
#define KPB_BISECT_SIMULATE_H
#include "bisect/search.h"

#define SIMULATE_MAX_COMMITS 1000000
#define SIMULATE_MAX_TRIALS 1000000

struct simulate_config {
	const char *history;    /* a name of simulate_histories(); NULL: "line" */
	uint32_t n;             /* candidate commits, besides the good base */
	double snr;             /* step in standard deviations of one boot */
	double outliers;        /* share of boots that are outliers ... */
	double outlier_sigma;   /* ... by so many standard deviations */
	double drift;           /* slow change of the machine, standard deviations in 100 boots */
	double skip;            /* share of the commits between the ends that do not build */
	double second;          /* a second step of this many standard deviations elsewhere; 0: none */
	bool means_known;
	bool merges;            /* a history of topic branches instead of a line */
	bool null;              /* no effect at all; snr still sets the smallest effect of interest */
	double confidence;
	double boot_cost;
	double build_cost;      /* NAN: two boots; with means_known 0, for there the figure to compare is the bound on
				   boots */
	uint32_t max_boots;
	uint64_t trials, seed;
};
struct simulate_result {
	uint64_t trials;
	double mean_runs, p95_runs, mean_builds;
	double exact;           /* names exactly the culprit, or the smallest set that builds allow; of a history
				 * without one: nobody, "not reproduced" */
	double covered;         /* the same, or names a set that holds it */
	double unfinished;      /* gave up */
	double named;           /* names somebody, alone or in a set */
	double nominal;         /* mean of the posteriors that it stated when it named somebody */
	double not_reproduced;
	double confidence;      /* asked */
	double bound;           /* simulate_bound(), where there is an effect */
	double interval;        /* share of the 95 % effect intervals of named culprits that hold the true effect */
};
void simulate_config_default(struct simulate_config *c);
int simulate_search(const struct simulate_config *c, struct simulate_result *ret);
/* The names of the histories in a line; with what: "\nNAME: what it is" each. New string. */
char *simulate_histories(bool what);
/* E[boots] >= ((1 - e) log2 n - h2(e)) / C(snr): Fano's inequality and the capacity of the channel "which side of this
 * commit is the culprit on", levels and spread known, e = 1 - confidence. */
double simulate_bound(double n, double snr, double confidence);

/* xoshiro256++ (Blackman, Vigna 2018), seeded by splitmix64. */
struct rng { uint64_t s[4]; };
void rng_seed(struct rng *r, uint64_t seed);
double rng_uniform(struct rng *r);      /* (0, 1) */
double rng_normal(struct rng *r);

/* A line, or a mainline on which topic branches of 1 to 12 commits are merged, now and then three at once; at least n
 * nodes. */
void simulate_history(struct rng *r, uint32_t n, bool merges, struct dag *ret);

#endif
