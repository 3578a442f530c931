/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a mirror with libgit2. */
#include "kernels/tree-internal.h"
#include "lib/charset.h"
#include "lib/escape.h"
#include "lib/git.h"

#include <pthread.h>
#include <time.h>

#define HISTORY_S 8             /* of work; a kernel's takes one or two */
#define CHANGED_MAX (64u << 20) /* bytes of a list of changed paths */
#define SUBJECT_MAX 1000
#define IDENT_MAX 320
#define SHORT_ID_MIN 7          /* digits; the bot prints 10 or more */

static void git_start(void)
{
	tree_limits_start();
	/* mirrors may belong to the daemon's user while root looks at them */
	git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
}

static bool malformed(int code, const git_error *e)
{
	return code == GIT_ERROR && e && (e->klass == GIT_ERROR_TREE || e->klass == GIT_ERROR_OBJECT ||
					  (e->message && startswith(e->message, "failed to parse")));
}

int repo_err(int code, const char *fmt, ...)
{
	const git_error *e = git_error_last();
	const char *limit;
	int hit = tree_limit_hit(&limit);
	_cleanup_free_ char *what = NULL, *why = term_safe(hit ? limit : e && e->message ? e->message : "no details");
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&what, fmt, ap) < 0)
		abort();
	va_end(ap);
	return err_set(hit ? hit : malformed(code, e) ? -EBADMSG : code == GIT_ENOTFOUND ? -ENOENT :
		       code == GIT_EAMBIGUOUS ? -ENOTUNIQ : code == GIT_EINVALIDSPEC ? -EINVAL : -EIO,
		       "%s: %s", what, why);
}

int repo_open(const char *git_dir, git_repository **ret)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	git_repository *repo = NULL;
	int r;

	pthread_once(&once, git_start);
	r = git_repository_open_ext(&repo, git_dir, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);
	if (r == 0)
		r = tree_limits_guard(repo);
	if (r < 0) {
		git_repository_free(repo);
		return repo_err(r, "cannot open git folder '%s'", git_dir);
	}
	*ret = repo;
	return 0;
}

bool tree_ref_valid(const char *ref)
{
	int valid = 0;

	return git_reference_name_is_valid(&valid, ref) == 0 && valid;
}

int repo_commit(git_repository *repo, const char *oid, git_commit **ret)
{
	git_oid id;
	int r = git_oid_fromstr(&id, oid);

	if (r < 0)
		return err_set(-EINVAL, "'%s' is not a full commit id", oid);
	r = git_commit_lookup(ret, repo, &id);
	return r < 0 ? repo_err(r, "no commit '%s'", oid) : 0;
}

struct two { const char *git_dir, *a, *b; };

static int ask_ancestor(void *arg, char out[TREE_ANSWER] _unused_)
{
	const struct two *q = arg;
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gcommit) git_commit *a = NULL, *b = NULL;
	int r = repo_open(q->git_dir, &repo);

	if (r < 0 || (r = repo_commit(repo, q->a, &a)) < 0 || (r = repo_commit(repo, q->b, &b)) < 0)
		return r;
	if (git_oid_equal(git_commit_id(a), git_commit_id(b)))
		return 1;
	if (mirror_is_shallow(q->git_dir))
		return shallow_is_ancestor(q->git_dir, q->a, q->b);
	r = git_graph_descendant_of(repo, git_commit_id(b), git_commit_id(a));
	return r < 0 ? repo_err(r, "cannot walk from '%s'", q->b) : r;
}

int tree_is_ancestor(const char *git_dir, const char *anc, const char *oid)
{
	struct two q = {git_dir, anc, oid};
	char none[TREE_ANSWER];

	return tree_ask(ask_ancestor, &q, HISTORY_S, none);
}

static int ask_base(void *arg, char out[TREE_ANSWER])
{
	const struct two *q = arg;
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gcommit) git_commit *ca = NULL, *cb = NULL;
	git_oid base;
	int r = repo_open(q->git_dir, &repo);

	if (r < 0 || (r = repo_commit(repo, q->a, &ca)) < 0 || (r = repo_commit(repo, q->b, &cb)) < 0)
		return r;
	if (mirror_is_shallow(q->git_dir))
		return shallow_merge_base(q->git_dir, q->a, q->b, out);
	r = git_merge_base(&base, repo, git_commit_id(ca), git_commit_id(cb));
	if (r < 0)
		return repo_err(r, "'%.12s' and '%.12s' have no common ancestor", q->a, q->b);
	git_oid_tostr(out, TREE_ANSWER, &base);
	return 0;
}

