/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * detect.h - acts on change points of stored series. A provisional point gets "judge: detect_boots" more boots of its
 * commit and of the one before it, at once; if it stays, or was none of the provisional ones, and no comparison or case
 * knows of it, the two commits are compared: from there on it is a case like any other. One point at a time; the same
 * two commits are never asked about twice.
 */
#ifndef KPB_BOT_ENGINE_DETECT_H
#define KPB_BOT_ENGINE_DETECT_H
#include "bisect/detect.h"
#include "bot/engine/engine.h"
#include "bot/engine/history.h"

struct detect_scope {
	const struct db_tree *tree; const struct tree_config *tcfg;
	const char *branch, *machine, *metric;
	const struct db_job *job;
};
/* Smallest effect and so on, as the verdict of a comparison there would take them. */
int engine_detect_config(struct engine *e, const struct detect_scope *d, struct detect_config *ret);
/* The newest point that asks for something. 1: it was asked for, and *ret_what (new string; may be NULL) says what; 0:
 * there is nothing to do. */
int engine_answer(struct engine *e, const struct detect_scope *d, const struct history *h,
		  const struct detect_result *res, char **ret_what);
/* All jobs and KPIs of a branch, when there are runs that it has not seen and nothing of the tree is under way. */
int engine_plan_detect(struct engine *e, const struct db_tree *tree, const struct tree_config *t,
		       const struct db_branch *b);

#endif
