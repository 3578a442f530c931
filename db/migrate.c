/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The version of the tables is PRAGMA user_version. schema.sql always is the newest one; a change to it adds one step
 * here that makes version n + 1 out of version n, and a database of that version (tests/fixtures/db/make), which every
 * later program opens.
 */
#include "db/store-internal.h"

#define APPLICATION_ID 0x4b504246 /* "KPBF": tells our files from other programs' */

/* Who asked, and deliveries by recipient: what was sent counts for all who were allowed then. */
static const char to_2[] =
	"ALTER TABLE build ADD COLUMN exposed INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN exposed INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE comparison ADD COLUMN asked TEXT NOT NULL DEFAULT 'hand'"
	" CHECK (asked IN ('hand', 'hand-mail', 'daemon'));"
	"UPDATE comparison SET asked = 'daemon' WHERE branch <> '';"
	"CREATE TABLE case_2 (id INTEGER PRIMARY KEY,"
	" comparison INTEGER NOT NULL REFERENCES comparison ON DELETE CASCADE,"
	" metric INTEGER NOT NULL REFERENCES metric,"
	" state TEXT NOT NULL CHECK (state IN ('suspected', 'confirmed', 'bisecting', 'proving', 'found', 'reported',"
	" 'unmailed', 'undelivered', 'fixed', 'ignored', 'not-reproduced')),"
	" part INTEGER NOT NULL DEFAULT 0, confidence REAL NOT NULL, effect REAL, effect_lo REAL, effect_hi REAL,"
	" culprit TEXT, posterior REAL, proof TEXT, candidates TEXT, boots INTEGER NOT NULL DEFAULT 0,"
	" builds INTEGER NOT NULL DEFAULT 0, note TEXT, opened INTEGER NOT NULL, changed INTEGER NOT NULL,"
	" asked TEXT NOT NULL DEFAULT 'hand' CHECK (asked IN ('hand', 'hand-mail', 'daemon')),"
	" UNIQUE (comparison, metric, part)) STRICT;"
	"INSERT INTO case_2 SELECT c.id, c.comparison, c.metric, c.state, c.part, c.confidence, c.effect, c.effect_lo,"
	" c.effect_hi, c.culprit, c.posterior, c.proof, c.candidates, c.boots, c.builds, c.note, c.opened, c.changed,"
	" q.asked FROM \"case\" c JOIN comparison q ON q.id = c.comparison;"
	"DROP TABLE \"case\";"
	"ALTER TABLE case_2 RENAME TO \"case\";"
	"CREATE TABLE delivery_2 (report INTEGER NOT NULL REFERENCES report ON DELETE CASCADE,"
	" way TEXT NOT NULL CHECK (way IN ('mbox', 'smtp')), recipient TEXT NOT NULL DEFAULT '' COLLATE NOCASE,"
	" state TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'sent', 'failed', 'unknown')), detail TEXT,"
	" attempts INTEGER NOT NULL DEFAULT 0, next_try INTEGER, time INTEGER NOT NULL,"
	" PRIMARY KEY (report, way, recipient)) STRICT;"
	"INSERT INTO delivery_2 SELECT report, way, '', state, detail, attempts, next_try, time FROM delivery"
	" WHERE way = 'mbox';"
	"INSERT OR IGNORE INTO delivery_2 SELECT d.report, d.way, j.value ->> 'address', d.state, d.detail, d.attempts,"
	" d.next_try, d.time FROM delivery d JOIN report r ON r.id = d.report, json_each(r.recipients) j"
	" WHERE d.way = 'smtp' AND j.value ->> 'allowed';"
	"DROP TABLE delivery;"
	"ALTER TABLE delivery_2 RENAME TO delivery;";

