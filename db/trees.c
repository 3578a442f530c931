/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/store-internal.h"

#define T(member, col, type, ...) FIELD(struct db_tree, member, col, type, ##__VA_ARGS__)
static const struct field TREE_FIELDS[] = {
	T(id, "id", FT_INT, .key = true),
	T(name, "name", FT_TEXT),
	T(url, "url", FT_TEXT),
	T(kind, "kind", FT_TEXT, .write = "coalesce(?, 'kernel')"),
	T(settings, "settings", FT_TEXT, .write = "coalesce(?, '{}')"),
	T(enabled, "enabled", FT_BOOL),
	T(last_poll, "last_poll", FT_INT0),
	T(next_poll, "next_poll", FT_INT0),
	T(poll_failures, "poll_failures", FT_INT),
	T(poll_error, "poll_error", FT_TEXT),
};
ENTITY(TREE, "tree", "tree", db_tree);

#define B(member, col, type, ...) FIELD(struct db_branch, member, col, type, ##__VA_ARGS__)
static const struct field BRANCH_FIELDS[] = {
	B(id, "id", FT_INT, .key = true), B(tree, "tree", FT_INT),     B(name, "name", FT_TEXT),
	B(head, "head", FT_TEXT),	  B(tested, "tested", FT_TEXT), B(seen, "seen", FT_NOW),
	B(detected, "detected", FT_INT),  B(trouble, "trouble", FT_TEXT),
};
ENTITY(BRANCH, "branch", "branch", db_branch);

void db_tree_release(struct db_tree *t) { row_release(&TREE, t); }
void db_branch_release(struct db_branch *b) { row_release(&BRANCH, b); }

int store_tree_put(struct store *s, const struct db_tree *t, int64_t *ret_id)
{
	return db_insert(s, &TREE, t,
			 "ON CONFLICT (name) DO UPDATE SET url = excluded.url, kind = excluded.kind, "
			 "settings = excluded.settings, enabled = excluded.enabled",
			 ret_id);
}

static int unknown(const char *name)
{
	return err_set(-ENOENT, "no tree '%s' in the database; 'kperfbot tree list' shows those there are", name ?: "");
}

int store_tree_get(struct store *s, const char *name, struct db_tree *ret)
{
	int r = db_get(s, &TREE, ret, "WHERE name = ?", TEXT(name));

	return r == -ENOENT ? unknown(name) : r;
}

int store_tree_by_id(struct store *s, int64_t id, struct db_tree *ret)
{
	return db_get(s, &TREE, ret, "WHERE id = ?", INT(id));
}

int store_trees(struct store *s, struct db_tree **ret, size_t *ret_n)
{
	return db_list(s, &TREE, ret, ret_n, "ORDER BY name");
}

int store_tree_remove(struct store *s, const char *name)
{
	int r = store_begin(s);

	if (r < 0)
		return r;
	r = db_exec(s, "DELETE FROM tree WHERE name = ?", TEXT(name));
	if (r == 0)
		r = unknown(name);
	if (r >= 0) /* nobody's questions, and others' canaries: a new tree of that name would find them done */
		r = db_exec(s, "DELETE FROM task WHERE iif(json_valid(payload), payload ->> '$.tree', NULL) = ?", TEXT(name));
	return tx_end(s, MIN(r, 0));
}

int store_tree_polled(struct store *s, int64_t id, usec_t when, usec_t next, const char *error)
{
	int r = db_exec(s,
			"UPDATE tree SET last_poll = ?1, next_poll = ?2, poll_error = ?3, "
			"poll_failures = CASE WHEN ?3 IS NULL THEN 0 ELSE poll_failures + 1 END WHERE id = ?4",
			INT(when), INT0(next), TEXT(error), INT(id));

	return r ? MIN(r, 0) : err_set(-ENOENT, "no tree %" PRId64 " in the database", id);
}

