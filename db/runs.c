/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/store-internal.h"
#include "lib/unit.h"

#define R(member, type, ...) FIELD(struct db_run, member, #member, type, ##__VA_ARGS__)
static const struct field RUN_FIELDS[] = {
	R(id, FT_INT, .key = true), R(build, FT_INT),	    R(job, FT_TEXT),	   R(machine, FT_INT),
	R(boot, FT_TEXT),	    R(replicate, FT_INT),   R(verdict, FT_WORD, .words = &run_verdict_words),
	R(cause, FT_TEXT),
	R(started, FT_NOW),	    R(seconds, FT_REAL, .write = "coalesce(?, 0)"), R(boot_seconds, FT_REAL),
	R(result_dir, FT_TEXT),	    R(root_image, FT_TEXT), R(task, FT_INT0),
	R(exposed, FT_BOOL),
};
ENTITY(RUN, "run", "run", db_run);

void db_run_release(struct db_run *r) { row_release(&RUN, r); }

/* ---- writing ---- */

/* All values of a metric are in one unit, the first that was stored: a program that printed us may print ms today. */
static int in_stored_unit(struct store *s, struct metric_value *v)
{
	struct metric_info info = {0};
	double factor;
	int r;

	if (!*v->unit)
		return 0;
	r = store_metric_info(s, v->name, &info);
	if (r >= 0 && strcmp(info.unit, v->unit) && *info.unit && unit_factor(v->unit, info.unit, &factor)) {
		v->value *= factor;
		v->unit = "";
	}
	metric_info_release(&info);
	return r == -ENOENT ? 0 : MIN(r, 0);
}

/* The metric's id. What is known about it grows: a unit or direction, once known, is only replaced by another one. */
static int metric_id(struct store *s, struct metric_value *v, int64_t *ret)
{
	int r = db_scalar(s, ret,
			  "SELECT id FROM metric WHERE name = ?1 AND (?2 = '' OR unit = ?2) AND (?3 = 0 OR direction = ?3) AND kpi >= ?4",
			  TEXT(v->name), TEXT(v->unit), INT(v->direction), INT(v->kpi));

	if (r != -ENOENT)
		return r;
	r = in_stored_unit(s, v);
	if (r < 0)
		return r;
	return db_scalar(s, ret,
			 "INSERT INTO metric (name, unit, direction, kpi) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
			 "unit = CASE excluded.unit WHEN '' THEN unit ELSE excluded.unit END, "
			 "direction = CASE excluded.direction WHEN 0 THEN direction ELSE excluded.direction END, "
			 "kpi = max(kpi, excluded.kpi) RETURNING id",
			 TEXT(v->name), TEXT(v->unit), INT(v->direction), INT(v->kpi));
}

static int put_values(struct store *s, int64_t run, const struct metric_set *values)
{
	for (size_t i = 0; i < values->n; i++) {
		struct metric_value copy = values->v[i], *v = &copy;
		int64_t metric;
		int r;

		if (!isfinite(v->value))
			return err_set(-EINVAL, "metric '%s' has the value %g, which is not a number to store", v->name,
				       v->value);
		if ((r = metric_id(s, v, &metric)) < 0 ||
		    (r = db_exec(s, "INSERT INTO value (run, metric, value) VALUES (?, ?, ?)", INT(run), INT(metric),
				 REAL(v->value))) < 0)
			return err_prefix(r, "metric '%s'", v->name);
	}
	return 0;
}

int store_run_put(struct store *s, const struct db_run *run, const struct metric_set *values, int64_t *ret_id)
{
	int64_t id;
	int r = store_begin(s);

	if (r < 0)
		return r;
	r = db_insert(s, &RUN, run, "", &id);
	if (r >= 0 && values)
		r = put_values(s, id, values);
	r = tx_end(s, r);
	if (r < 0)
		return err_prefix(r, "cannot store a run");
	if (ret_id)
		*ret_id = id;
	return 0;
}

/* ---- reading ---- */

