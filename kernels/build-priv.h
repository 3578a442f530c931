/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build-priv.h - between the build*.c files. A build is one struct job that goes through: key (build-cache.c) ->
 * worktree (build-worktree.c) -> kernel or program (build-kernel.c, build-program.c), each step of which runs in the
 * sandbox (build-sandbox.c) -> cache.
 */
#ifndef KPB_KERNELS_BUILD_PRIV_H
#define KPB_KERNELS_BUILD_PRIV_H
#include "kernels/build.h"

/* Where the sandbox shows a build's folders: always the same, so that no path of ours gets into an image. */
#define BOX "/tmp/kperfbot"
#define BOX_SRC BOX "/src"
#define BOX_OUT BOX "/o"
#define BOX_CCACHE BOX "/ccache"

struct build_job {
	const struct build_request *q;
	char *dir, *src, *out;          /* worktree folder and the two in it */
	char *log;                      /* being written */
	char *key;                      /* name under cache_dir/builds */
	char *tree_oid, *toolchain;
	char *fragment;                 /* kernels: merged config text; programs: command and artefact */
	char fragment_hash[65];
	struct buf warnings;
	usec_t start, deadline;
	char *group;                    /* control group of the running step, or NULL */
	bool killed;                    /* a step was stopped half-way */
};

/* build-cache.c */
int build_key(struct build_job *j);
/* The same for the files of a tree object; may be called again for another one. */
void build_key_of(struct build_job *j, const char *tree_oid);
#define BUILD_ALIGN_FLAG "# KCFLAGS=-falign-functions=64"       /* a line of the fragment: part of the key, no config option */
#define BUILD_ALIGN_OPTIONS "CONFIG_EXPERT=y\nCONFIG_DEBUG_FORCE_FUNCTION_ALIGN_64B=y\n"
char *build_toolchain(void);
/* 1 and ret filled where there is a finished build, 0 where not. */
int build_cache_get(const struct build_job *j, struct build_result *ret);
struct kept_file { const char *from, *name; };  /* name in the build's folder */
/* Keeps a finished (ok or broken) build; fills ret->image_path. image: name of the file or folder that is the image. */
int build_cache_put(const struct build_job *j, const struct kept_file *files, size_t n, const char *image,
		    struct build_result *ret);

/* build-worktree.c */
/* Brings src to the commit; changed files only. clean: removes all that git does not know. */
int worktree_checkout(const struct build_job *j, bool clean);
/* Takes the worktree's lock: fd, or -ECANCELED. */
int worktree_lock(const struct build_job *j);
/* The out folder is emptied when the last build in it was killed. */
int worktree_begin_out(const struct build_job *j);
void worktree_end_out(const struct build_job *j);

/* build-sandbox.c */
struct sandbox_result { int status; const char *stopped; /* NULL, or why we killed it */ bool infra; };
/* Runs "sh -c script" with output into j->log. src_writable: programs build in place. 0 whatever the status. */
int sandbox_run(struct build_job *j, const char *script, bool src_writable, struct sandbox_result *ret);

/* build-watch.c */
#define BUILD_PROCESSES_MAX 1024
/* How many processes descend from top, and the largest one's memory in bytes. */
void watch_descendants(pid_t top, size_t *ret_n, uint64_t *ret_rss);
long watch_all_tasks(void);
void watch_kill(pid_t bwrap);
/* A control group that limits processes, or NULL where we may not make one. */
char *watch_group_make(void);
void watch_group_enter(const char *group, struct strv *argv);
bool watch_group_hit(const char *group);        /* the limit was met */
void watch_group_drop(char *group);             /* NULL is fine; frees it */

/* build-error.c */
/* First error of a log as one terminal-safe line; ret_infra: it is our fault (disk full, tool missing). */
char *build_first_error(const char *log, bool kernel, bool *ret_infra);

/* build-kernel.c, build-program.c: 0 with state, error and so on set; files kept in the cache */
int build_kernel(struct build_job *j, struct build_result *ret);
int build_program(struct build_job *j, struct build_result *ret);
/* Written beside and renamed, but not synced: a build that a power cut tears is made again (the cache checks sizes), while
 * a sync on a busy disk takes longer than a small build. */
int build_write(const char *path, const void *data, size_t n);
/* Compresses the log and sets ret->log_path; no-op the second time. */
int build_log_pack(const struct build_job *j, struct build_result *ret);
/* Real path of a file (or folder) that a build made, sure to lie inside top; NULL and the reason otherwise. */
char *build_output(const char *top, const char *rel, bool folder_too, const char **ret_why);
/* Sets state and error after a failed step. */
int build_failed(struct build_job *j, const struct sandbox_result *s, struct build_result *ret);

#endif
