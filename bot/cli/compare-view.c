/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/compare-view.h"

#include "kernels/tree.h"
#include "lib/change.h"
#include "lib/json.h"

enum { SHOWN_DIGITS = 12 };     /* of an object id in heads of columns */

/* ---- where ---- */

char *view_subject(const struct config *c, const char *tree, const char *oid)
{
	_cleanup_free_ char *dir = xasprintf("%s/trees/%s.git", c->state_dir, tree);
	struct commit_info info = {0};
	char *subject;

	if (access(dir, R_OK) < 0 || tree_commit(dir, oid, &info) < 0)
		return NULL;
	subject = TAKE_PTR(info.subject);
	commit_info_release(&info);
	return subject;
}

static void add_axis(struct view *v, const char *key, const char *value)
{
	char *text;

	if (!value || !*value)
		return;
	for (size_t i = 0; i < v->n_axes; i++)
		if (streq(v->axis[i].key, key))
			return;
	text = xstrdup(value);
	for (char *p = text; *p; p++)   /* '/' parts the axes */
		*p = *p == '/' ? '-' : *p;
	v->axis = xrealloc_array(v->axis, v->n_axes + 1, sizeof(*v->axis));
	v->axis[v->n_axes++] = (struct lkp_axis){xstrdup(key), text};
}

int view_place(struct store *s, const struct db_measured *m, struct view *v)
{
	struct db_job job = {0};
	_cleanup_json_ struct json_object *params = NULL;
	int r = store_job_get(s, m->job, &job);

	if (r < 0)
		return r;
	v->tree = xstrdup(m->tree);
	v->kconfig = xstrdup(m->kconfig);
	v->job = xstrdup(m->job);
	v->job_name = xstrdup(m->job_name);
	v->machine = xstrdup(m->tbox_group);
	add_axis(v, "kconfig", m->kconfig);
	add_axis(v, "tbox_group", m->tbox_group);
	params = json_object_of(job.params);
	if (params) {
		json_object_object_foreach(params, key, val)
			if (!strv_has(&v->col.differ, key))
				add_axis(v, key, val ? json_object_get_string(val) : "");
	}
	add_axis(v, "testcase", job.program);
	db_job_release(&job);
	return 0;
}

void view_release(struct view *v)
{
	for (size_t i = 0; i < v->n_axes; i++) {
		free((char *)v->axis[i].key);
		free((char *)v->axis[i].value);
	}
	free(v->axis);
	free(v->tree);
	free(v->kconfig);
	free(v->job);
	free(v->job_name);
	free(v->machine);
	strv_release(&v->validity);
	columns_release(&v->col);
}

static const char *label_of(const struct view *v, size_t b) { return b < v->col.n ? v->col.v[b].label : NULL; }

/* ---- LKP's text ---- */

static int written(FILE *out)
{
	return fflush(out) != 0 || ferror(out) ? err_set(-EIO, "cannot write the output: %s", strerror(errno)) : 0;
}

int view_lkp(const struct view *v, FILE *out)
{
	_cleanup_free_ struct lkp_column *col = xcalloc(v->d->n_builds, sizeof(*col));
	_cleanup_buf_ struct buf b = {0};
	int r;

	for (size_t i = 0; i < v->d->n_builds; i++)
		col[i] = (struct lkp_column){v->d->build[i].name, v->d->build[i].subject, label_of(v, i),
					       i < v->col.n ? v->col.v[i].head : NULL};
	r = lkp_table(v->r, col, v->d->n_builds, v->axis, v->n_axes, v->all, &b);
	if (r < 0)
		return r;
	fwrite(buf_str(&b), 1, b.len, out);
	return written(out);
}

/* ---- table ---- */

static bool shown(const struct view *v, const struct cmp_row *row)
{
	for (size_t b = 1; b < v->r->n_builds; b++)
		if (cmp_is_change(row->delta[b].verdict))
			return true;
	return v->all;
}

/* Effects are stored as fractions, but for shares as points; both are shown times 100 or as they are. */
static double shown_effect(const struct cmp_delta *d, double x) { return d->points ? x : 100 * x; }

/* "A", "B", ... where there are several builds: files and commits may have long names. */
static char *column_name(const char *what, size_t b, size_t n)
{
	return n > 2 ? xasprintf("%s.%c", what, (char)('A' + b)) : xstrdup(what);
}

