/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Was the change reached? An extra boot of the newer commit sees what runs; the answer is of the pair of commits. */
#include "bot/engine/reach-plan.h"
#include "bot/engine/tasks.h"
#include "bot/engine/reach.h"
#include "jobs/check.h"

/* Only where the machine boots what is built from the tree. */
static bool can_reach(const struct scope *s)
{
	const struct machine_ops *o = machine_driver(s->machine.driver);

	return !s->tcfg.program && o && (o->flags & MACHINE_BOOTS);
}

/* True where that boot was to watch the functions that changed since base. */
static bool asked_since(const struct db_task *t, const char *base)
{
	_cleanup_payload_ struct task_payload p = {0};

	return task_payload_read(t->kind, t->payload, &p) >= 0 && streq(p.base, base);
}

/* A key of its own for a base other than that of the usual task: only where functions were watched one by one. */
static int watch_others(struct engine *e, const struct scope *s, const struct db_build *b, const char *base,
			int priority, int64_t case_id)
{
	_cleanup_free_ char *usual = engine_profile_key(s, b->commit), *own = xasprintf("%s:%s", usual, base);
	struct db_task t = {0};
	struct db_profile p = {0};
	bool others = false;
	int r = store_task_by_key(e->store, usual, &t);

	if (r >= 0 && t.state == TASK_DONE && !asked_since(&t, base)) {
		r = store_profile_get(e->store, b->id, s->job.id, s->machine.tbox_group, &p);
		others = r >= 0 && !streq(p.means, "plugin");
		r = r == -ENOENT ? 0 : r;
		db_profile_release(&p);
	}
	db_task_release(&t);
	if (r >= 0 && others)
		r = engine_profile_task(e, s, base, b->commit, own, priority, case_id);
	return r < 0 ? r : others && r == 0;
}

int engine_reach_plan(struct engine *e, const struct scope *s, const char *base, const char *commit, int priority,
		      int64_t case_id)
{
	struct db_build b = {0};
	int r;

	if (!can_reach(s) || !e->cfg->reach)
		return 0;
	r = engine_profile_task(e, s, base, commit, NULL, priority, case_id);
	if (r == 0)
		return 1;
	if (r < 0 || store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b) < 0)
		return MIN(r, 0);
	r = watch_others(e, s, &b, base, priority, case_id);
	db_build_release(&b);
	return r;
}

/* Why there is no profile: the last word of the task that should have made one. New string or NULL. */
static char *why_not(struct engine *e, const struct scope *s, const char *commit)
{
	_cleanup_free_ char *key = engine_profile_key(s, commit);
	struct db_task t = {0};
	char *why = NULL;

	if (store_task_by_key(e->store, key, &t) >= 0 && t.result)
		why = xstrdup(t.result);
	db_task_release(&t);
	return why;
}

int engine_reach(struct engine *e, const struct scope *s, const char *base, const char *commit,
		 struct db_pair_check *ret)
{
	_cleanup_free_ char *why = NULL;
	struct db_build b = {0};
	struct db_pair_check k = {0};
	const struct reach_pair q = {&b, base, s->git_dir, s->job.id, s->machine.tbox_group};
	int r;

	if (!can_reach(s))
		return err_set(-ENOENT, "'%s' does not boot what is built", s->machine.name);
	why = why_not(e, s, commit);
	r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b);
	if (r >= 0)
		r = reach_check(e->store, &q, why, &k);
	if (r >= 0)
		r = store_pair_check_put(e->store, &k);
	db_build_release(&b);
	if (r < 0) {
		db_pair_check_release(&k);
		return r;
	}
	*ret = k;
	return 0;
}
