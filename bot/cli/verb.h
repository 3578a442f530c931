/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verb.h - the command line: one file per verb (cmd-*.c), one row in verbs.c.
 *
 * Exit codes: 0 done; 1 the answer is "no" or the work failed; 2 wrong use or configuration; 3 nothing such found; 130
 * stopped by Ctrl-C before the end (run, bisect).
 */
#ifndef KPB_BOT_CLI_VERB_H
#define KPB_BOT_CLI_VERB_H
#include "bot/ctx.h"
#include "db/store.h"
#include "lib/opt.h"
#include "lib/table.h"

enum { EXIT_DONE = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_NOT_FOUND = 3, EXIT_STOPPED = 130 };

struct verb {
	const char *name;
	const char *usage;      /* after "kperfbot NAME ", one form a line */
	const char *summary;    /* one line */
	const char *text;       /* paragraphs for --help and the man page */
	int (*run)(int argc, char **argv, struct ctx *c); /* argv[0] is the verb; returns an exit code */
};
extern const struct verb *const verbs[];        /* NULL-terminated, in help order */
const struct verb *verb_find(const char *name);

/* opt_parse() for verbs, with --json and --csv added; prints --help. Returns -1 to go on, else the exit code to
 * return. */
int verb_options(const struct verb *v, int *argc, char ***argv, const struct opt *opts, struct ctx *c);
/* A text to stdout, safe for roff. */
void roff_text(const char *s);
/* Prints "kperfbot: MESSAGE" from err_msg() (as {"error": ...} with --json) and gives back the exit code for r. */
int verb_fail(const struct ctx *c, int r);
/* Same with words of one's own, exit code 2. */
int verb_usage(const struct ctx *c, const char *fmt, ...) _printf_(2, 3);
enum table_form ctx_form(const struct ctx *c);

#endif