int tree_merge_base(const char *git_dir, const char *a, const char *b, char **ret)
{
	struct two q = {git_dir, a, b};
	char base[TREE_ANSWER];
	int r = tree_ask(ask_base, &q, HISTORY_S, base);

	if (r == 0)
		*ret = xstrdup(base);
	return r;
}

/* ---- names of commits ---- */

static bool is_hex(const char *s) { return s[strspn(s, "0123456789abcdefABCDEF")] == 0; }

/* What a text can mean: an id or the start of one, a branch, a tag. */
struct meaning { const char *kind; git_oid id; };
struct meanings { struct meaning v[3]; size_t n; };

/* r: of the lookup that gave the object, which is released here. */
static int add_meaning(struct meanings *m, const char *kind, int r, git_object *object)
{
	_cleanup_(cleanup_object) git_object *o = object, *c = NULL;

	if (r == 0)
		r = git_object_peel(&c, o, GIT_OBJECT_COMMIT);
	if (r == GIT_ENOTFOUND || r == GIT_EINVALIDSPEC || r == GIT_EPEEL)
		return 0;
	if (r < 0)
		return repo_err(r, "cannot look it up as %s", kind);
	m->v[m->n++] = (struct meaning){kind, *git_object_id(c)};
	return 0;
}

#define CANDIDATES_SHOWN 8

