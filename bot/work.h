/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work.h - does one task: the worker process behind "kperfbot work task ID".
 */
#ifndef KPB_BOT_WORK_H
#define KPB_BOT_WORK_H
#include "bot/ctx.h"

/* Runs the claimed task and ends it in the database. *cancel: set by a signal; the task is then given back. Returns 0
 * when the task was brought to an end (also a bad one), or negative. */
int work_task(struct ctx *c, int64_t task_id, volatile const int *cancel);

#endif