/* Trees take turns. */
static const char to_3[] =
	"ALTER TABLE task ADD COLUMN tree INTEGER NOT NULL DEFAULT 0;"
	"UPDATE task SET tree = coalesce((SELECT q.tree FROM comparison q WHERE q.id = task.comparison), 0);"
	"DROP INDEX task_ready;"
	"CREATE INDEX comparison_branch ON comparison (tree, branch);"
	"CREATE INDEX task_turn ON task (state, resource, tree, priority DESC, id);"
	"CREATE TABLE served (resource TEXT NOT NULL, tree INTEGER NOT NULL, turn INTEGER NOT NULL,"
	" PRIMARY KEY (resource, tree)) STRICT, WITHOUT ROWID;";

#define RUN_COLUMNS                                                                                                    \
	"id, build, job, machine, boot, replicate, verdict, cause, started, seconds, boot_seconds, result_dir, "       \
	"root_image, task, exposed"

/* What measured: of old runs the root image is known, and the compiler where nobody built the commit again since. */
#define OLD_SETUP                                                                                                      \
	"(CASE WHEN b.time <= r.started THEN coalesce('compiler' || char(9) || b.toolchain || char(10), '') ELSE '' END || "   \
	"coalesce('root image' || char(9) || r.root_image || char(10), ''))"

#define VIEW_POINTS												       \
	"CREATE VIEW v_points AS"										       \
	" SELECT t.name AS tree, b.commit_oid AS commit_oid, b.kconfig AS kconfig, j.name AS job, m.tbox_group AS tbox_group,"\
	" m.name AS machine, r.id AS run, r.boot AS boot, r.started AS time, r.verdict AS verdict, k.name AS metric,"  \
	" k.unit AS unit, v.value AS value, p.name AS patches, p.base AS base"					       \
	" FROM value v JOIN run r ON r.id = v.run JOIN metric k ON k.id = v.metric JOIN build b ON b.id = r.build"     \
	" JOIN tree t ON t.id = b.tree JOIN job j ON j.id = r.job JOIN machine m ON m.id = r.machine"		       \
	" LEFT JOIN patched p ON p.tree = b.tree AND p.commit_oid = b.commit_oid;"

/* Runs by their number instead of the clock, the last head that was measured, cases about failures,
 * what measured. */
static const char to_4[] =
	"CREATE TABLE branch_base (id INTEGER PRIMARY KEY, branch INTEGER NOT NULL REFERENCES branch ON DELETE CASCADE,"
	" job TEXT NOT NULL REFERENCES job, machine INTEGER NOT NULL REFERENCES machine, kconfig TEXT NOT NULL,"
	" oid TEXT NOT NULL, UNIQUE (branch, job, machine, kconfig)) STRICT;"
	"ALTER TABLE branch ADD COLUMN trouble TEXT;"
	"ALTER TABLE comparison ADD COLUMN after_run INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE comparison ADD COLUMN fault TEXT NOT NULL DEFAULT ''"
	" CHECK (fault IN ('', 'base', 'head', 'both', 'infra'));"
	"ALTER TABLE \"case\" ADD COLUMN failure TEXT;"
	"UPDATE comparison SET after_run = (SELECT coalesce(max(id), 0) FROM run WHERE started < created);"
	/* heads of the branch itself, not of a series on top nor of older points; the last one measured */
	"INSERT INTO branch_base (branch, job, machine, kconfig, oid) SELECT branch, job, machine, kconfig, head FROM ("
	"SELECT b.id AS branch, q.job, q.machine, q.kconfig, q.head, max(h.id) AS moved FROM comparison q"
	" JOIN branch b ON b.tree = q.tree AND b.name = q.branch JOIN head_event h ON h.branch = b.id AND"
	" h.new_head = q.head WHERE q.state IN ('same', 'different') GROUP BY 1, 2, 3, 4) ORDER BY moved;"
	"DROP VIEW v_points;"
	"CREATE TABLE run_4 (id INTEGER PRIMARY KEY AUTOINCREMENT, build INTEGER NOT NULL REFERENCES build ON DELETE CASCADE,"
	" job TEXT NOT NULL REFERENCES job, machine INTEGER NOT NULL REFERENCES machine, boot TEXT NOT NULL,"
	" replicate INTEGER NOT NULL, verdict TEXT NOT NULL CHECK (verdict IN ('ok', 'failed', 'incomplete',"
	" 'boot-failed', 'timeout', 'crashed', 'untrusted', 'infra')), cause TEXT, started INTEGER NOT NULL,"
	" seconds REAL NOT NULL, boot_seconds REAL, result_dir TEXT, root_image TEXT, task INTEGER,"
	" exposed INTEGER NOT NULL DEFAULT 0) STRICT;"
	"INSERT INTO run_4 (" RUN_COLUMNS ") SELECT " RUN_COLUMNS " FROM run ORDER BY id;"
	"DROP TABLE run;"
	"ALTER TABLE run_4 RENAME TO run;"
	"CREATE INDEX run_build ON run (build, job, machine);"
	VIEW_POINTS
	"CREATE TABLE setup (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;"
	"CREATE TABLE run_setup (run INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,"
	" setup INTEGER NOT NULL REFERENCES setup) STRICT;"
	"INSERT INTO setup (text) SELECT DISTINCT " OLD_SETUP
	" AS t FROM run r JOIN build b ON b.id = r.build WHERE t <> '';"
	"INSERT INTO run_setup SELECT r.id, p.id FROM run r JOIN build b ON b.id = r.build JOIN setup p ON p.text = " OLD_SETUP
	";";

