/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernels/cfunc.h"
#include "kernels/touched.h"
#include "kernels/tree-internal.h"

#define SOURCE_MAX (16u << 20)  /* bytes of a file; larger ones are taken for binary */
#define LINES_MAX 50000         /* changed lines that are looked up in a profile */
#define PATHS_MAX 200000        /* two releases of the kernel with years between them */
#define WORK_MAX (1ull << 30)   /* bytes of source that are read in search of callers, and steps of looking up */

static inline void cleanup_diff(git_diff **p) { git_diff_free(*p); }

void touched_release(struct touched *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].name);
		free(t->v[i].line);
		strv_release(&t->v[i].callers);
	}
	for (size_t i = 0; i < t->n_in; i++) {
		for (size_t k = 0; k < t->in[i]->functions.n; k++)
			strv_release(&t->in[i]->callers[k]);
		free(t->in[i]->callers);
		free(t->in[i]->noted);
		free(t->in[i]->path);
		strv_release(&t->in[i]->functions);
		free(t->in[i]);
	}
	free(t->v);
	free(t->in);
	strv_release(&t->outside);
	strv_release(&t->data);
	strv_release(&t->other);
	*t = (struct touched){0};
}

/* ---- the diff ---- */

/* The file on either side, and its functions. */
struct touched_side { git_blob *blob; struct cfuncs f; };
struct touched_walk {
	git_repository *repo;
	git_odb *odb;
	size_t work, lines;
	struct touched out;
	char *file;             /* current one, NULL: none, or no C */
	struct touched_side side[2];    /* before, after */
};

static void side_release(struct touched_side *s)
{
	cfuncs_release(&s->f);
	git_blob_free(s->blob);
	*s = (struct touched_side){0};
}

static void file_end(struct touched_walk *w)
{
	free(w->file);
	w->file = NULL;
	for (int k = 0; k < 2; k++)
		side_release(&w->side[k]);
}

static bool is_c(const char *path) { return path && (endswith(path, ".c") || endswith(path, ".h")); }

/* 1: too large. */
static int load_side(struct touched_walk *w, const git_diff_file *f, struct touched_side *ret)
{
	git_object_t type;
	size_t size;

	if (git_oid_is_zero(&f->id))
		return 0;
	if (git_odb_read_header(&size, &type, w->odb, &f->id) < 0)
		return -1;
	if (size > SOURCE_MAX)
		return 1;
	if (git_blob_lookup(&ret->blob, w->repo, &f->id) < 0)
		return -1;
	cfuncs_find(git_blob_rawcontent(ret->blob), (size_t)git_blob_rawsize(ret->blob), &ret->f);
	w->out.cut = w->out.cut || ret->f.n == CFUNCS_MAX;
	return 0;
}

/* False where it has become too much: the rest is not looked at. */
static bool work(struct touched_walk *w, size_t steps)
{
	w->work += steps;
	w->out.cut = w->out.cut || w->work > WORK_MAX;
	return w->work <= WORK_MAX;
}

static int on_file(const git_diff_delta *d, float progress _unused_, void *arg)
{
	struct touched_walk *w = arg;
	const char *path = d->new_file.path ? d->new_file.path : d->old_file.path;
	int r;

	file_end(w);
	if (!is_c(path)) {
		w->out.other_files++;
		if (tree_path_matters(path))
			strv_add(&w->out.other, path);
		return 0;
	}
	if (!tree_path_matters(path)) /* another architecture's, tests and tools */
		return 0;
	if (w->out.n >= TOUCHED_MAX || !work(w, 0)) {
		w->out.cut = true;
		return 0;
	}
	w->file = xstrdup(path);
	r = load_side(w, &d->old_file, &w->side[0]);
	if (r == 0)
		r = load_side(w, &d->new_file, &w->side[1]);
	if (r > 0) {
		w->out.cut = true;
		file_end(w);
	}
	return MIN(r, 0);
}

/* The file's own entry, with its functions as they are after the change, or before it where the file has gone. */
static const struct touched_side *newest_side(const struct touched_walk *w)
{
	return &w->side[w->side[1].blob ? 1 : 0];
}

static struct touched_file *this_file(struct touched_walk *w)
{
	struct touched *t = &w->out;
	const struct cfuncs *f = &newest_side(w)->f;
	struct touched_file *in;

