/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A patch series on top of a commit: the steps of "git am" (mailsplit, mailinfo, apply, write-tree, commit-tree) on an
 * index of our own in the mirror. There is no work tree, so no path of a patch can lead anywhere.
 */
#include "kernels/patches-series.h"
#include "kernels/patches.h"
#include "kernels/tree-internal.h"
#include "lib/git.h"

#define STEP_TIMEOUT_S 120.0
#define ALL_TIMEOUT_S 600.0
#define PATCHED_MAX 10000       /* commits that are counted on a base */
#define MESSAGE_MAX (256u << 10) /* of a mail's text: tree-limits.c refuses commits that are too large */

struct apply {
	const char *git_dir, *base;
	const struct patches *s;
	char *dir;                      /* ours, beside the mirror */
	char *date;                     /* of the base, as git reads it */
	char *head;                     /* the last commit made */
	struct strv paths;              /* of the mails, as mailsplit left them */
	struct series_mail *mails;
	size_t n, cap;
	int place;                      /* of the mail that is applied, from 1 */
	size_t patches;
	char *note;
	usec_t deadline;                /* of all steps together */
};

static void apply_release(struct apply *a)
{
	free(a->dir);
	free(a->date);
	free(a->head);
	free(a->note);
	for (size_t i = 0; i < a->n; i++) {
		free(a->mails[i].subject);
		free(a->mails[i].id);
		free(a->mails[i].parent);
	}
	free(a->mails);
	strv_release(&a->paths);
}

void patched_release(struct patched *p)
{
	free(p->oid);
	free(p->note);
	*p = (struct patched){0};
}

/* ---- git ---- */

static int git(const struct apply *a, const char *const *args, const char *input, const struct strv *env_more,
	       struct proc_result *ret)
{
	_cleanup_strv_ struct strv argv = {0}, env = {0};
	usec_t now = mono_usec();

	if (now >= a->deadline)
		return err_set(-ENOTSUP, "patch series '%s' takes longer than %g s to apply", a->s->name,
			       ALL_TIMEOUT_S);
	strv_addv(&argv, ARGV("-c", "i18n.commitEncoding=UTF-8"));
	strv_addv(&argv, args);
	strv_addf(&env, "GIT_INDEX_FILE=%s/index", a->dir);
	strv_addf(&env, "HOME=%s", a->dir);
	strv_addf(&env, "GIT_COMMITTER_DATE=%s", a->date);
	strv_addv(&env, ARGV("GIT_COMMITTER_NAME=" PATCH_COMMITTER_NAME,
			     "GIT_COMMITTER_EMAIL=" PATCH_COMMITTER_MAIL, "TZ=UTC"));
	if (env_more)
		strv_addv(&env, (const char *const *)env_more->v);
	return git_exec(&(struct git_spec){.args = (const char *const *)argv.v, .env_add = (const char *const *)env.v,
					   .git_dir = a->git_dir, .cwd = a->dir, .input = input,
					   .max_output = 128u << 20,
					   .timeout_s = MIN(STEP_TIMEOUT_S, (a->deadline - now) / 1e6)}, ret);
}

/* The first lines that say why. */
static char *git_words(const struct proc_result *r)
{
	_cleanup_buf_ struct buf b = {0};
	_cleanup_free_ char *copy = xstrdup(buf_str(&r->err));
	int n = 0;

	for (char *save = NULL, *l = strtok_r(copy, "\r\n", &save); l && n < 2; l = strtok_r(NULL, "\r\n", &save)) {
		const char *at = startswith(l, "error: ") || startswith(l, "fatal: ") ? l + 7 : NULL;

		if (at)
			buf_addf(&b, "%s%.200s", n++ ? "; " : "", at);
	}
	if (!b.len)
		buf_addf(&b, r->status > 128 ? "git died of signal %d" : "git ended with %d",
			 r->status > 128 ? r->status - 128 : r->status);
	return term_safe(buf_str(&b));
}

