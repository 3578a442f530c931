/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile-compare.h - two profiles side by side, for people.
 */
#ifndef KPB_BOT_CLI_PROFILE_COMPARE_H
#define KPB_BOT_CLI_PROFILE_COMPARE_H
#include "bot/ctx.h"

/* "compare --profile A B": commits, folders of boots, or profile files. Options as those of compare; NULL: any. */
struct profile_question { const char *tree, *kconfig, *job, *machine; bool all; int64_t rows; };
int profile_compare(struct ctx *c, const struct profile_question *q, const char *a, const char *b);

#endif
