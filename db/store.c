/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/store-internal.h"
#include "lib/fs.h"

#include <sys/stat.h>

#define BUSY_MS 20000

void store_close(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < STMT_SLOTS; i++) {
		sqlite3_finalize(s->slot[i].stmt);
		free(s->slot[i].sql);
	}
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}

/* "file:" URI of a path, for the one option that only URIs have. */
static char *immutable_uri(const char *path)
{
	_cleanup_buf_ struct buf b = {0};

	buf_adds(&b, "file:");
	for (const char *p = path; *p; p++)
		if (strchr("?#%", *p))
			buf_addf(&b, "%%%02X", *p);
		else
			buf_addc(&b, *p);
	buf_adds(&b, "?immutable=1");
	return buf_take(&b);
}

static int connect_to(struct store *s, const char *name, int flags)
{
	static const char *const pragma[] = {"foreign_keys = ON", "synchronous = NORMAL", "temp_store = MEMORY",
					     "cache_size = -8000", "trusted_schema = OFF"};
	int rc = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL); /* a store belongs to one thread */

	if (rc != SQLITE_OK)
		return db_error(s);
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	for (size_t i = 0; i < ARRAY_SIZE(pragma); i++) {
		_cleanup_free_ char *sql = xasprintf("PRAGMA %s", pragma[i]);

		if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
			return db_error(s);
	}
	return functions_register(s);
}

/* Somebody else may change the journal mode of a fresh file at the same time; SQLite does not wait there by itself. */
static int set_wal(struct store *s)
{
	int rc = SQLITE_BUSY;

	for (int i = 0; i < BUSY_MS / 10 && (rc & 0xff) == SQLITE_BUSY; i++) {
		if (i)
			usleep(10000);
		rc = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
	}
	return rc == SQLITE_OK ? 0 : db_error(s);
}

/* In a folder that we may not write to, a database that nobody has open (no -wal beside it) can only be read as one
 * that does not change; with a daemon at work the ordinary way works. */
static int open_read_only(struct store *s)
{
	_cleanup_free_ char *uri = immutable_uri(s->path), *wal = xasprintf("%s-wal", s->path);
	int r;

	if (!fs_exists(s->path))
		return err_set(-ENOENT, "no database '%s' yet; the daemon and each verb that stores something make it",
			       s->path);
	r = connect_to(s, s->path, SQLITE_OPEN_READONLY);
	if (r >= 0 && sqlite3_exec(s->db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL) != SQLITE_OK)
		r = db_error(s);
	if (r >= 0 || (sqlite3_errcode(s->db) & 0xff) == SQLITE_NOTADB || access(s->path, R_OK) < 0 || fs_size(wal) > 0)
		return r;
	sqlite3_close(s->db);
	return connect_to(s, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

/* What a database holds is its owner's; SQLite makes the files beside it with its mode. */
static int make_private(const char *path)
{
	static const char *const beside[] = {"-wal", "-shm", "-journal"};
	int r = fs_mkdir_parent(path);

	if (r >= 0)
		r = fs_make_private(path);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(beside); i++) {
		_cleanup_free_ char *file = xasprintf("%s%s", path, beside[i]);

		if (fs_exists(file))
			r = fs_make_private(file);
	}
	return r;
}

static int open_for_writing(struct store *s)
{
	int r;

	if (strcmp(s->path, ":memory:") && (r = make_private(s->path)) < 0)
		return r;
	r = connect_to(s, s->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
	return r < 0 ? r : set_wal(s);
}

int store_open(const char *path, bool read_only, struct store **ret)
{
	_cleanup_store_ struct store *s = xcalloc(1, sizeof(*s));
	int r;

	s->path = xstrdup(path);
	s->read_only = read_only;
	if (fs_is_dir(path))
		return err_set(-EISDIR, "database '%s' is a folder", path);
	r = read_only ? open_read_only(s) : open_for_writing(s);
	if (r >= 0)
		r = migrate(s, &db_schema);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

/* ---- transactions ---- */

static int run_sql(struct store *s, const char *fmt, int n)
{
	char sql[64];

	snprintf(sql, sizeof(sql), fmt, n);
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL);
}

static int still_there(struct store *s)
{
	if (s->lost)
		return err_set(s->lost, "the transaction on '%s' was rolled back by an earlier failure", s->path);
	return 0;
}

int tx_begin(struct store *s, bool write)
{
	int r = still_there(s), rc;

	if (r < 0)
		return r;
	if (s->depth)
		rc = run_sql(s, "SAVEPOINT level%d", s->depth);
	else /* at once the right to write: two who read first and write then could not both go on */
		rc = run_sql(s, write && !s->read_only ? "BEGIN IMMEDIATE" : "BEGIN", 0);
	if (rc != SQLITE_OK)
		return db_error(s);
	s->depth++;
	return 0;
}

int store_begin(struct store *s) { return tx_begin(s, true); }

/* The log was written without a sync (synchronous = NORMAL): make up for it where a mail hangs on it. */
static int sync_log(struct store *s)
{
	sqlite3_file *f = NULL;

	s->durable = false;
	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &f);
	if (f && f->pMethods && f->pMethods->xSync(f, SQLITE_SYNC_NORMAL) != SQLITE_OK)
		return err_set(-EIO, "cannot sync '%s-wal' to the disk: %s", s->path, strerror(errno));
	return 0;
}

int store_commit(struct store *s)
{
	int r = still_there(s), rc;

	if (r >= 0) {
		rc = s->depth > 1 ? run_sql(s, "RELEASE level%d", s->depth - 1) : run_sql(s, "COMMIT", 0);
		r = rc == SQLITE_OK ? 0 : db_error(s);
	}
	if (r < 0) {
		store_rollback(s);
		return r;
	}
	return --s->depth == 0 && s->durable ? sync_log(s) : 0;
}

/* Leaves the message of what failed before alone. */
void store_rollback(struct store *s)
{
	if (!s->depth)
		return;
	if (--s->depth) {
		if (!s->lost) {
			run_sql(s, "ROLLBACK TO level%d", s->depth);
			run_sql(s, "RELEASE level%d", s->depth);
		}
		return;
	}
	if (!sqlite3_get_autocommit(s->db))
		run_sql(s, "ROLLBACK", 0);
	s->lost = 0;
	s->durable = false;
}

int tx_end(struct store *s, int r)
{
	int c;

	if (r < 0) {
		store_rollback(s);
		return r;
	}
	c = store_commit(s);
	return c < 0 ? c : r;
}
