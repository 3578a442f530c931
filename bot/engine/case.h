/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * case.h - the life of a case from "confirmed" to "reported".
 */
#ifndef KPB_BOT_ENGINE_CASE_H
#define KPB_BOT_ENGINE_CASE_H
#include "bot/engine/engine.h"

/* The next step of a case that lives. */
int engine_plan_case(struct engine *e, struct db_case *c);

#endif
