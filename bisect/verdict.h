/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verdict.h - do two builds differ in one metric? Sequential, valid at any stopping time. Pure.
 *
 * The measure is an e-value: the Bayes factor of a two-sample t test with flat grand mean and 1/sigma (right Haar)
 * priors and an effect of N(0, g) standard deviations, averaged over fixed g from 4 to 10^6,
 *
 *	E = sum_g w_g (1 + m g)^(-1/2) [ (1 + t^2/v) / (1 + t^2 / (v (1 + m g))) ]^((v+1)/2),   m = na nb / (na + nb)
 *
 * Under "no difference" its expectation is 1 at every look, whatever the true levels and spread, so by Ville's
 * inequality P(E >= 1/alpha ever) <= alpha: one may look after every boot and stop at will (Perez-Ortiz, Lardy, de
 * Heide, Grunwald, "E-statistics, group invariance and anytime-valid testing", 2024; formula: Gonen et al., Am. Stat.
 * 59, 2005). A group sequential boundary would need the looks planned ahead, which a queue of machines cannot promise.
 *
 * History (prior_sd, prior_df) enters as a scaled inverse chi-squared prior of the variance: v = na + nb - 2 + prior_df
 * and the pooled variance is the weighted mean of both. The error rate then holds on average over metrics whose spread
 * follows that prior; history that the data contradict (spread larger, p < 0.01) is not used. sigma_floor only ever
 * widens.
 *
 * DIFFERENT: E >= 1/alpha against every difference up to min_effect, that is, the 1 - alpha interval lies beyond it.
 * SAME:      the 95 % interval lies within +- min_effect; or max_boots is reached; or (futility) even an effect at the
 *            upper 90 % limit of what was seen could not be shown by max_boots. "why" says which; the two latter are
 *            "unshown": nobody may call such builds the same. Futility cannot raise alpha.
 *
 * Relative changes are those of lib/change.h, but of a base that is none (0, or rounding dust) they are parts of the
 * other value, so that all stay finite.
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
	size_t max_boots;       /* a side: then SAME ("no difference of that size shown"); 0: no limit, no futility */
};
struct verdict_result {
	enum verdict verdict;
	double mean_a, mean_b, sd;      /* boots' means and pooled spread */
	double effect, lo, hi;          /* relative change b against a with a 95 % interval valid at this stopping
					   time */
	double p;                       /* sequentially valid p-value of "no more than min_effect" */
	size_t more_boots;              /* MORE: boots a side to add next */
	bool unshown;                   /* SAME: no change was shown, but [lo, hi] is not excluded */
	const char *why;                /* static */
};
/* a, b: one value per boot in time order, interleaved A B B A (which cancels a linear drift in the means). -EINVAL for
 * values that are not finite. */
int verdict_two(const struct verdict_config *c, const double *a, size_t na, const double *b, size_t nb,
		struct verdict_result *ret);
/* log E of the formula above. */
double verdict_log_e(double t, double df, double m);
/* The t at which E reaches 1/alpha; infinite where this many degrees of freedom can never show it. */
double verdict_critical(double alpha, double df, double m);

#endif