static void add_candidate(git_repository *repo, const git_oid *id, struct buf *b)
{
	_cleanup_(cleanup_gcommit) git_commit *c = NULL;
	_cleanup_free_ char *subject = NULL;
	char date[16] = "?";
	time_t when;
	struct tm tm;

	buf_addf(b, "\n  %s", git_oid_tostr_s(id));
	if (git_commit_lookup(&c, repo, id) < 0)
		return;
	when = (time_t)git_commit_time(c);
	if (gmtime_r(&when, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	subject = xstrdup(git_commit_summary(c));
	buf_addf(b, " %s \"", date);
	buf_add_shown(b, subject ? subject : "");
	buf_addc(b, '"');
}

/* Files and folders may begin so as well: the one commit among them is meant. -ENOTUNIQ names the commits. */
static int only_commit(git_repository *repo, const char *start, git_oid *ret)
{
	_cleanup_(proc_result_release) struct proc_result p = {0};
	_cleanup_free_ char *arg = xasprintf("--disambiguate=%s", start);
	_cleanup_buf_ struct buf list = {0};
	size_t n = 0;
	int r = git_exec(&(struct git_spec){.git_dir = git_repository_path(repo), .args = ARGV("rev-parse", arg)}, &p);

	if (r >= 0 && (r = git_status(&p)) < 0)
		err_set(r, "cannot list what begins with '%s'", start);
	if (r < 0 || !p.out.len)
		return r;
	for (char *save = NULL, *l = strtok_r(p.out.s, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		_cleanup_(cleanup_object) git_object *o = NULL;
		git_oid id;

		if (git_oid_fromstr(&id, l) < 0 || git_object_lookup(&o, repo, &id, GIT_OBJECT_COMMIT) < 0)
			continue;
		*ret = id;
		if (n++ < CANDIDATES_SHOWN)
			add_candidate(repo, &id, &list);
	}
	if (n > 1)
		return err_set(-ENOTUNIQ, "'%s' is ambiguous, %zu commits begin so:%s%s", start, n, buf_str(&list),
			       n > CANDIDATES_SHOWN ? "\n  ..." : "");
	return n == 1;
}

/* 1 and *ret for the start of exactly one commit's id, 0 for none's. */
static int commit_by_start(git_repository *repo, const char *start, git_oid *ret)
{
	_cleanup_(cleanup_object) git_object *o = NULL;
	git_oid id;
	int r = git_oid_fromstrn(&id, start, strlen(start));

	if (r == 0)
		r = git_object_lookup_prefix(&o, repo, &id, strlen(start), GIT_OBJECT_COMMIT);
	if (r == GIT_EAMBIGUOUS)
		return only_commit(repo, start, ret);
	if (r == GIT_ENOTFOUND)
		return 0;
	if (r < 0)
		return repo_err(r, "cannot look it up as a commit's id");
	*ret = *git_object_id(o);
	return 1;
}

static int add_id(git_repository *repo, const char *name, struct meanings *m)
{
	git_oid id;
	int r = commit_by_start(repo, name, &id);

	if (r > 0)
		m->v[m->n++] = (struct meaning){"a commit's id", id};
	return MIN(r, 0);
}

static int add_ref(git_repository *repo, const char *kind, const char *folder, const char *name, struct meanings *m)
{
	_cleanup_free_ char *ref = xasprintf("%s/%s", folder, name);
	git_object *o = NULL;
	git_oid id;
	int r = tree_ref_valid(ref) ? git_reference_name_to_id(&id, repo, ref) : GIT_ENOTFOUND;

	if (r == 0)
		r = git_object_lookup(&o, repo, &id, GIT_OBJECT_ANY);
	return add_meaning(m, kind, r, o);
}

/* 1 and *ret, or 0 where the name has none of these meanings. */
static int resolve_name(git_repository *repo, const char *name, git_oid *ret)
{
	size_t n = strlen(name);
	struct meanings m = {0};
	int r = is_hex(name) && n >= SHORT_ID_MIN && n <= GIT_OID_HEXSZ ? add_id(repo, name, &m) : 0;

	if (r == 0 && !(is_hex(name) && n == GIT_OID_HEXSZ)) {
		r = add_ref(repo, "branch", "refs/heads", name, &m);
		r = r < 0 ? r : add_ref(repo, "tag", "refs/tags", name, &m);
	}
	if (r == 0 && !m.n && is_hex(name) && n >= GIT_OID_MINPREFIXLEN && n < SHORT_ID_MIN)
		return commit_by_start(repo, name, ret);
	if (r < 0 || !m.n)
		return r;
	for (size_t i = 1; i < m.n; i++)
		if (!git_oid_equal(&m.v[0].id, &m.v[i].id)) {
			_cleanup_free_ char *shown = term_safe(name), *first = xstrdup(git_oid_tostr_s(&m.v[0].id));

			return err_set(-ENOTUNIQ, "'%s' is ambiguous, it means two commits: %s (%s) and %s (%s); "
				       "name one by all digits of its id",
				       shown, first, m.v[0].kind, git_oid_tostr_s(&m.v[i].id), m.v[i].kind);
		}
	*ret = m.v[0].id;
	return 1;
}

/* The text with an id in place of the name that it begins with. */
static int in_ids(git_repository *repo, const char *rev, char **ret)
{
	size_t n = strcspn(rev, "~^:");
	_cleanup_free_ char *name = xstrndup(rev, n);
	git_oid id;
	int r = !n || startswith(name, "refs/") || strstr(name, "@{") ? 0 : resolve_name(repo, name, &id);

	if (r >= 0)
		*ret = r ? xasprintf("%s%s", git_oid_tostr_s(&id), rev + n) : xstrdup(rev);
	return MIN(r, 0);
}

int tree_resolve(const char *git_dir, const char *rev, char **ret_oid)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_object) git_object *o = NULL, *c = NULL;
	_cleanup_free_ char *shown = term_safe(rev), *plain = NULL;
	int r = repo_open(git_dir, &repo);

	if (r < 0 || (r = in_ids(repo, rev, &plain)) < 0)
		return r;
	r = git_revparse_single(&o, repo, plain);
	if (r == GIT_EINVALIDSPEC)
		r = GIT_ENOTFOUND;
	if (r == 0)
		r = git_object_peel(&c, o, GIT_OBJECT_COMMIT);
	if (r == GIT_EPEEL)
		r = GIT_ENOTFOUND;
	if (r < 0)
		return repo_err(r, "no commit '%s'", shown);
	*ret_oid = xstrdup(git_oid_tostr_s(git_object_id(c)));
	return 0;
}

void commit_info_release(struct commit_info *c)
{
	for (size_t i = 0; i < c->n_parents; i++)
		free(c->parents[i]);
	free(c->parents);
	free(c->oid);
	free(c->tree_oid);
	free(c->subject);
	free(c->message);
	free(c->author_name);
	free(c->author_mail);
	free(c->committer_name);
	free(c->committer_mail);
	*c = (struct commit_info){0};
}

/* A text of the commit in UTF-8, at most so many bytes and whole characters. */
static char *text_of(const git_commit *c, const char *s, size_t max)
{
	char *text = utf8_from(s ? s : "", git_commit_message_encoding(c));
	size_t n = strlen(text);

	if (n > max)
		for (n = max; n && (text[n] & 0xc0) == 0x80; n--)
			;
	text[n] = 0;
	return text;
}

int tree_commit(const char *git_dir, const char *oid, struct commit_info *ret)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gcommit) git_commit *c = NULL;
	const git_signature *author, *committer;
	struct commit_info i = {0};
	int r = repo_open(git_dir, &repo);

	if (r < 0 || (r = repo_commit(repo, oid, &c)) < 0)
		return r;
	author = git_commit_author(c);
	committer = git_commit_committer(c);
	if (!author || !committer)
		return err_set(-EIO, "commit '%s' has no author or committer", oid);
	i.oid = xstrdup(git_oid_tostr_s(git_commit_id(c)));
	i.tree_oid = xstrdup(git_oid_tostr_s(git_commit_tree_id(c)));
	i.subject = text_of(c, git_commit_summary(c), SUBJECT_MAX);
	i.message = text_of(c, git_commit_message(c), SIZE_MAX);
	i.author_name = text_of(c, author->name, IDENT_MAX);
	i.author_mail = xstrdup(strlen(author->email) <= IDENT_MAX ? author->email : "");
	i.committer_name = text_of(c, committer->name, IDENT_MAX);
	i.committer_mail = xstrdup(strlen(committer->email) <= IDENT_MAX ? committer->email : "");
	i.time = git_commit_time(c);
	i.n_parents = git_commit_parentcount(c);
	i.parents = xcalloc(i.n_parents, sizeof(*i.parents));
	for (size_t k = 0; k < i.n_parents; k++)
		i.parents[k] = xstrdup(git_oid_tostr_s(git_commit_parent_id(c, k)));
	*ret = i;
	return 0;
}

