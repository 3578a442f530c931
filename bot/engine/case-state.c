/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/case-state.h"

int case_put(struct engine *e, const struct db_case *c)
{
	struct db_case now = {0};
	bool ignored;
	int r = store_begin(e->store);

	if (r < 0)
		return r;
	r = store_case_by_id(e->store, c->id, &now);
	ignored = r >= 0 && now.state == CASE_IGNORED && c->state != CASE_IGNORED;
	if (r >= 0 && !ignored)
		r = store_case_put(e->store, c, NULL);
	db_case_release(&now);
	if (r < 0)
		store_rollback(e->store);
	else
		r = store_commit(e->store);
	return r < 0 ? r : ignored;
}

int case_state(struct engine *e, struct db_case *c, enum case_state state, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int r;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->state = state;
	c->changed = now_usec();
	r = case_put(e, c);
	if (r == 0)
		store_event(e->store, c->id, c->comparison, 0, "case %" PRId64 " %s: %s", c->id, case_state_word(state),
			    text);
	return MIN(r, 0);
}

int case_note(struct db_case *c, const char *note)
{
	free(c->note);
	c->note = xstrdup(note);
	return 0;
}
