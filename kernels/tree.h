/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree.h - git trees: a bare mirror per tree, fetched by git, read with libgit2.
 *
 * Every head ever seen stays reachable in the mirror under refs/kperfbot/seen/<oid>, so that a force push or a deleted
 * branch never takes away a commit that results or a running bisection need.
 *
 * The objects are a stranger's. Reading gives -EFBIG where one of them, or all that a commit has, is larger, deeper or
 * longer than any kernel's, -ETIMEDOUT after two minutes, -ECANCELED at proc_cancel_on()'s flag; libgit2 never holds
 * more than 1 GiB.
 */
#ifndef KPB_KERNELS_TREE_H
#define KPB_KERNELS_TREE_H
#include "lib/dag.h"
#include "lib/buf.h"
#include "lib/states.h"

struct tree_ref { char *branch, *oid; };
struct tree_refs { struct tree_ref *v; size_t n, cap; };
void tree_refs_release(struct tree_refs *r);

/* A URL that git may be given: no odd transport, no option, no secret (url_has_secret()). Else -EINVAL. */
int tree_url_check(const char *url);
/* A file for git credential-store (lines "https://USER:PASSWORD@HOST") that only its owner can read. Else -EINVAL;
 * -EACCES where we cannot tell. */
int tree_credentials_check(const char *path);
/* Cheap: git ls-remote with a timeout; only branches that match one of the globs (NULL: all), at most 10,000 (-E2BIG).
 * credentials: such a file, or NULL. A redirect is not followed: -EREMCHG, and the message says where it goes. Of the
 * account's own configuration only git's is read, GIT_CONFIG_GLOBAL or that in HOME (proxies, certificates), without
 * logins, and without cookies and headers for all hosts; ~/.netrc is not; ssh forwards nothing. */
int tree_remote_heads(const char *url, const char *credentials, const char *const *globs, double timeout_s,
		      struct tree_refs *ret);
/* Makes the mirror where there is none and fetches the given heads into refs/heads/<branch> (forced) and
 * refs/kperfbot/seen/<oid>, and tags of what came along, but for those that look like ids. Safe to be killed at any
 * moment. A shallow remote gives what it has, and later whatever more it has then. A mirror has at most a quarter of
 * its disk (-EFBIG) and leaves free what tree_keep_free() says (-ENOSPC). */
int tree_fetch(const char *url, const char *credentials, const char *git_dir, const struct tree_refs *heads,
	       double timeout_s);
/* 1: objects were missing in the mirror and are there now, as far as the remote has them; 0: nothing was missing. Reads
 * the whole history, which takes a minute for a kernel. */
int tree_repair(const char *url, const char *credentials, const char *git_dir, const struct tree_refs *heads,
		double timeout_s);
/* Where the history of a shallow remote's mirror ends: ids, sorted, of commits whose parents are not there. None: it is
 * whole. */
int tree_shallow(const char *git_dir, struct strv *ret);
/* The same in words for people, new string; NULL: it is whole. */
char *tree_shallow_words(const char *git_dir);
/* Bytes, for the whole of this program; 0 before. */
void tree_keep_free(uint64_t bytes);
/* 1 when anc is an ancestor of (or equal to) oid, 0 when not. Both questions are asked by tree_ask(): -EFBIG after some
 * seconds of work. */
int tree_is_ancestor(const char *git_dir, const char *anc, const char *oid);
int tree_merge_base(const char *git_dir, const char *a, const char *b, char **ret);
/* Any revision text; -ENOENT. What it begins with is a full id, else the start of one (7 digits or more), a branch or a
 * tag, else the start of one (4 digits), else what git makes of it; -ENOTUNIQ where that is several commits (the
 * message lists them): who owns the tree names its branches and tags. */
int tree_resolve(const char *git_dir, const char *rev, char **ret_oid);

struct commit_info { char *oid, *tree_oid, *subject, *message, *author_name, *author_mail, *committer_name,
		    *committer_mail;
		     char **parents; size_t n_parents; int64_t time; };
void commit_info_release(struct commit_info *c);
/* Texts are UTF-8, whatever the commit's "encoding" header says they were. */
int tree_commit(const char *git_dir, const char *oid, struct commit_info *ret);
/* Paths that the commit changes against its first parent. */
int tree_changed_paths(const char *git_dir, const char *oid, struct strv *ret);
/* Makes a commit in the mirror that undoes bad on top of tip (merges: against their first parent); the same two give
 * the same id. -ENOTSUP where that conflicts. */
int tree_revert(const char *git_dir, const char *bad, const char *tip, char **ret_oid);
/* True for an error that is the commit's own doing, whoever reads it and however often: over a limit (-EFBIG) or
 * malformed (-EBADMSG). */
bool tree_fault(int error);
/* Does the commit have files that a kernel could have? Before anything unpacks them: -EFBIG for more than a million, or
 * too deep or long ones; -EBADMSG. */
#define TREE_FILES_MAX 1000000
int tree_check(const char *git_dir, const char *oid);
/* Content of a file at a commit; -ENOENT where there is none. */
int tree_file_at(const char *git_dir, const char *oid, const char *path, struct buf *ret);

/* The first-parent line of a branch, back from head: ret_pos[i] = how many steps oid[i] lies behind head (0: head
 * itself), -1 where it does not stand on the line or is more than max steps behind. Returns how many do. */
int tree_line(const char *git_dir, const char *head, char *const *oid, size_t n, size_t max, int64_t *ret_pos);

/* What is between base (excluded, known good) and head (included): all commits reachable from head and not from base,
 * parents before children, node 0 = base itself. Nodes 1 to n_forks are no part of the range, but the commits of base's
 * past at which branches of the range fork; their parents are those among them that are known to be their ancestors.
 * oid[i] belongs to node i. why[i]: why commit i cannot matter (DROPPED_DOCS, DROPPED_OTHER_ARCH, ...), decided from
 * its paths, or DROPPED_NOT, which merges always get, and so do the commits that are left after a minute. At most max
 * commits (-E2BIG). */
struct tree_range { struct dag dag; char **oid; enum dropped *why; uint32_t n_forks; };
void tree_range_release(struct tree_range *r);
int tree_range(const char *git_dir, const char *base, const char *head, size_t max, struct tree_range *ret);

#endif
