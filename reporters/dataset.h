/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dataset.h - the values of two or more builds side by side, from CSV files or from the database, for compare.
 *
 *	struct dataset d = {0};
 *	dataset_add_csv(&d, "a.csv");
 *	dataset_add_csv(&d, "b.csv");
 *	dataset_finish(&d, globs);
 *	cmp_run(&cfg, d.metric, d.n_metrics, &result);          the result borrows the names: release it first
 *	dataset_release(&d);
 */
#ifndef KPB_REPORTERS_DATASET_H
#define KPB_REPORTERS_DATASET_H
#include "bisect/compare.h"
#include "db/store.h"
#include "lib/hash.h"

struct metric_series { char *name; double *v; size_t n; const uint32_t *boot; };       /* NAN: the run lacks it */
struct dataset_build {
	char *name, *subject;           /* file name or object id; subject may be NULL */
	size_t n_runs;
	char **run_name;
	uint32_t *boot;                 /* per run */
	uint32_t *all_boot; size_t n_all; /* runs whatever their verdict (database only) */
	struct metric_series *series; size_t n_series, cap_series;
};
struct dataset {
	struct dataset_build *build; size_t n_builds;
	struct cmp_metric *metric; size_t n_metrics;    /* after dataset_finish() */
	void *mem;
};

/* Columns metric,run[,boot],value in any order, others are ignored. Run names count within their boot; without boots
 * every run is one. An empty value is a run without that metric; text, nan, infinities and
 * a file without values are -EINVAL with file and line. */
int dataset_add_csv(struct dataset *d, const char *path);
/* The same from memory; text is overwritten, text[len] must be 0. */
int dataset_add_text(struct dataset *d, const char *name, char *text, size_t len);
/* Only runs that are ok give values; other verdicts are counted as last_state.VERDICT (infra and untrusted ones are not
 * counted at all). */
int dataset_add_matrix(struct dataset *d, const char *name, const char *subject, const struct matrix *m);
/* Puts the builds side by side; only metrics that match one of the globs, where there are any. */
int dataset_finish(struct dataset *d, const struct strv *globs);
void dataset_release(struct dataset *d);

/* The spread that metrics had in other builds: variances of boots around their build's mean, relative to it. */
struct dataset_history { struct hash names; struct { double ss, df; } *v; size_t cap; };
void dataset_history_add(struct dataset_history *h, const struct matrix *m);
/* Becomes the prior of the metrics: half of its degrees of freedom (spreads drift), at most 30. */
void dataset_history_apply(struct dataset_history *h, struct dataset *d);
void dataset_history_release(struct dataset_history *h);

#endif
