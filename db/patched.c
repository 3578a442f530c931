/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commits that are a base with a patch series on top. */
#include "db/store-internal.h"

#define P(member, col, type, ...) FIELD(struct db_patched, member, col, type, ##__VA_ARGS__)
static const struct field PATCHED_FIELDS[] = {
	P(id, "id", FT_INT, .key = true), P(tree, "tree", FT_INT), P(commit, "commit_oid", FT_TEXT),
	P(base, "base", FT_TEXT),
	P(name, "name", FT_TEXT),  P(hash, "hash", FT_TEXT),         P(patches, "patches", FT_INT),
	P(time, "time", FT_NOW),
};
ENTITY(PATCHED, "patched commit", "patched", db_patched);

void db_patched_release(struct db_patched *p) { row_release(&PATCHED, p); }

int store_patched_put(struct store *s, const struct db_patched *p)
{
	int r = store_begin(s);

	if (r < 0)
		return r;
	/* a new row: what was applied last has the largest id, whatever the clock says */
	r = db_exec(s, "DELETE FROM patched WHERE tree = ? AND commit_oid = ?", INT(p->tree), TEXT(p->commit));
	if (r >= 0)
		r = db_insert(s, &PATCHED, p, "", NULL);
	return tx_end(s, MIN(r, 0));
}

int store_patched_get(struct store *s, const char *commit, struct db_patched *ret)
{
	return db_get(s, &PATCHED, ret, "WHERE commit_oid = ? ORDER BY id DESC LIMIT 1", TEXT(commit));
}

int store_patched_find(struct store *s, const char *base, const char *name, struct db_patched *ret)
{
	int r = db_get(s, &PATCHED, ret, "WHERE base = ? AND name = ? ORDER BY id DESC LIMIT 1", TEXT(base),
		       TEXT(name));

	return r == -ENOENT
		       ? err_set(-ENOENT,
				 "patch series '%s' was never applied on %.12s; 'kperfbot run' or 'build' with --patches "
				 "does that",
				 name, base)
		       : r;
}
