/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * case-state.h - how a case comes from one state to the next.
 */
#ifndef KPB_BOT_ENGINE_CASE_STATE_H
#define KPB_BOT_ENGINE_CASE_STATE_H
#include "bot/engine/engine.h"

/* Stores a case that was read before. Where it has been ignored since then that holds, and nothing is stored: 1. */
int case_put(struct engine *e, const struct db_case *c);
/* New state of a case, with an event that says why. */
int case_state(struct engine *e, struct db_case *c, enum case_state state, const char *fmt, ...) _printf_(4, 5);
/* Replaces its note; stored with the next state. */
int case_note(struct db_case *c, const char *note);

#endif
