/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions, their cases, and the reports that came out of them. */
#include "db/internal.h"

#define Q(member, type, ...) FIELD(struct db_comparison, member, #member, type, ##__VA_ARGS__)
static const struct field COMPARISON_FIELDS[] = {
	Q(id, FT_INT, .key = true),
	Q(tree, FT_INT),
	Q(branch, FT_TEXT, .write = "coalesce(?, '')"),
	Q(base, FT_TEXT),
	Q(head, FT_TEXT),
	Q(kconfig, FT_TEXT),
	Q(job, FT_TEXT),
	Q(machine, FT_INT),
	Q(epoch, FT_TEXT, .write = "coalesce(?, '')"),
	Q(state, FT_TEXT, .write = "coalesce(?, 'open')"),
	Q(reason, FT_TEXT),
	Q(created, FT_NOW),
	Q(ended, FT_INT0),
	Q(disturbed, FT_INT),
};
ENTITY(COMPARISON, "comparison", "comparison", db_comparison);

#define C(member, type, ...) FIELD(struct db_case, member, #member, type, ##__VA_ARGS__)
static const struct field CASE_FIELDS[] = {
	C(id, FT_INT, .key = true),
	C(comparison, FT_INT),
	C(metric, FT_TEXT, .read = "(SELECT name FROM metric WHERE metric.id = \"case\".metric)",
	  .write = "(SELECT id FROM metric WHERE name = ?)"),
	C(state, FT_TEXT),
	C(part, FT_INT),
	C(confidence, FT_REAL),
	C(effect, FT_REAL),
	C(effect_lo, FT_REAL),
	C(effect_hi, FT_REAL),
	C(culprit, FT_TEXT),
	C(posterior, FT_REAL),
	C(proof, FT_TEXT),
	C(candidates, FT_TEXT),
	C(boots, FT_INT),
	C(builds, FT_INT),
	C(note, FT_TEXT),
	C(opened, FT_NOW),
	C(changed, FT_NOW),
};
ENTITY(CASE, "case", "\"case\"", db_case);

#define R(member, col, type, ...) FIELD(struct db_report, member, col, type, ##__VA_ARGS__)
static const struct field REPORT_FIELDS[] = {
	R(id, "id", FT_INT, .key = true),    R(case_id, "\"case\"", FT_INT),
	R(message_id, "message_id", FT_TEXT), R(subject, "subject", FT_TEXT),
	R(recipients, "recipients", FT_TEXT), R(text, "text", FT_TEXT),
	R(created, "created", FT_NOW),
};
ENTITY(REPORT, "report", "report", db_report);

#define D(member, type) FIELD(struct db_delivery, member, #member, type)
static const struct field DELIVERY_FIELDS[] = {
	D(report, FT_INT),   D(way, FT_TEXT),	    D(state, FT_TEXT), D(detail, FT_TEXT),
	D(attempts, FT_INT), D(next_try, FT_INT0), D(time, FT_NOW),
};
ENTITY(DELIVERY, "delivery", "delivery", db_delivery);

void db_comparison_release(struct db_comparison *c) { row_release(&COMPARISON, c); }
void db_case_release(struct db_case *c) { row_release(&CASE, c); }
void db_report_release(struct db_report *r) { row_release(&REPORT, r); }
void db_delivery_release(struct db_delivery *d) { row_release(&DELIVERY, d); }

/* ---- comparisons ---- */

int store_comparison_put(struct store *s, const struct db_comparison *c, int64_t *ret_id)
{
	/* the update changes nothing: it is there so that the existing row gives its id */
	return db_insert(s, &COMPARISON, c, "ON CONFLICT (tree, base, head, kconfig, job, machine, epoch) DO UPDATE SET state = state",
			 ret_id);
}

int store_comparison_by_id(struct store *s, int64_t id, struct db_comparison *ret)
{
	return db_get(s, &COMPARISON, ret, "WHERE id = ?", INT(id));
}

