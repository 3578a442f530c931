/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A commit that undoes another one on top of a tip, made in the mirror without a checkout. */
#include "kernels/tree-internal.h"
#include "lib/charset.h"

static inline void cleanup_index(git_index **p) { git_index_free(*p); }

/* Always the same id for the same two commits: author, committer and date are ours and the tip's. */
static int write_revert(git_repository *repo, git_commit *bad, git_commit *tip, git_index *index, char **ret_oid)
{
	_cleanup_(cleanup_gtree) git_tree *tree = NULL;
	_cleanup_free_ char *subject = utf8_from(git_commit_summary(bad) ? git_commit_summary(bad) : "",
						 git_commit_message_encoding(bad));
	_cleanup_free_ char *message = xasprintf("Revert \"%s\"\n\nThis reverts commit %s.\n", subject,
						 git_oid_tostr_s(git_commit_id(bad)));
	_cleanup_free_ char *ref = NULL, *oid = NULL;
	_cleanup_(cleanup_ref) git_reference *kept = NULL;
	git_signature *me = NULL;
	git_oid tree_id, id;
	int r = git_index_write_tree_to(&tree_id, index, repo);

	if (r == 0)
		r = git_tree_lookup(&tree, repo, &tree_id);
	if (r == 0)
		r = git_signature_new(&me, "kperfbot", "kperfbot@localhost", git_commit_time(tip), 0);
	if (r == 0)
		r = git_commit_create(&id, repo, NULL, me, me, "UTF-8", message, tree, 1, (const git_commit **)&tip);
	git_signature_free(me);
	if (r < 0)
		return repo_err(r, "cannot write the revert");
	oid = xstrdup(git_oid_tostr_s(&id));
	ref = xasprintf("refs/kperfbot/seen/%s", oid); /* no git gc takes it away */
	r = git_reference_create(&kept, repo, ref, &id, 1, "revert");
	if (r < 0)
		return repo_err(r, "cannot keep the revert");
	*ret_oid = TAKE_PTR(oid);
	return 0;
}

int tree_revert(const char *git_dir, const char *bad_oid, const char *tip_oid, char **ret_oid)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gcommit) git_commit *bad = NULL, *tip = NULL;
	_cleanup_(cleanup_index) git_index *index = NULL;
	int r = tree_check(git_dir, bad_oid); /* a merge has all files in memory */

	if (r == 0)
		r = tree_check(git_dir, tip_oid);
	if (r == 0)
		r = repo_open(git_dir, &repo);
	if (r == 0)
		r = repo_commit(repo, bad_oid, &bad);
	if (r == 0)
		r = repo_commit(repo, tip_oid, &tip);
	if (r < 0)
		return r;
	r = git_revert_commit(&index, repo, bad, tip, git_commit_parentcount(bad) > 1 ? 1 : 0, NULL);
	if (r < 0)
		return repo_err(r, "cannot revert %.12s on %.12s", bad_oid, tip_oid);
	if (git_index_has_conflicts(index))
		return err_set(-ENOTSUP, "%.12s does not revert cleanly on %.12s", bad_oid, tip_oid);
	return write_revert(repo, bad, tip, index, ret_oid);
}
