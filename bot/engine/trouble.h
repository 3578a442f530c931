/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trouble.h - what cannot be planned: errors of planning that are tried again, and what ends for good.
 */
#ifndef KPB_BOT_ENGINE_TROUBLE_H
#define KPB_BOT_ENGINE_TROUBLE_H
#include "bot/engine/engine.h"

/* next: by mono_usec(). unheard: the event that tells of it could not be stored, on a full disk, say; who plans says it
 * another way and clears this. */
enum planned { PLAN_CASE, PLAN_COMPARISON, PLAN_BRANCH };
struct trouble { enum planned kind; int64_t id; int times; bool final, met, unheard; usec_t next; char *text; };
struct troubles { struct trouble *v; size_t n, cap; };
void troubles_release(struct troubles *t);
void troubles_try_now(struct troubles *t);              /* for a changed configuration */
bool troubles_pending(const struct troubles *t);        /* some will end their case or comparison soon */

/* Is it to be left alone for a while? */
bool trouble_waits(struct engine *e, enum planned kind, int64_t id);
/* How the planning of it ended. 0 where the error (and err_msg()) was kept in e->troubles or has ended it, else r. */
int trouble_note(struct engine *e, enum planned kind, int64_t id, int r);
/* At the end of a plan: what nobody asked about with trouble_waits() is no trouble any more. */
void troubles_sweep(struct engine *e);

#endif