#define BUILD_COLUMNS                                                                                                  \
	"id, tree, commit_oid, kconfig, state, image_path, image_hash, config_hash, source_hash, toolchain, seconds, cached, " \
	"clean, exposed, error, warnings, log_path, time"
#define TASK_COLUMNS                                                                                                   \
	"state, priority, resource, comparison, \"case\", attempts, max_attempts, not_before, owner, lease_until, created, " \
	"started, ended, result, tree"

/* An extra boot that counts is no run with a flag, and what goes out has a way. A build that failed on our side is
 * made again. */
static const char to_5[] =
	"DROP VIEW v_points;"
	"CREATE TABLE build_5 (id INTEGER PRIMARY KEY, tree INTEGER NOT NULL REFERENCES tree ON DELETE CASCADE,"
	" commit_oid TEXT NOT NULL, kconfig TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('ok', 'broken')),"
	" image_path TEXT, image_hash TEXT, config_hash TEXT, source_hash TEXT, toolchain TEXT, seconds REAL,"
	" cached INTEGER NOT NULL DEFAULT 0, clean INTEGER NOT NULL DEFAULT 0, exposed INTEGER NOT NULL DEFAULT 0, error TEXT,"
	" warnings TEXT, log_path TEXT, time INTEGER NOT NULL, UNIQUE (tree, commit_oid, kconfig)) STRICT;"
	"INSERT INTO build_5 (" BUILD_COLUMNS ") SELECT " BUILD_COLUMNS " FROM build WHERE state <> 'infra';"
	"DROP TABLE build;"
	"ALTER TABLE build_5 RENAME TO build;"
	"CREATE INDEX build_image ON build (image_hash);"
	VIEW_POINTS
	"CREATE TABLE task_5 (id INTEGER PRIMARY KEY,"
	" kind TEXT NOT NULL CHECK (kind IN ('build', 'run', 'profile', 'report', 'send')), key TEXT NOT NULL UNIQUE,"
	" state TEXT NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'running', 'done', 'failed', 'cancelled')),"
	" priority INTEGER NOT NULL DEFAULT 0, payload TEXT NOT NULL, resource TEXT NOT NULL,"
	" comparison INTEGER REFERENCES comparison ON DELETE CASCADE, \"case\" INTEGER REFERENCES \"case\" ON DELETE CASCADE,"
	" attempts INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL DEFAULT 3, not_before INTEGER NOT NULL DEFAULT 0,"
	" owner TEXT, lease_until INTEGER, created INTEGER NOT NULL, started INTEGER, ended INTEGER, result TEXT,"
	" tree INTEGER NOT NULL DEFAULT 0) STRICT;"
	"INSERT INTO task_5 (id, kind, key, payload, " TASK_COLUMNS ") SELECT id, iif(profile, 'profile', kind), key,"
	" CASE WHEN profile THEN json_remove(payload, '$.profile', '$.replicate')"
	" WHEN kind = 'send' AND json_valid(payload) THEN json_insert(payload, '$.way', 'mbox') ELSE payload END, " TASK_COLUMNS
	" FROM (SELECT *, kind = 'run' AND iif(json_valid(payload), coalesce(payload ->> '$.profile', 0), 0) AS profile FROM task);"
	"DROP TABLE task;"
	"ALTER TABLE task_5 RENAME TO task;"
	"CREATE INDEX task_turn ON task (state, resource, tree, priority DESC, id);";

