/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The version of the tables is PRAGMA user_version. schema.sql always is the newest one; a change to it adds one step
 * here that makes version n + 1 out of version n, and a test that an old file comes through.
 */
#include "db/internal.h"

#define APPLICATION_ID 0x4b504246 /* "KPBF": tells our files from other programs' */

static const char *const steps[] = {NULL, /* version 0 is an empty file */ };
const struct schema db_schema = {db_schema_sql, ARRAY_SIZE(steps), steps};

static int check_file(struct store *s, const struct schema *sc, int64_t *ret_version)
{
	int64_t version, app, tables;
	int r;

	if ((r = db_scalar(s, &version, "PRAGMA user_version")) < 0 ||
	    (r = db_scalar(s, &app, "PRAGMA application_id")) < 0 ||
	    (r = db_scalar(s, &tables, "SELECT count(*) FROM sqlite_schema")) < 0)
		return r;
	if (tables && app != APPLICATION_ID)
		return err_set(-EINVAL, "'%s' is the database of another program", s->path);
	if (version > sc->version)
		return err_set(-EINVAL, "'%s' was written by a newer kperfbot (format %" PRId64 ", this one knows %d); use that",
			       s->path, version, sc->version);
	*ret_version = version;
	return 0;
}

static int exec_script(struct store *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_error(s);
}

static int apply(struct store *s, const struct schema *sc)
{
	_cleanup_free_ char *mark = xasprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", sc->version, APPLICATION_ID);
	int64_t version, broken = 0;
	int r = check_file(s, sc, &version); /* again: another process may have done it meanwhile */

	if (r < 0 || version == sc->version)
		return r;
	if (version == 0)
		r = exec_script(s, sc->sql);
	for (; r >= 0 && version > 0 && version < sc->version; version++)
		r = exec_script(s, sc->step[version]);
	if (r >= 0)
		r = db_scalar(s, &broken, "SELECT count(*) FROM pragma_foreign_key_check");
	if (r >= 0 && broken)
		r = err_set(-EUCLEAN, "%" PRId64 " rows refer to nothing", broken);
	return r < 0 ? r : exec_script(s, mark);
}

int migrate(struct store *s, const struct schema *sc)
{
	int64_t version;
	int r = check_file(s, sc, &version);

	if (r < 0 || version == sc->version)
		return r;
	if (s->read_only)
		return err_set(-EINVAL, "'%s' has the older format %" PRId64 "; open it once for writing (kperfbot daemon)", s->path,
			       version);
	/* tables may be made anew by a step: their rows must not go with them */
	if ((r = exec_script(s, "PRAGMA foreign_keys = OFF")) < 0 || (r = tx_begin(s, true)) < 0)
		return r;
	r = tx_end(s, apply(s, sc));
	if (r < 0)
		return err_prefix(r, "cannot bring '%s' to format %d", s->path, sc->version);
	return exec_script(s, "PRAGMA foreign_keys = ON");
}
