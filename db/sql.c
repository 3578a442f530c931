/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Free questions: one SELECT of the user's own, and commits by their first digits. */
#include "db/store-internal.h"
#include "lib/buf.h"

#include <ctype.h>

/* ---- sql ---- */

/* Reading only, whatever the statement is called: no ATTACH, no writing PRAGMA, no loading of code. */
static int allow_reading(void *data, int action, const char *a, const char *b, const char *db, const char *trigger)
{
	static const char *const pragma[] = {"table_info", "table_xinfo", "table_list",	  "index_list",	 "index_info",
					     "index_xinfo",
					     "foreign_key_list", "user_version", "integrity_check", "quick_check",
					     "page_count",
					     "page_size", "compile_options"};

	(void)data, (void)db, (void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE: return SQLITE_OK;
	case SQLITE_FUNCTION: return streq(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		for (size_t i = 0; i < ARRAY_SIZE(pragma); i++)
			if (streq(a, pragma[i]) && (!b || strcmp(a, "user_version")))
				return SQLITE_OK;
	}
	return SQLITE_DENY;
}

static bool is_empty_sql(struct store *s, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
	bool empty = rc == SQLITE_OK && !st;

	sqlite3_finalize(st);
	return empty;
}

static int prepare_reading(struct store *s, const char *sql, sqlite3_stmt **ret)
{
	sqlite3_stmt *st = NULL;
	const char *tail;
	int rc, r = 0;

	sqlite3_set_authorizer(s->db, allow_reading, NULL);
	rc = sqlite3_prepare_v2(s->db, sql, -1, &st, &tail);
	if (rc == SQLITE_AUTH)
		r = err_set(-EPERM, "only reading is allowed here: SELECT, WITH, PRAGMA table_info and the like");
	else if (rc != SQLITE_OK)
		r = err_set(-EINVAL, "%s; the tables and views are in db/schema.sql", sqlite3_errmsg(s->db));
	else if (!st)
		r = err_set(-EINVAL, "there is no SQL statement in '%s'", sql);
	else if (!sqlite3_stmt_readonly(st))
		r = err_set(-EPERM, "only reading is allowed here");
	else if (!is_empty_sql(s, tail))
		r = err_set(-EINVAL, "one statement only; there is more behind the first: '%.40s'",
			    tail + strspn(tail, " \t\n"));
	sqlite3_set_authorizer(s->db, NULL, NULL);
	if (r < 0)
		sqlite3_finalize(st);
	else
		*ret = st;
	return r;
}

static bool has_column(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->n_cols; i++)
		if (streq(t->col[i].name, name))
			return true;
	return false;
}

/* Names must differ, or JSON would lose a column. */
static void add_columns(sqlite3_stmt *st, struct table *t)
{
	for (int i = 0; i < sqlite3_column_count(st); i++) {
		_cleanup_free_ char *name = xstrdup(sqlite3_column_name(st, i) ?: "");

		for (int k = 2; has_column(t, name); k++) {
			free(name);
			name = xasprintf("%s:%d", sqlite3_column_name(st, i), k);
		}
		table_column(t, name, false);
	}
}

static char *hex_of(const unsigned char *p, int n)
{
	_cleanup_buf_ struct buf b = {0};

	for (int i = 0; i < n; i++)
		buf_addf(&b, "%02x", p[i]);
	return buf_take(&b);
}

static void add_row(sqlite3_stmt *st, struct table *t)
{
	table_row(t);
	for (int i = 0; i < sqlite3_column_count(st); i++)
		switch (sqlite3_column_type(st, i)) {
		case SQLITE_INTEGER:
			table_int(t, i, sqlite3_column_int64(st, i));
			t->col[i].right = true;
			break;
		case SQLITE_FLOAT:
			table_num(t, i, sqlite3_column_double(st, i));
			t->col[i].right = true;
			break;
		case SQLITE_TEXT: table_text(t, i, (const char *)sqlite3_column_text(st, i)); break;
		case SQLITE_BLOB: {
			_cleanup_free_ char *hex = hex_of(sqlite3_column_blob(st, i), sqlite3_column_bytes(st, i));

			table_text(t, i, hex);
		}
		}
}

int store_sql(struct store *s, const char *sql, struct table *ret)
{
	struct table t = {0};
	sqlite3_stmt *st;
	int r = prepare_reading(s, sql, &st);

	if (r < 0)
		return r;
	add_columns(st, &t);
	while ((r = stmt_step(s, st)) > 0)
		add_row(st, &t);
	sqlite3_finalize(st);
	if (r < 0) {
		table_release(&t);
		return r;
	}
	*ret = t;
	return 0;
}

/* ---- commits ---- */

static char *lower_hex(const char *prefix)
{
	char *s = xstrdup(prefix);
	size_t n = strlen(s);

	for (char *p = s; *p; p++)
		*p = tolower((unsigned char)*p);
	if (n >= 6 && n <= 64 && strspn(s, "0123456789abcdef") == n)
		return s;
	free(s);
	return NULL;
}

static int find_plain(struct store *s, const char *prefix, char **ret)
{
	_cleanup_free_ char *low = lower_hex(prefix);
	_cleanup_strv_ struct strv found = {0};
	sqlite3_stmt *st;
	int r;

	if (!low)
		return err_set(-EINVAL, "'%s' is no commit id: 6 or more hex digits", prefix);
	/* "g" follows the last hex digit */
	r = stmt_get(s,
		     "WITH known (oid) AS (SELECT commit_oid FROM build UNION SELECT head FROM branch UNION SELECT tested FROM branch "
		     "UNION SELECT old_head FROM head_event UNION SELECT new_head FROM head_event UNION SELECT base FROM comparison "
		     "UNION SELECT head FROM comparison UNION SELECT culprit FROM \"case\" UNION SELECT commit_oid FROM patched UNION SELECT base FROM patched) "
		     "SELECT oid FROM known WHERE oid >= ?1 AND oid < ?1 || 'g' ORDER BY oid LIMIT 9",
		     ARGS(TEXT(low)), &st);
	if (r < 0)
		return r;
	while ((r = stmt_step(s, st)) > 0) {
		_cleanup_free_ char *oid = column_text(st, 0);

		strv_add(&found, oid);
	}
	stmt_put(s, st);
	if (r < 0)
		return r;
	if (!found.n)
		return err_set(-ENOENT, "no commit '%s' among builds, heads and comparisons", prefix);
	if (found.n > 1) {
		_cleanup_buf_ struct buf b = {0};

		for (size_t i = 0; i < found.n; i++)
			buf_addf(&b, "%s%s", i ? ", " : "", i == 8 ? "..." : found.v[i]);
		return err_set(-ENOTUNIQ, "'%s' is ambiguous, it fits more than one commit: %s", prefix, buf_str(&b));
	}
	*ret = xstrdup(found.v[0]);
	return 0;
}

int store_find_commit(struct store *s, const char *text, char **ret)
{
	const char *plus = strchr(text, '+');
	_cleanup_free_ char *prefix = plus ? xstrndup(text, plus - text) : NULL, *base = NULL;
	struct db_patched p = {0};
	int r;

	if (!plus)
		return find_plain(s, text, ret);
	r = find_plain(s, prefix, &base);
	if (r >= 0)
		r = store_patched_find(s, base, plus + 1, &p);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p.commit);
	db_patched_release(&p);
	return 0;
}
