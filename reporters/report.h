/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - LKP's table as text, and the mail of a found case; reporter.h has its ways out.
 *
 * A report is composed once from the database and stored (one row per case, Message-ID derived from the case); then it
 * is delivered. Nothing is ever sent twice.
 */
#ifndef KPB_REPORTERS_REPORT_H
#define KPB_REPORTERS_REPORT_H
#include "bisect/compare.h"
#include "bisect/effect-rules.h"
#include "db/store.h"
#include "lib/buf.h"

/* LKP's comparison block: 89 '=', axes, commit legend, heads, fail rows, perf rows; byte for byte (see docs). axes:
 * "key" and "value" pairs sorted by key here. Only changed rows unless all. */
struct lkp_column { const char *oid, *subject, *label, *head; };        /* label (in the list) and head stand for the
									   id; or NULL */
struct lkp_axis { const char *key, *value; };
int lkp_table(const struct cmp_result *r, const struct lkp_column *col, size_t n_cols, const struct lkp_axis *axis,
	      size_t n_axes, bool all, struct buf *out);
/* One row of it (used by tests on recorded rows). NAN stddev_pct: blank. */
void lkp_value(struct buf *out, double v);
void lkp_stddev(struct buf *out, double pct);
void lkp_change(struct buf *out, double change, bool points);

/* Everything the mail needs that is not in the database rows themselves. */
struct report_config {
	const char *robot_name, *robot_address;         /* From: "kperfbot" <bot@example.org> */
	const char *const *allow;                       /* globs of addresses that may get mail; NULL: nobody */
	const char *const *always_cc;                   /* subject to allow too */
	size_t max_recipients;                          /* default 20 */
	size_t max_per_day;                             /* mails for an address in 24 hours, more wait; 0: all */
	const struct effect_rules *min_effects;         /* for the table; NULL: none */
	const char *reproduce_dir;                      /* folder for the case's files (script, config, logs) */
	const struct report_settings *settings;         /* each reporter's own (reporter.h); NULL: all are switched
							   off */
};
/* Composes and stores the report of a case that was found (whatever became of it since); git_dir of its tree for
 * names and MAINTAINERS. -EEXIST where there is one. */
int report_compose(struct store *s, int64_t case_id, const char *git_dir, const struct report_config *cfg,
		   int64_t *ret_id);

#endif
