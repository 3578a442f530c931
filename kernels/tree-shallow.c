/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mirrors of shallow remotes. The file "shallow" of such a mirror has the ids of the commits at which its history ends:
 * their parents are named and are not there. libgit2 1.5 does not know it, so git itself is asked about such a history.
 */
#include "kernels/tree-internal.h"
#include "lib/fs.h"
#include "lib/git.h"

#include <signal.h>

#define SHALLOW_MAX (4u << 20)  /* bytes: 100,000 ends of a history */
#define WALK_S 120.0

static char *shallow_path(const char *git_dir) { return xasprintf("%s/shallow", git_dir); }

char *tree_shallow_words(const char *git_dir)
{
	_cleanup_strv_ struct strv ends = {0};
	_cleanup_buf_ struct buf b = {0};

	if (tree_shallow(git_dir, &ends) < 0 || !ends.n)
		return NULL;
	buf_addf(&b, "the remote is shallow: its history ends at %.12s", ends.v[0]);
	if (ends.n > 1)
		buf_addf(&b, " and %zu more commits", ends.n - 1);
	buf_adds(&b, ", and what lies below cannot be searched");
	return buf_take(&b);
}

bool mirror_is_shallow(const char *git_dir)
{
	_cleanup_free_ char *path = shallow_path(git_dir);

	return fs_size(path) > 0;
}

static bool parents_there(git_repository *repo, const char *oid)
{
	_cleanup_(cleanup_gcommit) git_commit *c = NULL;
	git_odb *odb = NULL;
	bool all = repo_commit(repo, oid, &c) == 0 && git_repository_odb(&odb, repo) == 0;

	for (unsigned i = 0; all && i < git_commit_parentcount(c); i++)
		all = git_odb_exists(odb, git_commit_parent_id(c, i));
	git_odb_free(odb);
	return all;
}

static char *before_path(const char *git_dir) { return xasprintf("%s/shallow.before", git_dir); }

static void add_lines(struct buf *text, struct strv *ret)
{
	char *save = NULL;

	for (char *l = text->s ? strtok_r(text->s, "\n", &save) : NULL; l; l = strtok_r(NULL, "\n", &save))
		strv_add(ret, l);
}

static int read_ends(const char *path, struct strv *ret)
{
	_cleanup_buf_ struct buf text = {0};
	git_oid id;
	int r = fs_exists(path) ? fs_read(path, SHALLOW_MAX, &text) : 0;

	if (r < 0)
		return r;
	add_lines(&text, ret);
	for (size_t i = 0; i < ret->n; i++)
		if (git_oid_fromstr(&id, ret->v[i]) < 0)
			return err_set(-EBADMSG, "'%s' holds a line that is no id", path);
	strv_sort_uniq(ret);
	return 0;
}

static int by_text(const void *a, const void *b) { return strcmp(a, *(char *const *)b); }

bool shallow_has(const struct strv *ends, const char *oid)
{
	return ends->n && bsearch(oid, ends->v, ends->n, sizeof(*ends->v), by_text);
}

static int write_ends(const char *path, const struct strv *ends)
{
	_cleanup_buf_ struct buf text = {0};

	for (size_t i = 0; i < ends->n; i++)
		buf_addf(&text, "%s\n", ends->v[i]);
	return fs_write_atomic(path, buf_str(&text), text.len);
}

int tree_shallow(const char *git_dir, struct strv *ret)
{
	_cleanup_free_ char *path = shallow_path(git_dir);

	return read_ends(path, ret);
}

int mirror_depth_begin(const char *git_dir)
{
	_cleanup_free_ char *before = before_path(git_dir);
	_cleanup_strv_ struct strv ends = {0};
	int r = fs_exists(before) ? 0 : tree_shallow(git_dir, &ends);

	return r < 0 || fs_exists(before) ? r : write_ends(before, &ends);
}

