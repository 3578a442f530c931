/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds, and what is measured on them and where: jobs, machines. */
#include "db/store-internal.h"

#define B(member, col, type, ...) FIELD(struct db_build, member, col, type, ##__VA_ARGS__)
static const struct field BUILD_FIELDS[] = {
	B(id, "id", FT_INT, .key = true),
	B(tree, "tree", FT_INT),
	B(commit, "commit_oid", FT_TEXT),
	B(kconfig, "kconfig", FT_TEXT),
	B(state, "state", FT_WORD, .words = &build_state_words),
	B(image_path, "image_path", FT_TEXT),
	B(image_hash, "image_hash", FT_TEXT),
	B(config_hash, "config_hash", FT_TEXT),
	B(source_hash, "source_hash", FT_TEXT),
	B(toolchain, "toolchain", FT_TEXT),
	B(seconds, "seconds", FT_REAL),
	B(cached, "cached", FT_BOOL),
	B(clean, "clean", FT_BOOL),
	B(exposed, "exposed", FT_BOOL),
	B(error, "error", FT_TEXT),
	B(warnings, "warnings", FT_TEXT),
	B(log_path, "log_path", FT_TEXT),
	B(time, "time", FT_NOW),
};
ENTITY(BUILD, "build", "build", db_build);

#define J(member, type) FIELD(struct db_job, member, #member, type)
static const struct field JOB_FIELDS[] = {
	J(id, FT_TEXT),	       J(name, FT_TEXT),   J(program, FT_TEXT),
	J(canonical, FT_TEXT), J(params, FT_TEXT), J(script, FT_TEXT),
};
ENTITY(JOB, "job", "job", db_job);

#define M(member, type, ...) FIELD(struct db_machine, member, #member, type, ##__VA_ARGS__)
static const struct field MACHINE_FIELDS[] = {
	M(id, FT_INT, .key = true),
	M(name, FT_TEXT),
	M(driver, FT_TEXT),
	M(tbox_group, FT_TEXT),
	M(settings, FT_TEXT, .write = "coalesce(?, '{}')"),
	M(state, FT_WORD, .words = &machine_state_words),
	M(note, FT_TEXT),
	M(description, FT_TEXT),
	M(failures, FT_INT),
};
ENTITY(MACHINE, "machine", "machine", db_machine);
WORDS_DEFINE(machine_state, MACHINE_STATES, "state of a machine");

void db_build_release(struct db_build *b) { row_release(&BUILD, b); }
void db_job_release(struct db_job *j) { row_release(&JOB, j); }
void db_machine_release(struct db_machine *m) { row_release(&MACHINE, m); }

/* ---- builds ---- */

int store_build_put(struct store *s, const struct db_build *b, int64_t *ret_id)
{
	return db_insert(s, &BUILD, b,
			 "ON CONFLICT (tree, commit_oid, kconfig) DO UPDATE SET state = excluded.state, "
			 "image_path = excluded.image_path, image_hash = excluded.image_hash, config_hash = excluded.config_hash, "
			 "source_hash = excluded.source_hash, toolchain = excluded.toolchain, seconds = excluded.seconds, "
			 "cached = excluded.cached, clean = excluded.clean, exposed = excluded.exposed, "
			 "error = excluded.error, warnings = excluded.warnings, "
			 "log_path = excluded.log_path, time = excluded.time",
			 ret_id);
}

int store_build_get(struct store *s, int64_t tree, const char *commit, const char *kconfig, struct db_build *ret)
{
	return db_get(s, &BUILD, ret, "WHERE tree = ? AND commit_oid = ? AND kconfig = ?", INT(tree), TEXT(commit),
		      TEXT(kconfig));
}

int store_build_by_id(struct store *s, int64_t id, struct db_build *ret)
{
	return db_get(s, &BUILD, ret, "WHERE id = ?", INT(id));
}

