/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/store-internal.h"
#include "lib/fs.h"

/* ---- errors ---- */

/* What the system said to the last failed write: to the log, or else to the file itself. */
static int last_errno(struct store *s)
{
	static const int which[] = {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER};
	int e = 0;

	for (size_t i = 0; i < ARRAY_SIZE(which) && !e; i++) {
		sqlite3_file *f = NULL;

		sqlite3_file_control(s->db, "main", which[i], &f);
		if (f && f->pMethods)
			f->pMethods->xFileControl(f, SQLITE_FCNTL_LAST_ERRNO, &e);
	}
	return e;
}

static int io_error(struct store *s, int code)
{
	int e = code == SQLITE_FULL ? 0 : sqlite3_system_errno(s->db) ?: last_errno(s);

	if (code == SQLITE_FULL || e == ENOSPC || e == EFBIG || e == EDQUOT)
		return err_set(-ENOSPC, "no space left for '%s' (%s); nothing of this step was stored", s->path,
			       e ? strerror(e) : "disk full");
	return err_set(-EIO, "cannot read or write '%s': %s%s%s", s->path, sqlite3_errmsg(s->db), e ? ": " : "",
		       e ? strerror(e) : "");
}

static int constraint_error(struct store *s, int extended)
{
	switch (extended) {
	case SQLITE_CONSTRAINT_UNIQUE:
	case SQLITE_CONSTRAINT_PRIMARYKEY:
		return err_set(-EEXIST, "there is one already in '%s': %s", s->path, sqlite3_errmsg(s->db));
	case SQLITE_CONSTRAINT_FOREIGNKEY:
		return err_set(-ENOENT, "'%s': a row that this one refers to does not exist", s->path);
	}
	return err_set(-EINVAL, "'%s' refuses the value: %s", s->path, sqlite3_errmsg(s->db));
}

static int error_code(struct store *s)
{
	int code = sqlite3_errcode(s->db) & 0xff, e;

	switch (code) {
	case SQLITE_FULL:
	case SQLITE_IOERR:
		return io_error(s, code);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(-EBUSY, "another process keeps '%s' locked; try again", s->path);
	case SQLITE_CONSTRAINT:
		return constraint_error(s, sqlite3_extended_errcode(s->db));
	case SQLITE_READONLY:
		return err_set(-EROFS, "'%s' is open for reading only, or may not be written by this user", s->path);
	case SQLITE_CANTOPEN:
		e = sqlite3_system_errno(s->db);
		if (e == ENOENT && fs_exists(s->path)) /* of the file beside it that could not be made */
			e = access(s->path, W_OK) < 0 ? errno : EACCES;
		return err_set(e ? -e : -EACCES, "cannot open database '%s': %s", s->path,
			       e ? strerror(e) : "its folder may not be written");
	case SQLITE_NOTADB:
		return err_set(-EINVAL, "'%s' is not a database", s->path);
	case SQLITE_CORRUPT:
		return err_set(-EUCLEAN, "database '%s' is damaged (%s); restore a copy", s->path,
			       sqlite3_errmsg(s->db));
	case SQLITE_NOMEM:
		return err_set(-ENOMEM, "no memory for '%s'", s->path);
	case SQLITE_INTERRUPT:
		return err_set(-EINTR, "interrupted");
	}
	return err_set(-EINVAL, "'%s': %s", s->path, sqlite3_errmsg(s->db));
}

int db_error(struct store *s)
{
	int r = error_code(s);

	/* some failures take the whole transaction with them: what follows must not run outside of one */
	if (s->depth && sqlite3_get_autocommit(s->db))
		s->lost = r;
	return r;
}

/* ---- statements ---- */

static size_t slot_of(const char *sql)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *sql; sql++)
		h = (h ^ (unsigned char)*sql) * 16777619u;
	return h % STMT_SLOTS;
}

void stmt_bind(sqlite3_stmt *st, int index, struct arg a)
{
	if (a.type == ARG_INT || (a.type == ARG_INT0 && a.i))
		sqlite3_bind_int64(st, index, a.i);
	else if (a.type == ARG_REAL)
		sqlite3_bind_double(st, index, a.d); /* NaN becomes NULL */
	else if (a.type == ARG_TEXT && a.t)
		sqlite3_bind_text(st, index, a.t, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(st, index);
}

static int prepare(struct store *s, const char *sql, sqlite3_stmt **ret)
{
	struct stmt_slot *slot = &s->slot[slot_of(sql)];
	sqlite3_stmt *st;

	if (slot->stmt && !sqlite3_stmt_busy(slot->stmt) && !strcmp(slot->sql, sql)) {
		*ret = slot->stmt;
		return 0;
	}
	if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL) != SQLITE_OK)
		return db_error(s);
	if (!slot->stmt || !sqlite3_stmt_busy(slot->stmt)) { /* the newer one stays */
		sqlite3_finalize(slot->stmt);
		free(slot->sql);
		*slot = (struct stmt_slot){xstrdup(sql), st};
	}
	*ret = st;
	return 0;
}

int stmt_get(struct store *s, const char *sql, const struct arg *args, sqlite3_stmt **ret)
{
	int r;

	if (s->lost)
		return err_set(s->lost, "the transaction on '%s' was rolled back by an earlier failure", s->path);
	r = prepare(s, sql, ret);
	if (r < 0)
		return r;
	for (int i = 0; args && args[i].type != ARG_END; i++)
		stmt_bind(*ret, i + 1, args[i]);
	return 0;
}

int stmt_step(struct store *s, sqlite3_stmt *st)
{
	switch (sqlite3_step(st)) {
	case SQLITE_ROW: return 1;
	case SQLITE_DONE: return 0;
	}
	return db_error(s);
}

void stmt_put(struct store *s, sqlite3_stmt *st)
{
	if (!st)
		return;
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	for (size_t i = 0; i < STMT_SLOTS; i++)
		if (s->slot[i].stmt == st)
			return;
	sqlite3_finalize(st);
}

int db_exec_(struct store *s, const char *sql, const struct arg *args)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, sql, args, &st);

	if (r < 0)
		return r;
	while ((r = stmt_step(s, st)) > 0)
		;
	if (r == 0)
		r = sqlite3_changes(s->db);
	stmt_put(s, st);
	return r;
}

int db_scalar_(struct store *s, int64_t *ret, const char *sql, const struct arg *args)
{
	sqlite3_stmt *st;
	int64_t v = 0;
	bool found = false;
	int r = stmt_get(s, sql, args, &st);

	if (r < 0)
		return r;
	while ((r = stmt_step(s, st)) > 0) { /* to the end: that is where a write is committed */
		found = sqlite3_column_type(st, 0) != SQLITE_NULL;
		v = sqlite3_column_int64(st, 0);
	}
	stmt_put(s, st);
	if (r < 0)
		return r;
	if (!found)
		return err_set(-ENOENT, "no such row in '%s'", s->path);
	*ret = v;
	return 0;
}

double db_number_(struct store *s, const char *sql, const struct arg *args)
{
	sqlite3_stmt *st;
	double v = NAN;

	if (stmt_get(s, sql, args, &st) < 0)
		return NAN;
	if (stmt_step(s, st) > 0 && sqlite3_column_type(st, 0) != SQLITE_NULL)
		v = sqlite3_column_double(st, 0);
	stmt_put(s, st);
	return v;
}
