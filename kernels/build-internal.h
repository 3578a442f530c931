/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernels/build-internal.h - between the build*.c files. A build is one struct job that goes through: key
 * (build-cache.c) -> what to go on from (build-start.c) -> worktree (build-worktree.c) -> kernel or program
 * (build-kernel.c, build-program.c), each step of which runs in a box (build-sandbox.c, box.h) -> cache.
 */
#ifndef KPB_KERNELS_BUILD_INTERNAL_H
#define KPB_KERNELS_BUILD_INTERNAL_H
#include "kernels/box.h"
#include "kernels/build.h"

#define META_MAX (1 << 20)      /* bytes of a build's meta.json */
#define START_MAX 65536         /* and of its start.json */

#define BOX_SRC BOX "/src"
#define BOX_OUT BOX "/o"

#define BUILD_RESERVE (32ll << 20)      /* bytes of the disk that no build gets */

struct build_job {
	const struct build_request *q;
	char *dir, *src, *index;        /* worktree folder and the two in it that belong to the builder */
	char *objects, *out;            /* kernels: a folder in cache_dir/objects, and the output in it */
	char *start_key, *start_commit; /* kernels: what it goes on from, or NULL */
	char *kept;                     /* a folder of ours for what is kept, becomes cache_dir/builds/<key> */
	char *log;                      /* being written */
	char *key;                      /* name under cache_dir/builds */
	char *tree_oid, *toolchain;
	char *fragment;                 /* kernels: merged config text; programs: command and artefact */
	char fragment_hash[65];
	struct buf warnings;
	usec_t start, deadline;
};

/* build-cache.c */
int build_key(struct build_job *j);
/* The same for the files of a tree object; may be called again for another one. With what it goes on from in it. */
void build_key_of(struct build_job *j, const char *tree_oid);
/* Was a build of that key made with our configuration, compiler and recipe? From nothing? */
bool build_key_suits(const struct build_job *j, const char *key);
bool build_key_scratch(const char *key);
/* a line of the fragment: part of the key, no config option */
#define BUILD_ALIGN_FLAG "# KCFLAGS=-falign-functions=64"
#define BUILD_ALIGN_OPTIONS "CONFIG_EXPERT=y\nCONFIG_DEBUG_FORCE_FUNCTION_ALIGN_64B=y\n"
/* 1 and ret filled where there is a finished build, 0 where not. names: those in cache_dir/builds, or NULL. */
int build_cache_get(const struct build_job *j, const char *commit, const struct strv *names, struct build_result *ret);
/* Sets j->kept. */
int build_cache_begin(struct build_job *j);
/* Keeps a finished (ok or broken) build with what lies in j->kept; fills ret->image_path. image: name there of the file
 * or folder that is the image, or NULL. */
int build_cache_put(struct build_job *j, const char *image, struct build_result *ret);

/* build-start.c */
/* The nearest finished build that the commit may go on from: sets j->start_key and start_commit, or leaves them. */
void start_find(struct build_job *j);
int start_begin(struct build_job *j);           /* makes j->objects and j->out */
char *start_folder(const struct build_job *j);  /* what to copy there, on the host; new string */
int start_drop(const struct build_job *j);      /* it cannot be copied: removed; -ESTALE */
int start_keep(struct build_job *j);            /* others may go on from it from now on */
void start_end(struct build_job *j);            /* removes what was not kept */

/* build-worktree.c */
struct sandbox_result;
/* Brings src to the commit, and beside that copies what it goes on from to out. ret->stop: it met a limit. */
int worktree_checkout(struct build_job *j, struct sandbox_result *ret);
/* Takes the worktree's lock: fd, or -ECANCELED. */
int worktree_lock(const struct build_job *j);

/* build-sandbox.c */
struct sandbox_result { int status; enum box_stop stop; bool ours; /* the limit was our full disk */ };
struct build_step {
	const char *script;
	const struct box_mount *mount; size_t n_mounts;
	const char *cwd;
	uint64_t memory;                /* bytes, 0: the build's */
	struct buf *out; int64_t max_out;       /* instead of the log */
};
/* Runs a script with output into j->log. 0 whatever the status. */
int build_step(struct build_job *j, const struct build_step *s, struct sandbox_result *ret);

/* build-error.c */
/* First error of a log as one terminal-safe line; ret_infra: it says that it is our fault (disk full, tool missing). */
char *build_first_error(const char *log, bool kernel, bool *ret_infra);
/* What such an error may come from that is no fault of the sources: a submodule, git's history, Git LFS. To be put
 * behind it, new string, or NULL. */
char *build_error_hint(const struct build_job *j, const char *log, const char *error);
/* Is one of the tools missing that a kernel's build takes? */
bool build_tool_missing(void);

/* build-kernel.c, build-program.c: 0 with state, error and so on set; files kept in the cache */
int build_kernel(struct build_job *j, struct build_result *ret);
int build_program(struct build_job *j, struct build_result *ret);
/* Written beside and renamed, but not synced: a build that a power cut tears is made again (the cache checks sizes),
 * while a sync on a busy disk takes longer than a small build. Only where no box can write. */
int build_write(const char *path, const void *data, size_t n);
/* Compresses the log and sets ret->log_path; no-op the second time. */
int build_log_pack(const struct build_job *j, struct build_result *ret);
/* Is there too little room for any build? Words of a log or of git prove nothing: names in a tree can say it, too. */
bool build_disk_full(const struct build_job *j);
/* Sets state and error after a failed step, and keeps a broken build. */
int build_broken(struct build_job *j, const struct sandbox_result *s, struct build_result *ret);

#endif
