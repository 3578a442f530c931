/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the event log; store_event() itself is in tasks.c. */
#include "db/store-internal.h"

int64_t store_last_event(struct store *s)
{
	int64_t id = 0;

	return db_scalar(s, &id, "SELECT max(id) FROM event") < 0 ? 0 : id;
}

int store_events_after(struct store *s, int64_t id, struct table *ret)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, "SELECT id, text FROM event WHERE id > ? ORDER BY id", ARGS(INT(id)), &st);

	if (r < 0)
		return r;
	table_column(ret, "id", true);
	table_column(ret, "text", false);
	while ((r = stmt_step(s, st)) > 0) {
		table_row(ret);
		table_int(ret, 0, sqlite3_column_int64(st, 0));
		table_text(ret, 1, (const char *)sqlite3_column_text(st, 1));
	}
	stmt_put(s, st);
	return r;
}