/* Our trouble, not the series': a full disk, say. */
static int git_failed(const struct proc_result *r, const char *what)
{
	_cleanup_free_ char *words = git_words(r);
	int e = git_status(r);

	return err_set(e < 0 ? e : -EIO, "cannot %s: %s", what, words);
}

/* One line of output, an object id. */
static int git_id(const struct apply *a, const char *const *args, const struct strv *env, const char *what, char **ret)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	int e = git(a, args, NULL, env, &r);
	size_t n = strcspn(buf_str(&r.out), "\n");

	if (e < 0)
		return e;
	if (r.status || (n != 40 && n != 64))
		return git_failed(&r, what);
	free(*ret);
	*ret = xstrndup(buf_str(&r.out), n);
	return 0;
}

/* ---- one mail ---- */

struct mail {
	char *path;                     /* as mailsplit left it */
	const char *file;               /* of the series */
	char *author, *address, *date, *subject;
	struct buf body, patch;
};

static void mail_release(struct mail *m)
{
	free(m->path);
	free(m->author);
	free(m->address);
	free(m->date);
	free(m->subject);
	buf_release(&m->body);
	buf_release(&m->patch);
}

static int refuse_mail(const struct apply *a, const struct mail *m, const char *why)
{
	_cleanup_free_ char *file = term_safe(m->file), *subject = term_safe(m->subject ? m->subject : "");

	return err_set(-ENOTSUP, "patch series '%s': mail %d (%s%s%.120s%s) %s", a->s->name, a->place, file,
		       *subject ? ", \"" : "", subject, *subject ? "\"" : "", why);
}

static void read_info(struct mail *m, char *info)
{
	const struct { const char *key; char **to; } keys[] = {
		{"Author: ", &m->author}, {"Email: ", &m->address}, {"Date: ", &m->date}, {"Subject: ", &m->subject}};

	for (char *save = NULL, *l = strtok_r(info, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			char *old = *keys[i].to;

			if (!startswith(l, keys[i].key))
				continue;
			*keys[i].to = xasprintf("%s%s%s", old ? old : "", old ? "\n" : "", l + strlen(keys[i].key));
			free(old);
		}
}

/* keep: the subject with its brackets, and no text. */
static int mailinfo(const struct apply *a, struct mail *m, bool keep)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_buf_ struct buf text = {0};
	_cleanup_free_ char *body = xasprintf("%s/body", a->dir), *patch = xasprintf("%s/patch", a->dir);
	int e = fs_read(m->path, 0, &text);

	if (e >= 0)
		e = git(a, keep ? ARGV("mailinfo", "-k", "-u", "--encoding=UTF-8", "--no-scissors", "body", "patch")
				: ARGV("mailinfo", "-u", "--encoding=UTF-8", "--no-scissors", "body", "patch"),
			buf_str(&text), NULL, &r);
	if (e < 0)
		return e;
	free(m->subject);
	m->subject = NULL;
	if (r.status || r.truncated) {
		_cleanup_free_ char *words = git_words(&r), *why = xasprintf("cannot be read: %s", words);

		return refuse_mail(a, m, why);
	}
	if (r.out.s)
		read_info(m, r.out.s);
	e = fs_read(patch, 0, &m->patch);
	if (e < 0 || keep)
		return MIN(e, 0);
	e = fs_read(body, 0, &m->body);
	if (e >= 0 && m->body.len && memchr(m->body.s, 0, m->body.len))
		e = refuse_mail(a, m, "has a NUL byte in its text");
	if (e >= 0 && m->body.len + strlen(m->subject ? m->subject : "") > MESSAGE_MAX)
		e = refuse_mail(a, m, "has a text of more than 256 KiB");
	return e;
}

static bool has_diff(const struct buf *patch)
{
	static const char *const marks[] = {"\ndiff --git ", "\n@@ -", "\nIndex: ", "\n--- a/"};
	const char *s = buf_str(patch);

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (startswith(s, marks[i] + 1) || strstr(s, marks[i]))
			return true;
	return false;
}