static void add_column(struct table *t, const char *what, size_t b, size_t n, bool right)
{
	_cleanup_free_ char *name = column_name(what, b, n);

	table_column(t, name, right);
}

static void add_short(struct table *t, size_t col, double v, enum table_form form, const char *fmt)
{
	_cleanup_free_ char *text = NULL;

	if (form != TABLE_TERM) {
		table_num(t, col, v);
		return;
	}
	if (isnan(v))
		return;
	text = xasprintf(fmt, v);
	table_text(t, col, text);
}

/* For people; numbers for programs stay numbers. */
static void add_effect(struct table *t, size_t col, double v, bool points, enum table_form form)
{
	_cleanup_buf_ struct buf b = {0};

	if (form != TABLE_TERM) {
		table_num(t, col, points ? v : 100 * v);
		return;
	}
	if (points)
		add_signed_points(&b, v);
	else
		add_signed_percent(&b, v);
	if (b.len)
		table_text(t, col, buf_str(&b));
}

static void add_interval(struct table *t, size_t col, double lo, double hi)
{
	_cleanup_buf_ struct buf b = {0};

	if (isnan(lo) || isnan(hi))
		return;
	add_signed_points(&b, lo);
	buf_adds(&b, " .. ");
	add_signed_points(&b, hi);
	table_text(t, col, isfinite(lo) && isfinite(hi) ? buf_str(&b) : "any");
}

static void fill_delta(struct table *t, size_t col, const struct cmp_row *row, const struct cmp_delta *d,
		       enum table_form form)
{
	double lo = shown_effect(d, d->lo), hi = shown_effect(d, d->hi);

	add_short(t, col, d->q, form, "%.2g");
	/* what is absent is no 0 */
	add_effect(t, col + 1, isinf(d->effect) && isnan(row->side[0].mean) ? NAN : d->effect, d->points, form);
	if (form == TABLE_TERM) {
		add_interval(t, col + 2, lo, hi);
		table_text(t, col + 3, cmp_verdict_name(d->verdict));
	} else {
		table_num(t, col + 2, lo);
		table_num(t, col + 3, hi);
		table_text(t, col + 4, cmp_verdict_name(d->verdict));
	}
}

static void table_heads(struct table *t, size_t N, enum table_form form)
{
	table_column(t, "metric", false);
	for (size_t b = 0; b < N; b++) {
		_cleanup_free_ char *mean = xasprintf("mean.%c", (char)('A' + b)),
				    *sd = xasprintf("stddev%%.%c", (char)('A' + b)),
				    *n = xasprintf("n.%c", (char)('A' + b));

		table_column(t, mean, true);
		table_column(t, sd, true);
		table_column(t, n, true);
	}
	for (size_t b = 1; b < N; b++) {
		add_column(t, "q", b, N, true);
		add_column(t, "effect", b, N, true);
		if (form == TABLE_TERM) {
			add_column(t, "interval", b, N, true);
		} else {
			add_column(t, "interval_low", b, N, true);
			add_column(t, "interval_high", b, N, true);
		}
		add_column(t, "verdict", b, N, false);
	}
}

static void legend(const struct view *v, FILE *out)
{
	for (size_t b = 0; b < v->d->n_builds; b++) {
		_cleanup_free_ char *name = term_safe(v->d->build[b].name),
				    *subject = term_safe(v->d->build[b].subject ? v->d->build[b].subject : "");
		_cleanup_free_ char *label = label_of(v, b) ? term_safe(label_of(v, b)) : NULL;
		bool commit = v->job != NULL;

		term_printf(out, "%c: %s%s%.*s%s%s\n", (char)('A' + b), label ? label : "", label ? "  " : "",
			    commit ? SHOWN_DIGITS : INT_MAX, name, *subject ? "  " : "", subject);
	}
	if (v->job)
		term_printf(out, "tree %s, kconfig %s, job %s%s, machine %s\n", v->tree, v->kconfig, v->job_name,
			    v->col.differ.n ? " and variants of it" : "", v->machine);
	for (size_t i = 0; i < v->validity.n; i++) {
		_cleanup_free_ char *safe = term_safe(v->validity.v[i]);

		term_printf(out, "%s\n", safe);
	}
	term_printf(out, "%zu of %zu metrics changed, at most %.3g%% of them by chance", v->r->changed, v->r->n_rows,
		    100 * v->cfg->fdr);
	if (isfinite(v->r->between_share))
		term_printf(out, "; %.0f%% of the spread is between boots", 100 * v->r->between_share);
	fputs("\n\n", out);
}

