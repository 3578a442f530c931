/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernels/tree-internal.h - between the tree*.c files and build*.c: libgit2 handles do not go further up than this.
 */
#ifndef KPB_KERNELS_TREE_INTERNAL_H
#define KPB_KERNELS_TREE_INTERNAL_H
#include "kernels/tree.h"

#include <git2.h>

static inline void cleanup_repo(git_repository **p) { git_repository_free(*p); }
static inline void cleanup_gcommit(git_commit **p) { git_commit_free(*p); }
static inline void cleanup_gtree(git_tree **p) { git_tree_free(*p); }
static inline void cleanup_object(git_object **p) { git_object_free(*p); }
static inline void cleanup_ref(git_reference **p) { git_reference_free(*p); }
static inline void cleanup_walk(git_revwalk **p) { git_revwalk_free(*p); }

/* tree-limits.c: libgit2 with bounded memory; a repository that gives out no object over its size (-EFBIG) and none
 * after a deadline or a cancel; which limit this thread met since it asked last or opened one (0: none). */
#define TREE_FILE_MAX (64u << 20)
void tree_limits_start(void);
int tree_limits_guard(git_repository *repo);
int tree_limit_hit(const char **ret_why);

/* Opens a bare repository (or a .git folder) without looking at who owns it or at folders above. */
int repo_open(const char *git_dir, git_repository **ret);
/* libgit2's code -> negative errno, with a message made of ours and its own. */
int repo_err(int code, const char *fmt, ...) _printf_(2, 3);
int repo_commit(git_repository *repo, const char *oid, git_commit **ret);
bool tree_ref_valid(const char *ref);

/* How many paths and folders tree_diff_walk() may meet, how deep they lie, and how long a path may be: else -EFBIG. */
#define TREE_PATHS_MAX 4000000
#define TREE_FOLDERS_MAX 100000
#define TREE_DEPTH_MAX 100
#define TREE_PATH_MAX 4095

/* A question whose answer (r >= 0, and a text) comes from a child that may work for so many seconds; -EFBIG after that,
 * which is the history's fault (tree_fault()); -ECANCELED at proc_cancel_on()'s flag. */
#define TREE_ANSWER 80
typedef int (*tree_question)(void *arg, char out[TREE_ANSWER]);
int tree_ask(tree_question f, void *arg, double seconds, char ret[TREE_ANSWER]);

/* Can a change of that file change an x86 kernel? */
bool tree_path_matters(const char *path);
/* Calls cb for each path (files only) that differs between two trees (NULL: empty); stops when it returns non-zero and
 * gives that back. */
typedef int (*tree_diff_cb)(const char *path, void *arg);
int tree_diff_walk(git_repository *repo, const git_tree *a, const git_tree *b, tree_diff_cb cb, void *arg);
/* The same for two commits (object ids). */
int tree_diff_commits(const char *git_dir, const char *a, const char *b, tree_diff_cb cb, void *arg);

/* tree-shallow.c: the same questions of a mirror whose history ends somewhere (tree_shallow()), answered by git. */
bool mirror_is_shallow(const char *git_dir);
bool shallow_has(const struct strv *ends, const char *oid);     /* ends: of tree_shallow() */
int shallow_is_ancestor(const char *git_dir, const char *anc, const char *oid);
int shallow_merge_base(const char *git_dir, const char *a, const char *b, char ret[TREE_ANSWER]);
/* The commits of tree_range(), parents first; at most max. */
int shallow_list(const char *git_dir, const char *base, const char *head, size_t max, struct strv *ret);
/* Around a fetch: a remote that has become shallower takes nothing from the history that was here before, also where
 * the fetch was killed. */
int mirror_depth_begin(const char *git_dir);
int mirror_depth_end(const char *git_dir);
/* 1: every object of every kept commit is there; 0: not. */
int mirror_whole(const char *git_dir);

/* refs/kperfbot/seen/<oid> for all present branch heads. */
int mirror_note_seen(const char *git_dir);
/* The same for the heads that were asked for; -EAGAIN where one went away while we fetched. */
int mirror_note_heads(const char *git_dir, const struct tree_refs *heads);
/* Deletes branches in whose way a new one stands ("a" and "a/b"). */
int mirror_make_room(const char *git_dir, const struct tree_refs *heads);
/* Removes tags that could be taken for a commit's id. */
int mirror_drop_hex_tags(const char *git_dir);
/* Removes what a killed git left in the mirror; the caller holds its lock (GIT_DIR.lock). */
void mirror_sweep(const char *git_dir);

#endif
