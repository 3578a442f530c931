/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/case.h"
#include "bot/engine/bisect.h"
#include "bot/engine/case-state.h"
#include "bot/engine/proof.h"
#include "bot/engine/report.h"
#include "bot/engine/tasks.h"

/* It cannot go on. What is proven by then is found all the same. */
static int cut_short(struct engine *e, const struct scope *s, struct db_case *c, const char *why)
{
	int r = proof_cut_short(e, s, c, why);

	if (r)
		return MIN(r, 0);
	case_note(c, why);
	return case_state(e, c, CASE_NOT_REPRODUCED, "%s", why);
}

int engine_plan_case(struct engine *e, struct db_case *c)
{
	struct scope s = {0};
	int r = 0;

	if (c->state == CASE_UNMAILED)
		return case_state(e, c, CASE_FOUND, "asked again, and now to be mailed");
	if (c->state == CASE_FOUND)
		return engine_plan_report(e, c);
	if (engine_has_active(e, c->comparison, c->id))
		return 0;
	r = engine_scope(e, c->comparison, &s);
	s.failing = c->failure;
	if (r >= 0)
		r = engine_same_epoch(&s);
	if (r < 0) {
		scope_release(&s);
		return r;
	}
	if (r == 0)
		r = cut_short(e, &s, c, "the configuration or the toolchain has changed meanwhile");
	else if (c->state == CASE_CONFIRMED)
		r = bisect_start(e, &s, c);
	else if (c->state == CASE_PROVING)
		r = proof_go_on(e, &s, c);
	else
		r = bisect_step(e, &s, c);
	if (r == -ENOTRECOVERABLE) {
		_cleanup_free_ char *why = xstrdup(err_msg());

		r = cut_short(e, &s, c, why);
	}
	scope_release(&s);
	return r;
}
