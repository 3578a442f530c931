/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/store-internal.h"
#include "lib/buf.h"

#define T(member, type, ...) FIELD(struct db_task, member, #member, type, ##__VA_ARGS__)
static const struct field TASK_FIELDS[] = {
	T(id, FT_INT, .key = true),
	T(kind, FT_WORD, .words = &task_kind_words),
	FIELD(struct db_task, key, "key", FT_TEXT),
	T(state, FT_WORD, .words = &task_state_words),
	T(priority, FT_INT),
	T(payload, FT_TEXT, .write = "coalesce(?, '{}')"),
	T(resource, FT_TEXT),
	T(comparison, FT_INT0),
	FIELD(struct db_task, case_id, "\"case\"", FT_INT0),
	T(attempts, FT_INT),
	T(max_attempts, FT_INT, .write = "coalesce(nullif(?, 0), 3)"),
	T(not_before, FT_INT),
	T(owner, FT_TEXT),
	T(lease_until, FT_INT0),
	T(created, FT_NOW),
	T(started, FT_INT0),
	T(ended, FT_INT0),
	T(result, FT_TEXT),
};
ENTITY(TASK, "task", "task", db_task);

void db_task_release(struct db_task *t) { row_release(&TASK, t); }

/* What waits for a task that came to a bad end fails with it, and what waits for that, and so on. */
static int fail_waiting(struct store *s)
{
	int r;

	do {
		r = db_exec(s,
			    "UPDATE task SET state = 'failed', ended = ?1, result = (SELECT 'needs task ' || n.id || ' (' || n.key "
			    "|| '), which ' || CASE n.state WHEN 'failed' THEN 'failed' ELSE 'was cancelled' END "
			    "|| coalesce(': ' || n.result, '') FROM task_dep d JOIN task n ON n.id = d.needs "
			    "WHERE d.task = task.id AND n.state IN ('failed', 'cancelled') ORDER BY n.id LIMIT 1) "
			    "WHERE state = 'ready' AND id IN (SELECT d.task FROM task_dep d JOIN task n ON n.id = d.needs "
			    "WHERE n.state IN ('failed', 'cancelled'))",
			    INT(now_usec()));
	} while (r > 0);
	return r;
}

static int add_task(struct store *s, const struct db_task *t, const int64_t *needs, int64_t *ret_id)
{
	int r = db_scalar(s, ret_id, "SELECT id FROM task WHERE key = ?", TEXT(t->key));

	if (r != -ENOENT)
		return r < 0 ? r : 1;
	r = db_insert(s, &TASK, t, "", ret_id);
	if (r >= 0 && t->comparison)
		r = db_exec(s, "UPDATE task SET tree = (SELECT tree FROM comparison WHERE id = ?) WHERE id = ?",
			    INT(t->comparison), INT(*ret_id));
	for (; r >= 0 && needs && *needs; needs++)
		r = db_exec(s, "INSERT INTO task_dep (task, needs) VALUES (?, ?) ON CONFLICT DO NOTHING", INT(*ret_id),
			    INT(*needs));
	return r < 0 ? r : fail_waiting(s);
}

int store_task_add(struct store *s, const struct db_task *t, const int64_t *needs, int64_t *ret_id)
{
	int64_t id = 0;
	int r = store_begin(s);

	if (r < 0)
		return r;
	r = tx_end(s, add_task(s, t, needs, &id));
	if (r < 0)
		return err_prefix(r, "cannot queue '%s'", t->key ?: "");
	if (ret_id)
		*ret_id = id;
	return r;
}

#define NEEDS_DONE                                                                                                     \
	"NOT EXISTS (SELECT 1 FROM task_dep d JOIN task n ON n.id = d.needs WHERE d.task = task.id AND n.state <> 'done')"

/* A time to wait for was counted from the last attempt: where that lies ahead the clock has gone back, and nobody
 * waits. */
