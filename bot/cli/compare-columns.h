/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare-columns.h - what stands side by side in compare: commits measured in the same place (tree, configuration,
 * machine), with one job or, where an operand says so, with variants of it.
 *
 *	REV                 in the job of the first column, the only one there is, or --job
 *	REV@JOB             in that job (name or id)
 *	REV@KEY=VALUE[,...] in the job that is the first column's but for these parameters
 *
 * REV is any revision (ask.h); REV+SERIES one with a patch series on top.
 */
#ifndef KPB_BOT_CLI_COMPARE_COLUMNS_H
#define KPB_BOT_CLI_COMPARE_COLUMNS_H
#include "bot/cli/verb.h"

struct place_filter { const char *tree, *kconfig, *job, *machine; };    /* NULL: any */
struct column {
	char *commit;
	char *spec;                     /* what stood behind the '@', or NULL */
	struct db_measured *m; size_t n;        /* all that it was measured with */
	const struct db_measured *at;   /* the chosen one */
	struct db_patched patches;      /* commit NULL: none */
	char *label;                    /* by what it differs from the others; NULL where only the commit does */
	char *head;                     /* the same for the head of a narrow column */
};
struct columns { struct column *v; size_t n; struct strv differ; /* parameters that differ */ };
void columns_release(struct columns *c);
/* -EINVAL names the choices where there are several, -ENOENT where nothing fits. */
int columns_find(struct ctx *ctx, const struct place_filter *f, char *const *arg, size_t n, struct columns *ret);
/* The operands for all points of a job's matrix, for each revision: "REV+SERIES@JOBID". arg: revisions, and key=value
 * words that change the matrix. series as in points_jobs(). */
int columns_of_matrix(struct ctx *ctx, const struct place_filter *f, const char *job, const struct strv *series,
		      char *const *arg, size_t n, struct strv *ret);

#endif
