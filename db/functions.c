/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/store-internal.h"
#include "lib/spread.h"

#include <time.h>

static void stddev_step(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct spread *a = sqlite3_aggregate_context(c, sizeof(*a));

	if (a && argc == 1 && sqlite3_value_type(argv[0]) != SQLITE_NULL)
		spread_add(a, sqlite3_value_double(argv[0]));
}

static void stddev_end(sqlite3_context *c)
{
	struct spread *a = sqlite3_aggregate_context(c, 0);

	if (a && a->n)
		sqlite3_result_double(c, sqrt(spread_variance(a)));
}

/* Microseconds since the epoch -> "2024-05-01T12:00:00Z". */
static void iso_time(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	int64_t us = sqlite3_value_int64(argv[0]);
	time_t t = us / (int64_t)USEC_PER_SEC;
	struct tm tm;
	char out[64];

	if (argc != 1 || us <= 0 || !gmtime_r(&t, &tm) || !strftime(out, sizeof(out), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return;
	sqlite3_result_text(c, out, -1, SQLITE_TRANSIENT);
}

int functions_register(struct store *s)
{
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;

	if (sqlite3_create_function_v2(s->db, "stddev_pop", 1, flags, NULL, NULL, stddev_step, stddev_end, NULL) !=
		    SQLITE_OK ||
	    sqlite3_create_function_v2(s->db, "iso_time", 1, flags, NULL, iso_time, NULL, NULL, NULL) != SQLITE_OK)
		return db_error(s);
	return 0;
}
