/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engine-priv.h - between engine-case.c (search, report) and engine-proof.c. */
#ifndef KPB_BOT_ENGINE_PRIV_H
#define KPB_BOT_ENGINE_PRIV_H
#include "bot/engine.h"

/* New state of a case, with an event that says why. */
int case_state(struct engine *e, struct db_case *c, const char *state, const char *fmt, ...) _printf_(4, 5);
int case_note(struct db_case *c, const char *note);
/* A number of the proof's JSON, NAN where there is none. */
double proof_number(const struct db_case *c, const char *key);
/* The search has named a commit: from now on it is proven. */
int proof_start(struct engine *e, const struct scope *s, struct db_case *c, const char *culprit);
/* The next step of a case in the state "proving". */
int proof_go_on(struct engine *e, const struct scope *s, struct db_case *c);

#endif