/* one: a task of each group (resource, tree) that has ready ones, by jumps along the index: what else waits there costs
 * nothing. best: the next one of each group, with the group's last turn. */
static const char next_task[] =
	"WITH RECURSIVE one (id, resource, tree) AS (SELECT * FROM (SELECT id, resource, tree FROM task "
	"WHERE state = 'ready' AND resource BETWEEN ?2 AND ?3 ORDER BY resource, tree LIMIT 1) "
	"UNION ALL SELECT n.id, n.resource, n.tree FROM one JOIN task n ON n.id = coalesce("
	"(SELECT t.id FROM task t WHERE t.state = 'ready' AND t.resource = one.resource AND t.tree > one.tree "
	"ORDER BY t.tree LIMIT 1), "
	"(SELECT t.id FROM task t WHERE t.state = 'ready' AND t.resource > one.resource AND t.resource <= ?3 "
	"ORDER BY t.resource, t.tree LIMIT 1))), "
	"best (turn, id) AS MATERIALIZED (SELECT "
	"coalesce((SELECT turn FROM served v WHERE v.resource = one.resource AND v.tree = one.tree), 0), "
	"(SELECT id FROM task WHERE state = 'ready' AND resource = one.resource AND tree = one.tree AND "
	"(not_before <= ?1 OR started > ?1) AND " NEEDS_DONE " ORDER BY priority DESC, id LIMIT 1) FROM one) "
	"SELECT task.id FROM best JOIN task ON task.id = best.id ORDER BY turn, priority DESC, task.id LIMIT 1";

/* The tree of this task is behind all others now. */
static int take_turn(struct store *s, int64_t id)
{
	return db_exec(s,
		       "INSERT INTO served (resource, tree, turn) "
		       "SELECT resource, tree, (SELECT coalesce(max(turn), 0) + 1 FROM served) FROM task WHERE id = ? "
		       "ON CONFLICT (resource, tree) DO UPDATE SET turn = excluded.turn",
		       INT(id));
}

static int claim(struct store *s, const char *resource, const char *owner, usec_t lease, struct db_task *ret)
{
	_cleanup_free_ char *last = xstrdup(resource);
	usec_t now = now_usec();
	int64_t id;
	int r;

	if (endswith(resource, ":")) /* all that begin so: they sort before what has the next character there */
		last[strlen(last) - 1] = ':' + 1;
	r = db_scalar(s, &id, next_task, INT(now), TEXT(resource), TEXT(last));
	if (r == -ENOENT)
		return err_set(r, "no task is ready for '%s'", resource);
	if (r >= 0)
		r = take_turn(s, id);
	if (r >= 0)
		r = db_exec(s,
			    "UPDATE task SET state = 'running', owner = ?, lease_until = ?, started = ?, ended = NULL, "
			    "attempts = attempts + 1 WHERE id = ?",
			    TEXT(owner), INT(now + lease), INT(now), INT(id));
	return r < 0 ? r : store_task_by_id(s, id, ret);
}

int store_task_claim(struct store *s, const char *resource, const char *owner, usec_t lease, struct db_task *ret)
{
	struct db_task t = {0};
	int r = store_begin(s);

	if (r < 0)
		return r;
	r = tx_end(s, claim(s, resource, owner, lease, &t));
	if (r < 0) {
		db_task_release(&t);
		return r;
	}
	*ret = t;
	return 0;
}

static int not_running(struct store *s, int64_t id)
{
	struct db_task t = {0};
	int r = store_task_by_id(s, id, &t);

	if (r >= 0)
		r = err_set(-ENOENT, "task %" PRId64 " is not running any more (%s)", id, task_state_word(t.state));
	db_task_release(&t);
	return r;
}

int store_task_heartbeat(struct store *s, int64_t id, usec_t lease)
{
	int r = db_exec(s, "UPDATE task SET lease_until = ? WHERE id = ? AND state = 'running'",
			INT(now_usec() + lease), INT(id));

	return r ? MIN(r, 0) : not_running(s, id);
}

