/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engine-internal.h - between the files of this folder. */
#ifndef KPB_BOT_ENGINE_ENGINE_INTERNAL_H
#define KPB_BOT_ENGINE_ENGINE_INTERNAL_H
#include "bisect/failure.h"
#include "bot/engine/engine.h"

/* New state of a case, with an event that says why. */
int case_state(struct engine *e, struct db_case *c, enum case_state state, const char *fmt, ...) _printf_(4, 5);
int case_note(struct db_case *c, const char *note);
/* A number of the proof's JSON, NAN where there is none. */
double proof_number(const struct db_case *c, const char *key);
/* The search has named a commit: from now on it is proven against parent (NULL: its first one). */
int proof_start(struct engine *e, const struct scope *s, struct db_case *c, const char *culprit, const char *parent);
/* Adds the commits that the search named and a proof cleared: they are no candidates any more. */
void proof_contradicted(const struct db_case *c, struct strv *ret);
/* Such a case ends without a culprit; why (may be NULL): what the search says without these commits. */
int proof_nobody(struct engine *e, struct db_case *c, const char *why);
/* The next step of a case in the state "proving". */
int proof_go_on(struct engine *e, const struct scope *s, struct db_case *c);

/* trouble.c: is it to be left alone for a while? */
bool trouble_waits(struct engine *e, enum planned kind, int64_t id);
/* How the planning of it ended. 0 where the error (and err_msg()) was kept in e->troubles or has ended it, else r. */
int trouble_note(struct engine *e, enum planned kind, int64_t id, int r);
/* At the end of a plan: what nobody asked about with trouble_waits() is no trouble any more. */
void troubles_sweep(struct engine *e);

/* ---- failure.c ---- */
#define PRIO_PROOF 300
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