int store_builds(struct store *s, int64_t tree, const char *kconfig, struct db_build **ret, size_t *ret_n)
{
	return db_list(s, &BUILD, ret, ret_n, "WHERE tree = ?1 AND (?2 IS NULL OR kconfig = ?2) ORDER BY id", INT(tree),
		       TEXT(kconfig));
}

static int cmp_seconds(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median of the newest ones: a busy machine or a header that everything includes makes some builds very slow. */
static int build_seconds(struct store *s, int64_t tree, const char *kconfig, bool clean, double *ret, size_t *ret_n)
{
	double v[21];
	size_t n = 0;
	sqlite3_stmt *st;
	int r = stmt_get(s,
			 "SELECT seconds FROM build WHERE tree = ? AND kconfig = ? AND clean = ? AND NOT cached AND state = 'ok' AND "
			 "seconds IS NOT NULL ORDER BY id DESC LIMIT 21",
			 ARGS(INT(tree), TEXT(kconfig), INT(clean)), &st);

	if (r < 0)
		return r;
	while (n < ARRAY_SIZE(v) && (r = stmt_step(s, st)) > 0)
		v[n++] = sqlite3_column_double(st, 0);
	stmt_put(s, st);
	if (r < 0)
		return r;
	if (n)
		qsort(v, n, sizeof(*v), cmp_seconds);
	*ret = n ? v[n / 2] : NAN;
	*ret_n = n;
	return 0;
}

int store_build_costs(struct store *s, int64_t tree, const char *kconfig, struct build_costs *ret)
{
	struct build_costs c = {0};
	int r = build_seconds(s, tree, kconfig, true, &c.clean, &c.n_clean);

	if (r >= 0)
		r = build_seconds(s, tree, kconfig, false, &c.incremental, &c.n_incremental);
	if (r >= 0)
		*ret = c;
	return r;
}

/* ---- jobs ---- */

int store_job_put(struct store *s, const struct db_job *j)
{
	int r = db_exec(s,
			"INSERT INTO job (id, name, program, canonical, params, script) VALUES (?, ?, ?, ?, ?, ?) "
			"ON CONFLICT (id) DO NOTHING",
			TEXT(j->id), TEXT(j->name), TEXT(j->program), TEXT(j->canonical), TEXT(j->params),
			TEXT(j->script));

	return MIN(r, 0);
}

int store_job_get(struct store *s, const char *id_or_name, struct db_job *ret)
{
	return db_get(s, &JOB, ret, "WHERE id = ?1 OR name = ?1 ORDER BY id = ?1 DESC, rowid DESC LIMIT 1",
		      TEXT(id_or_name));
}

/* ---- machines ---- */

int store_machine_put(struct store *s, const struct db_machine *m, int64_t *ret_id)
{
	return db_insert(s, &MACHINE, m,
			 "ON CONFLICT (name) DO UPDATE SET driver = excluded.driver, tbox_group = excluded.tbox_group, "
			 "settings = excluded.settings, description = coalesce(excluded.description, description)",
			 ret_id);
}

int store_machine_get(struct store *s, const char *name, struct db_machine *ret)
{
	return db_get(s, &MACHINE, ret, "WHERE name = ?", TEXT(name));
}

int store_machine_by_id(struct store *s, int64_t id, struct db_machine *ret)
{
	return db_get(s, &MACHINE, ret, "WHERE id = ?", INT(id));
}

int store_machines(struct store *s, struct db_machine **ret, size_t *ret_n)
{
	return db_list(s, &MACHINE, ret, ret_n, "ORDER BY name");
}

int store_machine_state(struct store *s, int64_t id, enum machine_state state, int64_t failures, const char *note)
{
	int r = db_exec(s, "UPDATE machine SET state = ?, failures = ?, note = ? WHERE id = ?",
			TEXT(machine_state_word(state)), INT(failures), TEXT(note), INT(id));

	return r ? MIN(r, 0) : err_set(-ENOENT, "no machine %" PRId64 " in the database", id);
}
