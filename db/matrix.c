/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All metrics of all runs of one build: what a comparison reads. Values come run by run in the order of metric ids, so
 * each run is one walk along the primary key; names are looked up once per metric.
 */
#include "db/store-internal.h"

struct matrix_cell { uint32_t run; int64_t metric; double v; };
struct cells { struct matrix_cell *c; size_t n, cap; };
struct matrix_column { int64_t id; struct metric_info info; };

void matrix_release(struct matrix *m)
{
	for (size_t i = 0; i < m->n_metrics; i++)
		metric_info_release(&m->metric[i]);
	for (size_t i = 0; i < m->n_runs; i++)
		free(m->boot[i]);
	free(m->metric);
	free(m->run);
	free(m->boot);
	free(m->verdict);
	free(m->v);
	*m = (struct matrix){0};
}

static int read_values(struct store *s, struct matrix *m, struct cells *out)
{
	sqlite3_stmt *st;
	int r = 0;

	for (size_t i = 0; i < m->n_runs && r >= 0; i++) {
		r = stmt_get(s, "SELECT metric, value FROM value WHERE run = ?", ARGS(INT(m->run[i])), &st);
		if (r < 0)
			return r;
		while ((r = stmt_step(s, st)) > 0) {
			GROW(out->c, out->n, out->cap);
			out->c[out->n++] =
				(struct matrix_cell){i, sqlite3_column_int64(st, 0), sqlite3_column_double(st, 1)};
		}
		stmt_put(s, st);
	}
	return r;
}

static int by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct matrix_column *)a)->info.name, ((const struct matrix_column *)b)->info.name);
}

/* Where x is among the sorted ids, or n. Runs have mostly the same metrics in the same order: the next one is tried
 * first. */
static size_t find_id(const int64_t *id, size_t n, int64_t x, size_t *hint)
{
	const int64_t *p;

	if (++*hint < n && id[*hint] == x)
		return *hint;
	p = bsearch(&x, id, n, sizeof(*id), by_id);
	return *hint = p ? (size_t)(p - id) : n;
}

/* Distinct metric ids of the cells, sorted. */
static int64_t *distinct_ids(const struct cells *c, size_t *ret_n)
{
	int64_t *id = xcalloc(c->n, sizeof(*id));
	size_t n = 0, k, hint = SIZE_MAX;

	for (; n < c->n && c->c[n].run == c->c[0].run; n++) /* the first run: sorted by the primary key */
		id[n] = c->c[n].metric;
	k = n;
	for (size_t i = n; i < c->n; i++)
		if (find_id(id, k, c->c[i].metric, &hint) == k)
			id[n++] = c->c[i].metric;
	qsort(id, n, sizeof(*id), by_id);
	k = 0;
	for (size_t i = 0; i < n; i++)
		if (!k || id[k - 1] != id[i])
			id[k++] = id[i];
	*ret_n = k;
	return id;
}

/* Names of the sorted ids from one walk along the table; where the next one is far the walk starts anew there. */
static int walk_columns(struct store *s, sqlite3_stmt *st, const int64_t *id, size_t n, struct matrix_column *col,
			size_t *done)
{
	int far = 0, r = 0;

	while (*done < n && (r = stmt_step(s, st)) > 0) {
		if (sqlite3_column_int64(st, 0) < id[*done]) {
			if (++far > 16)
				return 0;
			continue;
		}
		if (sqlite3_column_int64(st, 0) > id[*done])
			break;
		far = 0;
		col[*done].id = id[*done];
		col[(*done)++].info = (struct metric_info){column_text(st, 1), column_text(st, 2),
							   sqlite3_column_int(st, 3), sqlite3_column_int(st, 4)};
	}
	if (*done < n && r >= 0)
		return err_set(-EUCLEAN, "'%s': metric %" PRId64 " has no name", s->path, id[*done]);
	return *done < n ? r : 0;
}

static int read_columns(struct store *s, const int64_t *id, size_t n, struct matrix_column *col, size_t *done)
{
	int r = 0;

	while (*done < n && r >= 0) {
		sqlite3_stmt *st;

		r = stmt_get(s, "SELECT id, name, unit, direction, kpi FROM metric WHERE id >= ? ORDER BY id",
			     ARGS(INT(id[*done])), &st);
		if (r < 0)
			return r;
		r = walk_columns(s, st, id, n, col, done);
		stmt_put(s, st);
	}
	return r;
}

/* Where the values of each metric go: the place of id[i] in the order of names. */
static void fill(struct matrix *m, const struct cells *c, const int64_t *id, const struct matrix_column *col)
{
	_cleanup_free_ size_t *place = xcalloc(m->n_metrics, sizeof(*place));
	size_t hint = SIZE_MAX;

	for (size_t i = 0; i < m->n_metrics; i++)
		place[find_id(id, m->n_metrics, col[i].id, &hint)] = i;
	for (size_t i = 0; i < m->n_metrics * m->n_runs; i++)
		m->v[i] = NAN;
	for (size_t i = 0; i < c->n; i++) {
		const struct matrix_cell *x = &c->c[i];

		m->v[place[find_id(id, m->n_metrics, x->metric, &hint)] * m->n_runs + x->run] = x->v;
	}
}

static int build_matrix(struct store *s, const struct cells *c, struct matrix *m)
{
	size_t n = 0, done = 0;
	_cleanup_free_ int64_t *id = distinct_ids(c, &n);
	_cleanup_free_ struct matrix_column *col = xcalloc(n, sizeof(*col));
	int r = read_columns(s, id, n, col, &done);

	if (r < 0) {
		while (done)
			metric_info_release(&col[--done].info);
		return r;
	}
	qsort(col, n, sizeof(*col), by_name);
	m->metric = xcalloc(n, sizeof(*m->metric));
	m->v = xcalloc(n * m->n_runs, sizeof(*m->v));
	for (size_t i = 0; i < n; i++)
		m->metric[i] = col[i].info;
	m->n_metrics = n;
	fill(m, c, id, col);
	return 0;
}

static void take_runs(struct matrix *m, struct db_run *run, size_t n)
{
	m->run = xcalloc(n, sizeof(*m->run));
	m->boot = xcalloc(n, sizeof(*m->boot));
	m->verdict = xcalloc(n, sizeof(*m->verdict));
	m->n_runs = n;
	for (size_t i = 0; i < n; i++) {
		m->run[i] = run[i].id;
		m->boot[i] = TAKE_PTR(run[i].boot);
		m->verdict[i] = run[i].verdict;
	}
	DB_LIST_RELEASE(run, n, db_run_release);
}

static int read_matrix(struct store *s, int64_t build, const char *job, const char *tbox_group, struct matrix *m)
{
	struct cells cells = {0};
	struct db_run *run;
	size_t n;
	int r = store_runs(s, build, job, tbox_group, false, &run, &n);

	if (r < 0)
		return r;
	take_runs(m, run, n);
	r = read_values(s, m, &cells);
	if (r >= 0)
		r = build_matrix(s, &cells, m);
	free(cells.c);
	return r;
}

int store_matrix(struct store *s, int64_t build, const char *job, const char *tbox_group, struct matrix *ret)
{
	struct matrix m = {0};
	int r = tx_begin(s, false); /* one state of the database for all */

	if (r < 0)
		return r;
	r = tx_end(s, read_matrix(s, build, job, tbox_group, &m));
	if (r < 0) {
		matrix_release(&m);
		return r;
	}
	*ret = m;
	return 0;
}
