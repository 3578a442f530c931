/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/store-internal.h"

void db_measured_release(struct db_measured *m)
{
	free(m->tree);
	free(m->kconfig);
	free(m->job);
	free(m->job_name);
	free(m->tbox_group);
	*m = (struct db_measured){0};
}

int store_measured(struct store *s, const char *commit, struct db_measured **ret, size_t *ret_n)
{
	struct db_measured *list = NULL;
	size_t n = 0, cap = 0;
	sqlite3_stmt *st;
	int r = stmt_get(s,
			 "SELECT build.id, tree.name, kconfig, job.id, job.name, tbox_group, sum(verdict = 'ok') FROM build "
			 "JOIN tree ON tree.id = build.tree JOIN run ON run.build = build.id JOIN job ON job.id = run.job "
			 "JOIN machine ON machine.id = run.machine WHERE commit_oid = ? "
			 "GROUP BY build.id, job.id, tbox_group ORDER BY tree.name, kconfig, job.name, job.id, tbox_group",
			 ARGS(TEXT(commit)), &st);

	if (r < 0)
		return r;
	while ((r = stmt_step(s, st)) > 0) {
		GROW(list, n, cap);
		list[n++] = (struct db_measured){sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 6),
						 column_text(st, 1),	      column_text(st, 2),
						 column_text(st, 3),	      column_text(st, 4),
						 column_text(st, 5)};
	}
	stmt_put(s, st);
	if (r < 0) {
		DB_LIST_RELEASE(list, n, db_measured_release);
		return r;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

int store_recent_builds(struct store *s, const char *job, const char *tbox_group, size_t limit, int64_t **ret,
			size_t *ret_n)
{
	int64_t *list = xcalloc(limit + 1, sizeof(*list));
	size_t n = 0;
	sqlite3_stmt *st;
	int r = stmt_get(s,
			 "SELECT build FROM run WHERE job = ?1 AND verdict = 'ok' AND machine IN (SELECT id FROM machine "
			 "WHERE tbox_group = ?2) GROUP BY build HAVING count(DISTINCT boot) > 1 ORDER BY max(id) DESC LIMIT ?3",
			 ARGS(TEXT(job), TEXT(tbox_group), INT(limit)), &st);

	if (r >= 0) {
		while (n < limit && (r = stmt_step(s, st)) > 0)
			list[n++] = sqlite3_column_int64(st, 0);
		stmt_put(s, st);
	}
	if (r < 0) {
		free(list);
		return r;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

void db_point_release(struct db_point *p)
{
	free(p->commit);
	db_measured_release(&p->place);
}

int store_points(struct store *s, const char *tree, const char *kconfig, const char *job, const char *tbox_group,
		 const char *metric, struct db_point **ret, size_t *ret_n)
{
	struct db_point *list = NULL;
	size_t n = 0, cap = 0;
	sqlite3_stmt *st;
	int r = stmt_get(
		s,
		"SELECT build.id, count(*), tree.name, kconfig, job.id, job.name, tbox_group, commit_oid, avg(value), "
		"min(run.id), max(run.id), max(setup) FROM value JOIN run ON run.id = value.run "
		"JOIN build ON build.id = run.build "
		"JOIN tree ON tree.id = build.tree JOIN job ON job.id = run.job JOIN machine ON machine.id = run.machine "
		"LEFT JOIN run_setup ON run_setup.run = run.id WHERE value.metric = (SELECT id FROM metric WHERE name = ?1) AND verdict = 'ok' "
		"AND (?2 IS NULL OR tree.name = ?2) AND (?3 IS NULL OR kconfig = ?3) "
		"AND (?4 IS NULL OR job.id = ?4 OR job.name = ?4) AND (?5 IS NULL OR tbox_group = ?5) "
		"GROUP BY build.id, job.id, tbox_group, boot ORDER BY tree.name, kconfig, job.id, tbox_group, 10",
		ARGS(TEXT(metric), TEXT(tree), TEXT(kconfig), TEXT(job), TEXT(tbox_group)), &st);

	if (r < 0)
		return r;
	while ((r = stmt_step(s, st)) > 0) {
		GROW(list, n, cap);
		list[n++] = (struct db_point){
			.place = {sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1), column_text(st, 2),
				  column_text(st, 3),
				  column_text(st, 4), column_text(st, 5), column_text(st, 6)},
			.commit = column_text(st, 7), .value = sqlite3_column_double(st, 8),
			.first_run = sqlite3_column_int64(st, 9), .last_run = sqlite3_column_int64(st, 10),
			.setup = sqlite3_column_int64(st, 11),
		};
	}
	stmt_put(s, st);
	if (r < 0) {
		DB_LIST_RELEASE(list, n, db_point_release);
		return r;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}
