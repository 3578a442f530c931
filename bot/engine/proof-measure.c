/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/proof-measure.h"
#include "bot/engine/needs.h"
#include "bot/engine/tasks.h"

struct pairs proof_pairs(const struct scope *s, struct db_case *c, const char *a, const char *b, int64_t after)
{
	return (struct pairs){.s = s, .a = a, .b = b, .metric = c->failure ? NULL : c->metric, .failure = c->failure,
			      .after_run = after, .priority = PRIO_PROOF, .c = c};
}

int proof_build(struct engine *e, const struct scope *s, struct db_case *c, const char *commit, char **ret_why)
{
	_cleanup_need_ struct need n = {0};
	int r = need_build(e, s, commit, PRIO_PROOF, c->id, &n);

	if (r < 0)
		return r;
	c->builds += n.queued;
	*ret_why = TAKE_PTR(n.why);
	return n.state == NEED_BUILT;
}

int proof_builds(struct engine *e, const struct scope *s, struct db_case *c, const char *parent, char **ret_why)
{
	int r = proof_build(e, s, c, parent, ret_why);

	return r > 0 ? proof_build(e, s, c, c->culprit, ret_why) : r;
}
