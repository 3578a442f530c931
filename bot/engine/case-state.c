/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/case-state.h"

int case_state(struct engine *e, struct db_case *c, enum case_state state, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->state = state;
	c->changed = now_usec();
	store_event(e->store, c->id, c->comparison, 0, "case %" PRId64 " %s: %s", c->id, case_state_word(state), text);
	return store_case_put(e->store, c, NULL);
}

int case_note(struct db_case *c, const char *note)
{
	free(c->note);
	c->note = xstrdup(note);
	return 0;
}