static int end_task(struct store *s, int64_t id, bool ok, usec_t retry_after, const char *result)
{
	usec_t now = now_usec();
	int r = db_exec(s,
			"UPDATE task SET owner = NULL, lease_until = NULL, result = ?2, "
			"state = CASE WHEN ?3 THEN 'done' WHEN ?4 > 0 AND attempts < max_attempts THEN 'ready' ELSE 'failed' END, "
			"ended = CASE WHEN NOT ?3 AND ?4 > 0 AND attempts < max_attempts THEN NULL ELSE ?1 END, "
			"not_before = CASE WHEN ?3 THEN not_before ELSE ?1 + ?4 END WHERE id = ?5 AND state = 'running'",
			INT(now), TEXT(result), INT(ok), INT(retry_after), INT(id));

	if (r <= 0)
		return r < 0 ? r : not_running(s, id);
	return ok ? 0 : fail_waiting(s);
}

int store_task_end(struct store *s, int64_t id, bool ok, usec_t retry_after, const char *result)
{
	int r = store_begin(s);

	return r < 0 ? r : tx_end(s, end_task(s, id, ok, retry_after, result));
}

int store_task_reap(struct store *s, const char *dead_owner, const char *alive)
{
	return db_exec(
		s,
		"UPDATE task SET state = 'ready', owner = NULL, lease_until = NULL, attempts = max(attempts - 1, 0) "
		"WHERE state = 'running' AND CASE WHEN ?1 IS NULL THEN lease_until < ?2 AND owner IS NOT ?3 ELSE owner = ?1 END",
		TEXT(dead_owner), INT(now_usec()), TEXT(alive));
}

int store_task_by_id(struct store *s, int64_t id, struct db_task *ret)
{
	return db_get(s, &TASK, ret, "WHERE id = ?", INT(id));
}

int store_task_by_key(struct store *s, const char *key, struct db_task *ret)
{
	return db_get(s, &TASK, ret, "WHERE key = ?", TEXT(key));
}

#define BY_PRIORITY " ORDER BY priority DESC, id"
#define LIVES "IN ('ready', 'running')"

int store_tasks_in(struct store *s, enum task_state state, struct db_task **ret, size_t *ret_n)
{
	return db_list(s, &TASK, ret, ret_n, "WHERE state = ?" BY_PRIORITY, TEXT(task_state_word(state)));
}

int store_tasks_living(struct store *s, struct db_task **ret, size_t *ret_n)
{
	return db_list(s, &TASK, ret, ret_n, "WHERE state " LIVES BY_PRIORITY);
}

static int cancel(struct store *s, int64_t id)
{
	int r = db_exec(s,
			"UPDATE task SET state = 'cancelled', owner = NULL, lease_until = NULL, ended = ? "
			"WHERE id = ? AND state " LIVES,
			INT(now_usec()), INT(id));

	if (r == 0) {
		struct db_task t = {0};

		r = store_task_by_id(s, id, &t);
		if (r >= 0)
			r = err_set(-EINVAL, "task %" PRId64 " is %s: only ready and running ones can be cancelled", id,
				    task_state_word(t.state));
		db_task_release(&t);
		return r;
	}
	return r < 0 ? r : fail_waiting(s);
}

int store_task_cancel(struct store *s, int64_t id)
{
	int r = store_begin(s);

	return r < 0 ? r : tx_end(s, cancel(s, id));
}

/* Active, and nothing active waits for it. */
#define NOT_NEEDED                                                                                                     \
	"state " LIVES " AND NOT EXISTS "                                                                              \
	"(SELECT 1 FROM task_dep d JOIN task n ON n.id = d.task WHERE d.needs = task.id AND n.state " LIVES ")"
#define WITHDRAW                                                                                                       \
	"UPDATE task SET state = 'cancelled', key = key || '~' || id, owner = NULL, lease_until = NULL, ended = ?2, result = ?3 "