int store_comparisons(struct store *s, const char *state, struct db_comparison **ret, size_t *ret_n)
{
	return db_list(s, &COMPARISON, ret, ret_n, "WHERE ?1 IS NULL OR state = ?1 ORDER BY id", TEXT(state));
}

int store_comparison_end(struct store *s, int64_t id, const char *state, const char *reason)
{
	int r = db_exec(s, "UPDATE comparison SET state = ?1, reason = ?2, ended = CASE ?1 WHEN 'open' THEN NULL ELSE ?3 END "
			   "WHERE id = ?4",
			TEXT(state), TEXT(reason), INT(now_usec()), INT(id));

	return r ? MIN(r, 0) : err_set(-ENOENT, "no comparison %" PRId64 " in the database", id);
}

int store_comparison_again(struct store *s, int64_t id)
{
	int r = db_exec(s, "UPDATE comparison SET created = ?, disturbed = disturbed + 1 WHERE id = ?", INT(now_usec()), INT(id));

	return r ? MIN(r, 0) : err_set(-ENOENT, "no comparison %" PRId64 " in the database", id);
}

/* ---- cases ---- */

int store_case_put(struct store *s, const struct db_case *c, int64_t *ret_id)
{
	int64_t id = c->id, metric;
	int r = store_begin(s);

	if (r < 0)
		return r;
	r = db_scalar(s, &metric, "SELECT id FROM metric WHERE name = ?", TEXT(c->metric));
	if (r == -ENOENT)
		r = err_set(r, "no metric '%s' in the database: store a run with it first", c->metric ?: "");
	if (r >= 0)
		r = c->id ? db_update(s, &CASE, c, c->id) : db_insert(s, &CASE, c, "", &id);
	r = tx_end(s, r);
	if (r >= 0 && ret_id)
		*ret_id = id;
	return r;
}

int store_case_by_id(struct store *s, int64_t id, struct db_case *ret) { return db_get(s, &CASE, ret, "WHERE id = ?", INT(id)); }

int store_cases(struct store *s, const char *state, struct db_case **ret, size_t *ret_n)
{
	return db_list(s, &CASE, ret, ret_n, "WHERE ?1 IS NULL OR state = ?1 ORDER BY id", TEXT(state));
}

/* ---- reports: on the disk before anything goes out ---- */

static int begin_durable(struct store *s)
{
	int r = store_begin(s);

	if (r >= 0)
		s->durable = true;
	return r;
}

int store_report_put(struct store *s, const struct db_report *rep, int64_t *ret_id)
{
	int64_t id;
	int r = begin_durable(s);

	if (r < 0)
		return r;
	r = tx_end(s, db_insert(s, &REPORT, rep, "", &id));
	if (r < 0)
		return r == -EEXIST ? err_set(r, "case %" PRId64 " has a report already", rep->case_id) : r;
	if (ret_id)
		*ret_id = id;
	return 0;
}

int store_report_by_case(struct store *s, int64_t case_id, struct db_report *ret)
{
	int r = db_get(s, &REPORT, ret, "WHERE \"case\" = ?", INT(case_id));

	return r == -ENOENT ? err_set(r, "case %" PRId64 " has no report", case_id) : r;
}

int store_delivery_put(struct store *s, const struct db_delivery *d)
{
	int r = begin_durable(s);

	if (r < 0)
		return r;
	r = db_exec(s,
		    "INSERT INTO delivery (report, way, state, detail, attempts, next_try, time) VALUES (?, ?, ?, ?, ?, ?, ?) "
		    "ON CONFLICT (report, way) DO UPDATE SET state = excluded.state, detail = excluded.detail, "
		    "attempts = excluded.attempts, next_try = excluded.next_try, time = excluded.time",
		    INT(d->report), TEXT(d->way), TEXT(d->state), TEXT(d->detail), INT(d->attempts), INT0(d->next_try),
		    INT(d->time ?: now_usec()));
	return tx_end(s, MIN(r, 0));
}

int store_delivery_get(struct store *s, int64_t report, const char *way, struct db_delivery *ret)
{
	return db_get(s, &DELIVERY, ret, "WHERE report = ? AND way = ?", INT(report), TEXT(way));
}
