/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outcomes.h - what the runs of a commit say about one way to fail. Runs that failed on our side or were not trusted
 * are never a commit's failure.
 */
#ifndef KPB_BOT_ENGINE_OUTCOMES_H
#define KPB_BOT_ENGINE_OUTCOMES_H
#include "bot/engine/engine.h"

/* 1: it failed in that way, 0: it did not, -1: it says nothing about that. */
int failure_outcome(enum run_verdict own, enum run_verdict kind);
/* "VERDICT: CAUSE" of a run; new string. */
char *failure_words(const struct db_run *run);

struct outcomes {
	bool *failed;
	int64_t *run;
	size_t n, silent;       /* silent: runs that say nothing, but for ours */
};
void outcomes_release(struct outcomes *o);
#define _cleanup_outcomes_ _cleanup_(outcomes_release)
/* Of the runs after that one, oldest first. */
int engine_outcomes(struct engine *e, const struct scope *s, const char *commit, enum run_verdict kind,
		    int64_t after_run, struct outcomes *ret);
/* Mostly it fails in another way: it will not say whether it would in this one, however often it is asked. */
bool outcomes_hidden(const struct outcomes *o);

#endif
