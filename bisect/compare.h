/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare.h - N builds, thousands of metrics: which ones changed, by how much, with what error rate. Pure.
 */
#ifndef KPB_BISECT_COMPARE_H
#define KPB_BISECT_COMPARE_H
#include "lib/base.h"

/* One metric: values[b][i] of build b, run i, boot_id[b][i] equal for runs of one boot (NULL: every run its own boot).
 * NAN: that run has no such metric. fail metrics hold counts. Borrowed. */
struct cmp_metric {
	const char *name;
	const double *const *value; const uint32_t *const *boot; const size_t *n;
	double prior_sd, prior_df;      /* relative spread from history, 0: none */
	double min_effect;              /* relative (or points for percentage metrics); <0: the class's default */
};
enum cmp_rule { CMP_MODERATED, CMP_LKP };
struct cmp_config { enum cmp_rule rule; size_t n_builds; double fdr; double confidence; bool all; };

/* CHANGED: q <= fdr and at least the smallest effect; where the data are precise enough to tell, the whole interval
 * lies beyond it. SAME: none as large as the smallest effect, the whole interval is smaller. UNSHOWN: 0 is in the
 * interval, and so is more than the smallest effect. UNCLEAR: the metric alone looks changed, but not beside all the
 * others; or it cannot be tested. */
enum cmp_verdict { CMP_SAME, CMP_UNSHOWN, CMP_CHANGED, CMP_UNCLEAR, CMP_APPEARED, CMP_VANISHED, CMP_NO_DATA };
struct cmp_side { double mean, sd, stddev_pct; size_t runs, boots; };  /* stddev as LKP: population, 100*sd/mean */
struct cmp_delta {              /* build b (from 1) against build 0 */
	double change;          /* as LKP prints it (lib/change.h): per cent, or points for shares */
	bool points;
	double p, q, effect, lo, hi;    /* effect = relative change (or points); 95 % interval */
	enum cmp_verdict verdict;
};
struct cmp_row { const char *name; bool fail; struct cmp_side *side; struct cmp_delta *delta;
	/* [n_builds], delta[0] unused */ };
struct cmp_result { struct cmp_row *row; size_t n_rows, n_builds; double between_share; size_t changed; };
/* Rows for all metrics, in the order they came in; the printer filters and sorts. */
int cmp_run(const struct cmp_config *c, const struct cmp_metric *m, size_t n_metrics, struct cmp_result *ret);
void cmp_result_release(struct cmp_result *r);
static inline bool cmp_is_change(enum cmp_verdict v)
{
	return v == CMP_CHANGED || v == CMP_APPEARED || v == CMP_VANISHED;
}
const char *cmp_verdict_name(enum cmp_verdict v);

#endif
