/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bisect/detect-internal.h - shared by the detect*.c files only. */
#ifndef KPB_BISECT_DETECT_INTERNAL_H
#define KPB_BISECT_DETECT_INTERNAL_H
#include "bisect/detect.h"
#include "bisect/stats.h"

#define CAP_SIGMAS 3.5          /* beyond, a commit counts as an outlier and says nothing about its level */
#define MAX_LAGS 40             /* of the autocorrelation */

/* One commit: y in units of the noise, its weight 1/variance, and the most that it may cost. */
struct commit { double y, weight, cap; int64_t index; uint32_t n; };

struct signal {
	struct commit *c; size_t n;
	double unit;            /* a power of two near the values' size: nothing overflows or underflows in it */
	double centre, sigma;   /* of one commit, in units */
	double inflate;         /* of the penalty, for noise that is correlated */
	double rho[MAX_LAGS];   /* autocorrelation around the levels at lags 1 .. lags */
	size_t lags;
	double *work;
};

/* A change point at commit `at`; before, after: levels in sigmas; strength: their difference in standard errors. first
 * .. last: where the new level begins with 95 % probability. brief: an excursion begins or ends here; end: only the
 * last commits have the new level. */
struct cut { size_t at, first, last; double before, after, strength; bool brief, end; };

/* ---- detect-fpop.c ---- */

/* Best segmentation under sum of min(weight (y - level)^2, cap) + penalty per change. ret_start[0..returned-1] are the
 * first commits of the segments (ret_start[0] = 0); room for n. */
size_t detect_segment(const struct commit *c, size_t n, double penalty, uint32_t *ret_start);

/* ---- detect-noise.c ---- */

/* Level of commits from..to-1 by the same loss, started at their median. work: room for to - from. */
double detect_level(const struct commit *c, size_t from, size_t to, double *work);
double detect_quantile(double *v, size_t n, double p);  /* reorders v; NAN for n = 0 */
/* Scale of commits from..to-1 around a level, by the median of the distances; at least `least` (1: the noise). */
double detect_spread(const struct signal *s, size_t from, size_t to, double level, double least);
/* Sets s->c (room for n), unit, centre, sigma, inflate and each commit's y, weight and cap; fewer than 3 commits: c and
 * n only. min_effect: a relative change; noise is taken to be at least a tenth of it. work: room for n. */
void detect_prepare(struct signal *s, double min_effect, const int64_t *index, const double *value, size_t n);
/* Sets s->rho and lags from what the levels between the cuts leave over. */
void detect_correlate(struct signal *s, const struct cut *cut, size_t n);
/* How much larger the variance of a mean of m commits is than that of independent ones. */
double detect_inflation(const struct signal *s, size_t m);

/* ---- detect-brief.c: levels that few commits have, and levels that come and go ---- */

#define DETECT_OUT 2.5          /* spreads off the level: such a commit belongs to an excursion */
struct excursion { size_t at, k; double side; };      /* k commits off their level, side +1 or -1 */

/* Adds both ends of each excursion that the segmentation was too dear for; cut has room for s->n. Returns the new
 * number. */
size_t detect_excursions(const struct signal *s, size_t min_segment, struct cut *cut, size_t n);
/* How many such runs among commits from..to-1 would be chance, from the share of single commits that are off (by `off`)
 * to that side. INFINITY where another one is longer than `other`. */
double detect_chance(const struct signal *s, size_t from, size_t to, const struct excursion *r, size_t other,
		     double level, double off);
/* Is the segment from cut[i] to the next cut a short one between two like each other, and no news there? */
bool detect_is_burst(const struct signal *s, const struct cut *cut, size_t n, size_t i);
/* Does the series change between the two levels of cut[i] so often that both are modes of the noise? */
bool detect_is_mode(const struct signal *s, const struct cut *cut, size_t n, size_t i);

#endif
