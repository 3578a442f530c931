/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verdict.h - do two builds differ in one metric? Sequential, valid at any stopping time. Pure.
 */
#ifndef KPB_BISECT_VERDICT_H
#define KPB_BISECT_VERDICT_H
#include "lib/base.h"

enum verdict { VERDICT_MORE, VERDICT_SAME, VERDICT_DIFFERENT };

struct verdict_config {
	double alpha;           /* false alarm rate of DIFFERENT over the whole sequence, e.g. 0.001 */
	double min_effect;      /* smallest relative change of interest */
	double prior_sd;        /* relative spread known from history, 0: none */
	double prior_df;        /* how much that history counts, in degrees of freedom */
	double sigma_floor;     /* relative resolution of the metric */
	size_t min_boots;       /* a side, at least 2 */
	size_t max_boots;       /* a side: then SAME ("no difference of that size shown") */
};
struct verdict_result {
	enum verdict verdict;
	double mean_a, mean_b, sd;      /* boots' means and pooled spread */
	double effect, lo, hi;          /* relative change b against a with a 95 % interval valid at this stopping time */
	double p;                       /* sequentially valid p-value */
	size_t more_boots;              /* MORE: boots a side to add next */
	const char *why;                /* static */
};
/* a, b: one value per boot in time order, interleaved A B B A. */
int verdict_two(const struct verdict_config *c, const double *a, size_t na, const double *b, size_t nb,
		struct verdict_result *ret);

#endif
