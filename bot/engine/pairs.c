/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/pairs.h"
#include "bot/engine/canary.h"
#include "bot/engine/tasks.h"

int engine_pair_tasks(struct engine *e, const struct scope *s, const char *a, const char *b, int n, int priority,
		      int64_t case_id)
{
	struct canary k = {0};
	int r = engine_canary(e, s, a, b, priority, case_id, &k);
	const struct engine_point beside = {&k.scope, k.commit};

	if (r >= 0)
		r = engine_turns(e, &(const struct turns){.p = (const struct engine_point[]){{s, a}, {s, b}}, .n_points = 2,
							  .goes_on = true, .beside = k.on ? &beside : NULL, .n = n,
							  .priority = priority, .case_id = case_id});
	canary_release(&k);
	return r;
}