int view_table(const struct view *v, enum table_form form, FILE *out)
{
	_cleanup_table_ struct table t = {0};
	size_t N = v->r->n_builds, wide = form == TABLE_TERM ? 4 : 5;

	table_heads(&t, N, form);
	for (size_t i = 0; i < v->r->n_rows; i++) {
		const struct cmp_row *row = &v->r->row[i];

		if (!shown(v, row))
			continue;
		table_row(&t);
		table_text(&t, 0, row->name);
		for (size_t b = 0; b < N; b++) {
			add_short(&t, 1 + 3 * b, row->side[b].mean, form, "%.6g");
			add_short(&t, 2 + 3 * b, row->side[b].stddev_pct, form, "%.1f");
			table_int(&t, 3 + 3 * b, (int64_t)row->side[b].boots);
		}
		for (size_t b = 1; b < N; b++)
			fill_delta(&t, 1 + 3 * N + wide * (b - 1), row, &row->delta[b], form);
	}
	if (form == TABLE_TERM)
		legend(v, out);
	return table_print(&t, form, out);
}

/* ---- JSON ---- */

typedef struct json_object json;

static json *number(double x)
{
	char text[40];

	if (!isfinite(x))
		return NULL;
	snprintf(text, sizeof(text), "%.12g", x);
	return json_object_new_double_s(x, text);
}

static void add(json *o, const char *key, json *val) { json_object_object_add(o, key, val); }

static json *delta_field(const struct cmp_delta *d, int what)
{
	json *pair;

	switch (what) {
	case 0: return number(d->change);
	case 1: return number(d->q);
	case 2: return number(d->p);
	case 3: return number(shown_effect(d, d->effect));
	case 4:
		pair = json_object_new_array();
		json_object_array_add(pair, number(shown_effect(d, d->lo)));
		json_object_array_add(pair, number(shown_effect(d, d->hi)));
		return pair;
	default: return json_text(cmp_verdict_name(d->verdict));
	}
}

/* Against the first build: the value itself for two builds, else a list. */
static void add_deltas(json *o, const struct cmp_row *row, size_t N)
{
	static const char *const keys[] = {"change", "q", "p", "effect", "interval", "verdict"};

	for (int k = 0; k < (int)ARRAY_SIZE(keys); k++) {
		json *list;

		if (N == 2) {
			add(o, keys[k], delta_field(&row->delta[1], k));
			continue;
		}
		list = json_object_new_array();
		for (size_t b = 1; b < N; b++)
			json_object_array_add(list, delta_field(&row->delta[b], k));
		add(o, keys[k], list);
	}
}

/* In the unit of the effect. */
static double shown_least(const struct cmp_metric *m)
{
	double least = m->min_effect < 0 ? metric_min_effect(m->name) : m->min_effect;

	return metric_is_points(m->name) ? least : 100 * least;
}

static json *row_object(const struct cmp_row *row, const struct cmp_metric *m, size_t N)
{
	json *o = json_object_new_object(), *mean = json_object_new_array(), *sd = json_object_new_array(),
	     *n = json_object_new_array(), *boots = json_object_new_array();

	for (size_t b = 0; b < N; b++) {
		json_object_array_add(mean, number(row->side[b].mean));
		json_object_array_add(sd, number(row->side[b].stddev_pct));
		json_object_array_add(n, json_object_new_int64((int64_t)row->side[b].runs));
		json_object_array_add(boots, json_object_new_int64((int64_t)row->side[b].boots));
	}
	add(o, "metric", json_text(row->name));
	add(o, "mean", mean);
	add(o, "stddev_pct", sd);
	add(o, "n", n);
	add(o, "boots", boots);
	add(o, "unit", json_text(row->fail || metric_is_points(row->name) ? "points" : "percent"));
	if (!row->fail)
		add(o, "min_effect", number(shown_least(m)));
	add_deltas(o, row, N);
	return o;
}

static json *validity_list(const struct view *v)
{
	json *list = json_object_new_array();

	for (size_t i = 0; i < v->validity.n; i++)
		json_object_array_add(list, json_text(v->validity.v[i]));
	return list;
}

static void add_column_facts(json *o, const struct column *c)
{
	add(o, "label", json_text(c->label));
	add(o, "job", json_text(c->at->job_name));
	add(o, "job_id", json_text(c->at->job));
	add(o, "patches", json_text(c->patches.name));
	add(o, "base", json_text(c->patches.base));
}

