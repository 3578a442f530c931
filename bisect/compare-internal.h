/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bisect/compare-internal.h - shared by the compare*.c files only. */
#ifndef KPB_BISECT_COMPARE_INTERNAL_H
#define KPB_BISECT_COMPARE_INTERNAL_H
#include "bisect/compare.h"
#include "bisect/stats.h"

/* compare-boots.c: a metric reduced to one value per boot, in units of its own largest value. */
struct boot_means {
	double *v; size_t n;            /* means of the boots that have the metric */
	size_t all, runs, hits;         /* boots and runs of the build; boots where a failure count is not 0 */
	double mean, ss;                /* of v */
	double run_sd, run_mean;        /* population spread and mean over the runs that have it */
	double within_ss; size_t within_df; /* of runs around their boot's mean */
	bool constant;
};
struct reduced { double scale; struct boot_means *b; size_t n_builds; double *mem; };
/* Which boot each run of a build belongs to; kept from one metric to the next. */
struct slots { const uint32_t *id; size_t n, n_slots; uint32_t *slot; double *sum; uint32_t *count; bool fresh; };
void cmp_reduce(const struct cmp_config *c, const struct cmp_metric *m, struct slots *slots, bool fail,
		struct reduced *ret);
void cmp_reduced_release(struct reduced *r);
void cmp_slots_release(struct slots *s, size_t n_builds);
/* Share of the variance between boots, from one-way random effects; NAN where no boot holds two runs. */
double cmp_between_share(const struct reduced *r);

/* compare-lkp.c */
bool cmp_lkp_changed(const char *name, double *base, size_t nb, double *other, size_t na);

#endif
