/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job-suggest.h - "job suggest COMMIT". */
#ifndef KPB_BOT_CLI_JOB_SUGGEST_H
#define KPB_BOT_CLI_JOB_SUGGEST_H
#include "bot/cli/verb.h"

/* Exit code: 0 a known job reaches one of the functions that the commit changes, 1 none does. tree NULL: the only
 * one. */
int job_suggest(struct ctx *c, const char *rev, const char *tree);

#endif
