/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first-parent line of a branch: which commits stand on it, and in which order. */
#include "kernels/tree-internal.h"

struct wanted { git_oid id; size_t at; };

static int by_id(const void *a, const void *b)
{
	return git_oid_cmp(&((const struct wanted *)a)->id, &((const struct wanted *)b)->id);
}

/* The commits that git knows, sorted. */
static size_t collect_wanted(git_repository *repo, char *const *oid, size_t n, struct wanted *w)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		_cleanup_(cleanup_gcommit) git_commit *c = NULL;

		if (git_oid_fromstr(&w[k].id, oid[i]) < 0 || git_commit_lookup(&c, repo, &w[k].id) < 0)
			continue;
		w[k++].at = i;
	}
	qsort(w, k, sizeof(*w), by_id);
	return k;
}

int tree_line(const char *git_dir, const char *head, char *const *oid, size_t n, size_t max, int64_t *ret_pos)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gcommit) git_commit *c = NULL;
	_cleanup_free_ struct wanted *w = xcalloc(n + 1, sizeof(*w));
	size_t k, found = 0;
	int r = repo_open(git_dir, &repo);

	if (r < 0 || (r = repo_commit(repo, head, &c)) < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		ret_pos[i] = -1;
	k = collect_wanted(repo, oid, n, w);
	for (size_t step = 0; found < k && step < max; step++) {
		const struct wanted key = {.id = *git_commit_id(c)}, *hit = bsearch(&key, w, k, sizeof(key), by_id);
		git_commit *parent = NULL;

		if (hit) {
			ret_pos[hit->at] = (int64_t)step;
			found++;
		}
		if (git_commit_parent(&parent, c, 0) < 0)
			break;
		git_commit_free(c);
		c = parent;
	}
	return (int)MIN(found, (size_t)INT_MAX);
}
