/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engine-priv.h - between the engine*.c files. */
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

/* engine-trouble.c: is it to be left alone for a while? */
bool trouble_waits(struct engine *e, enum planned kind, int64_t id);
/* How the planning of it ended. 0 where the error (and err_msg()) was kept in e->troubles or has ended it, else r. */
int trouble_note(struct engine *e, enum planned kind, int64_t id, int r);
/* At the end of a plan: what nobody asked about with trouble_waits() is no trouble any more. */
void troubles_sweep(struct engine *e);

#endif
