/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/pairs.h"
#include "bisect/failure.h"
#include "bot/engine/case-state.h"
#include "bot/engine/measured.h"
#include "bot/engine/outcomes.h"
#include "bot/engine/tasks.h"

void pairs_result_release(struct pairs_result *x)
{
	free(x->text);
	*x = (struct pairs_result){0};
}

static int look_at_values(struct engine *e, const struct pairs *p, struct pairs_result *x)
{
	struct verdict_config vc;
	struct boots a = {0}, b = {0};
	int r = engine_boots(e, p->s, p->a, p->metric, p->after_run, &a);

	if (r >= 0)
		r = engine_boots(e, p->s, p->b, p->metric, p->after_run, &b);
	if (r >= 0 && (a.n || b.n || !p->optional)) {
		r = engine_verdict_config(e, p->s, p->metric, &vc);
		if (r >= 0) {
			vc.alpha = p->alpha > 0 ? p->alpha : vc.alpha;
			vc.min_boots = p->min_boots ? p->min_boots : vc.min_boots;
			x->min_effect = vc.min_effect;
			r = verdict_two(&vc, a.value, a.n, b.value, b.n, &x->v);
		}
	}
	x->n_a = a.n;
	x->n_b = b.n;
	x->left_out = a.left_out + b.left_out;
	boots_release(&a);
	boots_release(&b);
	return r;
}

static int look_at_failures(struct engine *e, const struct pairs *p, struct pairs_result *x)
{
	_cleanup_outcomes_ struct outcomes a = {0}, b = {0};
	enum run_verdict kind = failure_kind(p->failure);
	double alpha = p->alpha > 0 ? p->alpha : e->cfg->alpha, rate_a, rate_b;
	struct failure_result f = {0};
	int r = engine_outcomes(e, p->s, p->a, kind, p->after_run, &a);

	if (r >= 0)
		r = engine_outcomes(e, p->s, p->b, kind, p->after_run, &b);
	if (r < 0)
		return r;
	verdict_fails(alpha, (size_t)e->cfg->max_boots, a.failed, a.n, b.failed, b.n, &f);
	x->hidden = outcomes_hidden(&a) || outcomes_hidden(&b);
	x->n_a = a.n;
	x->n_b = b.n;
	rate_a = a.n ? (double)f.fails_a / a.n : 0;
	rate_b = b.n ? (double)f.fails_b / b.n : 0;
	x->v = (struct verdict_result){.verdict = x->hidden ? VERDICT_SAME : f.verdict,
				       .mean_a = rate_a,
				       .mean_b = rate_b,
				       .sd = NAN,
				       .effect = rate_b - rate_a,
				       .lo = NAN,
				       .hi = NAN,
				       .p = f.p,
				       .more_boots = f.more_boots,
				       .why = f.why};
	x->text = xasprintf("%.12s fails in %zu of %zu boots, %.12s in %zu of %zu", p->b, f.fails_b, b.n, p->a,
			    f.fails_a, a.n);
	return 0;
}

int pairs_look(struct engine *e, const struct pairs *p, struct pairs_result *ret)
{
	struct pairs_result x = {0};
	int r = p->metric ? look_at_values(e, p, &x) : look_at_failures(e, p, &x);

	if (r < 0)
		return r;
	*ret = x;
	return 0;
}

int pairs_canary(struct engine *e, const struct pairs *p, struct pairs_result *x)
{
	return engine_canary_verdict(e, p->s, p->metric, p->a, p->b, p->after_run, x->v.effect, &x->canary);
}

int pairs_more(struct engine *e, const struct pairs *p, int n)
{
	struct canary k = {0};
	int64_t case_id = p->c ? p->c->id : 0;
	int r = engine_canary(e, p->s, p->a, p->b, p->priority, case_id, &k), queued;
	const struct engine_point sides[] = {{p->s, p->a}, {p->s, p->b}}, beside = {&k.scope, k.commit};

	if (r >= 0)
		r = engine_turns(e, &(const struct turns){.p = sides, .n_points = ARRAY_SIZE(sides), .goes_on = true,
							  .beside = k.on ? &beside : NULL, .n = n,
							  .priority = p->priority, .case_id = case_id});
	canary_release(&k);
	queued = r;
	if (r >= 0 && p->c) {
		p->c->boots += queued;
		r = case_put(e, p->c);
	}
	return r < 0 ? r : queued;
}

/* Runs a side that have to come before the verdict can; 0: none. */
static size_t missing(const struct pairs *p, const struct pairs_result *x)
{
	size_t n = MAX(x->v.more_boots, 1u);

	if (x->v.verdict == VERDICT_MORE)
		return x->n_a < p->min_boots ? MAX(n, p->min_boots - x->n_a) : n;
	return x->canary.state == CANARY_MORE;
}

int pairs_step(struct engine *e, const struct pairs *p, struct pairs_result *ret)
{
	_cleanup_pairs_ struct pairs_result x = {0};
	size_t n;
	int r = pairs_look(e, p, &x);

	if (r >= 0 && p->canary && x.v.verdict == VERDICT_DIFFERENT)
		r = pairs_canary(e, p, &x);
	n = r < 0 ? 0 : missing(p, &x);
	if (n)
		r = x.queued = pairs_more(e, p, (int)n);
	if (r < 0)
		return r;
	*ret = x;
	x.text = NULL;
	return n == 0;
}
