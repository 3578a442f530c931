/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch.h - the stage "watch": which trees are to be looked at now, and what is new in one.
 */
#ifndef KPB_BOT_WATCH_H
#define KPB_BOT_WATCH_H
#include "bot/ctx.h"

/* The watched trees whose time has come, the one that waits longest first. only_tree: no other; NULL: all. */
int watch_due(struct store *s, const char *only_tree, struct db_tree **ret, size_t *ret_n);
/* Looks at a tree's remote and fetches what moved; repair: and what is missing in the mirror. The time of the next look
 * is stored. Returns the number of branches that moved, or negative. */
int watch_fetch(struct ctx *c, const char *tree, bool repair);

#endif
