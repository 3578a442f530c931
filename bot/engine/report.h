/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - a culprit is found: its mail is written, and goes out where somebody asked for it or nobody was told of
 * the same before.
 */
#ifndef KPB_BOT_ENGINE_REPORT_H
#define KPB_BOT_ENGINE_REPORT_H
#include "bot/engine/engine.h"

/* The next step of a case that is 'found'; see also engine_settle(). */
int engine_plan_report(struct engine *e, struct db_case *c);

#endif
