/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/verb.h"

extern const struct verb verb_sql;

static int cmd_sql(int argc, char **argv, struct ctx *c)
{
	static const struct opt opts[] = {OPT_END};
	_cleanup_table_ struct table t = {0};
	int r;

	r = verb_options(&verb_sql, &argc, &argv, opts, c);
	if (r >= 0)
		return r;
	if (argc != 1)
		return verb_usage(
			c, "sql takes one statement in quotes, as in: kperfbot sql 'SELECT name, url FROM tree'");
	if ((r = ctx_store(c, true)) < 0 || (r = store_sql(c->store, argv[0], &t)) < 0 ||
	    (r = table_print(&t, ctx_form(c), stdout)) < 0)
		return r == -EPERM ? verb_usage(c, "%s", (char *)strdupa(err_msg())) : verb_fail(c, r);
	return EXIT_DONE;
}

const struct verb verb_sql = {
	.name = "sql",
	.usage = "STATEMENT",
	.summary = "one SQL statement on the database, for reading only",
	.text = "For questions that query does not know. The tables are described in db/schema.sql; the view v_points joins them\n"
		"and stays as it is between versions. Times are microseconds since the epoch: iso_time(x) makes them readable.\n"
		"stddev_pop(x) comes on top of SQLite's own functions.\n"
		"\n"
		"  kperfbot sql \"SELECT commit_oid, avg(value) FROM v_points WHERE metric = 'time.elapsed' GROUP BY 1\"",
	.run = cmd_sql,
};
