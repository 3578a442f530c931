/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * touched.h - which functions a change touches: the lines of the diff of two commits, mapped to functions in the files
 * at both; whether a profiled kernel executed them; and what that says of a test.
 */
#ifndef KPB_KERNELS_TOUCHED_H
#define KPB_KERNELS_TOUCHED_H
#include "kernels/profile.h"

#define INLINE_DEPTH 3          /* a function inlined into one that is inlined into one that is inlined */
#define TOUCHED_MAX 400         /* functions: of a larger change the rest is not looked at */

/* The functions defined there, after the change. callers[i] of functions.v[i], where noted[i]: only of those by which a
 * changed function may have been inlined. */
struct touched_file { char *path; struct strv functions; struct strv *callers; bool *noted; };
struct touched_fn {
	char *name, *file;              /* file: its touched_file's path */
	const struct touched_file *in;
	bool is_static, is_inline;      /* as written in the source */
	struct strv callers;            /* functions of the same file that call it */
	uint32_t *line; size_t n_lines, cap_lines;      /* its lines that the commit adds or changes, after it */
};
struct touched {
	struct touched_fn *v; size_t n, cap;    /* by file and place */
	struct touched_file **in; size_t n_in, cap_in;
	struct strv outside;                    /* C files with changed lines outside of all functions */
	struct strv data;                       /* of these, those where such a line is more than an #include, a
						   declaration, a comment */
	size_t other_files;                     /* changed files that are no C */
	struct strv other;                      /* of these, those that can change a kernel: Kconfig, Makefiles,
						   assembler */
	bool cut;                               /* there is more than was looked at: TOUCHED_MAX, or too large for us */
};
/* Of a commit against its first parent. */
int touched_functions(const char *git_dir, const char *commit, struct touched *ret);
/* Of all that differs between two commits; base NULL: the first parent of head. */
int touched_between(const char *git_dir, const char *base, const char *head, struct touched *ret);
void touched_release(struct touched *t);
#define _cleanup_touched_ _cleanup_(touched_release)

/* How a kernel has it and how often it ran. */
enum reach_kind {
	REACH_RAN,              /* a function of its own, entered */
	REACH_NOT,              /* a function of its own that never ran */
	REACH_THROUGH,          /* inlined; functions of its file that call it ran */
	REACH_NOT_CALLED,       /* inlined, and none of its callers in that file ran */
	REACH_UNKNOWN,          /* inlined from a header or another file */
	REACH_INLINED,          /* inlined and, by the debug information, executed */
	REACH_ABSENT,           /* nothing of its file is in this kernel */
	REACH_UNSEEN,           /* a function of its own that nobody watched */
};
struct reach {
	enum reach_kind kind;
	uint64_t entries;       /* of itself, or of the callers together */
	size_t namesakes;       /* functions of that name, all counted as one */
	struct strv through;    /* the callers that ran */
	uint64_t insns;         /* REACH_INLINED: of its inlined code */
	size_t lines_ran, lines;        /* of the changed lines; 0 of 0: not known */
};
/* 1: a function, under the name it is counted by, ran, so often; 0: it did not; -1: nobody watched it. */
typedef int (*reach_lookup)(void *arg, const char *name, uint64_t *ret_entries);
/* p: with lines (profile_lines()), or NULL or without. */
void touched_reach(const struct touched_fn *f, const struct symbols *s, const struct profile *p, reach_lookup lookup,
		   void *arg, struct reach *ret);
void reach_release(struct reach *r);
/* "entered 2 times per operation", "inlined; ..." with operations <= 0: in the whole run. */
void reach_text(const struct reach *r, double operations, struct buf *out);

/* ---- was the change reached? ---- */
enum reach_verdict {
	REACH_YES,              /* at least one of the changed functions surely ran */
	REACH_NO,               /* surely none of them: the numbers say nothing about the change */
	REACH_OPEN,             /* only inlined ones, several of one name, data, ...: it cannot be told */
};
/* With one sentence of evidence: names, and how often they ran. */
enum reach_verdict touched_reached(const struct touched *t, const struct symbols *s, const struct profile *p,
				   reach_lookup lookup, void *arg, double operations, struct buf *evidence);
/* The symbols to watch so that touched_reached() can tell: the changed functions and the callers of inlined ones. */
void touched_symbols(const struct touched *t, const struct symbols *s, struct strv *ret);

#endif
