/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/compare-columns.h"
#include "bot/cli/ask.h"
#include "bot/engine/points.h"
#include "lib/fs.h"
#include "lib/json.h"

enum { HEAD_MAX = 16 };         /* what LKP's table has room for */

typedef struct json_object json;

void columns_release(struct columns *c)
{
	for (size_t i = 0; i < c->n; i++) {
		DB_LIST_RELEASE(c->v[i].m, c->v[i].n, db_measured_release);
		db_patched_release(&c->v[i].patches);
		free(c->v[i].commit);
		free(c->v[i].spec);
		free(c->v[i].label);
		free(c->v[i].head);
	}
	free(c->v);
	strv_release(&c->differ);
	*c = (struct columns){0};
}

/* ---- variants of a job ---- */

static json *part(const struct db_job *j, const char *key)
{
	_cleanup_json_ json *o = json_object_of(j->canonical);
	json *v = json_get(o, key);

	return v ? json_object_get(v) : json_object_new_object();
}

/* A parameter as the job file had it, new string or NULL. */
static char *param(const struct db_job *j, const char *key)
{
	_cleanup_json_ json *o = json_object_of(j->params);
	json *v = json_get(o, key);

	return v ? xstrdup(json_object_get_string(v)) : NULL;
}

/* "rps=on,runtime=5s" */
static void split_spec(const char *spec, struct strv *key, struct strv *value)
{
	_cleanup_free_ char *copy = xstrdup(spec);

	for (char *save = NULL, *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(w, '=');

		if (eq)
			*eq = 0;
		strv_add(key, w);
		strv_add(value, eq ? eq + 1 : "");
	}
}

/* The same program, monitors and parameters, but for some. */
static bool same_but(const struct db_job *a, const struct db_job *b, const struct strv *keys)
{
	_cleanup_json_ json *pa = part(a, "params"), *pb = part(b, "params"), *ma = part(a, "monitors"),
			    *mb = part(b, "monitors");

	for (size_t i = 0; i < keys->n; i++) {
		json_object_object_del(pa, keys->v[i]);
		json_object_object_del(pb, keys->v[i]);
	}
	return streq(a->program, b->program) && json_object_equal(pa, pb) && json_object_equal(ma, mb);
}

/* 1: job is what spec says; like is the first column's job, NULL for that column itself. */
static int is_variant(struct store *s, const char *spec, const char *job, const char *job_name, const char *like)
{
	_cleanup_strv_ struct strv key = {0}, value = {0};
	struct db_job a = {0}, b = {0};
	int r;

	if (!spec)
		return !like || streq(job, like);
	if (!strchr(spec, '='))
		return streq(spec, job) || streq(spec, job_name);
	split_spec(spec, &key, &value);
	r = store_job_get(s, job, &a);
	if (r >= 0 && like)
		r = store_job_get(s, like, &b);
	for (size_t i = 0; r >= 0 && i < key.n; i++) {
		_cleanup_free_ char *is = param(&a, key.v[i]);

		if (!streq(is, value.v[i])) {
			db_job_release(&a);
			db_job_release(&b);
			return 0;
		}
	}
	if (r >= 0)
		r = !like || same_but(&a, &b, &key);
	db_job_release(&a);
	db_job_release(&b);
	return r;
}

/* ---- the place ---- */

static bool fits(const struct place_filter *f, const struct db_measured *m, const char *spec)
{
	/* builds with aligned functions only where somebody wants them */
	return m->runs && (!f->tree || streq(f->tree, m->tree)) &&
	       (f->kconfig ? streq(f->kconfig, m->kconfig) : !strchr(m->kconfig, '+')) &&
	       (spec || !f->job || streq(f->job, m->job) || streq(f->job, m->job_name)) &&
	       (!f->machine || streq(f->machine, m->tbox_group));
}

