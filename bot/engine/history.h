/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.h - a metric's stored values along a branch, ready for detect_run(): one value per boot, commits in the order
 * of the branch's first-parent line. What was measured beside that line (inside merged branches, on other branches) is
 * left out: it has no place in one row. Without a mirror or branch the order is that of the first boots.
 */
#ifndef KPB_BOT_ENGINE_HISTORY_H
#define KPB_BOT_ENGINE_HISTORY_H
#include "bot/config/config.h"
#include "db/store.h"

struct history_query {
	const char *tree, *kconfig, *job, *machine, *metric; /* machine: tbox group; NULL: any, if only one is there */
	const char *branch;             /* NULL: the one on whose line most commits were measured */
	bool one_setup;         /* only what was measured as the newest run, from the compiler on (db/setup.h) */
	size_t max_commits;             /* newest on the line; 0: all */
};
struct history {
	struct db_measured place;
	char *branch;                   /* NULL: order by time */
	int64_t *index; double *value; size_t n, cap[2];        /* index: into commit */
	size_t *group;                  /* of each value: into setup; NULL: all are alike */
	/* ways in which values were measured, that of the newest run first (NULL: not known) */
	char **setup; size_t n_setups;
	size_t otherwise;               /* boots left out by one_setup */
	char **commit; size_t n_commits;
	size_t beside;                  /* commits left out */
};
/* -ENOENT: nothing fits; -EINVAL: more than one place does, all are listed. */
int history_load(struct store *s, const struct config *cfg, const struct history_query *q, struct history *ret);
void history_add(struct history *h, int64_t index, double value);
void history_release(struct history *h);

#endif
