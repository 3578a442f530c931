/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "job suggest COMMIT": the jobs known to execute the functions that a commit changes, those that see most of them
 * first. */
#include "bot/cli/ask.h"
#include "bot/cli/job-suggest.h"
#include "bot/engine/reach.h"

#include <json-c/json.h>

struct job_candidate {
	const struct db_profile *p;
	struct reach *reach;            /* of each function */
	size_t ran, through;            /* functions entered; inlined ones with a caller that was */
	double most;                    /* entries of the one entered most, per operation */
};

static int rate(struct store *s, const struct touched *t, const struct db_profile *p, struct job_candidate *c)
{
	_cleanup_free_ char *map = p->image_path ? symbols_path(p->image_path) : xstrdup("");
	_cleanup_(symbols_release) struct symbols sym = {0};
	_cleanup_profile_ struct profile lines = {0};
	struct reach_source src = {s, p};
	int r = symbols_read(map, &sym);

	if (p->path && profile_read(p->path, &lines) < 0) /* cleaned up: the database still has the functions */
		lines = (struct profile){0};

	if (r < 0)
		return r;
	c->p = p;
	c->reach = xcalloc(t->n + 1, sizeof(*c->reach));
	for (size_t i = 0; i < t->n; i++) {
		struct reach *x = &c->reach[i];

		touched_reach(&t->v[i], &sym, &lines, reach_look_up, &src, x);
		c->ran += x->kind == REACH_RAN || x->kind == REACH_INLINED;
		c->through += x->kind == REACH_THROUGH;
		c->most = MAX(c->most, x->entries / (p->operations > 0 ? p->operations : 1));
	}
	return 0;
}

static int by_reach(const void *a, const void *b)
{
	const struct job_candidate *x = a, *y = b;

	if (x->ran + x->through != y->ran + y->through)
		return x->ran + x->through > y->ran + y->through ? -1 : 1;
	if (x->ran != y->ran)
		return x->ran > y->ran ? -1 : 1;
	if (x->most != y->most)
		return x->most > y->most ? -1 : 1;
	return strcmp(x->p->job_name, y->p->job_name);
}

static const char *kind_of(const struct touched_fn *f)
{
	return f->is_inline ? "inline" : f->is_static ? "static" : "global";
}

static void print_json(const struct touched *t, const struct job_candidate *c, size_t n)
{
	struct json_object *o = json_object_new_object(), *fns = json_object_new_array(),
			   *jobs = json_object_new_array();

	for (size_t i = 0; i < t->n; i++) {
		struct json_object *x = json_object_new_object();

		json_object_object_add(x, "function", json_text(t->v[i].name));
		json_object_object_add(x, "file", json_text(t->v[i].file));
		json_object_object_add(x, "kind", json_text(kind_of(&t->v[i])));
		json_object_array_add(fns, x);
	}
	for (size_t k = 0; k < n; k++) {
		struct json_object *x = json_object_new_object(), *reach = json_object_new_array();

		json_object_object_add(x, "job", json_text(c[k].p->job_name));
		json_object_object_add(x, "machine", json_text(c[k].p->tbox_group));
		json_object_object_add(x, "reached", json_object_new_int64((int64_t)(c[k].ran + c[k].through)));
		for (size_t i = 0; i < t->n; i++) {
			_cleanup_buf_ struct buf text = {0};
			struct json_object *y = json_object_new_object();

			reach_text(&c[k].reach[i], c[k].p->operations, &text);
			json_object_object_add(y, "function", json_text(t->v[i].name));
			json_object_object_add(y, "entries", json_object_new_int64((int64_t)c[k].reach[i].entries));
			json_object_object_add(y, "reach", json_text(buf_str(&text)));
			json_object_array_add(reach, y);
		}
		json_object_object_add(x, "functions", reach);
		json_object_array_add(jobs, x);
	}
	json_object_object_add(o, "functions", fns);
	json_object_object_add(o, "jobs", jobs);
	json_print(stdout, o, false);
	json_object_put(o);
}

static int print_table(struct ctx *c, const struct touched *t, const struct job_candidate *v, size_t n)
{
	static const char *const columns[] = {"job", "machine", "function", "kind", "file", "reach"};
	_cleanup_table_ struct table table = {0};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(&table, columns[i], false);
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < t->n; i++) {
			_cleanup_buf_ struct buf text = {0};

			reach_text(&v[k].reach[i], v[k].p->operations, &text);
			table_row(&table);
			table_text(&table, 0, i ? NULL : v[k].p->job_name);
			table_text(&table, 1, i ? NULL : v[k].p->tbox_group);
			table_text(&table, 2, t->v[i].name);
			table_text(&table, 3, kind_of(&t->v[i]));
			table_text(&table, 4, t->v[i].file);
			table_text(&table, 5, buf_str(&text));
		}
	return table_print(&table, ctx_form(c), stdout);
}

static int nothing_to_say(const struct touched *t, const char *oid, size_t jobs)
{
	if (!t->n)
		return err_set(
			-ENOENT, "%.12s changes no function (%zu C file%s outside of functions, %zu other file%s)", oid,
			t->outside.n, t->outside.n == 1 ? "" : "s", t->other_files, t->other_files == 1 ? "" : "s");
	return jobs ? 0
		    : err_set(-ENOENT, "no job has a profile yet; 'kperfbot run JOB --commit REV --profile' makes one");
}

int job_suggest(struct ctx *c, const char *rev, const char *tree)
{
	_cleanup_touched_ struct touched t = {0};
	_cleanup_free_ char *oid = NULL;
	struct asked a = {0};
	struct db_profile *p = NULL;
	struct job_candidate *v = NULL;
	size_t n = 0, rated = 0;
	int r = ctx_store(c, false); /* the configured trees are written into it */

	if (r >= 0)
		r = ask_tree(c, tree, &a);
	if (r >= 0)
		r = ask_commit(c, &a, rev, &oid);
	if (r >= 0)
		r = touched_functions(a.git_dir, oid, &t);
	if (r >= 0)
		r = store_known_reach(c->store, a.tree.name, &p, &n);
	if (r >= 0 && !n)
		r = store_known_reach(c->store, NULL, &p, &n);
	if (r >= 0)
		r = nothing_to_say(&t, oid, n);
	v = xcalloc(n + 1, sizeof(*v));
	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (rate(c->store, &t, &p[i], &v[rated]) >= 0)
			rated++;
		else
			term_printf(stderr, "kperfbot: job %s left out: %s\n", p[i].job_name, err_msg());
	}
	if (r >= 0 && rated)
		qsort(v, rated, sizeof(*v), by_reach);
	if (r >= 0 && c->json)
		print_json(&t, v, rated);
	else if (r >= 0)
		r = print_table(c, &t, v, rated);
	for (size_t i = 0; i < rated; i++) {
		for (size_t k = 0; k < t.n; k++)
			reach_release(&v[i].reach[k]);
		free(v[i].reach);
	}
	if (r >= 0 && (!rated || !(v[0].ran + v[0].through)))
		r = 1;
	free(v);
	DB_LIST_RELEASE(p, n, db_profile_release);
	asked_release(&a);
	return r < 0 ? verb_fail(c, r) : r ? EXIT_NO : EXIT_DONE;
}