struct diff_walk { git_repository *repo; tree_diff_cb cb; void *arg; struct buf path; int depth;
		   size_t paths, folders; };

static int diff_trees(struct diff_walk *w, const git_tree *a, const git_tree *b);

static int diff_entry(struct diff_walk *w, const git_tree_entry *a, const git_tree_entry *b)
{
	const git_tree_entry *entry[2] = {a, b};
	git_tree *sub[2] = {NULL, NULL};
	size_t len = w->path.len;
	bool file = false;
	int r = 0;

	if (a && b && git_oid_equal(git_tree_entry_id(a), git_tree_entry_id(b)) &&
	    git_tree_entry_filemode_raw(a) == git_tree_entry_filemode_raw(b))
		return 0;
	if (++w->paths > TREE_PATHS_MAX)
		return err_set(-EFBIG, "more than %d paths", TREE_PATHS_MAX);
	buf_adds(&w->path, git_tree_entry_name(a ? a : b));
	if (w->path.len > TREE_PATH_MAX)
		return err_set(-EFBIG, "a path of more than %d bytes", TREE_PATH_MAX);
	for (int i = 0; r == 0 && i < 2; i++) {
		if (entry[i] && git_tree_entry_type(entry[i]) == GIT_OBJECT_TREE)
			r = git_tree_lookup(&sub[i], w->repo, git_tree_entry_id(entry[i]));
		else
			file = file || entry[i];
	}
	if (r < 0)
		r = repo_err(r, "cannot read folder '%s'", w->path.s);
	if (r == 0 && file)
		r = w->cb(w->path.s, w->arg);
	if (r == 0 && (sub[0] || sub[1])) {
		buf_addc(&w->path, '/');
		r = diff_trees(w, sub[0], sub[1]);
	}
	git_tree_free(sub[0]);
	git_tree_free(sub[1]);
	w->path.len = len;
	w->path.s[len] = 0;
	return r;
}

/* Entries of a git tree are sorted by name, folders as if they ended in '/'. */
static int entry_cmp(const git_tree_entry *a, const git_tree_entry *b)
{
	return !a ? 1 : !b ? -1 : git_tree_entry_cmp(a, b);
}

static int diff_trees(struct diff_walk *w, const git_tree *a, const git_tree *b)
{
	size_t na = a ? git_tree_entrycount(a) : 0, nb = b ? git_tree_entrycount(b) : 0, i = 0, j = 0;
	int r = 0;

	if (++w->depth > TREE_DEPTH_MAX)
		r = err_set(-EFBIG, "folders lie more than %d deep", TREE_DEPTH_MAX);
	if (++w->folders > TREE_FOLDERS_MAX)
		r = err_set(-EFBIG, "more than %d folders", TREE_FOLDERS_MAX);
	while (r == 0 && (i < na || j < nb)) {
		const git_tree_entry *ea = i < na ? git_tree_entry_byindex(a, i) : NULL;
		const git_tree_entry *eb = j < nb ? git_tree_entry_byindex(b, j) : NULL;
		int c = entry_cmp(ea, eb);

		i += c <= 0;
		j += c >= 0;
		r = diff_entry(w, c <= 0 ? ea : NULL, c >= 0 ? eb : NULL);
	}
	w->depth--;
	return r;
}

