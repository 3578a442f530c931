/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reach-plan.h - does the job execute what changed from base to commit (docs/VALIDITY.md, "reach")?
 */
#ifndef KPB_BOT_ENGINE_REACH_PLAN_H
#define KPB_BOT_ENGINE_REACH_PLAN_H
#include "bot/engine/engine.h"

/* Queues the extra boot that sees it, where the machine boots what is built and nobody did so before. 1: one was
 * queued. */
int engine_reach_plan(struct engine *e, const struct scope *s, const char *base, const char *commit, int priority,
		      int64_t case_id);
/* Answers from what that boot saw, and stores it. -ENOENT where there is no such question (programs, the running
 * kernel). */
int engine_reach(struct engine *e, const struct scope *s, const char *base, const char *commit,
		 struct db_pair_check *ret);

#endif
