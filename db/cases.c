/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions, their cases, and the reports that came out of them. */
#include "db/store-internal.h"

WORDS_DEFINE(comparison_state, COMPARISON_STATES, "state of a comparison");
WORDS_DEFINE(fault, FAULTS, "fault");
WORDS_DEFINE(asked_by, ASKERS, "way to ask");
WORDS_DEFINE(case_state, CASE_STATES, "state of a case");
WORDS_DEFINE(case_stop, CASE_STOPS, "way to stop a case");
WORDS_DEFINE(delivery_state, DELIVERY_STATES, "state of a delivery");

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
	Q(state, FT_WORD, .words = &comparison_state_words),
	Q(reason, FT_TEXT),
	Q(created, FT_NOW),
	Q(ended, FT_INT0),
	Q(disturbed, FT_INT),
	Q(after_run, FT_INT, .write = "coalesce(nullif(?, 0), (SELECT coalesce(max(id), 0) FROM run))"),
	Q(fault, FT_WORD, .words = &fault_words),
	Q(asked, FT_WORD, .words = &asked_by_words),
};
ENTITY(COMPARISON, "comparison", "comparison", db_comparison);

#define C(member, type, ...) FIELD(struct db_case, member, #member, type, ##__VA_ARGS__)
static const struct field CASE_FIELDS[] = {
	C(id, FT_INT, .key = true),
	C(comparison, FT_INT),
	C(metric, FT_TEXT, .read = "(SELECT name FROM metric WHERE metric.id = \"case\".metric)",
	  .write = "(SELECT id FROM metric WHERE name = ?)"),
	C(state, FT_WORD, .words = &case_state_words),
	C(part, FT_INT),
	C(confidence, FT_REAL),
	C(effect, FT_REAL),
	C(effect_lo, FT_REAL),
	C(effect_hi, FT_REAL),
	C(culprit, FT_TEXT),
	C(posterior, FT_REAL),
	C(commits, FT_INT),
	C(stopped, FT_WORD, .words = &case_stop_words),
	C(boots, FT_INT),
	C(builds, FT_INT),
	C(note, FT_TEXT),
	C(failure, FT_TEXT),
	C(opened, FT_NOW),
	C(changed, FT_NOW),
	/* an update must not undo what another process has said meanwhile */
	C(asked, FT_WORD, .key = true, .words = &asked_by_words),
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

#define D(member, type, ...) FIELD(struct db_delivery, member, #member, type, ##__VA_ARGS__)
static const struct field DELIVERY_FIELDS[] = {
	D(report, FT_INT), D(way, FT_TEXT), D(recipient, FT_TEXT), D(state, FT_WORD, .words = &delivery_state_words),
	D(detail, FT_TEXT),
	D(attempts, FT_INT), D(next_try, FT_INT0), D(time, FT_NOW),
};
ENTITY(DELIVERY, "delivery", "delivery", db_delivery);

void db_comparison_release(struct db_comparison *c) { row_release(&COMPARISON, c); }
void db_case_release(struct db_case *c) { row_release(&CASE, c); }
void db_report_release(struct db_report *r) { row_release(&REPORT, r); }
void db_delivery_release(struct db_delivery *d) { row_release(&DELIVERY, d); }

/* ---- comparisons ---- */

/* Asked again by somebody whose questions are mailed. Its cases follow, but one that was reopened by hand only where a
 * person says so. */
static int ask_again(struct store *s, int64_t id, enum asked_by asked)
{
	const char *word = asked_by_word(asked);
	struct db_comparison old = {0};
	bool mail = asked == ASKED_HAND_MAIL, higher;
	int r = store_comparison_by_id(s, id, &old);

	higher = asked > old.asked;
	db_comparison_release(&old);
	if (r >= 0 && higher)
		r = db_exec(s, "UPDATE comparison SET asked = ? WHERE id = ?", TEXT(word), INT(id));
	if (r >= 0 && (higher || mail))
		r = db_exec(s, "UPDATE \"case\" SET asked = ? WHERE comparison = ? AND asked = ?", TEXT(word), INT(id),
			    TEXT(asked_by_word(ASKED_HAND)));
	return MIN(r, 0);
}

int store_comparison_put(struct store *s, const struct db_comparison *c, int64_t *ret_id)
{
	int64_t id;
	int r = store_begin(s);

	if (r < 0)
		return r;
	/* the update changes nothing: it is there so that the existing row gives its id */
	r = db_insert(s, &COMPARISON, c,
		      "ON CONFLICT (tree, base, head, kconfig, job, machine, epoch) DO UPDATE SET state = state", &id);
	if (r >= 0 && c->asked > ASKED_HAND)
		r = ask_again(s, id, c->asked);
	r = tx_end(s, r);
	if (r >= 0)
		*ret_id = id;
	return r;
}

int store_comparison_by_id(struct store *s, int64_t id, struct db_comparison *ret)
{
	return db_get(s, &COMPARISON, ret, "WHERE id = ?", INT(id));
}

int store_comparisons(struct store *s, struct db_comparison **ret, size_t *ret_n)
{
	return db_list(s, &COMPARISON, ret, ret_n, "ORDER BY id");
}

int store_comparisons_in(struct store *s, enum comparison_state state, struct db_comparison **ret, size_t *ret_n)
{
	return db_list(s, &COMPARISON, ret, ret_n, "WHERE state = ? ORDER BY id", TEXT(comparison_state_word(state)));
}

int store_comparison_newest(struct store *s, int64_t tree, const char *branch, struct db_comparison *ret)
{
	return db_get(s, &COMPARISON, ret, "WHERE tree = ? AND branch = ? ORDER BY id DESC LIMIT 1", INT(tree),
		      TEXT(branch));
}

int store_comparison_end(struct store *s, int64_t id, enum comparison_state state, enum fault fault, const char *reason)
{
	int r = db_exec(
		s,
		"UPDATE comparison SET state = ?1, reason = ?2, ended = CASE ?1 WHEN 'open' THEN NULL ELSE ?3 END, "
		"fault = ?5 WHERE id = ?4",
		TEXT(comparison_state_word(state)), TEXT(reason), INT(now_usec()), INT(id), TEXT(fault_word(fault)));

	return r ? MIN(r, 0) : err_set(-ENOENT, "no comparison %" PRId64 " in the database", id);
}

int store_comparison_again(struct store *s, int64_t id)
{
	int r = db_exec(
		s,
		"UPDATE comparison SET after_run = (SELECT coalesce(max(id), 0) FROM run), disturbed = disturbed + 1 "
		"WHERE id = ?",
		INT(id));

	return r ? MIN(r, 0) : err_set(-ENOENT, "no comparison %" PRId64 " in the database", id);
}

/* ---- cases ---- */

/* A new case is asked by whoever asked its comparison, or was responsible for the culprit before it. */
static int inherit_asked(struct store *s, int64_t id)
{
	return db_exec(s,
		       "UPDATE \"case\" SET asked = coalesce("
		       "(SELECT p.asked FROM \"case\" p WHERE p.comparison = \"case\".comparison AND "
		       "p.metric = \"case\".metric AND p.part = \"case\".part - 1), "
		       "(SELECT q.asked FROM comparison q WHERE q.id = \"case\".comparison)) WHERE id = ?",
		       INT(id));
}

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
	if (r >= 0 && !c->id)
		r = MIN(inherit_asked(s, id), 0);
	r = tx_end(s, r);
	if (r >= 0 && ret_id)
		*ret_id = id;
	return r;
}