int tree_diff_walk(git_repository *repo, const git_tree *a, const git_tree *b, tree_diff_cb cb, void *arg)
{
	struct diff_walk w = {.repo = repo, .cb = cb, .arg = arg};
	int r;

	buf_adds(&w.path, "");
	r = diff_trees(&w, a, b);
	buf_release(&w.path);
	return r;
}

static int commit_tree(git_repository *repo, const char *oid, git_tree **ret)
{
	_cleanup_(cleanup_gcommit) git_commit *c = NULL;
	int r = repo_commit(repo, oid, &c);

	if (r == 0 && (r = git_commit_tree(ret, c)) < 0)
		r = repo_err(r, "cannot read the files of '%s'", oid);
	return r;
}

int tree_diff_commits(const char *git_dir, const char *a, const char *b, tree_diff_cb cb, void *arg)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gtree) git_tree *ta = NULL, *tb = NULL;
	int r = repo_open(git_dir, &repo);

	if (r < 0 || (r = commit_tree(repo, a, &ta)) < 0 || (r = commit_tree(repo, b, &tb)) < 0)
		return r;
	return tree_diff_walk(repo, ta, tb, cb, arg);
}

struct changed { struct strv paths; size_t bytes; };

static int add_path(const char *path, void *arg)
{
	struct changed *c = arg;

	c->bytes += strlen(path) + 1;
	if (c->bytes > CHANGED_MAX)
		return err_set(-EFBIG, "the names of the changed files have more than %u bytes", CHANGED_MAX);
	strv_add(&c->paths, path);
	return 0;
}

int tree_changed_paths(const char *git_dir, const char *oid, struct strv *ret)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gcommit) git_commit *c = NULL, *parent = NULL;
	_cleanup_(cleanup_gtree) git_tree *a = NULL, *b = NULL;
	struct changed changed = {0};
	int r = repo_open(git_dir, &repo);

	if (r < 0 || (r = repo_commit(repo, oid, &c)) < 0)
		return r;
	r = git_commit_tree(&b, c);
	if (r == 0 && git_commit_parentcount(c)) {
		r = git_commit_parent(&parent, c, 0);
		if (r == 0)
			r = git_commit_tree(&a, parent);
	}
	if (r < 0)
		return repo_err(r, "cannot read the files of '%s'", oid);
	r = tree_diff_walk(repo, a, b, add_path, &changed);
	for (size_t i = 0; r == 0 && i < changed.paths.n; i++)
		strv_add(ret, changed.paths.v[i]);
	strv_release(&changed.paths);
	return r < 0 ? err_prefix(r, "commit %.12s", oid) : 0;
}

int tree_file_at(const char *git_dir, const char *oid, const char *path, struct buf *ret)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gtree) git_tree *t = NULL;
	git_tree_entry *e = NULL;
	git_blob *blob = NULL;
	int r = repo_open(git_dir, &repo);

	if (r < 0 || (r = commit_tree(repo, oid, &t)) < 0)
		return r;
	r = git_tree_entry_bypath(&e, t, path);
	if (r == 0 && git_tree_entry_type(e) != GIT_OBJECT_BLOB)
		r = GIT_ENOTFOUND;
	if (r == 0)
		r = git_blob_lookup(&blob, repo, git_tree_entry_id(e));
	if (r < 0)
		r = repo_err(r, "no file '%s' at '%.12s'", path, oid);
	else
		buf_add(ret, git_blob_rawcontent(blob), git_blob_rawsize(blob));
	git_blob_free(blob);
	git_tree_entry_free(e);
	return r;
}

/* ---- refs of the mirror ---- */

static int note_one(git_repository *repo, const git_oid *id)
{
	_cleanup_(cleanup_ref) git_reference *ref = NULL;
	_cleanup_free_ char *name = xasprintf("refs/kperfbot/seen/%s", git_oid_tostr_s(id));
	int r = git_reference_create(&ref, repo, name, id, 0, NULL);

	return r == GIT_EEXISTS || r == 0 ? 0 : repo_err(r, "cannot keep '%s'", name);
}