/* A header of the mail as it is, in one line. */
static void raw_header(const char *text, const char *key, struct buf *ret)
{
	size_t k = strlen(key);
	bool inside = false;

	for (const char *l = text, *nl; *l && *l != '\n' && *l != '\r'; l = nl + 1) {
		nl = strchr(l, '\n');
		if (*l != ' ' && *l != '\t')
			inside = !strncasecmp(l, key, k) && l[k] == ':';
		if (inside)
			buf_add(ret, l, strcspn(l, "\r\n"));
		if (!nl)
			break;
	}
}

/* The first, or where first is false the last, "<id>" of a header; "" for none. */
static char *header_id(const char *text, const char *key, bool first)
{
	_cleanup_buf_ struct buf b = {0};
	char *open, *close;

	raw_header(text, key, &b);
	open = first ? strchr(buf_str(&b), '<') : strrchr(buf_str(&b), '<');
	close = open ? strchr(open, '>') : NULL;
	return close ? xstrndup(open, (size_t)(close + 1 - open)) : xstrdup("");
}

/* Somebody's answer that git cannot decode is an answer all the same. */
static bool is_raw_answer(const char *text)
{
	_cleanup_buf_ struct buf b = {0};
	struct patch_subject s = {0};

	raw_header(text, "Subject", &b);
	if (b.len)
		patch_subject_parse(buf_str(&b) + strlen("Subject:"), &s);
	return s.answer;
}

/* Notes what series_pick() wants to know of a mail. */
static int look_at(struct apply *a, const char *path, size_t file)
{
	_cleanup_(mail_release) struct mail m = {.path = xstrdup(path), .file = a->s->v[file].name};
	_cleanup_buf_ struct buf text = {0};
	struct series_mail *to;
	int r = fs_read(path, 0, &text);

	a->place = (int)a->n + 1;
	if (r >= 0)
		r = mailinfo(a, &m, true);
	if (r == -ENOTSUP && is_raw_answer(buf_str(&text))) {
		m.subject = xstrdup("Re:");
		r = 0;
	}
	if (r < 0)
		return r;
	GROW(a->mails, a->n, a->cap);
	to = &a->mails[a->n++];
	*to = (struct series_mail){.subject = m.subject ? TAKE_PTR(m.subject) : xstrdup(""),
				   .id = header_id(buf_str(&text), "Message-ID", true),
				   .parent = header_id(buf_str(&text), "In-Reply-To", true),
				   .file = m.file,
				   .file_index = file,
				   .has_diff = has_diff(&m.patch),
				   .has_author = m.author != NULL};
	if (!*to->parent) {
		free(to->parent);
		to->parent = header_id(buf_str(&text), "References", false);
	}
	strv_add(&a->paths, path);
	return 0;
}

static int write_message(const struct apply *a, const struct mail *m)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_free_ char *text = xasprintf("%s\n\n%s", m->subject ? m->subject : "", buf_str(&m->body)),
			    *path = xasprintf("%s/message", a->dir);
	int e = git(a, ARGV("stripspace"), text, NULL, &r);

	if (e < 0)
		return e;
	if (r.status || r.truncated)
		return git_failed(&r, "write a commit message");
	return fs_write_atomic(path, buf_str(&r.out), r.out.len);
}

static int commit(struct apply *a, const struct mail *m)
{
	_cleanup_strv_ struct strv env = {0};
	_cleanup_free_ char *tree = NULL, *path = xasprintf("%s/message", a->dir);
	int r;

	strv_addf(&env, "GIT_AUTHOR_NAME=%s", m->author);
	strv_addf(&env, "GIT_AUTHOR_EMAIL=%s", m->address);
	strv_addf(&env, "GIT_AUTHOR_DATE=%s", m->date && *m->date ? m->date : a->date);
	r = write_message(a, m);
	if (r >= 0)
		r = git_id(a, ARGV("write-tree"), NULL, "write a tree", &tree);
	if (r >= 0)
		r = git_id(a, ARGV("commit-tree", "--no-gpg-sign", "-p", a->head, "-F", path, tree), &env,
			   "write a commit", &a->head);
	if (r == -EIO) { /* a date or a name that git does not take */
		_cleanup_free_ char *why = xasprintf("gives no commit: %s", err_msg());

		r = refuse_mail(a, m, why);
	}
	return r;
}