static int move_branch(struct store *s, const struct db_branch *new, bool forced, int64_t *ret_id)
{
	struct db_branch old = {0};
	int r = db_get(s, &BRANCH, &old, "WHERE tree = ? AND name = ?", INT(new->tree), TEXT(new->name));
	int64_t id = old.id;
	bool moved;

	if (r < 0 && r != -ENOENT)
		return r;
	moved = (old.head || new->head) && !streq(old.head, new->head);
	r = db_insert(s, &BRANCH, new,
		      "ON CONFLICT (tree, name) DO UPDATE SET head = excluded.head, seen = excluded.seen", &id);
	if (r >= 0 && moved)
		r = db_exec(s,
			    "INSERT INTO head_event (branch, time, old_head, new_head, forced) VALUES (?, ?, ?, ?, ?)",
			    INT(id), INT(now_usec()), TEXT(old.head), TEXT(new->head), INT(forced));
	db_branch_release(&old);
	if (r < 0)
		return r;
	if (ret_id)
		*ret_id = id;
	return moved;
}

int store_branch_head(struct store *s, int64_t tree, const char *name, const char *head, bool forced, int64_t *ret_id)
{
	struct db_branch b = {.tree = tree, .name = (char *)name, .head = (char *)head};
	int64_t id = 0;
	int r = store_begin(s);

	if (r < 0)
		return r;
	r = tx_end(s, move_branch(s, &b, forced, &id));
	if (r >= 0 && ret_id)
		*ret_id = id;
	return r;
}

int store_branches(struct store *s, int64_t tree, struct db_branch **ret, size_t *ret_n)
{
	return db_list(s, &BRANCH, ret, ret_n, "WHERE tree = ? ORDER BY name", INT(tree));
}

int store_branches_by_turn(struct store *s, int64_t tree, struct db_branch **ret, size_t *ret_n)
{
	return db_list(s, &BRANCH, ret, ret_n,
		       "WHERE tree = ?1 ORDER BY (SELECT coalesce(max(q.id), 0) FROM comparison q "
		       "WHERE q.tree = ?1 AND q.branch = branch.name), name",
		       INT(tree));
}

int store_branch_detected(struct store *s, int64_t branch, int64_t run)
{
	int r = db_exec(s, "UPDATE branch SET detected = ? WHERE id = ?", INT(run), INT(branch));

	return r ? MIN(r, 0) : err_set(-ENOENT, "no branch %" PRId64 " in the database", branch);
}

int store_branch_tested(struct store *s, int64_t branch, const char *oid)
{
	int r = db_exec(s, "UPDATE branch SET tested = ? WHERE id = ?", TEXT(oid), INT(branch));

	return r ? MIN(r, 0) : err_set(-ENOENT, "no branch %" PRId64 " in the database", branch);
}

int store_base_get(struct store *s, int64_t branch, const char *job, int64_t machine, const char *kconfig,
		   char **ret_oid)
{
	sqlite3_stmt *st;
	int r = stmt_get(
		s,
		"SELECT oid FROM branch_base WHERE branch = ?1 AND (?2 IS NULL OR (job = ?2 AND machine = ?3 AND "
		"kconfig = ?4)) ORDER BY id DESC LIMIT 1",
		ARGS(INT(branch), TEXT(job), INT(machine), TEXT(kconfig)), &st);

	if (r < 0)
		return r;
	r = stmt_step(s, st);
	if (r > 0)
		*ret_oid = column_text(st, 0);
	stmt_put(s, st);
	return r ? MIN(r, 0) : err_set(-ENOENT, "nothing was measured on branch %" PRId64 " yet", branch);
}

int store_base_put(struct store *s, const struct db_base *b)
{
	int r = db_exec(
		s, "INSERT OR REPLACE INTO branch_base (branch, job, machine, kconfig, oid) VALUES (?, ?, ?, ?, ?)",
		INT(b->branch), TEXT(b->job), INT(b->machine), TEXT(b->kconfig), TEXT(b->oid));

	return MIN(r, 0);
}

int store_branch_trouble(struct store *s, int64_t branch, const char *text)
{
	int r = db_exec(s, "UPDATE branch SET trouble = ? WHERE id = ?", TEXT(text), INT(branch));

	return r ? MIN(r, 0) : err_set(-ENOENT, "no branch %" PRId64 " in the database", branch);
}

int store_branch_troubles_over(struct store *s)
{
	return MIN(db_exec(s, "UPDATE branch SET trouble = NULL WHERE trouble IS NOT NULL"), 0);
}