/* Calls f for every reference of that form. */
static int each_ref(git_repository *repo, const char *glob, int (*f)(git_repository *, git_reference *, const void *),
		    const void *arg)
{
	git_reference_iterator *it = NULL;
	git_reference *ref = NULL;
	int r = git_reference_iterator_glob_new(&it, repo, glob), end = 0;

	if (r < 0)
		return repo_err(r, "cannot list %s", glob);
	while (r == 0 && (end = git_reference_next(&ref, it)) == 0) {
		r = f(repo, ref, arg);
		git_reference_free(ref);
	}
	git_reference_iterator_free(it);
	return r < 0 ? r : end == GIT_ITEROVER ? 0 : repo_err(end, "cannot list %s", glob);
}

/* A commit that went missing cannot be kept; tree_repair() may bring it back. */
static int note_ref(git_repository *repo, git_reference *ref, const void *arg _unused_)
{
	const git_oid *id = git_reference_target(ref);
	git_odb *odb = NULL;
	bool there = id && git_repository_odb(&odb, repo) == 0 && git_odb_exists(odb, id);

	git_odb_free(odb);
	return there ? note_one(repo, id) : 0;
}

int mirror_note_seen(const char *git_dir)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	int r = repo_open(git_dir, &repo);

	return r < 0 ? r : each_ref(repo, "refs/heads/*", note_ref, NULL);
}

int mirror_note_heads(const char *git_dir, const struct tree_refs *heads)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	int r = repo_open(git_dir, &repo);

	for (size_t i = 0; r == 0 && i < heads->n; i++) {
		_cleanup_(cleanup_gcommit) git_commit *c = NULL;

		r = repo_commit(repo, heads->v[i].oid, &c);
		if (tree_fault(r)) { /* that one branch is not for us; the others are */
			r = 0;
			continue;
		}
		if (r < 0)
			r = err_set(-EAGAIN, "branch '%s' was moved away from '%.12s' while it was fetched; try again",
				    heads->v[i].branch, heads->v[i].oid);
		else
			r = note_one(repo, git_commit_id(c));
	}
	return r;
}

/* refs/tags/v6.1 stays, refs/tags/4606131 does not. */
static int drop_if_hex(git_repository *repo _unused_, git_reference *ref, const void *arg _unused_)
{
	const char *name = git_reference_name(ref) + strlen("refs/tags/");
	int r = is_hex(name) && strlen(name) >= SHORT_ID_MIN ? git_reference_delete(ref) : 0;

	return r < 0 ? repo_err(r, "cannot drop the tag '%s', which looks like an id", name) : 0;
}

int mirror_drop_hex_tags(const char *git_dir)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	int r = repo_open(git_dir, &repo);

	return r < 0 ? r : each_ref(repo, "refs/tags/*", drop_if_hex, NULL);
}

static int drop_if_in_the_way(git_repository *repo _unused_, git_reference *ref, const void *arg)
{
	const struct tree_refs *heads = arg;
	const char *old = git_reference_name(ref) + strlen("refs/heads/");
	size_t n = strlen(old);

	for (size_t i = 0; i < heads->n; i++) {
		const char *new = heads->v[i].branch;
		size_t k = strlen(new);
		int r;

		if (!(n < k && !strncmp(old, new, n) && new[n] == '/') &&
		    !(k < n && !strncmp(old, new, k) && old[k] == '/'))
			continue;
		r = git_reference_delete(ref);
		return r < 0 ? repo_err(r, "cannot delete old branch '%s'", old) : 0;
	}
	return 0;
}

int mirror_make_room(const char *git_dir, const struct tree_refs *heads)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	int r = repo_open(git_dir, &repo);

	return r < 0 ? r : each_ref(repo, "refs/heads/*", drop_if_in_the_way, heads);
}

static int count_path(const char *path _unused_, void *arg)
{
	return ++*(size_t *)arg > TREE_FILES_MAX ? err_set(-EFBIG, "more than %d files", TREE_FILES_MAX) : 0;
}

int tree_check(const char *git_dir, const char *oid)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gtree) git_tree *t = NULL;
	size_t n = 0;
	int r = repo_open(git_dir, &repo);

	if (r == 0)
		r = commit_tree(repo, oid, &t);
	if (r == 0)
		r = tree_diff_walk(repo, NULL, t, count_path, &n);
	return tree_fault(r) ? err_prefix(r, "commit %.12s is no kernel's", oid) : r;
}
