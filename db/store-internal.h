/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store-internal.h - what the files of db/ share: statements with typed arguments, rows described by tables of fields,
 * transactions, the schema and its migrations. Nothing outside of db/ (and its tests) includes this.
 *
 *	r = db_exec(s, "UPDATE tree SET url = ? WHERE id = ?", TEXT(url), INT(id));    rows changed
 *	r = db_get(s, &TREE, &tree, "WHERE name = ?", TEXT(name));                    -ENOENT without one
 *	r = db_list(s, &TREE, &trees, &n, "ORDER BY name");
 *
 * SQL text is only ever a constant or put together from constants; everything else is bound.
 */
#ifndef KPB_DB_STORE_INTERNAL_H
#define KPB_DB_STORE_INTERNAL_H
#include "db/store.h"
#include "lib/words.h"

#include <sqlite3.h>

#define STMT_SLOTS 128
struct stmt_slot { char *sql; sqlite3_stmt *stmt; };
struct store {
	sqlite3 *db;
	char *path;
	bool read_only;
	int depth;              /* of store_begin() */
	int lost;               /* errno of a failure that made SQLite roll the whole transaction back */
	bool durable;           /* this transaction must be on the disk when it is told done */
	struct stmt_slot slot[STMT_SLOTS]; /* prepared statements by the hash of their text */
};

/* ---- arguments and statements ---- */
struct arg { enum { ARG_END, ARG_INT, ARG_INT0, ARG_REAL, ARG_TEXT } type; int64_t i; double d; const char *t; };
#define INT(x) ((struct arg){ARG_INT, .i = (int64_t)(x)})
#define INT0(x) ((struct arg){ARG_INT0, .i = (int64_t)(x)})     /* 0 is NULL */
#define REAL(x) ((struct arg){ARG_REAL, .d = (x)})              /* NaN is NULL */
#define TEXT(x) ((struct arg){ARG_TEXT, .t = (x)})              /* must live until the statement ran */
#define ARGS(...) ((const struct arg[]){__VA_ARGS__ __VA_OPT__(, ){ARG_END}})

/* A prepared statement with its arguments bound; give it back with stmt_put(). */
int stmt_get(struct store *s, const char *sql, const struct arg *args, sqlite3_stmt **ret);
void stmt_bind(sqlite3_stmt *st, int index, struct arg a);
int stmt_step(struct store *s, sqlite3_stmt *st);       /* 1: a row, 0: done, negative: failed */
void stmt_put(struct store *s, sqlite3_stmt *st);
/* The errno and message for what the last call of SQLite said. */
int db_error(struct store *s);

int db_exec_(struct store *s, const char *sql, const struct arg *args);         /* rows changed */
int db_scalar_(struct store *s, int64_t *ret, const char *sql, const struct arg *args); /* -ENOENT: no row or NULL */
#define db_exec(s, sql, ...) db_exec_(s, sql, ARGS(__VA_ARGS__))
#define db_scalar(s, ret, sql, ...) db_scalar_(s, ret, sql, ARGS(__VA_ARGS__))
/* One double, NAN where there is none. */
double db_number_(struct store *s, const char *sql, const struct arg *args);
#define db_number(s, sql, ...) db_number_(s, sql, ARGS(__VA_ARGS__))

/* ---- rows ---- */
/* INT0: 0 is NULL; NOW: 0 is written as now; WORD: an enum (lib/words.h) as its word. A word in the database that is
 * none of the list, or NULL, is -EBADMSG; a number without a word is never written: -EINVAL. */
enum field_type { FT_INT, FT_INT0, FT_NOW, FT_BOOL, FT_TEXT, FT_REAL, FT_WORD };
struct field {
	const char *col;        /* column */
	enum field_type type;
	size_t off;             /* in the struct */
	bool key;               /* only read, never written */
	const char *read;       /* SQL to read it by, where that is not the column */
	const char *write;      /* SQL to write it by; "?" is the value */
	const struct words *words;      /* FT_WORD: which */
};
struct entity { const char *noun, *table; size_t size; const struct field *field; size_t n; };
#define ENTITY(var, noun_, table_, st)                                                                                 \
	static const struct entity var = {noun_, table_, sizeof(struct st), var##_FIELDS, ARRAY_SIZE(var##_FIELDS)}
#define FIELD(st, member, column, t, ...) {.col = column, .type = t, .off = offsetof(st, member), ##__VA_ARGS__}

int db_get_(struct store *s, const struct entity *e, void *ret, const char *tail, const struct arg *args);
int db_list_(struct store *s, const struct entity *e, void *ret_rows, size_t *ret_n, const char *tail,
	     const struct arg *args);
#define db_get(s, e, ret, tail, ...) db_get_(s, e, ret, tail, ARGS(__VA_ARGS__))
#define db_list(s, e, ret, ret_n, tail, ...) db_list_(s, e, ret, ret_n, tail, ARGS(__VA_ARGS__))
/* Writes all fields that are no keys. tail: an ON CONFLICT clause or "". ret_id may be NULL. */
int db_insert(struct store *s, const struct entity *e, const void *row, const char *tail, int64_t *ret_id);
int db_update(struct store *s, const struct entity *e, const void *row, int64_t id);
void row_release(const struct entity *e, void *row);
/* A column as a new string; NULL stays NULL. */
char *column_text(sqlite3_stmt *st, int col);

/* ---- transactions ---- */
int tx_begin(struct store *s, bool write);
/* Commits when r >= 0, else rolls back; gives back r, or why the commit failed. */
int tx_end(struct store *s, int r);

/* ---- schema ---- */
struct schema { const char *sql; int version; const char *const *step; }; /* step[v] makes version v + 1 out of v */
extern const struct schema db_schema;
extern const char db_schema_sql[] __attribute__((visibility("hidden")));
/* Makes the tables in an empty database, or brings an older one up to date, in one transaction. */
int migrate(struct store *s, const struct schema *sc);
/* Functions for statements: stddev_pop(x), iso_time(usec). */
int functions_register(struct store *s);

#endif