	if (t->n_in && streq(t->in[t->n_in - 1]->path, w->file))
		return t->in[t->n_in - 1];
	in = xcalloc(1, sizeof(*in));
	in->path = xstrdup(w->file);
	for (size_t i = 0; i < f->n; i++)
		strv_add(&in->functions, f->v[i].name);
	in->callers = xcalloc(f->n + 1, sizeof(*in->callers));
	in->noted = xcalloc(f->n + 1, sizeof(*in->noted));
	GROW(t->in, t->n_in, t->cap_in);
	t->in[t->n_in++] = in;
	return in;
}

static const char *side_text(const struct touched_side *s) { return git_blob_rawcontent(s->blob); }

static size_t place_of(const struct touched_file *in, const char *name)
{
	size_t i = 0;

	while (i < in->functions.n && !streq(in->functions.v[i], name))
		i++;
	return i;
}

/* Who calls these, in their file: a caller may have been inlined itself. */
static void note_callers(struct touched_walk *w, struct touched_file *in, const struct strv *names, int depth)
{
	const struct touched_side *s = newest_side(w);

	for (size_t i = 0; i < names->n; i++) {
		size_t at = work(w, in->functions.n) ? place_of(in, names->v[i]) : in->functions.n;

		if (at == in->functions.n || in->noted[at])
			continue;
		in->noted[at] = true;
		for (size_t k = 0; k < s->f.n && work(w, s->f.v[k].body_len + 1); k++)
			if (k != at && cfunc_calls(&s->f.v[k], side_text(s), names->v[i]))
				strv_add(&in->callers[at], s->f.v[k].name);
		if (depth > 1)
			note_callers(w, in, &in->callers[at], depth - 1);
	}
}

static struct touched_fn *known(const struct touched *t, const char *file, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (streq(t->v[i].name, name) && streq(t->v[i].file, file))
			return &t->v[i];
	return NULL;
}

static struct touched_fn *add_function(struct touched_walk *w, const struct touched_side *s, const struct cfunc *f)
{
	struct touched_fn t = {.is_static = f->is_static, .is_inline = f->is_inline},
			  *old = known(&w->out, w->file, f->name);
	struct touched_file *in;

	if (old)
		return old;
	t.name = xstrdup(f->name);
	t.in = in = this_file(w);
	t.file = in->path;
	/* callers as they are after the commit, or before it where the function has gone */
	for (size_t i = 0; i < s->f.n && work(w, s->f.v[i].body_len + 1); i++)
		if (!streq(s->f.v[i].name, f->name) && cfunc_calls(&s->f.v[i], side_text(s), f->name))
			strv_add(&t.callers, s->f.v[i].name);
	note_callers(w, in, &t.callers, INLINE_DEPTH);
	GROW(w->out.v, w->out.n, w->out.cap);
	w->out.v[w->out.n++] = t;
	return &w->out.v[w->out.n - 1];
}

static void add_changed_line(struct touched_fn *t, uint32_t line)
{
	GROW(t->line, t->n_lines, t->cap_lines);
	t->line[t->n_lines++] = line;
}

static const struct cfunc *same_function(const struct touched_side *s, const char *name)
{
	for (size_t i = 0; i < s->f.n; i++)
		if (streq(s->f.v[i].name, name))
			return &s->f.v[i];
	return NULL;
}

static bool blank(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr(" \t\r\n", s[i]))
			return false;
	return true;
}

/* A line outside of all functions that changes no code: #include, comments, declarations of functions, exports. */
static bool only_says(const char *s, size_t n)
{
	static const char *const begins[] = {"#include", "/*", "*", "//", "EXPORT_SYMBOL", "MODULE_", "extern "};

	while (n && strchr(" \t", *s)) {
		s++;
		n--;
	}
	while (n && strchr(" \t\r\n", s[n - 1]))
		n--;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (n >= strlen(begins[i]) && !memcmp(s, begins[i], strlen(begins[i])))
			return true;
	return n > 2 && !memcmp(s + n - 2, ");", 2) && *s != '#' && !memchr(s, '=', n) && !memmem(s, n, "(*", 2);
}

static void changed_outside(struct touched_walk *w, const git_diff_line *line)
{
	if (!strv_has(&w->out.outside, w->file))
		strv_add(&w->out.outside, w->file);
	if (!only_says(line->content, line->content_len) && !strv_has(&w->out.data, w->file))
		strv_add(&w->out.data, w->file);
}

