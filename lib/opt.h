/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opt.h - option tables over getopt_long. One table gives parsing, the --help text and the man page of a verb.
 *
 *	bool all = false; const char *job = NULL; int64_t n = 1; struct strv trees = {0};
 *	const struct opt opts[] = {
 *		OPT_FLAG('a', "all", &all, "every case, also the ended ones"),
 *		OPT_TEXT('j', "job", "JOB", &job, "job file or name"),
 *		OPT_INT('n', "boots", "N", &n, "boots a side"),
 *		OPT_LIST(0, "tree", "NAME", &trees, "only this tree (repeatable)"),
 *		OPT_END,
 *	};
 *	r = opt_parse(&argc, &argv, opts);   options may stand anywhere; afterwards argv[0..argc-1] are the operands
 *
 * Times ("90", "5m") use OPT_SECONDS with a double, fractions and rates OPT_DOUBLE.
 */
#ifndef KPB_LIB_OPT_H
#define KPB_LIB_OPT_H
#include "lib/buf.h"

enum opt_type { OPT_T_END, OPT_T_FLAG, OPT_T_TEXT, OPT_T_INT, OPT_T_DOUBLE, OPT_T_SECONDS, OPT_T_LIST };

struct opt { char short_name; const char *name, *arg; enum opt_type type; void *ptr; const char *help; };
	/* help: a line or more */

#define OPT_FLAG(s, n, p, h) {s, n, NULL, OPT_T_FLAG, (bool *){p}, h}
#define OPT_TEXT(s, n, a, p, h) {s, n, a, OPT_T_TEXT, (const char **){p}, h}
#define OPT_INT(s, n, a, p, h) {s, n, a, OPT_T_INT, (int64_t *){p}, h}
#define OPT_DOUBLE(s, n, a, p, h) {s, n, a, OPT_T_DOUBLE, (double *){p}, h}
#define OPT_SECONDS(s, n, a, p, h) {s, n, a, OPT_T_SECONDS, (double *){p}, h}
#define OPT_LIST(s, n, a, p, h) {s, n, a, OPT_T_LIST, (struct strv *){p}, h}
#define OPT_END {0, NULL, NULL, OPT_T_END, NULL, NULL}

#define OPT_HELP_WANTED 1
/* 0, OPT_HELP_WANTED when -h or --help was among them, or -EINVAL with a message. argc and argv come in without the
 * verb's own name and go out as the operands. "--" ends the options. */
int opt_parse(int *argc, char ***argv, const struct opt *opts);
/* "  -n, --boots=N   boots a side\n" for each. */
void opt_help(const struct opt *opts, struct buf *out);

#endif
