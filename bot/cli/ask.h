/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ask.h - what "run" and "bisect" share: find the tree and commits that a person means, and see work through,
 * with the running daemon or, where there is none, by being it.
 */
#ifndef KPB_BOT_CLI_ASK_H
#define KPB_BOT_CLI_ASK_H
#include "bot/asking.h"
#include "bot/engine/engine.h"
#include "bot/cli/progress.h"
#include "bot/cli/verb.h"

/* For --help of those that wait. */
#define ASK_STOP_TEXT                                                                                                  \
	"Ctrl-C, SIGTERM or a closed terminal withdraws what is not done yet, even when a daemon does the\n"           \
	"work; a second Ctrl-C ends at once. If a command died (kill -9), whoever plans next, daemon or\n"             \
	"command, withdraws its work. What was measured stays. Work that is only queued, with --queue, is\n"           \
	"done by the next daemon."

struct asked { struct db_tree tree; struct tree_config tcfg; char *git_dir; };
/* name NULL: the only tree there is. */
int ask_tree(struct ctx *c, const char *name, struct asked *ret);
void asked_release(struct asked *a);
/* Another kernel configuration than the tree's. */
int ask_kconfig(struct asked *a, const char *name);
/* A revision of the tree's mirror -> object id; 6 or more digits of a commit known to the database work too, and
 * REV+SERIES, the patched commit that was made of it. */
int ask_commit(struct ctx *c, const struct asked *a, const char *rev, char **ret);
/* For verbs that only read: a commit by 6 or more digits of its id in the database, or by a revision of a tree's mirror
 * (branch, tag, HEAD~3, abbreviated id): of tree, of NAME in "NAME:REV", or of the only tree; either with "+SERIES".
 * Changes and fetches nothing. */
int ask_revision(struct ctx *c, const char *tree_or_null, const char *text, char **ret_oid);
/* 0 where work for that machine would be done; else why not. */
int ask_machine(struct ctx *c, const char *name);
/* One job: a file with a matrix of more than one point needs overrides that leave one. */
int ask_job(struct ctx *c, const char *name, const char *const *overrides, struct db_job *ret);
/* Until done() is non-zero: by the running daemon, or by one in this process. done may be called often. 1 when SIGINT,
 * SIGTERM or SIGHUP ended it before: what a says was asked for (asking.h) is taken back then, and that was said. a ends
 * here in any case; NULL: nothing is taken back. p is shown meanwhile, and taken off at the end. */
int ask_wait(struct ctx *c, struct asking *a, struct progress *p, int (*done)(void *arg, struct ctx *c), void *arg);

#endif
