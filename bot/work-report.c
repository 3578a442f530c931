/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stage "report": a case's mail is written, and goes out by each way. */
#include "bot/work-internal.h"
#include "bot/engine/engine.h"
#include "reporters/reporter.h"

int work_report(struct work *w, usec_t *retry)
{
	struct engine e = {.store = w->c->store, .cfg = &w->c->config};
	struct report_config rc;
	struct db_case c = {0};
	struct scope s = {0};
	_cleanup_free_ char *dir = xasprintf("%s/cases", w->c->config.state_dir);
	int64_t id;
	int r = store_case_by_id(e.store, w->p.case_id, &c);

	config_report(&w->c->config, &rc);
	rc.reproduce_dir = dir;
	if (r >= 0)
		r = engine_scope(&e, c.comparison, &s);
	if (r >= 0)
		r = report_compose(e.store, c.id, s.git_dir, &rc, &id);
	if (r == -EEXIST)
		r = 0;
	if (r < 0) {
		work_say(w, "cannot write the report: %s", err_msg());
		*retry = work_backoff(w);
	} else {
		work_say(w, "report of case %" PRId64 " written", c.id);
	}
	scope_release(&s);
	db_case_release(&c);
	return MIN(r, 0);
}

/* The delivery keeps its own back-off. */
static usec_t next_try(struct work *w, const char *way)
{
	struct report_standing st = {0};
	usec_t now = now_usec();

	if (report_standing(w->c->store, w->p.case_id, way, &st) < 0 || st.next_try <= now)
		return work_backoff(w);
	return st.next_try - now + USEC_PER_SEC / 10;
}

static void say_delivered(struct work *w, const char *way)
{
	struct report_standing st = {0};

	if (report_standing(w->c->store, w->p.case_id, way, &st) >= 0 && st.sent < st.n)
		work_say(w, "report of case %" PRId64 " delivered by %s to %zu of %zu recipients", w->p.case_id, way,
		    st.sent, st.n);
	else
		work_say(w, "report of case %" PRId64 " delivered by %s", w->p.case_id, way);
}

int work_send(struct work *w, usec_t *retry)
{
	struct engine e = {.store = w->c->store, .cfg = &w->c->config};
	struct report_config rc;
	struct db_case c = {0};
	const char *way = w->p.way ? w->p.way : reporters()[0]->name;
	_cleanup_free_ char *dir = xasprintf("%s/cases", w->c->config.state_dir);
	int r;

	config_report(&w->c->config, &rc);
	rc.reproduce_dir = dir;
	r = report_deliver(w->c->store, w->p.case_id, way, &rc);
	if (r < 0)
		work_say(w, "%s", err_msg());
	else
		say_delivered(w, way);
	if (r == -EAGAIN) /* all else is final: refused for good, nobody allowed, or not known whether it arrived */
		*retry = next_try(w, way);
	if (store_case_by_id(e.store, w->p.case_id, &c) >= 0 && !db_case_lives(&c)) /* else the engine does it */
		(void)engine_settle(&e, &c);
	db_case_release(&c);
	return MIN(r, 0);
}
