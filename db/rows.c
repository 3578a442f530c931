/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/store-internal.h"
#include "lib/buf.h"

char *column_text(sqlite3_stmt *st, int col) { return xstrdup((const char *)sqlite3_column_text(st, col)); }

static void *at(const struct field *f, const void *row) { return (char *)row + f->off; }

static int read_word(const struct entity *e, const struct field *f, sqlite3_stmt *st, int col, int *ret)
{
	int r = words_find(f->words, (const char *)sqlite3_column_text(st, col), ret);

	return r < 0 ? err_prefix(-EBADMSG, "table '%s' of the database, column '%s'", e->table, f->col) : 0;
}

/* The row is touched where all of it can be read. */
static int read_row(const struct entity *e, sqlite3_stmt *st, void *row)
{
	int r = 0, word;

	for (size_t i = 0; r >= 0 && i < e->n; i++)
		if (e->field[i].type == FT_WORD)
			r = read_word(e, &e->field[i], st, i, &word);
	if (r < 0)
		return r;
	for (size_t i = 0; i < e->n; i++) {
		const struct field *f = &e->field[i];
		void *p = at(f, row);
		bool null = sqlite3_column_type(st, i) == SQLITE_NULL;

		switch (f->type) {
		case FT_INT:
		case FT_INT0:
		case FT_NOW: *(int64_t *)p = sqlite3_column_int64(st, i); break;
		case FT_BOOL: *(bool *)p = sqlite3_column_int(st, i); break;
		case FT_TEXT: *(char **)p = column_text(st, i); break;
		case FT_REAL: *(double *)p = null ? NAN : sqlite3_column_double(st, i); break;
		case FT_WORD: (void)read_word(e, f, st, i, p); break;
		}
	}
	return 0;
}

static struct arg field_arg(const struct field *f, const void *row)
{
	const void *p = at(f, row);

	switch (f->type) {
	case FT_INT: return INT(*(const int64_t *)p);
	case FT_INT0: return INT0(*(const int64_t *)p);
	case FT_NOW: return INT(*(const int64_t *)p ?: (int64_t)now_usec());
	case FT_BOOL: return INT(*(const bool *)p);
	case FT_TEXT: return TEXT(*(char *const *)p);
	case FT_REAL: return REAL(*(const double *)p);
	case FT_WORD: return TEXT(words_text(f->words, *(const int *)p));
	}
	return (struct arg){ARG_END};
}

void row_release(const struct entity *e, void *row)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->field[i].type == FT_TEXT)
			free(*(char **)at(&e->field[i], row));
	memset(row, 0, e->size);
}

static void add_select(const struct entity *e, const char *tail, struct buf *b)
{
	for (size_t i = 0; i < e->n; i++)
		buf_addf(b, "%s%s", i ? ", " : "SELECT ", e->field[i].read ?: e->field[i].col);
	buf_addf(b, " FROM %s %s", e->table, tail);
}

int db_get_(struct store *s, const struct entity *e, void *ret, const char *tail, const struct arg *args)
{
	_cleanup_buf_ struct buf sql = {0};
	sqlite3_stmt *st;
	int r;

	add_select(e, tail, &sql);
	r = stmt_get(s, buf_str(&sql), args, &st);
	if (r < 0)
		return r;
	r = stmt_step(s, st);
	if (r > 0)
		r = read_row(e, st, ret) ?: 1;
	stmt_put(s, st);
	if (r)
		return MIN(r, 0);
	if (args[0].type == ARG_TEXT && args[1].type == ARG_END)
		return err_set(-ENOENT, "no %s '%s' in the database", e->noun, args[0].t ?: "");
	if (args[0].type == ARG_INT && args[1].type == ARG_END)
		return err_set(-ENOENT, "no %s %" PRId64 " in the database", e->noun, args[0].i);
	return err_set(-ENOENT, "no such %s in the database", e->noun);
}