/* ?1 build, ?2 job, ?3 tbox group or NULL */
#define OF_BUILD "build = ?1 AND job = ?2 AND (?3 IS NULL OR machine IN (SELECT id FROM machine WHERE tbox_group = ?3)) "
#define OLDEST_FIRST "ORDER BY run.id" /* clocks jump, numbers do not */


int store_runs(struct store *s, int64_t build, const char *job, const char *tbox_group, bool only_ok,
	       struct db_run **ret, size_t *ret_n)
{
	return db_list(s, &RUN, ret, ret_n, "WHERE " OF_BUILD "AND (NOT ?4 OR verdict = 'ok') " OLDEST_FIRST,
		       INT(build), TEXT(job), TEXT(tbox_group), INT(only_ok));
}

int store_newest_run(struct store *s, int64_t tree, int64_t after, int64_t *ret)
{
	return db_scalar(
		s, ret,
		"SELECT coalesce(max(run.id), 0) FROM run JOIN build ON build.id = run.build WHERE run.id > ? AND "
		"tree = ?",
		INT(after), INT(tree));
}

int store_last_run(struct store *s, int64_t *ret)
{
	int r = db_scalar(s, ret, "SELECT seq FROM sqlite_sequence WHERE name = 'run'");

	if (r == -ENOENT)
		*ret = 0;
	return r == -ENOENT ? 0 : r;
}

double store_run_cost(struct store *s, const char *job, const char *tbox_group)
{
	/* what lately holds: the newest runs only; seconds is the whole run, its boot included */
	return db_number(s,
			 "SELECT avg(seconds) FROM (SELECT seconds FROM run WHERE job = ? AND "
			 "verdict = 'ok' AND machine IN (SELECT id FROM machine WHERE tbox_group = ?) ORDER BY id DESC LIMIT 200)",
			 TEXT(job), TEXT(tbox_group));
}

void sample_release(struct sample *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->boot[i]);
	free(s->value);
	free(s->boot);
	free(s->run);
	*s = (struct sample){0};
}

int store_sample(struct store *s, int64_t build, const char *job, const char *tbox_group, const char *metric,
		 struct sample *ret)
{
	struct sample out = {0};
	size_t cap[3] = {0};
	sqlite3_stmt *st;
	int r = stmt_get(s,
			 "SELECT value, boot, run.id FROM run JOIN value ON value.run = run.id AND "
			 "metric = (SELECT id FROM metric WHERE name = ?4) WHERE " OF_BUILD "AND verdict = 'ok' " OLDEST_FIRST,
			 ARGS(INT(build), TEXT(job), TEXT(tbox_group), TEXT(metric)), &st);

	if (r < 0)
		return r;
	while ((r = stmt_step(s, st)) > 0) {
		GROW(out.value, out.n, cap[0]);
		GROW(out.boot, out.n, cap[1]);
		GROW(out.run, out.n, cap[2]);
		out.value[out.n] = sqlite3_column_double(st, 0);
		out.boot[out.n] = column_text(st, 1);
		out.run[out.n++] = sqlite3_column_int64(st, 2);
	}
	stmt_put(s, st);
	if (r < 0) {
		sample_release(&out);
		return r;
	}
	*ret = out;
	return 0;
}

int store_metric_put(struct store *s, const struct metric_value *v)
{
	struct metric_value copy = *v;
	int64_t id;

	return metric_id(s, &copy, &id);
}

int store_metric_info(struct store *s, const char *name, struct metric_info *ret)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, "SELECT name, unit, direction, kpi FROM metric WHERE name = ?", ARGS(TEXT(name)), &st);

	if (r < 0)
		return r;
	r = stmt_step(s, st);
	if (r > 0)
		*ret = (struct metric_info){column_text(st, 0), column_text(st, 1), sqlite3_column_int(st, 2),
					    sqlite3_column_int(st, 3)};
	stmt_put(s, st);
	return r ? MIN(r, 0) : err_set(-ENOENT, "no metric '%s' in the database", name);
}

void metric_info_release(struct metric_info *m)
{
	free(m->name);
	free(m->unit);
	*m = (struct metric_info){0};
}
