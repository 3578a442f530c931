/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/needs.h"
#include "bot/engine/tasks.h"

void need_release(struct need *n)
{
	db_build_release(&n->build);
	free(n->reason);
	free(n->why);
	*n = (struct need){0};
}

static void say(struct need *n, enum need_state state, const char *commit, const char *reason)
{
	n->state = state;
	n->reason = xstrdup(reason);
	n->why = xasprintf("%.12s %s: %s", commit, state == NEED_BROKEN ? "does not build" : "cannot be built", reason);
}

int need_build(struct engine *e, const struct scope *s, const char *commit, int priority, int64_t case_id,
	       struct need *ret)
{
	_cleanup_(db_task_release) struct db_task t = {0};
	struct need n = {0};
	int64_t task;
	int r = engine_build_task(e, s, commit, priority, case_id, &task);

	n.queued = r == 0;
	if (r >= 0)
		r = store_task_by_id(e->store, task, &t);
	if (r < 0)
		return r;
	if (task_gave_up(t.state)) {
		say(&n, NEED_NEVER, commit, t.result ? t.result : "no reason known");
	} else if (t.state == TASK_DONE) { /* a row that was there before may be of another compiler or configuration */
		r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &n.build);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r >= 0 && n.build.state != BUILD_OK)
			say(&n, NEED_BROKEN, commit, n.build.error ? n.build.error : "see its log");
		else if (r >= 0)
			n.state = NEED_BUILT;
	}
	*ret = n;
	return 0;
}