int store_case_asked(struct store *s, int64_t id, enum asked_by asked)
{
	return MIN(db_exec(s, "UPDATE \"case\" SET asked = ? WHERE id = ?", TEXT(asked_by_word(asked)), INT(id)), 0);
}

bool db_case_mails(const struct db_case *c) { return c->asked > ASKED_HAND; }

bool db_case_measures(const struct db_case *c)
{
	return c->state == CASE_CONFIRMED || c->state == CASE_BISECTING || c->state == CASE_PROVING;
}

bool db_case_lives(const struct db_case *c)
{
	return db_case_measures(c) || c->state == CASE_FOUND || (c->state == CASE_UNMAILED && db_case_mails(c));
}

enum run_verdict failure_kind(const char *failure)
{
	_cleanup_free_ char *word = xstrndup(failure, strcspn(failure, ":"));
	enum run_verdict v;

	return run_verdict_from(word, &v) >= 0 && run_failed(v) ? v : RUN_INFRA;
}

bool db_case_found(const struct db_case *c)
{
	return c->state == CASE_FOUND || c->state == CASE_REPORTED || c->state == CASE_UNMAILED ||
	       c->state == CASE_UNDELIVERED;
}

int store_case_by_id(struct store *s, int64_t id, struct db_case *ret)
{
	return db_get(s, &CASE, ret, "WHERE id = ?", INT(id));
}

