/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/engine.h"
#include "kernels/build.h"

char *engine_git_dir(const struct config *cfg, const char *tree)
{
	return xasprintf("%s/trees/%s.git", cfg->state_dir, tree);
}

void scope_release(struct scope *s)
{
	db_comparison_release(&s->cmp);
	db_tree_release(&s->tree);
	tree_config_release(&s->tcfg);
	db_machine_release(&s->machine);
	db_job_release(&s->job);
	free(s->git_dir);
	*s = (struct scope){0};
}

int engine_scope(struct engine *e, int64_t comparison, struct scope *ret)
{
	struct scope s = {0};
	int r = store_comparison_by_id(e->store, comparison, &s.cmp);

	if (r >= 0)
		r = store_tree_by_id(e->store, s.cmp.tree, &s.tree);
	if (r >= 0)
		r = tree_config_from_db(&s.tree, &s.tcfg);
	if (r >= 0)
		r = store_machine_by_id(e->store, s.cmp.machine, &s.machine);
	if (r >= 0)
		r = store_job_get(e->store, s.cmp.job, &s.job);
	if (r < 0) {
		scope_release(&s);
		return r;
	}
	s.git_dir = engine_git_dir(e->cfg, s.tree.name);
	*ret = s;
	return 0;
}

bool engine_deterministic(const struct scope *s)
{
	const struct machine_ops *o = machine_driver(s->machine.driver);

	return o && (o->flags & MACHINE_DETERMINISTIC);
}

int engine_same_epoch(const struct scope *s)
{
	char now[BUILD_EPOCH];
	int r = build_epoch(s->tcfg.program ? BUILD_PROGRAM : BUILD_KERNEL, s->cmp.kconfig, now);

	return r < 0 ? r : streq(now, s->cmp.epoch);
}