static int withdraw(struct store *s, int64_t id, usec_t now, const char *why)
{
	int r = db_exec(s, WITHDRAW "WHERE id = ?1 AND " NOT_NEEDED, INT(id), INT(now), TEXT(why)), builds;

	if (r <= 0)
		return r;
	builds = db_exec(s,
			 WITHDRAW "WHERE id IN (SELECT needs FROM task_dep WHERE task = ?1) AND comparison IN "
				  "(SELECT id FROM comparison WHERE state = 'cancelled') AND " NOT_NEEDED,
			 INT(id), INT(now), TEXT(why));
	return builds < 0 ? builds : r + builds;
}

int store_tasks_withdraw(struct store *s, const int64_t *id, size_t n, const char *why)
{
	usec_t now = now_usec();
	int r = store_begin(s), done = 0, before = -1;

	if (r < 0)
		return r;
	while (r >= 0 && done != before) { /* what the others needed is free in the next round */
		before = done;
		for (size_t i = 0; r >= 0 && i < n; i++) {
			r = withdraw(s, id[i], now, why);
			done += MAX(r, 0);
		}
	}
	r = tx_end(s, MIN(r, 0));
	return r < 0 ? r : done;
}

static bool is_withdrawn(const struct db_task *t)
{
	_cleanup_free_ char *end = xasprintf("~%" PRId64, t->id);

	return t->state == TASK_CANCELLED && endswith(t->key, end);
}

/* With a task come back what it needs, and what only failed because of it (never attempted). */
static int retry(struct store *s, int64_t id)
{
	struct db_task t = {0};
	int r = store_task_by_id(s, id, &t);
	bool fits = task_gave_up(t.state);

	if (r >= 0 && !fits)
		r = err_set(-EINVAL, "task %" PRId64 " is %s: only failed and cancelled ones can be tried again", id,
			    task_state_word(t.state));
	else if (r >= 0 && is_withdrawn(&t))
		r = err_set(-EINVAL,
			    "task %" PRId64
			    " was taken back: ask for it again where it was asked for ('run', 'bisect')",
			    id);
	db_task_release(&t);
	if (r < 0)
		return r;
	r = db_exec(s,
		    "WITH RECURSIVE up (id) AS (SELECT ?1 UNION SELECT n.id FROM up JOIN task_dep d ON d.task = up.id "
		    "JOIN task n ON n.id = d.needs AND n.state IN ('failed', 'cancelled')), "
		    "down (id) AS (SELECT id FROM up UNION SELECT n.id FROM down JOIN task_dep d ON d.needs = down.id "
		    "JOIN task n ON n.id = d.task AND n.state = 'failed' AND n.attempts = 0) "
		    "UPDATE task SET state = 'ready', attempts = 0, not_before = 0, ended = NULL, owner = NULL, lease_until = NULL, "
		    "result = NULL WHERE id IN (SELECT id FROM down)",
		    INT(id));
	return r < 0 ? r : fail_waiting(s); /* some may need another one that failed too */
}

int store_task_retry(struct store *s, int64_t id)
{
	int r = store_begin(s);

	return r < 0 ? r : tx_end(s, retry(s, id));
}

usec_t store_task_next_time(struct store *s)
{
	int64_t t;
	int r = db_scalar(s, &t,
			  "SELECT min(max(not_before, created)) FROM task WHERE state = 'ready' AND " NEEDS_DONE);

	return r < 0 ? 0 : (usec_t)t;
}

void store_event(struct store *s, int64_t case_id, int64_t comparison, int64_t task, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text && !s->read_only) /* for people only: work goes on where it cannot be stored */
		db_exec(s, "INSERT INTO event (time, \"case\", comparison, task, text) VALUES (?, ?, ?, ?, ?)",
			INT(now_usec()), INT0(case_id), INT0(comparison), INT0(task), TEXT(text));
}
