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

static const char *const steps[] = {NULL, /* version 0 is an empty file */ to_2, to_3, to_4, to_5, to_6};
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