/* A delivery's way is a reporter's name, and reporters come and go. */
static const char to_6[] =
	"CREATE TABLE delivery_6 (report INTEGER NOT NULL REFERENCES report ON DELETE CASCADE, way TEXT NOT NULL,"
	" recipient TEXT NOT NULL DEFAULT '' COLLATE NOCASE,"
	" state TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'sent', 'failed', 'unknown')),"
	" detail TEXT, attempts INTEGER NOT NULL DEFAULT 0, next_try INTEGER, time INTEGER NOT NULL,"
	" PRIMARY KEY (report, way, recipient)) STRICT;"
	"INSERT INTO delivery_6 SELECT report, way, recipient, state, detail, attempts, next_try, time FROM delivery"
	" ORDER BY rowid;"
	"DROP TABLE delivery;"
	"ALTER TABLE delivery_6 RENAME TO delivery;";

#define COMPARISON_COLUMNS                                                                                             \
	"id, tree, branch, base, head, kconfig, job, machine, epoch, created, ended, after_run, fault, disturbed, asked"
#define CASE_COLUMNS                                                                                                   \
	"id, comparison, metric, part, confidence, effect, effect_lo, effect_hi, culprit, posterior, boots, builds, note, " \
	"failure, opened, changed, asked"
/* Numbers of JSON that a STRICT column takes; what is of another type is none. */
#define J_REAL(key) "iif(json_type(p, '$." key "') IN ('integer', 'real'), p ->> '$." key "', NULL)"
#define J_INT(key) "CAST(" J_REAL(key) " AS INTEGER)"
#define J_TEXT(key) "iif(json_type(p, '$." key "') = 'text', p ->> '$." key "', NULL)"
/* json-c wrote numbers that are none as such, which is no JSON. */
#define J_WHOLE(col)                                                                                                   \
	"CASE WHEN json_valid(" col ") THEN " col " WHEN json_valid(" J_MENDED(col) ") THEN " J_MENDED(col) " ELSE '{}' END"
#define J_MENDED(col) "replace(replace(replace(" col ", '-Infinity', 'null'), 'Infinity', 'null'), 'NaN', 'null')"

/* Proofs and candidates are rows instead of JSON. A comparison that showed nothing has a state of its own, a case that
 * was stopped says by what, and the states that nothing ever set are gone. */