int mirror_depth_end(const char *git_dir)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_free_ char *path = shallow_path(git_dir), *before = before_path(git_dir);
	_cleanup_strv_ struct strv old = {0}, now = {0}, kept = {0};
	int r = read_ends(before, &old);

	if (r >= 0)
		r = tree_shallow(git_dir, &now);
	if (r >= 0 && now.n)
		r = repo_open(git_dir, &repo);
	if (r < 0)
		return r;
	for (size_t i = 0; i < now.n; i++)
		if (shallow_has(&old, now.v[i]) || !parents_there(repo, now.v[i]))
			strv_add(&kept, now.v[i]);
	if (kept.n)
		r = write_ends(path, &kept);
	else if (unlink(path) < 0 && errno != ENOENT)
		r = err_set(-errno, "cannot remove '%s': %s", path, strerror(errno));
	if (r >= 0)
		unlink(before);
	return r;
}

/* ---- questions that git answers ---- */

static int ask_git(const char *git_dir, const char *const *args, size_t max_output, struct proc_result *ret)
{
	int r = git_exec(&(struct git_spec){.args = args, .git_dir = git_dir,
					    .env_add = ARGV("GIT_NO_REPLACE_OBJECTS=1"), .timeout_s = WALK_S,
					    .max_output = max_output}, ret);
	_cleanup_free_ char *line = NULL, *shown = NULL;

	if (r < 0 || ret->status <= 1)
		return r;
	line = last_line(buf_str(&ret->err));
	shown = term_safe(line);
	/* tree_ask() lets it compute for so many seconds */
	r = ret->status == 128 + SIGXCPU || ret->status == 128 + SIGKILL ? -EFBIG : git_status(ret);
	return err_set(r, "cannot walk the shallow history: %s", *shown ? shown : "git gave no reason");
}

int shallow_is_ancestor(const char *git_dir, const char *anc, const char *oid)
{
	_cleanup_(proc_result_release) struct proc_result p = {0};
	int r = ask_git(git_dir, ARGV("merge-base", "--is-ancestor", anc, oid), 0, &p);

	return r < 0 ? r : !p.status;
}

int shallow_merge_base(const char *git_dir, const char *a, const char *b, char ret[TREE_ANSWER])
{
	_cleanup_(proc_result_release) struct proc_result p = {0};
	int r = ask_git(git_dir, ARGV("merge-base", a, b), 0, &p);

	if (r < 0)
		return r;
	if (p.status)
		return err_set(-ENOENT, "'%.12s' and '%.12s' have no common ancestor above the end of the shallow "
			       "history", a, b);
	snprintf(ret, TREE_ANSWER, "%.*s", (int)strcspn(buf_str(&p.out), "\n"), buf_str(&p.out));
	return 0;
}

int shallow_list(const char *git_dir, const char *base, const char *head, size_t max, struct strv *ret)
{
	_cleanup_(proc_result_release) struct proc_result p = {0};
	_cleanup_free_ char *not_base = xasprintf("^%s", base), *most = xasprintf("--max-count=%zu", max);
	int r = ask_git(git_dir, ARGV("rev-list", "--topo-order", "--reverse", most, head, not_base),
			(max + 1) * (GIT_OID_HEXSZ + 1), &p);

	if (r < 0)
		return r;
	if (p.status)
		return err_set(-EIO, "cannot walk the shallow history between '%.12s' and '%.12s'", base, head);
	add_lines(&p.out, ret);
	return 0;
}

int mirror_whole(const char *git_dir)
{
	_cleanup_(proc_result_release) struct proc_result p = {0};
	int r = git_exec(&(struct git_spec){.args = ARGV("rev-list", "--quiet", "--objects", "--all"),
					    .git_dir = git_dir,
					    .env_add = ARGV("GIT_NO_REPLACE_OBJECTS=1"), .timeout_s = 1800,
					    .memory = 4ULL << 30}, &p);

	return r < 0 ? r : !p.status;
}
