/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build.h - turns a commit into an image.
 *
 * Everything that is foreign runs in a box (box.h), and nothing of one tree reaches another: a kernel build goes on
 * from the output of the nearest of the commit's own ancestors that was built in the same tree, or from nothing; a
 * program is always built from nothing. Finished builds, keyed by source tree, config, toolchain and what they went on
 * from, live in cache_dir/builds, kernels' output folders in cache_dir/objects, sources in state_dir/worktrees. The
 * same source gives the same image_hash: build user, host, time and version are fixed. Killing it at any moment is
 * safe; the next call cleans up.
 */
#ifndef KPB_KERNELS_BUILD_H
#define KPB_KERNELS_BUILD_H
#include "lib/buf.h"
#include "lib/states.h"

/*
 * align_functions: a change elsewhere moves functions to other addresses, and that alone can make one faster or slower.
 * With CONFIG_DEBUG_FORCE_FUNCTION_ALIGN_64B=y where the tree has it (and EXPERT, which it depends on), else with
 * KCFLAGS=-falign-functions=64, no function moves relative to cache lines. Programs get KCFLAGS in their environment;
 * what they make of it is theirs. Such builds have a key and a worktree of their own.
 */
enum build_kind { BUILD_KERNEL, BUILD_PROGRAM };

struct build_request {
	enum build_kind kind;
	const char *tree;               /* name, for the worktree's folder */
	const char *git_dir, *commit;
	const char *kconfig;            /* kernels/configs/<name>.config chain, e.g. "vm-min"; for programs "program" */
	const char *const *options;     /* extra CONFIG_X=y lines (alignment build ...), NULL-terminated, or NULL */
	bool align_functions;           /* every function at a multiple of 64 bytes: BUILD_ALIGN_... below */
	const char *command;            /* BUILD_PROGRAM: shell command, run in the worktree (default "make") */
	const char *artefact;           /* BUILD_PROGRAM: path inside the worktree of the file or folder to keep */
	const char *state_dir, *cache_dir;
	const char *log_path;           /* becomes log_path.zst */
	int jobs;                       /* make -j */
	double timeout_s;               /* 0: 2 h */
	uint64_t max_memory;            /* bytes for all of it, 0: 8 GiB or 3/4 of the machine's */
	int64_t max_disk, max_files;    /* bytes, 0: 16 GiB; files and folders, 0: a million */
	volatile const int *cancel;
	void (*on_line)(void *arg, const char *line);  /* e.g. "CC net/unix/scm.o", may be NULL */
	void *on_line_arg;
};

struct build_result {
	enum build_state state;
	char *image_path;               /* kept file: bzImage, or the artefact */
	char *image_hash, *config_hash, *source_hash, *toolchain;
	char *error;                    /* first error line, terminal-safe */
	char *warnings;                 /* options that did not survive, one a line */
	char *log_path;
	double seconds;
	bool cached;                    /* came out of the cache, nothing was compiled */
	bool clean;                     /* there were no objects of an earlier build to go on from */
	bool limit;                     /* BUILD_INFRA since it met a limit: twice, and it is the commit's fault */
	bool isolated;                  /* false: built with our own rights ("sandbox: none") */
};
void build_result_release(struct build_result *r);
/* 0 also when state is not BUILD_OK; negative only for trouble that leaves no state. */
int build_commit(const struct build_request *q, struct build_result *ret);
/* Which of the commits lie finished and ok in the cache (q->commit is not looked at): ret[i]. Nothing is kept there for
 * the caller: a build may go meanwhile. */
int build_ready(const struct build_request *q, char *const *oid, size_t n, bool *ret);
/* Removes the finished builds and objects not used for longest until max_bytes (0: 20 GiB) suffice; happens by itself
 * now and then. Returns how many went. */
int build_cache_prune(const char *cache_dir, int64_t max_bytes);
/* For a disk that is nearly full: removes leftovers of killed builds, then objects, unused worktrees, builds and files
 * of runs, in the order of their last use, until 'need' bytes are free on both file systems. */
void build_make_room(const char *state_dir, const char *cache_dir, int64_t need);
/* Bytes free where there are fewer. */
int64_t build_room(const char *state_dir, const char *cache_dir);
/* What besides the commit decides how an image comes out: configuration text, compiler, linker, our recipe. 8 hex
 * digits; builds of different epochs must not be compared. */
#define BUILD_EPOCH 9
int build_epoch(enum build_kind kind, const char *kconfig, char ret[BUILD_EPOCH]);
/* Merged fragment text of a config (with its "# include: NAME" lines resolved). */
int kconfig_fragment(const char *name, struct buf *ret);
/* A .config as the kernel's configuration tools write it: printable ASCII; empty lines, "# ..." and CONFIG_NAME=y, m,
 * n, a number or a string in quotes without $ ` \ and ", so that no terminal, shell or make that reads it later does
 * anything. Else -EBADMSG, and the message says "its .config holds what no configuration tool writes: ...". */
int kconfig_check(const char *text, size_t len);

#endif