int view_json(const struct view *v, FILE *out)
{
	json *o = json_object_new_object(), *builds = json_object_new_array(), *rows = json_object_new_array();

	for (size_t b = 0; b < v->d->n_builds; b++) {
		json *x = json_object_new_object();

		add(x, v->job ? "commit" : "file", json_text(v->d->build[b].name));
		add(x, "subject", json_text(v->d->build[b].subject));
		add(x, "runs", json_object_new_int64((int64_t)v->d->build[b].n_runs));
		if (b < v->col.n)
			add_column_facts(x, &v->col.v[b]);
		json_object_array_add(builds, x);
	}
	for (size_t i = 0; i < v->r->n_rows; i++)
		if (shown(v, &v->r->row[i]))
			json_object_array_add(rows, row_object(&v->r->row[i], &v->d->metric[i], v->r->n_builds));
	add(o, "builds", builds);
	add(o, "tree", json_text(v->tree));
	add(o, "kconfig", json_text(v->kconfig));
	add(o, "job", json_text(v->job_name));
	add(o, "job_id", json_text(v->job));
	add(o, "machine", json_text(v->machine));
	add(o, "validity", validity_list(v));
	add(o, "rule", json_text(v->cfg->rule == CMP_LKP ? "lkp" : "moderated"));
	add(o, "fdr", number(v->cfg->fdr));
	add(o, "confidence", number(v->cfg->confidence));
	add(o, "between_boot_share", number(v->r->between_share));
	add(o, "metrics", json_object_new_int64((int64_t)v->r->n_rows));
	add(o, "changed", json_object_new_int64((int64_t)v->r->changed));
	add(o, "rows", rows);
	json_print(out, o, false);
	json_object_put(o);
	return written(out);
}

/* ---- every run ---- */

static void add_change_cell(struct table *t, size_t col, const struct cmp_delta *d, enum table_form form)
{
	add_effect(t, col, d->points ? d->change : d->change / 100, d->points, form);
}

static void runs_row(struct table *t, const struct view *v, size_t b, const char *what)
{
	_cleanup_free_ char *name = label_of(v, b)
					    ? xstrdup(label_of(v, b))
					    : xasprintf("%.*s", v->job ? SHOWN_DIGITS : INT_MAX, v->d->build[b].name);

	table_row(t);
	table_text(t, 0, name);
	table_text(t, 1, what);
}

static void runs_of_build(struct table *t, const struct view *v, const size_t *col, size_t n, size_t b, bool averages,
			  enum table_form form)
{
	for (size_t i = 0; i < v->d->build[b].n_runs && !averages; i++) {
		_cleanup_free_ char *what = xasprintf("Run %zu", i + 1);

		runs_row(t, v, b, what);
		for (size_t k = 0; k < n; k++)
			if (i < v->d->metric[col[k]].n[b])
				add_short(t, 2 + k, v->d->metric[col[k]].value[b][i], form, "%.10g");
	}
	runs_row(t, v, b, "Average");
	for (size_t k = 0; k < n; k++)
		add_short(t, 2 + k, v->r->row[col[k]].side[b].mean, form, "%.8g");
	if (!b || averages)
		return;
	runs_row(t, v, b, "Delta");
	for (size_t k = 0; k < n; k++)
		add_change_cell(t, 2 + k, &v->r->row[col[k]].delta[b], form);
}

/* Metrics are columns: the program's own where there are any, since a screen holds few. */
int view_runs(const struct view *v, bool averages, enum table_form form, FILE *out)
{
	_cleanup_table_ struct table t = {0};
	_cleanup_free_ size_t *col = xcalloc(v->r->n_rows + 1, sizeof(*col));
	size_t n = 0, programs = 0;

	for (size_t i = 0; i < v->r->n_rows; i++)
		programs += metric_is_program(v->r->row[i].name) && !v->r->row[i].fail;
	table_column(&t, label_of(v, 0) ? "variant" : v->job ? "commit" : "file", false);
	table_column(&t, "", false);
	for (size_t i = 0; i < v->r->n_rows; i++) {
		const struct cmp_row *row = &v->r->row[i];

		if (row->fail || (programs && !metric_is_program(row->name)))
			continue;
		col[n++] = i;
		table_column(&t, row->name, true);
	}
	for (size_t b = 0; b < v->d->n_builds; b++)
		runs_of_build(&t, v, col, n, b, averages, form);
	return table_print(&t, form, out);
}