/* The one entry of a column beside the first column's: 1, or 0 without one. */
static int beside(struct store *s, const struct column *c, const struct db_measured *first,
		  const struct db_measured **ret)
{
	size_t found = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct db_measured *m = &c->m[i];
		int r;

		if (!m->runs || !streq(m->tree, first->tree) || !streq(m->kconfig, first->kconfig) ||
		    !streq(m->tbox_group, first->tbox_group))
			continue;
		r = is_variant(s, c->spec, m->job, m->job_name, first->job);
		if (r < 0)
			return r;
		if (r > 0 && found++ == 0)
			*ret = m;
	}
	if (found > 1)
		return err_set(-EINVAL, "'%s' matches %zu jobs of commit '%.12s': write the id of one", c->spec, found,
			       c->commit);
	return found == 1;
}

static int nothing_fits(const struct columns *c, const struct place_filter *f)
{
	bool variants = false;

	for (size_t k = 0; k < c->n; k++) {
		if (!c->v[k].n)
			return err_set(-ENOENT, "commit '%.12s' has no runs yet; 'kperfbot run' makes some",
				       c->v[k].commit);
		variants |= c->v[k].spec != NULL;
	}
	return err_set(-ENOENT, "these commits were never measured with %s on the same machine%s",
		       variants ? "these variants of one job" : "the same job",
		       f->tree || f->job || f->machine || f->kconfig ? " that matches the options" : "");
}

/* The one combination of tree, kconfig, job and machine in which all were measured. */
static int choose(struct store *s, struct columns *c, const struct place_filter *f)
{
	_cleanup_free_ const struct db_measured **at = xcalloc(c->n, sizeof(*at));
	_cleanup_buf_ struct buf list = {0};
	struct column *first = &c->v[0];
	size_t found = 0;

	for (size_t i = 0; i < first->n; i++) {
		const struct db_measured *m = &first->m[i];
		int r = fits(f, m, first->spec) ? is_variant(s, first->spec, m->job, m->job_name, NULL) : 0;

		at[0] = m;
		for (size_t k = 1; k < c->n && r > 0; k++)
			r = beside(s, &c->v[k], m, &at[k]);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		for (size_t k = 0; k < c->n && !found; k++)
			c->v[k].at = at[k];
		found++;
		buf_addf(&list, "\n  --tree=%s --kconfig=%s --job=%s --machine=%s (%s)", m->tree, m->kconfig, m->job,
			 m->tbox_group, m->job_name);
	}
	if (found > 1)
		return err_set(-EINVAL, "these commits were measured in %zu ways, choose one:%s", found, list.s);
	return found ? 0 : nothing_fits(c, f);
}

/* ---- labels ---- */

static void add_differing(const struct db_job *a, const struct db_job *b, struct strv *out)
{
	_cleanup_json_ json *pa = json_object_of(a->params);

	if (!pa)
		return;
	json_object_object_foreach(pa, key, val) {
		_cleanup_free_ char *other = param(b, key);

		(void)val;
		if (!streq(other, json_object_get_string(val)) && !strv_has(out, key))
			strv_add(out, key);
	}
}

/* "+fix rps=on", or short: "+fix/on". */
static char *make_label(const struct column *c, const struct db_job *j, const struct strv *differ, bool bases,
			bool brief)
{
	_cleanup_buf_ struct buf b = {0};

	if (bases)
		buf_addf(&b, "%.10s", c->patches.commit ? c->patches.base : c->commit);
	if (c->patches.commit)
		buf_addf(&b, "+%s", c->patches.name);
	for (size_t i = 0; i < differ->n; i++) {
		_cleanup_free_ char *value = param(j, differ->v[i]);

		buf_addf(&b, "%s%s%s%.40s",
			 !b.len	 ? ""
			 : brief ? "/"
				 : " ",
			 brief ? "" : differ->v[i], brief ? "" : "=", value ? value : "");
	}
	return xstrdup(b.len ? b.s : "plain");
}

