/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stats.h - the tests behind a verdict. Pure functions on plain arrays; distribution functions come from libRmath.
 *
 * All p-values are two-sided. Nothing here allocates memory that the caller has to free.
 */
#ifndef KPB_BISECT_STATS_H
#define KPB_BISECT_STATS_H
#include "lib/base.h"

/* P(|T| >= |t|), Student's t; df INFINITY: normal. NAN in, NAN out. */
double stat_t_p(double t, double df);
/* The t beyond which 1 - confidence of the mass lies on both sides together. */
double stat_t_crit(double confidence, double df);

/* Mann-Whitney's rank sum test with midranks for ties. Exact (the permutation distribution given the ties) up to 40
 * values together, else normal with the tie correction and continuity correction. 1 for an empty side. */
double stat_rank_p(const double *a, size_t na, const double *b, size_t nb);
/* Fisher's exact test: hits_a of a against hits_b of b; p = mass of all tables not likelier than the one seen. */
double stat_fisher_p(size_t hits_a, size_t a, size_t hits_b, size_t b);

/* Benjamini and Hochberg 1995: q[i] = the smallest false discovery rate at which i is called. NAN p: not in the family,
 * q NAN. */
void stat_bh(const double *p, double *q, size_t n);

/* Smyth 2004, section 6.2: sample variances with df degrees of freedom are s0sq * F(df, df0). */
struct stat_prior { double s0sq, df0; };        /* df0 0: no common prior; INFINITY: all variances are the same */
/* Fit by the moments of log s2, winsorised at 5 % below and 10 % above (Phipson et al. 2016), so that a few metrics of
 * another kind do not spoil the prior of the rest. ret_df0[i] (n of them, may be NULL) is what metric i may borrow:
 * df0,
 * less where its variance is too large to belong to the others. Needs 3 positive finite variances; else df0 = 0. */
struct stat_prior stat_prior_fit(const double *s2, size_t n, double df, double *ret_df0);

int stat_cmp_double(const void *a, const void *b);      /* for qsort() */
double stat_median(double *v, size_t n);                /* reorders v; NAN for n = 0 */

#endif
