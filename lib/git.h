/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * git.h - the git program on what strangers made. Every run has a deadline, caps on its memory (mapped packs do not
 * count), on the files that it writes and on its output, no hooks, no questions, and no configuration but the
 * repository's own, unless user_config asks for more.
 *
 *	_cleanup_(proc_result_release) struct proc_result r = {0};
 *	int e = git_exec(&(struct git_spec){.git_dir = dir, .args = ARGV("rev-parse", "HEAD")}, &r);
 *	if (e == 0)
 *		e = git_status(&r);                     -EFBIG: it ran into a limit, which is the data's fault
 */
#ifndef KPB_LIB_GIT_H
#define KPB_LIB_GIT_H
#include "lib/proc.h"

#define GIT_MEMORY (1ULL << 30)
#define GIT_FILE_SIZE (1ULL << 30)
#define GIT_TIMEOUT_S 60.0

struct git_spec {
	const char *const *args;        /* behind "git" */
	const char *const *env_add;     /* or NULL */
	const char *git_dir;            /* or NULL */
	const char *cwd, *input;
	bool user_config;               /* the user's and the system's configuration, too: proxies, certificates */
	double timeout_s;               /* 0: GIT_TIMEOUT_S */
	size_t max_output;              /* 0: 16 MiB */
	uint64_t memory, file_size;     /* 0: GIT_MEMORY, GIT_FILE_SIZE */
	volatile const int *cancel;
};
/* As proc_run(). */
int git_exec(const struct git_spec *g, struct proc_result *ret);
/* What the result stands for: 0, -ENOSPC, -EFBIG for a limit, or -EIO; no message. */
int git_status(const struct proc_result *r);

#endif