/* Labels only where more than the commit differs, or where a series says more than an id. */
static int add_labels(struct store *s, struct columns *c)
{
	struct db_job *j = xcalloc(c->n, sizeof(*j));
	bool bases = false, series = false, brief = false;
	int r = 0;

	for (size_t k = 0; r >= 0 && k < c->n; k++) {
		const struct column *x = &c->v[k], *first = &c->v[0];

		r = store_job_get(s, x->at->job, &j[k]);
		if (r >= 0 && k) {
			add_differing(&j[0], &j[k], &c->differ);
			add_differing(&j[k], &j[0], &c->differ);
		}
		series |= x->patches.commit != NULL;
		bases |= !streq(x->patches.commit ? x->patches.base : x->commit,
				first->patches.commit ? first->patches.base : first->commit);
	}
	for (size_t k = 0; r >= 0 && k < c->n && (series || c->differ.n); k++) {
		c->v[k].label = make_label(&c->v[k], &j[k], &c->differ, bases, false);
		brief |= strlen(c->v[k].label) > HEAD_MAX;
	}
	for (size_t k = 0; k < c->n && c->v[k].label; k++)
		c->v[k].head = make_label(&c->v[k], &j[k], &c->differ, bases, brief);
	for (size_t k = 0; k < c->n; k++)
		db_job_release(&j[k]);
	free(j);
	return MIN(r, 0);
}

/* ---- all ---- */

/* The '@' in front of a job; those of git ("main@{1}") stay with the revision. */
static const char *find_at(const char *arg)
{
	const char *at = strrchr(arg, '@');

	return at && at > arg && at[1] && at[1] != '{' ? at : NULL;
}

static int read_column(struct ctx *ctx, const struct place_filter *f, const char *arg, struct column *c)
{
	const char *at = find_at(arg);
	_cleanup_free_ char *rev = at ? xstrndup(arg, at - arg) : xstrdup(arg);
	int r = ask_revision(ctx, f->tree, rev, &c->commit);

	c->spec = at ? xstrdup(at + 1) : NULL;
	if (r >= 0)
		r = store_measured(ctx->store, c->commit, &c->m, &c->n);
	if (r >= 0) {
		r = store_patched_get(ctx->store, c->commit, &c->patches);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

int columns_find(struct ctx *ctx, const struct place_filter *f, char *const *arg, size_t n, struct columns *ret)
{
	struct columns c = {.v = xcalloc(n, sizeof(*c.v)), .n = n};
	int r = 0;

	for (size_t k = 0; r >= 0 && k < n; k++)
		r = read_column(ctx, f, arg[k], &c.v[k]);
	if (r >= 0)
		r = choose(ctx->store, &c, f);
	if (r >= 0)
		r = add_labels(ctx->store, &c);
	if (r < 0) {
		columns_release(&c);
		return r;
	}
	*ret = c;
	return 0;
}

/* The series that the tree's configuration names; none where the tree is not clear. */
static int tree_series(struct ctx *ctx, const char *name, struct tree_config *ret)
{
	struct db_tree *all = NULL;
	size_t n = 0;
	int r = store_trees(ctx->store, &all, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (name ? streq(all[i].name, name) : n == 1)
			r = tree_config_from_db(&all[i], ret);
	DB_LIST_RELEASE(all, n, db_tree_release);
	return r;
}

/* "rps=on": no revision has such a beginning. */
static bool is_override(const char *arg)
{
	size_t n = strspn(arg, "abcdefghijklmnopqrstuvwxyz_0123456789");

	return n && arg[n] == '=';
}

int columns_of_matrix(struct ctx *ctx, const struct place_filter *f, const char *job, const struct strv *series,
		      char *const *arg, size_t n, struct strv *ret)
{
	_cleanup_(job_list_release) struct job_list l = {0};
	_cleanup_strv_ struct strv rev = {0}, overrides = {0};
	struct tree_config t = {0};
	int r = tree_series(ctx, f->tree, &t);

	for (size_t k = 0; k < n; k++)
		strv_add(is_override(arg[k]) ? &overrides : &rev, arg[k]);
	if (r >= 0)
		r = rev.n ? points_jobs(job, ctx->config.dir, (const char *const *)overrides.v, series, &t.patches, &l)
			  : err_set(-EINVAL, "compare --matrix: name a commit besides '%s'", arg[0]);
	for (size_t k = 0; r >= 0 && k < rev.n; k++)
		for (size_t i = 0; i < l.n; i++) {
			_cleanup_free_ char *word = l.v[i].patches ? fs_word(l.v[i].patches) : NULL;

			strv_addf(ret, "%s%s%s@%s", rev.v[k], word ? "+" : "", word ? word : "", l.v[i].id);
		}
	tree_config_release(&t);
	return MIN(r, 0);
}
