/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of builds, and which functions a job reaches. */
#include "db/store-internal.h"
#include "lib/buf.h"

#define P(member, type, ...) FIELD(struct db_profile, member, #member, type, ##__VA_ARGS__)
static const struct field PROFILE_FIELDS[] = {
	P(id, FT_INT, .key = true),
	P(build, FT_INT),
	P(job, FT_TEXT),
	P(tbox_group, FT_TEXT),
	P(path, FT_TEXT),
	P(operations, FT_REAL),
	P(instructions, FT_INT),
	P(user, FT_INT),
	P(time, FT_NOW),
	FIELD(struct db_profile, commit, "commit_oid", FT_TEXT, .key = true,
	      .read = "(SELECT commit_oid FROM build WHERE build.id = profile.build)"),
	P(kconfig, FT_TEXT, .key = true, .read = "(SELECT kconfig FROM build WHERE build.id = profile.build)"),
	P(tree, FT_TEXT, .key = true,
	  .read = "(SELECT tree.name FROM build JOIN tree ON tree.id = build.tree WHERE build.id = profile.build)"),
	P(image_path, FT_TEXT, .key = true, .read = "(SELECT image_path FROM build WHERE build.id = profile.build)"),
	P(job_name, FT_TEXT, .key = true, .read = "(SELECT name FROM job WHERE job.id = profile.job)"),
	P(means, FT_TEXT, .write = "coalesce(?, 'plugin')"),
};
ENTITY(PROFILE, "profile", "profile", db_profile);

static const struct field REACH_FIELDS[] = {
	FIELD(struct db_reach, function, "function", FT_TEXT,
	      .read = "(SELECT name FROM function WHERE id = reach.function)"),
	FIELD(struct db_reach, entries, "entries", FT_INT),
	FIELD(struct db_reach, instructions, "instructions", FT_INT),
};
ENTITY(REACH, "function", "reach", db_reach);

void db_profile_release(struct db_profile *p) { row_release(&PROFILE, p); }
void db_reach_release(struct db_reach *r) { row_release(&REACH, r); }

static int put_reach(struct store *s, int64_t id, const struct db_reach *r)
{
	int e = db_exec(s, "INSERT INTO function (name) VALUES (?1) ON CONFLICT DO NOTHING", TEXT(r->function));

	return e < 0 ? e : db_exec(s,
				   "INSERT INTO reach (profile, function, entries, instructions) "
				   "SELECT ?1, id, ?3, ?4 FROM function WHERE name = ?2 ON CONFLICT DO UPDATE SET "
				   "entries = max(entries, excluded.entries)",
				   INT(id), TEXT(r->function), INT(r->entries), INT(r->instructions));
}

int store_profile_put(struct store *s, const struct db_profile *p, const struct db_reach *reach, size_t n,
		      int64_t *ret_id)
{
	int64_t id = 0;
	int r = tx_begin(s, true);

	if (r < 0)
		return r;
	/* what was watched for another change stays, unless every instruction is counted now */
	r = db_exec(s,
		    "DELETE FROM profile WHERE build = ?1 AND job = ?2 AND tbox_group = ?3 AND (?4 = 'plugin' OR means <> ?4)",
		    INT(p->build), TEXT(p->job), TEXT(p->tbox_group), TEXT(p->means ? p->means : "plugin"));
	if (r >= 0)
		r = db_insert(s, &PROFILE, p,
			      "ON CONFLICT (build, job, tbox_group) DO UPDATE SET time = excluded.time, operations = excluded.operations",
			      &id);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = put_reach(s, id, &reach[i]);
	r = tx_end(s, MIN(r, 0));
	if (r >= 0 && ret_id)
		*ret_id = id;
	return r;
}

int store_profile_get(struct store *s, int64_t build, const char *job, const char *tbox_group, struct db_profile *ret)
{
	return db_get(s, &PROFILE, ret, "WHERE build = ?1 AND job = ?2 AND tbox_group = ?3", INT(build), TEXT(job),
		      TEXT(tbox_group));
}

int store_profiles(struct store *s, const char *commit, struct db_profile **ret, size_t *ret_n)
{
	return db_list(s, &PROFILE, ret, ret_n,
		       "WHERE ?1 IS NULL OR build IN (SELECT id FROM build WHERE commit_oid = ?1) "
		       "ORDER BY 12, 11, 14, job, tbox_group, id DESC",
		       TEXT(commit));
}

int store_known_reach(struct store *s, const char *tree, struct db_profile **ret, size_t *ret_n)
{
	return db_list(s, &PROFILE, ret, ret_n,
		       "WHERE id IN (SELECT max(profile.id) FROM profile JOIN build ON build.id = profile.build "
		       "JOIN tree ON tree.id = build.tree WHERE ?1 IS NULL OR tree.name = ?1 GROUP BY job, tbox_group) "
		       "ORDER BY 14, job, tbox_group",
		       TEXT(tree));
}

static const struct field PAIR_CHECK_FIELDS[] = {
	FIELD(struct db_pair_check, build, "build", FT_INT),
	FIELD(struct db_pair_check, base, "base", FT_TEXT),
	FIELD(struct db_pair_check, job, "job", FT_TEXT),
	FIELD(struct db_pair_check, tbox_group, "tbox_group", FT_TEXT),
	FIELD(struct db_pair_check, name, "name", FT_TEXT),
	FIELD(struct db_pair_check, verdict, "verdict", FT_WORD, .words = &check_verdict_words),
	FIELD(struct db_pair_check, evidence, "evidence", FT_TEXT),
	FIELD(struct db_pair_check, time, "time", FT_INT),
};
ENTITY(PAIR_CHECK, "check", "pair_check", db_pair_check);

void db_pair_check_release(struct db_pair_check *c) { row_release(&PAIR_CHECK, c); }

int store_pair_check_put(struct store *s, const struct db_pair_check *c)
{
	return MIN(db_exec(s,
			   "INSERT INTO pair_check (build, base, job, tbox_group, name, verdict, evidence, time) "
			   "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET verdict = excluded.verdict, "
			   "evidence = excluded.evidence, time = excluded.time",
			   INT(c->build), TEXT(c->base), TEXT(c->job), TEXT(c->tbox_group), TEXT(c->name),
			   TEXT(check_verdict_word(c->verdict)), TEXT(c->evidence), INT(c->time ? c->time : now_usec())),
		   0);
}

int store_pair_check_get(struct store *s, int64_t build, const char *base, const char *job, const char *tbox_group,
			 const char *name, struct db_pair_check *ret)
{
	return db_get(s, &PAIR_CHECK, ret,
		      "WHERE build = ?1 AND base = ?2 AND job = ?3 AND tbox_group = ?4 AND name = ?5", INT(build),
		      TEXT(base), TEXT(job), TEXT(tbox_group), TEXT(name));
}

int store_reaches(struct store *s, int64_t profile, struct db_reach **ret, size_t *ret_n)
{
	return db_list(s, &REACH, ret, ret_n, "WHERE profile = ? ORDER BY 1", INT(profile));
}

int store_reach(struct store *s, int64_t profile, const char *function, struct db_reach *ret)
{
	return db_get(s, &REACH, ret, "WHERE profile = ?1 AND function = (SELECT id FROM function WHERE name = ?2)",
		      INT(profile), TEXT(function));
}