static const char to_7[] = "CREATE TABLE proof ( id INTEGER PRIMARY KEY, \"case\" INTEGER NOT NULL REFERENCES \"case\" ON DELETE"
			   " CASCADE, commit_oid TEXT NOT NULL, parent TEXT, state TEXT NOT NULL CHECK (state IN ('open',"
			   " 'shown', 'contradicted')), tries INTEGER NOT NULL DEFAULT 1, after_run INTEGER, boots_parent"
			   " INTEGER, boots_culprit INTEGER, mean_parent REAL, mean_culprit REAL, sd REAL, effect REAL, lo"
			   " REAL, hi REAL, p REAL, align INTEGER NOT NULL DEFAULT 0, aligned_after INTEGER, aligned_effect"
			   " REAL, aligned TEXT, revert_after INTEGER, revert_commit TEXT, revert TEXT, UNIQUE (\"case\","
			   " commit_oid) ) STRICT;"
			   "CREATE TABLE candidate ( id INTEGER PRIMARY KEY, \"case\" INTEGER NOT NULL REFERENCES \"case\" ON"
			   " DELETE CASCADE, commit_oid TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('left',"
			   " 'dropped')), reason TEXT NOT NULL DEFAULT '' CHECK (reason IN ('', 'empty', 'docs', 'other-arch',"
			   " 'tools', 'not-built', 'same-image', 'no-build', 'no-boot', 'runs-fail', 'other-failure',"
			   " 'cleared')), posterior REAL, UNIQUE (\"case\", commit_oid) ) STRICT;"
			   "INSERT INTO proof (\"case\", commit_oid, parent, state, effect)"
			   " SELECT id, p ->> '$.commit', " J_TEXT("parent") ", 'contradicted', " J_REAL("effect") " FROM (SELECT c.id AS id, x.value AS p FROM \"case\" c, json_each(" J_WHOLE("c.proof") ", '$.contradicted') x"
																									   " WHERE c.proof IS NOT NULL AND x.type = 'object') WHERE json_type(p, '$.commit') = 'text'"
																									   " ON CONFLICT DO NOTHING;"
																									   "INSERT INTO proof (\"case\", commit_oid, parent, state, tries, after_run, boots_parent, boots_culprit, mean_parent,"
																									   " mean_culprit, sd, effect, lo, hi, p, align, aligned_after, aligned_effect, aligned, revert_after, revert_commit, revert)"
																									   " SELECT id, culprit, " J_TEXT("parent") ", iif(" J_REAL("effect") " IS NULL, 'open', 'shown'), coalesce(" J_INT("tries") ", 1), " J_INT("after_run") ", " J_INT("boots_parent") ", " J_INT("boots_culprit") ", " J_REAL("mean_parent") ", " J_REAL("mean_culprit") ", " J_REAL("sd") ", " J_REAL("effect") ", " J_REAL("lo") ", " J_REAL("hi") ", " J_REAL("p") ", coalesce(" J_INT("align") ", 0), " J_INT("aligned_after") ", " J_REAL("aligned_effect") ", " J_TEXT("aligned") ", " J_INT("revert_after") ", " J_TEXT("revert_commit") ", " J_TEXT("revert") " FROM (SELECT id, coalesce(culprit, '') AS culprit, " J_WHOLE("proof") " AS p FROM \"case\" WHERE proof IS NOT NULL)"
																																																																																																						    " WHERE json_type(p, '$.parent') = 'text' OR " J_REAL("effect") " IS NOT NULL ON CONFLICT DO NOTHING;"
																																																																																																														    "INSERT INTO candidate (\"case\", commit_oid, state, posterior)"
																																																																																																														    " SELECT id, p ->> '$.commit', 'left', " J_REAL("posterior") " FROM (SELECT c.id AS id, x.key AS nr, x.value AS p FROM \"case\" c, json_each(" J_WHOLE(
																																																																																																															    "c.candidates") ", '$.set') x"
																																																																																																																	    " WHERE c.candidates IS NOT NULL AND x.type = 'object') WHERE json_type(p, '$.commit') = 'text' ORDER BY id, nr"
																																																																																																																	    " ON CONFLICT DO NOTHING;"
																																																																																																																	    "INSERT INTO candidate (\"case\", commit_oid, state, reason)"
																																																																																																																	    " SELECT id, p ->> '$.commit', 'dropped', CASE " J_TEXT("why") " WHEN 'changes no file' THEN 'empty'"
																																																																																																																									   " WHEN 'documentation only' THEN 'docs' WHEN 'other architecture' THEN 'other-arch'"
																																																																																																																									   " WHEN 'user-space tools only' THEN 'tools' WHEN 'nothing built for x86' THEN 'not-built'"
																																																																																																																									   " WHEN 'same image as its parent' THEN 'same-image' WHEN 'does not build' THEN 'no-build'"
																																																																																																																									   " WHEN 'builds, but does not boot' THEN 'no-boot' WHEN 'builds, but its runs fail' THEN 'runs-fail'"
																																																																																																																									   " WHEN 'fails in another way' THEN 'other-failure'"
																																																																																																																									   " WHEN 'measured again, it does not differ from its parent' THEN 'cleared' ELSE '' END"
																																																																																																																									   " FROM (SELECT c.id AS id, x.key AS nr, x.value AS p FROM \"case\" c, json_each(" J_WHOLE("c.candidates") ", '$.dropped') x"
																																																																																																																																						     " WHERE c.candidates IS NOT NULL AND x.type = 'object') WHERE json_type(p, '$.commit') = 'text' ORDER BY id, nr"
																																																																																																																																						     " ON CONFLICT (\"case\", commit_oid) DO UPDATE SET reason = excluded.reason;"
																																																																																																																																						     /* what cannot be read is kept for people */
																																																																																																																																						     "INSERT INTO event (time, \"case\", text) SELECT changed, id, 'kept from an earlier format, it could not be read: ' || t"
																																																																																																																																						     " FROM (SELECT id, changed, proof AS t FROM \"case\" UNION ALL SELECT id, changed, candidates FROM \"case\")"
																																																																																																																																						     " WHERE t IS NOT NULL AND NOT json_valid(" J_MENDED("t") ");"
																																																																																																																																													      "CREATE TABLE comparison_7 (id INTEGER PRIMARY KEY, tree INTEGER NOT NULL REFERENCES tree ON DELETE"
																																																																																																																																													      " CASCADE, branch TEXT NOT NULL DEFAULT '', base TEXT NOT NULL, head TEXT NOT NULL, kconfig TEXT NOT"
																																																																																																																																													      " NULL, job TEXT NOT NULL REFERENCES job, machine INTEGER NOT NULL REFERENCES machine, epoch TEXT"
																																																																																																																																													      " NOT NULL DEFAULT '', state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'same', 'no"
																																																																																																																																													      " change shown', 'different', 'broken', 'cancelled', 'disturbed')), reason TEXT, created INTEGER NOT"
																																																																																																																																													      " NULL, ended INTEGER, after_run INTEGER NOT NULL DEFAULT 0, fault TEXT NOT NULL DEFAULT '' CHECK"
																																																																																																																																													      " (fault IN ('', 'base', 'head', 'both', 'infra')), disturbed INTEGER NOT NULL DEFAULT 0, asked TEXT"
																																																																																																																																													      " NOT NULL DEFAULT 'hand' CHECK (asked IN ('hand', 'hand-mail', 'daemon')), UNIQUE (tree, base,"
																																																																																																																																													      " head, kconfig, job, machine, epoch)) STRICT;"
																																																																																																																																													      "INSERT INTO comparison_7 (state, reason, " COMPARISON_COLUMNS
																																																																																																																																													      ") SELECT iif(unshown, 'no change shown', state),"
																																																																																																																																													      " iif(unshown, ltrim(substr(reason, 16), ': '), reason), " COMPARISON_COLUMNS
																																																																																																																																													      " FROM (SELECT *, state = 'same' AND coalesce(reason, '') LIKE 'no change shown%' AS unshown FROM comparison);"
																																																																																																																																													      "DROP TABLE comparison;"
																																																																																																																																													      "ALTER TABLE comparison_7 RENAME TO comparison;"
																																																																																																																																													      "CREATE INDEX comparison_branch ON comparison (tree, branch);"
																																																																																																																																													      "CREATE TABLE case_7 (id INTEGER PRIMARY KEY, comparison INTEGER NOT NULL REFERENCES comparison ON"
																																																																																																																																													      " DELETE CASCADE, metric INTEGER NOT NULL REFERENCES metric, state TEXT NOT NULL CHECK (state IN"
																																																																																																																																													      " ('confirmed', 'bisecting', 'proving', 'found', 'reported', 'unmailed', 'undelivered', 'ignored',"
																																																																																																																																													      " 'not-reproduced')), stopped TEXT NOT NULL DEFAULT '' CHECK (stopped IN ('', 'error', 'asker')),"
																																																																																																																																													      " part INTEGER NOT NULL DEFAULT 0, confidence REAL NOT NULL, effect REAL, effect_lo REAL, effect_hi"
																																																																																																																																													      " REAL, culprit TEXT, posterior REAL, commits INTEGER NOT NULL DEFAULT 0, boots INTEGER NOT NULL"
																																																																																																																																													      " DEFAULT 0, builds INTEGER NOT NULL DEFAULT 0, note TEXT, failure TEXT, opened INTEGER NOT NULL,"
																																																																																																																																													      " changed INTEGER NOT NULL, asked TEXT NOT NULL DEFAULT 'hand' CHECK (asked IN ('hand', 'hand-mail',"
																																																																																																																																													      " 'daemon')), UNIQUE (comparison, metric, part)) STRICT;"
																																																																																																																																													      "INSERT INTO case_7 (state, stopped, commits, " CASE_COLUMNS
																																																																																																																																													      ")"
																																																																																																																																													      " SELECT CASE state WHEN 'suspected' THEN 'confirmed' WHEN 'fixed' THEN 'reported' ELSE state END,"
																																																																																																																																													      " CASE WHEN state = 'not-reproduced' AND note LIKE 'cannot go on: %' THEN 'error'"
																																																																																																																																													      " WHEN state = 'ignored' AND note LIKE 'stopped before the end%' THEN 'asker' ELSE '' END,"
																																																																																																																																													      " coalesce(" J_INT(
																																																																																																																																														      "commits") ", 0), " CASE_COLUMNS
																																																																																																																																																 " FROM (SELECT *, " J_WHOLE(
																																																																																																																																																	 "candidates") " AS p FROM \"case\");"
																																																																																																																																																		       "DROP TABLE \"case\";"
																																																																																																																																																		       "ALTER TABLE case_7 RENAME TO \"case\";";

