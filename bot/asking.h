/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asking.h - work that somebody waits for. "run" and "bisect" hold a lock on a file of the folder STATE/asking that
 * says what they asked for. A command that is stopped takes it back. One that died (kill -9, a lost connection) leaves
 * the file without a lock, and the next to plan takes the work back. What was measured stays.
 */
#ifndef KPB_BOT_ASKING_H
#define KPB_BOT_ASKING_H
#include "bot/ctx.h"

struct asking {
	int fd;
	char *path;
	int64_t *before; size_t n_before;       /* tasks that were active when it began */
	struct strv lines;                      /* "comparison N", "task N" */
};
#define ASKING_INIT ((struct asking){.fd = -1})
/* From here on what is queued can be ours. */
int asking_begin(struct ctx *c, struct asking *a);
/* A question: the comparison, and all that comes of it. */
int asking_comparison(struct ctx *c, struct asking *a, int64_t id);
/* The tasks of these comparisons that have become active since asking_begin(). */
int asking_tasks(struct ctx *c, struct asking *a, const int64_t *comparison, size_t n);
/* It came to its end: the file goes away. */
void asking_end(struct asking *a);
/* It was stopped: takes back what nobody else waits for. Where a daemon runs the file stays, so that it looks, too. */
struct asking_left { int builds, boots, questions; bool kept; };     /* kept: others want it, too */
int asking_withdraw(struct ctx *c, struct asking *a, struct asking_left *ret);
/* Takes back what the dead have asked for. */
void asking_sweep(struct ctx *c);
/* True while a process that lives waits for that comparison. */
bool asking_lives(struct ctx *c, int64_t comparison);

#endif