int db_list_(struct store *s, const struct entity *e, void *ret_rows, size_t *ret_n, const char *tail,
	     const struct arg *args)
{
	_cleanup_buf_ struct buf sql = {0};
	size_t n = 0, cap = 0;
	char *rows = NULL;
	sqlite3_stmt *st;
	int r;

	add_select(e, tail, &sql);
	r = stmt_get(s, buf_str(&sql), args, &st);
	if (r < 0)
		return r;
	while (r >= 0 && (r = stmt_step(s, st)) > 0) {
		if (n == cap) {
			cap = cap ? 2 * cap : 8;
			rows = xrealloc_array(rows, cap, e->size);
		}
		memset(rows + n * e->size, 0, e->size);
		r = read_row(e, st, rows + n * e->size);
		n += r >= 0;
	}
	stmt_put(s, st);
	if (r < 0) {
		while (n)
			row_release(e, rows + --n * e->size);
		free(rows);
		return r;
	}
	*(void **)ret_rows = rows;
	*ret_n = n;
	return 0;
}

/* "coalesce(?, 'open')" with the number of the argument. */
static void add_value(const struct field *f, int index, struct buf *b)
{
	for (const char *p = f->write ?: "?"; *p; p++)
		if (*p == '?')
			buf_addf(b, "?%d", index);
		else
			buf_addc(b, *p);
}

/* Returns how many. */
static int field_args(const struct entity *e, const void *row, struct arg *args)
{
	int n = 0;

	for (size_t i = 0; i < e->n; i++) {
		const struct field *f = &e->field[i];

		if (f->key)
			continue;
		if (f->type == FT_WORD && (unsigned)*(const int *)at(f, row) >= (unsigned)f->words->n)
			return err_set(-EINVAL, "%d is the number of no %s", *(const int *)at(f, row), f->words->what);
		args[n++] = field_arg(f, row);
	}
	return n;
}

int db_insert(struct store *s, const struct entity *e, const void *row, const char *tail, int64_t *ret_id)
{
	_cleanup_free_ struct arg *args = xcalloc(e->n + 1, sizeof(*args));
	_cleanup_buf_ struct buf sql = {0}, values = {0};
	int64_t id = 0;
	int n = 0, r = field_args(e, row, args);

	if (r < 0)
		return r;
	for (size_t i = 0; i < e->n; i++) {
		if (e->field[i].key)
			continue;
		buf_addf(&sql, "%s%s", n ? ", " : "", e->field[i].col);
		buf_adds(&values, n ? ", " : "");
		add_value(&e->field[i], ++n, &values);
	}
	{
		_cleanup_free_ char *cols = buf_take(&sql);

		buf_addf(&sql, "INSERT INTO %s (%s) VALUES (%s) %s RETURNING id", e->table, cols, buf_str(&values),
			 tail);
	}
	r = db_scalar_(s, &id, buf_str(&sql), args);
	if (r < 0)
		return r;
	if (ret_id)
		*ret_id = id;
	return 0;
}

int db_update(struct store *s, const struct entity *e, const void *row, int64_t id)
{
	_cleanup_free_ struct arg *args = xcalloc(e->n + 2, sizeof(*args));
	_cleanup_buf_ struct buf sql = {0};
	int n = 0, r = field_args(e, row, args);

	if (r < 0)
		return r;
	args[r] = INT(id);
	buf_addf(&sql, "UPDATE %s SET ", e->table);
	for (size_t i = 0; i < e->n; i++) {
		if (e->field[i].key)
			continue;
		buf_addf(&sql, "%s%s = ", n ? ", " : "", e->field[i].col);
		add_value(&e->field[i], ++n, &sql);
	}
	buf_addf(&sql, " WHERE id = ?%d", n + 1);
	r = db_exec_(s, buf_str(&sql), args);
	if (r == 0)
		return err_set(-ENOENT, "no %s %" PRId64 " in the database", e->noun, id);
	return MIN(r, 0);
}