static int apply_mail(struct apply *a, size_t i)
{
	_cleanup_(mail_release) struct mail m = {.path = xstrdup(a->paths.v[i]), .file = a->mails[i].file};
	_cleanup_(proc_result_release) struct proc_result res = {0};
	int r;

	a->place = (int)i + 1;
	r = mailinfo(a, &m, false);
	if (r < 0)
		return r;
	if (!m.author || !*m.author || !m.address || !*m.address)
		return refuse_mail(a, &m, "has no author: it is no mail as git format-patch writes it");
	r = git(a, ARGV("apply", "--cached", "--whitespace=nowarn", "--", "patch"), NULL, NULL, &res);
	if (r < 0)
		return r;
	if (res.status) {
		_cleanup_free_ char *words = git_words(&res),
				    *why = xasprintf("does not apply on %.12s: %s", a->base, words);

		return refuse_mail(a, &m, why);
	}
	r = commit(a, &m);
	a->patches += r >= 0;
	return r;
}

/* ---- all of them ---- */

static int split_file(struct apply *a, size_t i)
{
	const struct patch_file *f = &a->s->v[i];
	_cleanup_(proc_result_release) struct proc_result res = {0};
	_cleanup_free_ char *in = xasprintf("%s/in", a->dir), *box = xasprintf("%s/mails-%zu", a->dir, i),
			    *out = xasprintf("-o%s", box);
	_cleanup_strv_ struct strv names = {0};
	int r = fs_mkdir_p(box);

	if (r >= 0)
		r = fs_write_atomic(in, buf_str(&f->text), f->text.len);
	if (r >= 0)
		r = git(a, ARGV("mailsplit", "-b", "-d8", out, "--", in), NULL, NULL, &res);
	if (r >= 0 && res.status) {
		struct mail m = {.file = f->name};
		_cleanup_free_ char *words = git_words(&res);

		return refuse_mail(a, &m, words);
	}
	if (r >= 0)
		r = fs_list(box, &names);
	for (size_t k = 0; r >= 0 && k < names.n; k++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", box, names.v[k]);

		r = look_at(a, path, i);
	}
	return r;
}

static int apply_all(struct apply *a)
{
	_cleanup_(proc_result_release) struct proc_result res = {0};
	_cleanup_free_ size_t *order = NULL;
	size_t n = 0;
	int r = git(a, ARGV("read-tree", a->base), NULL, NULL, &res);

	if (r >= 0 && res.status)
		r = git_failed(&res, "read the base's files");
	for (size_t i = 0; r >= 0 && i < a->s->n; i++)
		r = split_file(a, i);
	if (r >= 0)
		r = series_pick(a->s->name, a->mails, a->n, a->s->listed, &order, &n, &a->note);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = apply_mail(a, order[i]);
	return r;
}

static char *ref_name(const char *base, const struct patches *s)
{
	return xasprintf("refs/kperfbot/patched/%.12s-%.12s", base, s->hash);
}

/* How many commits id has on top of base; 0 where it does not descend from it, or that cannot be told. */
static size_t commits_on(const char *git_dir, git_repository *repo, const git_oid *base, const git_oid *id)
{
	char from[GIT_OID_HEXSZ + 1], to[GIT_OID_HEXSZ + 1];
	_cleanup_strv_ struct strv ids = {0};
	size_t ahead, behind;

	if (!mirror_is_shallow(git_dir))
		return git_graph_ahead_behind(&ahead, &behind, repo, id, base) < 0 || behind ? 0 : ahead;
	git_oid_tostr(from, sizeof(from), base);
	git_oid_tostr(to, sizeof(to), id);
	if (shallow_is_ancestor(git_dir, from, to) <= 0 || shallow_list(git_dir, from, to, PATCHED_MAX, &ids) < 0)
		return 0;
	return ids.n;
}

