/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heads.h - a branch has moved: what its new head is compared with, for each point of the tree's jobs. One round at a
 * time: when its comparisons have ended it is noted from where each job goes on, and the newest head is next.
 */
#ifndef KPB_BOT_ENGINE_HEADS_H
#define KPB_BOT_ENGINE_HEADS_H
#include "bot/engine/engine.h"

/* The next step of a branch. open: all open comparisons. left: how many the tree may still open now, less what this one
 * took; 0 and a new head: *ret_waits. */
int engine_plan_head(struct engine *e, const struct db_tree *tree, const struct tree_config *t,
		     const struct db_branch *b, const struct db_comparison *open, size_t n_open, int *left,
		     bool *ret_waits);

#endif
