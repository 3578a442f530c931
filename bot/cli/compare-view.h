/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare-view.h - the outputs of compare: LKP's text, a table, JSON, and all runs as people mail them. bot/ only.
 */
#ifndef KPB_BOT_CLI_COMPARE_VIEW_H
#define KPB_BOT_CLI_COMPARE_VIEW_H
#include "bisect/compare-class.h"
#include "bot/cli/compare-columns.h"
#include "bot/config/config.h"
#include "reporters/dataset.h"
#include "lib/table.h"

struct view {
	const struct dataset *d; const struct cmp_result *r; const struct cmp_config *cfg;
	bool all;
	char *tree, *kconfig, *job, *job_name, *machine;        /* NULL for files */
	struct lkp_axis *axis; size_t n_axes;                   /* key and value are owned */
	struct columns col;             /* none for files */
	struct strv validity;           /* what checks of the runs say against them, one line each */
};
int view_lkp(const struct view *v, FILE *out);
int view_table(const struct view *v, enum table_form form, FILE *out);
int view_json(const struct view *v, FILE *out);
int view_runs(const struct view *v, bool averages, enum table_form form, FILE *out);      /* averages: these alone */
void view_release(struct view *v);
/* Where it was measured: fills the names and, from the job's parameters, LKP's axes. */
int view_place(struct store *s, const struct db_measured *m, struct view *v);
/* A commit's subject from the tree's mirror, NULL where it cannot be read. */
char *view_subject(const struct config *c, const char *tree, const char *oid);

#endif
