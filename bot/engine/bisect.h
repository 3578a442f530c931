/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bisect.h - the search for the commit that did it: one build or some boots at a time, until a proof can begin or there
 * is nothing to be found.
 */
#ifndef KPB_BOT_ENGINE_BISECT_H
#define KPB_BOT_ENGINE_BISECT_H
#include "bot/engine/engine.h"

/* A case that is 'confirmed' is searched from now on. */
int bisect_start(struct engine *e, const struct scope *s, struct db_case *c);
/* The next step of a case that is 'bisecting'. */
int bisect_step(struct engine *e, const struct scope *s, struct db_case *c);

#endif
