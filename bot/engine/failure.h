/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * failure.h - the head does not work at all: from what runs say to the case, and what search and proof make of it.
 */
#ifndef KPB_BOT_ENGINE_FAILURE_H
#define KPB_BOT_ENGINE_FAILURE_H
#include "bisect/failure.h"
#include "bisect/search.h"
#include "bot/engine/engine.h"

#define FAILURE_METRIC "fails"          /* the metric of cases with a failure; nobody measures it */

/* The head fails and the base does not. Asks for more pairs where that is not sure (1); else 0, and where there is a case,
 * a new one or one that told it before, *ret_text says so. */
int failure_of_head(struct engine *e, const struct scope *s, char **ret_text);
/* Boots of two commits after that run: does b fail in this way more often than a? */
struct failure_sides {
	struct failure_result v;
	size_t n_a, n_b;
	double rate_a, rate_b;
	bool hidden;            /* one of them fails in another way, so it cannot be told: the verdict is SAME */
	char *text;
};
void failure_sides_release(struct failure_sides *f);
int failure_compare(struct engine *e, const struct scope *s, const char *failure, const char *a, const char *b,
		    int64_t after_run, double alpha, struct failure_sides *ret);
/* Tells the search what boots of a commit say. 1: nothing, since they fail in other ways. */
int failure_observe(struct engine *e, const struct scope *s, const struct db_case *c, const char *commit, uint32_t node,
		    struct search *search);
/* Makes the last words of the culprit's runs after that one the case's. */
int failure_own_words(struct engine *e, const struct scope *s, struct db_case *c, int64_t after_run);
/* The tip with the culprit undone: 1: *ret_text tells; 0: to be booted. */
int failure_revert(struct engine *e, const struct scope *s, struct db_case *c, const char *revert, int64_t after_run,
		   char **ret_text);

#endif