static int on_line(const git_diff_delta *d _unused_, const git_diff_hunk *h _unused_, const git_diff_line *line,
		   void *arg)
{
	struct touched_walk *w = arg;
	bool added = line->origin == GIT_DIFF_LINE_ADDITION;
	const struct touched_side *s = &w->side[added];
	int number = added ? line->new_lineno : line->old_lineno;
	const struct cfunc *f, *after;

	if (!w->file || number <= 0 || (!added && line->origin != GIT_DIFF_LINE_DELETION) ||
	    blank(line->content, line->content_len) || !work(w, s->f.n + w->out.n))
		return 0;
	f = cfuncs_at(&s->f, (uint32_t)number);
	after = f && !added ? same_function(&w->side[1], f->name) : NULL;
	if (f) {
		struct touched_fn *t = add_function(w, after ? &w->side[1] : s, after ? after : f);

		if (added && w->lines++ < LINES_MAX)
			add_changed_line(t, (uint32_t)number);
		else if (added)
			w->out.cut = true;
	} else {
		changed_outside(w, line);
	}
	return 0;
}

static int count_path(const char *path _unused_, void *arg)
{
	return ++*(size_t *)arg > PATHS_MAX ? err_set(-EFBIG, "more than %d files differ", PATHS_MAX) : 0;
}

int touched_functions(const char *git_dir, const char *commit, struct touched *ret)
{
	return touched_between(git_dir, NULL, commit, ret);
}

int touched_between(const char *git_dir, const char *base, const char *head, struct touched *ret)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(cleanup_gcommit) git_commit *c = NULL, *parent = NULL;
	_cleanup_(cleanup_gtree) git_tree *a = NULL, *b = NULL;
	_cleanup_(cleanup_diff) git_diff *diff = NULL;
	git_diff_options o = GIT_DIFF_OPTIONS_INIT;
	struct touched_walk w = {0};
	size_t paths = 0;
	int r = repo_open(git_dir, &repo), walked;

	if (r >= 0)
		r = repo_commit(repo, head, &c);
	if (r >= 0 && base)
		r = repo_commit(repo, base, &parent);
	if (r < 0)
		return r;
	o.context_lines = 0;
	o.interhunk_lines = 0;
	o.max_size = SOURCE_MAX;
	w.repo = repo;
	r = git_commit_tree(&b, c);
	if (r >= 0 && !parent && git_commit_parentcount(c))
		r = git_commit_parent(&parent, c, 0);
	if (r >= 0 && parent)
		r = git_commit_tree(&a, parent);
	if (r >= 0 && (walked = tree_diff_walk(repo, a, b, count_path, &paths)) < 0)
		return walked; /* git's own diff knows no limits */
	if (r >= 0)
		r = git_diff_tree_to_tree(&diff, repo, a, b, &o);
	if (r >= 0)
		r = git_repository_odb(&w.odb, repo);
	if (r >= 0)
		r = git_diff_foreach(diff, on_file, NULL, NULL, on_line, &w);
	file_end(&w);
	git_odb_free(w.odb);
	if (r < 0) {
		touched_release(&w.out);
		return repo_err(r, "cannot read what %.12s changes", head);
	}
	*ret = w.out;
	return 0;
}

/* ---- reach ---- */

void reach_release(struct reach *r)
{
	strv_release(&r->through);
	*r = (struct reach){0};
}

/* How many of the changed lines ran. Lines without code (declarations, braces) are none that could: only those count
 * that the kernel is known to have executed, out of all. */
static void reach_lines(const struct touched_fn *f, const struct profile *p, struct reach *r)
{
	r->lines = f->n_lines;
	for (size_t i = 0; i < f->n_lines; i++)
		r->lines_ran += profile_line_execs(p, f->file, f->line[i]) > 0;
}

/* By its callers, where nothing better is known. */
struct climb { const struct touched_file *in; const struct symbols *s; reach_lookup lookup; void *arg; struct reach *r;
	       size_t known; bool open; };

/* The callers, and those of callers that were inlined themselves. */
static void climb(struct climb *c, const struct strv *callers, int depth)
{
	for (size_t i = 0; i < callers->n; i++) {
		const char *name = callers->v[i], *counted = symbols_counted_as(c->s, name);
		size_t at = place_of(c->in, name);
		uint64_t n = 0;
		int ran = counted ? c->lookup(c->arg, counted, &n) : -1;

		c->known += ran >= 0;
		if (ran > 0 && !strv_has(&c->r->through, name)) {
			strv_add(&c->r->through, name);
			c->r->entries += n;
		}
		if (!counted && depth > 1 && at < c->in->functions.n && c->in->callers[at].n)
			climb(c, &c->in->callers[at], depth - 1);
		else if (ran < 0)
			c->open = true;
	}
}