/* 1: it is there already. */
static int look_up(const char *git_dir, const char *base, const struct patches *s, struct patched *ret)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gcommit) git_commit *b = NULL;
	_cleanup_free_ char *name = ref_name(base, s);
	size_t ahead;
	git_oid id;
	int r = repo_open(git_dir, &repo);

	if (r < 0 || (r = repo_commit(repo, base, &b)) < 0)
		return r;
	if (git_reference_name_to_id(&id, repo, name) < 0 ||
	    !(ahead = commits_on(git_dir, repo, git_commit_id(b), &id)))
		return 0;
	*ret = (struct patched){xstrdup(git_oid_tostr_s(&id)), ahead, true, NULL};
	return 1;
}

static int keep(const struct apply *a)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gcommit) git_commit *c = NULL;
	_cleanup_(cleanup_ref) git_reference *ref = NULL;
	_cleanup_free_ char *name = ref_name(a->base, a->s);
	int r = repo_open(a->git_dir, &repo);

	if (r < 0 || (r = repo_commit(repo, a->head, &c)) < 0)
		return r;
	r = git_reference_create(&ref, repo, name, git_commit_id(c), 1, "patch series");
	return r < 0 ? repo_err(r, "cannot keep '%s'", name) : 0;
}

static int make(const char *git_dir, const char *base, const struct patches *s, struct patched *ret)
{
	_cleanup_(apply_release) struct apply a = {.git_dir = git_dir, .base = base, .s = s, .head = xstrdup(base)};
	_cleanup_free_ char *top = xasprintf("%s.patching", git_dir), *why = NULL;
	struct commit_info info = {0};
	int r = tree_check(git_dir, base);

	if (r < 0 || (r = tree_commit(git_dir, base, &info)) < 0)
		return r;
	a.deadline = mono_usec() + (usec_t)(ALL_TIMEOUT_S * USEC_PER_SEC);
	a.date = xasprintf("@%" PRId64 " +0000", info.time);
	commit_info_release(&info);
	/* a folder of this process: a git whose parent was killed may still be dying in the old one */
	a.dir = xasprintf("%s/%d", top, getpid());
	(void)fs_rm_rf(top);
	r = fs_mkdir_p(a.dir);
	if (r >= 0)
		r = apply_all(&a);
	if (r >= 0)
		r = keep(&a);
	if (r >= 0)
		*ret = (struct patched){TAKE_PTR(a.head), a.patches, false, TAKE_PTR(a.note)};
	else
		why = xstrdup(err_msg());
	(void)fs_rm_rf(top);
	return r < 0 ? err_set(r, "%s", why) : 0;
}

/* What one left that was killed after it had kept its commit. */
static void tidy(const char *git_dir, const char *lock_path)
{
	_cleanup_free_ char *top = xasprintf("%s.patching", git_dir);
	_cleanup_close_ int lock = fs_exists(top) ? fs_lock(lock_path, false) : -1;

	if (lock >= 0)
		(void)fs_rm_rf(top);
}

int patches_apply(const char *git_dir, const char *base, const struct patches *s, bool wait, struct patched *ret)
{
	_cleanup_free_ char *real = realpath(git_dir, NULL),
			    *lock_path = xasprintf("%s.lock", git_dir); /* as tree_fetch() has it */
	_cleanup_close_ int lock = -1;
	int r;

	if (!real)
		return err_set(-errno, "there is no git folder '%s': %s", git_dir, strerror(errno));
	r = look_up(real, base, s, ret);
	if (r > 0)
		tidy(real, lock_path);
	if (r != 0)
		return MIN(r, 0);
	lock = fs_lock(lock_path, wait);
	if (lock < 0)
		return lock;
	mirror_sweep(real);
	r = look_up(real, base, s, ret); /* by whom we waited for? */
	return r != 0 ? MIN(r, 0) : make(real, base, s, ret);
}
