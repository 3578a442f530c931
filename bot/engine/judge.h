/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge.h - comparisons: two commits, a job, a machine; from the question to "same", "different" and a case.
 */
#ifndef KPB_BOT_ENGINE_JUDGE_H
#define KPB_BOT_ENGINE_JUDGE_H
#include "bot/engine/engine.h"

/* The next step of an open comparison. */
int engine_plan_comparison(struct engine *e, int64_t id);

#endif
