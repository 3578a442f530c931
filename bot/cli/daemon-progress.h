/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon-progress.h - what "daemon --progress" shows on stdout: each event, and how far the oldest question that is not
 * answered yet has come. On a terminal that is one line that changes; else a line when a kernel's step changes, and one
 * after 30 s in which nothing happened.
 */
#ifndef KPB_BOT_CLI_DAEMON_PROGRESS_H
#define KPB_BOT_CLI_DAEMON_PROGRESS_H
#include "bot/cli/progress.h"

struct daemon_progress {
	bool terminal;
	usec_t start, last_line;        /* by mono_usec(); start may lie before its 0 and wraps then */
	int64_t last_event;
	struct progress question;
};
/* since: from when on events are shown and time is counted, as for "query --since"; NULL: now. -EINVAL: no time. */
int daemon_progress_begin(struct daemon_progress *p, struct ctx *c, const char *since);
/* For daemon_options.tick, with a struct daemon_progress as its arg; returns 0. */
int daemon_progress_tick(void *arg, struct ctx *c);
/* Shows the last events and takes the line off a terminal. */
void daemon_progress_end(struct daemon_progress *p, struct ctx *c);

#endif
