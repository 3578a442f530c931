/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.h - the loop: plan, claim, start workers, wait. One process, one thread; the work is done in children
 * ("kperfbot work task ID") that die with it, so that kill -9 leaves nothing running.
 */
#ifndef KPB_BOT_DAEMON_H
#define KPB_BOT_DAEMON_H
#include "bot/ctx.h"

struct daemon_options {
	bool once_idle;                 /* end when nothing is left to do */
	/* Called about once a second and after every task; a non-zero result ends the loop cleanly. */
	int (*tick)(void *arg, struct ctx *c);
	void *arg;
	const char *only_tree;          /* poll only this tree (NULL: all) */
	bool by_hand;                   /* a person waits at a terminal: SIGHUP stops, too */
};
/* Runs until SIGTERM or SIGINT (then returns 0 after stopping the workers), tick's wish, or idleness. Takes the state
 * folder's lock; -EWOULDBLOCK where another daemon has it. SIGHUP reads the configuration again. A second signal while
 * the workers are stopped ends them at once. */
int daemon_run(struct ctx *c, const struct daemon_options *o);

#endif