int store_cases(struct store *s, struct db_case **ret, size_t *ret_n)
{
	return db_list(s, &CASE, ret, ret_n, "ORDER BY id");
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

static int put_delivery(struct store *s, const struct db_delivery *d)
{
	return db_exec(s,
		       "INSERT INTO delivery (report, way, recipient, state, detail, attempts, next_try, time) VALUES "
		       "(?, ?, coalesce(?, ''), ?, ?, ?, ?, ?) ON CONFLICT (report, way, recipient) DO UPDATE SET "
		       "state = excluded.state, detail = excluded.detail, attempts = excluded.attempts, "
		       "next_try = excluded.next_try, time = excluded.time",
		       INT(d->report), TEXT(d->way), TEXT(d->recipient), TEXT(delivery_state_word(d->state)),
		       TEXT(d->detail), INT(d->attempts), INT0(d->next_try), INT(d->time ?: now_usec()));
}

int store_deliveries_put(struct store *s, const struct db_delivery *d, size_t n)
{
	int r = begin_durable(s);

	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = put_delivery(s, &d[i]);
	return tx_end(s, MIN(r, 0));
}

int store_delivery_put(struct store *s, const struct db_delivery *d) { return store_deliveries_put(s, d, 1); }

int store_delivery_get(struct store *s, int64_t report, const char *way, const char *recipient, struct db_delivery *ret)
{
	return db_get(s, &DELIVERY, ret, "WHERE report = ? AND way = ? AND recipient = ?", INT(report), TEXT(way),
		      TEXT(recipient ? recipient : ""));
}

int store_deliveries(struct store *s, int64_t report, const char *way, struct db_delivery **ret, size_t *ret_n)
{
	return db_list(s, &DELIVERY, ret, ret_n, "WHERE report = ?1 AND (?2 IS NULL OR way = ?2) ORDER BY way, rowid",
		       INT(report), TEXT(way));
}

int store_deliveries_again(struct store *s, int64_t report, const char *way, const char *why)
{
	int r = begin_durable(s);

	if (r < 0)
		return r;
	r = db_exec(s,
		    "UPDATE delivery SET state = 'waiting', detail = ?, attempts = 0, next_try = NULL, time = ? "
		    "WHERE report = ? AND way = ? AND state IN ('failed', 'unknown', 'waiting')",
		    TEXT(why), INT(now_usec()), INT(report), TEXT(way));
	return tx_end(s, r);
}

/* An address without "+tag", in lower case. */
#define MAILBOX(a)                                                                                                     \
	"lower(iif(instr(" a ", '+') BETWEEN 2 AND instr(" a ", '@'), substr(" a ", 1, instr(" a ", '+') - 1) || "     \
	"substr(" a ", instr(" a ", '@')), " a "))"

int store_deliveries_full(struct store *s, const char *recipient, int64_t max, usec_t since, usec_t *ret_oldest)
{
	struct db_delivery d = {0};
	usec_t until = 2 * now_usec() - since;  /* not what a wrong clock put years ahead */
	int r = db_get(s, &DELIVERY, &d,
		       "WHERE way = 'smtp' AND state IN ('sent', 'unknown', 'sending') AND time > ?2 AND time < ?4 AND "
		       MAILBOX("recipient") " = " MAILBOX("?1") " ORDER BY time DESC LIMIT 1 OFFSET ?3",
		       TEXT(recipient), INT(since), INT(max - 1), INT(until));

	if (r < 0 && r != -ENOENT)
		return r;
	*ret_oldest = r < 0 ? 0 : d.time;
	db_delivery_release(&d);
	return 0;
}
