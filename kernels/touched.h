/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * touched.h - which functions a commit changes: the lines of its diff against its first parent, mapped to functions in
 * the files at both commits; and whether a profiled kernel executed them.
 */
#ifndef KPB_KERNELS_TOUCHED_H
#define KPB_KERNELS_TOUCHED_H
#include "kernels/profile.h"

struct touched_fn {
	char *name, *file;
	bool is_static, is_inline;      /* as written in the source */
	struct strv callers;            /* functions of the same file that call it */
	uint32_t *line; size_t n_lines, cap_lines;      /* its lines that the commit adds or changes, after it */
};
struct touched {
	struct touched_fn *v; size_t n, cap;    /* by file and place */
	struct strv outside;                    /* C files with changed lines outside of all functions */
	size_t other_files;                     /* changed files that are no C */
};
int touched_functions(const char *git_dir, const char *commit, struct touched *ret);
void touched_release(struct touched *t);
#define _cleanup_touched_ _cleanup_(touched_release)

/* How a kernel has it and how often it ran. */
enum reach_kind {
	REACH_RAN,              /* a function of its own, entered */
	REACH_NOT,              /* a function of its own that never ran */
	REACH_THROUGH,          /* inlined; functions of its file that call it ran */
	REACH_NOT_CALLED,       /* inlined, and none of its callers in that file ran */
	REACH_UNKNOWN,          /* inlined from a header, or not compiled */
	REACH_INLINED,          /* inlined and, by the debug information, executed */
};
struct reach {
	enum reach_kind kind;
	uint64_t entries;       /* of itself, or of the callers together */
	struct strv through;    /* the callers that ran */
	uint64_t insns;         /* REACH_INLINED: of its inlined code */
	size_t lines_ran, lines;        /* of the changed lines; 0 of 0: not known */
};
/* p: with lines (profile_lines()), or NULL or without. lookup tells entries and whether a function ran under the name it is counted by. */
typedef bool (*reach_lookup)(void *arg, const char *name, uint64_t *ret_entries);
void touched_reach(const struct touched_fn *f, const struct symbols *s, const struct profile *p, reach_lookup lookup, void *arg,
		   struct reach *ret);
void reach_release(struct reach *r);
/* "entered 2 times per operation", "inlined; ..." with operations <= 0: in the whole run. */
void reach_text(const struct reach *r, double operations, struct buf *out);

#endif
