/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * failure.h - the head does not work at all: from what runs say to the case, and what search and proof make of it.
 */
#ifndef KPB_BOT_ENGINE_FAILURE_H
#define KPB_BOT_ENGINE_FAILURE_H
#include "bisect/search.h"
#include "bot/engine/engine.h"

#define FAILURE_METRIC "fails"          /* the metric of cases with a failure; nobody measures it */

/* The head fails and the base does not. Asks for more pairs where that is not sure (1); else 0, and where there is a
 * case, a new one or one that told it before, *ret_text says so. */
int failure_of_head(struct engine *e, const struct scope *s, char **ret_text);
/* Tells the search what boots of a commit say. */
int failure_observe(struct engine *e, const struct scope *s, const struct db_case *c, const char *commit, uint32_t node,
		    struct search *search);
/* Makes the last words of the culprit's runs after that one the case's. */
int failure_own_words(struct engine *e, const struct scope *s, struct db_case *c, int64_t after_run);
/* The tip with the culprit undone: 1: *ret_text tells; 0: to be booted. */
int failure_revert(struct engine *e, const struct scope *s, struct db_case *c, const char *revert, int64_t after_run,
		   char **ret_text);

#endif