static void reach_by_callers(const struct touched_fn *f, const struct symbols *s, reach_lookup lookup, void *arg,
			     struct reach *r)
{
	struct climb c = {f->in, s, lookup, arg, r, 0, false};

	climb(&c, &f->callers, INLINE_DEPTH);
	if (r->through.n)
		r->kind = REACH_THROUGH;
	else if (c.known && !c.open && !endswith(f->file, ".h"))
		r->kind = REACH_NOT_CALLED;
}

/* Is anything of its file in this kernel? Of a header that cannot be told. */
static bool compiled(const struct touched_fn *f, const struct symbols *s)
{
	if (endswith(f->file, ".h"))
		return true;
	for (size_t i = 0; i < f->in->functions.n; i++)
		if (symbols_counted_as(s, f->in->functions.v[i]) || startswith(f->in->functions.v[i], "__do_sys_"))
			return true;
	return false;
}

/* The name of the symbol: a system call's body is inlined into its entry. */
static char *symbol_name(const struct touched_fn *f, const struct symbols *s)
{
	if (!symbols_counted_as(s, f->name) && startswith(f->name, "__do_sys_"))
		return xasprintf("__x64_sys_%s", f->name + strlen("__do_sys_"));
	return xstrdup(f->name);
}

void touched_reach(const struct touched_fn *f, const struct symbols *s, const struct profile *p, reach_lookup lookup,
		   void *arg, struct reach *ret)
{
	_cleanup_free_ char *name = symbol_name(f, s);
	const char *counted = symbols_counted_as(s, name);
	bool debug = p && p->n_lines;
	const struct profile_fn *inlined = debug ? profile_get_inlined(p, f->name) : NULL;
	struct reach r = {.kind = REACH_UNKNOWN, .namesakes = symbols_of(s, name, NULL)};

	if (debug)
		reach_lines(f, p, &r);
	if (counted) {
		int ran = lookup(arg, counted, &r.entries);

		r.kind = ran > 0 ? REACH_RAN : ran == 0 ? REACH_NOT : REACH_UNSEEN;
	}
	if (inlined && r.kind != REACH_RAN) {
		r.kind = REACH_INLINED;
		r.insns = inlined->insns;
	} else if (!counted && !compiled(f, s)) {
		r.kind = REACH_ABSENT;
	} else if (!counted && debug) {
		r.kind = REACH_NOT;
	} else if (!counted) {
		reach_by_callers(f, s, lookup, arg, &r);
	}
	*ret = r;
}

static void add_rate(uint64_t n, const char *unit, double operations, struct buf *out)
{
	if (operations > 0)
		buf_addf(out, "%.4g %s per operation", n / operations, unit);
	else
		buf_addf(out, "%" PRIu64 " %s", n, unit);
}

void reach_text(const struct reach *r, double operations, struct buf *out)
{
	switch (r->kind) {
	case REACH_RAN:
		buf_adds(out, r->entries ? "entered " : "ran, but was never entered at its start");
		if (r->entries)
			add_rate(r->entries, "times", operations, out);
		break;
	case REACH_NOT: buf_adds(out, "never executed"); break;
	case REACH_THROUGH:
		buf_adds(out, "inlined, in");
		for (size_t i = 0; i < r->through.n; i++)
			buf_addf(out, "%s %s", i ? "," : "", r->through.v[i]);
		buf_adds(out, ", entered ");
		add_rate(r->entries, "times", operations, out);
		break;
	case REACH_NOT_CALLED: buf_adds(out, "inlined, and none of its callers in this file was executed"); break;
	case REACH_UNKNOWN: buf_adds(out, "not known: inlined from elsewhere, or not compiled"); break;
	case REACH_ABSENT: buf_adds(out, "its file is not part of this kernel"); break;
	case REACH_UNSEEN: buf_adds(out, "not known: nobody watched it"); break;
	case REACH_INLINED:
		buf_adds(out, "inlined, ");
		add_rate(r->insns, "instructions", operations, out);
		break;
	}
	if (r->kind == REACH_RAN && r->namesakes > 1)
		buf_addf(out, ", together with %zu other%s of that name", r->namesakes - 1,
			 r->namesakes == 2 ? "" : "s");
	if (r->kind == REACH_RAN && r->lines && !r->lines_ran)
		buf_addf(out, ", but none of its %zu changed line%s is known to have run", r->lines,
			 r->lines == 1 ? "" : "s");
	if (r->lines_ran)
		buf_addf(out, "; %zu of %zu changed lines executed", r->lines_ran, r->lines);
}
