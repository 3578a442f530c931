/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/report.h"
#include "bot/engine/case-state.h"
#include "reporters/reporter.h"

/* The task of the case, which is added where there is none yet, as it stands now. */
static int case_task(struct engine *e, const struct db_case *c, enum task_kind kind, const char *way,
		     struct db_task *ret)
{
	_cleanup_free_ char *key =
		xasprintf("%s:%" PRId64 "%s%s", task_kind_word(kind), c->id, way ? ":" : "", way ? way : "");
	_cleanup_free_ char *payload =
		task_payload_json(kind, &(struct task_payload){.case_id = c->id, .way = (char *)way});
	_cleanup_free_ char *resource = task_resource(kind, NULL);
	struct db_task t = {.kind = kind,
			    .key = key,
			    .priority = 400,
			    .payload = payload,
			    .resource = resource,
			    .comparison = c->comparison,
			    .case_id = c->id,
			    .max_attempts = way ? 1000 : 5};
	int64_t id;
	int r = store_task_add(e->store, &t, NULL, &id);

	return r < 0 ? r : store_task_by_id(e->store, id, ret);
}

int engine_settle(struct engine *e, struct db_case *c)
{
	const struct report_ops *counts;
	struct report_standing st = {0};
	struct report_config rc;
	int r;

	config_report(e->cfg, &rc);
	counts = reporter_that_counts(&rc);
	r = counts ? report_standing(e->store, c->id, counts->name, &st) : 0;
	if (r < 0 || !st.sent)
		return r;
	if (c->state == CASE_FOUND || c->state == CASE_UNMAILED || c->state == CASE_UNDELIVERED)
		r = case_state(e, c, CASE_REPORTED, st.n > 1 ? "%zu of %zu recipients have it" : "report delivered",
			       st.sent, st.n);
	return r < 0 ? r : 1;
}

int engine_send_later(struct engine *e, const struct db_case *c, const char *way)
{
	struct db_task t = {0};
	int r = case_task(e, c, TASK_SEND, way, &t);

	if (r >= 0 && task_gave_up(t.state))
		r = store_task_retry(e->store, t.id);
	db_task_release(&t);
	return MIN(r, 0);
}

/* Queues what goes out. 1: the way that counts has ended, and ret_why tells how. */
static int send(struct engine *e, const struct db_case *c, char **ret_why)
{
	const struct report_ops *counts;
	struct report_config rc;
	bool over = false;
	int r = 0;

	config_report(e->cfg, &rc);
	counts = reporter_that_counts(&rc);
	for (const struct report_ops *const *o = reporters(); r >= 0 && *o; o++) {
		struct db_task t = {0};

		if (!reporter_enabled(*o, &rc))
			continue;
		r = case_task(e, c, TASK_SEND, (*o)->name, &t);
		if (r >= 0 && *o == counts && !task_lives(t.state)) {
			over = true;
			*ret_why = xstrdup(t.result ? t.result : task_state_word(t.state));
		}
		db_task_release(&t);
	}
	return r < 0 ? r : over;
}

/* The same commit, found for another branch or tree or when a head came back: it is no news. */
static bool same_news(struct engine *e, const struct db_case *a, const struct db_case *b)
{
	struct db_comparison x = {0}, y = {0};
	bool yes = streq(a->culprit, b->culprit) && streq(a->metric, b->metric) &&
		   store_comparison_by_id(e->store, a->comparison, &x) >= 0 &&
		   store_comparison_by_id(e->store, b->comparison, &y) >= 0;

	yes = yes && x.machine == y.machine && streq(x.job, y.job) && streq(x.kconfig, y.kconfig);
	db_comparison_release(&x);
	db_comparison_release(&y);
	return yes;
}

/* Nothing is mailed twice that nobody asked for by hand. 1: another case tells of the culprit: this one is reported, or
 * waits for what becomes of the other. */
static int told_before(struct engine *e, struct db_case *c)
{
	struct db_case *all = NULL;
	size_t n = 0;
	_cleanup_free_ char *option = config_send_option(e->cfg);
	int r = c->culprit && c->asked == ASKED_DAEMON ? store_cases(e->store, &all, &n) : 0, told = 0;

	for (size_t i = 0; r >= 0 && i < n && !told; i++) {
		bool is = all[i].state == CASE_REPORTED;
		bool ignored = all[i].state == CASE_IGNORED && all[i].asked == ASKED_DAEMON;
		bool soon = all[i].state == CASE_FOUND && db_case_mails(&all[i]) && all[i].id < c->id;

		if (all[i].id == c->id || !(is || soon || ignored) || !same_news(e, &all[i], c))
			continue;
		told = 1;
		if (is) {
			free(c->note);
			c->note = xasprintf("case %" PRId64 " told of this commit; 'kperfbot report send %" PRId64
					    "%s' mails this one, too", all[i].id, c->id, option);
			r = case_state(e, c, CASE_REPORTED, "%s", c->note);
		} else if (ignored) {
			free(c->note);
			c->note = xasprintf("case %" PRId64
					    " is about this commit and is ignored; 'kperfbot report send %" PRId64
					    "%s' mails this one",
					    all[i].id, c->id, option);
			r = case_state(e, c, CASE_IGNORED, "%s", c->note);
		}
	}
	DB_LIST_RELEASE(all, n, db_case_release);
	return r < 0 ? r : told;
}

int engine_plan_report(struct engine *e, struct db_case *c)
{
	_cleanup_(db_task_release) struct db_task t = {0};
	_cleanup_free_ char *why = NULL;
	_cleanup_free_ char *option = config_send_option(e->cfg);
	int r = case_task(e, c, TASK_REPORT, NULL, &t);

	if (r >= 0 && task_gave_up(t.state))
		r = case_state(e, c, CASE_UNDELIVERED, "nobody has the report: %s; 'kperfbot report send %" PRId64
			       "%s' tries again", t.result ? t.result : task_state_word(t.state), c->id, option);
	if (r < 0 || t.state != TASK_DONE)
		return MIN(r, 0);
	r = engine_settle(e, c);
	if (r == 0 && !db_case_mails(c))
		return case_state(e, c, CASE_UNMAILED, "asked by hand, so not mailed; 'kperfbot report send %" PRId64
				  "%s' mails it", c->id, option);
	if (r == 0)
		r = told_before(e, c);
	if (r == 0)
		r = send(e, c, &why);
	if (r > 0 && why)
		r = case_state(e, c, CASE_UNDELIVERED, "nobody has the report: %s; 'kperfbot report send %" PRId64
			       "%s --force' tries again", why, c->id, option);
	return MIN(r, 0);
}