/* That a link was at its limit stood in the evidence only. */
static const char to_8[] =
	"ALTER TABLE run_check ADD COLUMN capped INTEGER NOT NULL DEFAULT 0;"
	"UPDATE run_check SET capped = 1 WHERE name = 'line-rate' AND verdict = 'unknown' AND evidence LIKE 'at the limit%';";

static const char *const steps[] = {NULL, /* version 0 is an empty file */ to_2, to_3, to_4, to_5, to_6, to_7, to_8};
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
		return err_set(-EINVAL,
			       "'%s' was written by a newer kperfbot (format %" PRId64 ", this one knows %d); use that",
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
	_cleanup_free_ char *mark =
		xasprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", sc->version, APPLICATION_ID);
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
		return err_set(-EINVAL,
			       "'%s' has the older format %" PRId64 "; open it once for writing (kperfbot daemon)",
			       s->path, version);
	/* tables may be made anew by a step: their rows must not go with them */
	if ((r = exec_script(s, "PRAGMA foreign_keys = OFF")) < 0 || (r = tx_begin(s, true)) < 0)
		return r;
	r = tx_end(s, apply(s, sc));
	if (r < 0)
		return err_prefix(r, "cannot bring '%s' to format %d", s->path, sc->version);
	return exec_script(s, "PRAGMA foreign_keys = ON");
}
