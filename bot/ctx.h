/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctx.h - what one process works with: its configuration, its database, and the form in which it was asked to print.
 */
#ifndef KPB_BOT_CTX_H
#define KPB_BOT_CTX_H
#include "bot/config/config.h"
#include "db/store.h"

struct ctx {
	struct config config;   /* loaded before the verb runs */
	struct store *store;    /* opened by ctx_store() */
	bool json, csv;         /* --json and --csv, taken by verb_options() */
	bool man;               /* verb_options() prints the options for the manual page and nothing else happens */
	const char *given_config, *given_state; /* --config and --state before the verb, NULL: not given */
};
/* Makes the state and the cache folder and closes them to others: 0, or 1 where the state folder was left open
 * because it holds other things, too. */
int ctx_private_folders(const struct config *cfg);
/* The file that a daemon holds a lock on while it works on this state folder. New string. */
char *daemon_lock_path(const struct config *cfg);
/* True while another process runs a daemon on this state folder. */
bool daemon_is_running(const struct config *cfg);
/* Opens the database in the state folder (creating it unless read_only). 0 or negative with a message. */
int ctx_store(struct ctx *c, bool read_only);
/* "kperfbot" with the --config and --state that were given, for commands that people are to copy. */
void buf_add_self(const struct ctx *c, struct buf *b);

#endif
