/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pairs.h - runs of two commits in turns.
 */
#ifndef KPB_BOT_ENGINE_PAIRS_H
#define KPB_BOT_ENGINE_PAIRS_H
#include "bot/engine/engine.h"

/* Runs of two commits interleaved A B B A ..., also over several calls; the machine's canary after each pair. Returns how
 * many tasks of the two were new. */
int engine_pair_tasks(struct engine *e, const struct scope *s, const char *a, const char *b, int n, int priority,
		      int64_t case_id);

#endif
