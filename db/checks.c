/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the checks of a run saw: kept for each run, counted for each build. */
#include "db/store-internal.h"
#include "lib/buf.h"

int store_checks_put(struct store *s, int64_t run, const struct check_set *checks)
{
	int r = store_begin(s);

	if (r < 0)
		return r;
	for (size_t i = 0; i < checks->n && r >= 0; i++) {
		const struct check *c = &checks->v[i];

		r = db_exec(s, "INSERT INTO run_check (run, name, verdict, evidence, capped) VALUES (?, ?, ?, ?, ?)",
			    INT(run), TEXT(c->name), TEXT(check_verdict_word(c->verdict)), TEXT(c->evidence), INT(c->capped));
		if (r < 0)
			err_prefix(r, "check '%s'", c->name);
	}
	return tx_end(s, MIN(r, 0));
}

void db_check_release(struct db_check *c)
{
	free(c->name);
	free(c->evidence);
	*c = (struct db_check){0};
}

int store_checks(struct store *s, int64_t build, const char *job, const char *tbox_group, struct db_check **ret,
		 size_t *ret_n)
{
	struct db_check *list = NULL;
	size_t n = 0, cap = 0;
	sqlite3_stmt *st;
	/* max() makes SQLite take the other bare columns from the row that has it */
	int r = stmt_get(s,
			 "SELECT c.name, sum(c.verdict = 'pass'), sum(c.verdict = 'fail'), sum(c.verdict = 'unknown'), c.evidence, "
			 "max((CASE c.verdict WHEN 'fail' THEN 2 WHEN 'unknown' THEN 1 ELSE 0 END) * 4611686018427387 + run.id), sum(c.capped) "
			 "FROM run_check c JOIN run ON run.id = c.run WHERE build = ?1 AND job = ?2 AND (?3 IS NULL OR machine IN "
			 "(SELECT id FROM machine WHERE tbox_group = ?3)) GROUP BY c.name ORDER BY c.name",
			 ARGS(INT(build), TEXT(job), TEXT(tbox_group)), &st);

	if (r < 0)
		return r;
	while ((r = stmt_step(s, st)) > 0) {
		GROW(list, n, cap);
		list[n++] = (struct db_check){.name = column_text(st, 0), .pass = sqlite3_column_int64(st, 1),
					      .fail = sqlite3_column_int64(st, 2),
					      .unknown = sqlite3_column_int64(st, 3),
					      .evidence = column_text(st, 4), .capped = sqlite3_column_int64(st, 6)};
	}
	stmt_put(s, st);
	if (r < 0) {
		DB_LIST_RELEASE(list, n, db_check_release);
		return r;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}
