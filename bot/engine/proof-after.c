/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/proof-after.h"
#include "bot/engine/case-state.h"
#include "bot/engine/failure.h"
#include "bot/engine/proof-measure.h"
#include "bot/engine/proof-record.h"
#include "bot/engine/reach-plan.h"
#include "jobs/check.h"

int prove_concluded(struct engine *e, const struct scope *s, struct db_case *c, struct db_proof *p, const char *revert)
{
	char *said = xstrdup(revert);   /* it may be err_msg() */
	struct db_pair_check reach = {0};
	int r;

	free(p->revert);
	p->revert = said;
	if (p->parent && engine_reach(e, s, p->parent, c->culprit, &reach) >= 0 && reach.verdict == CHECK_FAIL)
		store_event(e->store, c->id, s->cmp.id, 0,
			    "warning: %.12s is not reached, so the place of code in memory or something "
			    "else did it: %s",
			    c->culprit, reach.evidence);
	db_pair_check_release(&reach);
	r = store_proof_put(e->store, p);
	if (r < 0)
		return r;
	if (c->failure)
		return case_state(e, c, CASE_FOUND, "%.12s fails, its parent does not, p=%.2g: %s; revert: %s",
				  c->culprit, p->p, c->failure, said);
	return case_state(e, c, CASE_FOUND,
			  "%.12s proven against its parent: %+.3f%% (%+.3f%% to %+.3f%%), p=%.2g; revert: %s",
			  c->culprit, 100 * p->effect, 100 * p->lo, 100 * p->hi, p->p, said);
}

/* Tip against tip with the culprit undone, interleaved. */
static int measure_revert(struct engine *e, const struct scope *s, struct db_case *c, struct db_proof *proof)
{
	_cleanup_pairs_ struct pairs_result x = {0};
	const struct pairs p = proof_pairs(s, c, s->cmp.head, proof->revert_commit, proof->revert_after);
	const struct verdict_result *v = &x.v;
	char text[300];
	int r;

	if (c->failure) {
		_cleanup_free_ char *told = NULL;

		r = failure_revert(e, s, c, proof->revert_commit, proof->revert_after, &told);
		return r > 0 ? prove_concluded(e, s, c, proof, told) : r;
	}
	r = pairs_step(e, &p, &x);
	if (r <= 0)
		return r;
	snprintf(text, sizeof(text),
		 "undone on top of %.10s: %+.3f%%, 95%% interval %+.3f%% to %+.3f%%, %zu+%zu boots%s", s->cmp.head,
		 100 * v->effect, 100 * v->lo, 100 * v->hi, x.n_a, x.n_b,
		 v->verdict != VERDICT_DIFFERENT      ? " (no change shown: something else in the range hides it)"
		 : (v->effect < 0) == (c->effect < 0) ? " (the same direction: treat with care)"
						      : "");
	return prove_concluded(e, s, c, proof, text);
}

int prove_by_revert(struct engine *e, const struct scope *s, struct db_case *c, struct db_proof *p)
{
	_cleanup_free_ char *made = NULL, *why = NULL;
	int r;

	if (!p->revert_commit) {
		if (streq(c->culprit, s->cmp.head))
			return prove_concluded(e, s, c, p, "it is the tip itself: undone, that is its parent");
		r = tree_revert(s->git_dir, c->culprit, s->cmp.head, &made);
		if (r < 0)
			return prove_concluded(e, s, c, p, err_msg());
		p->revert_commit = xstrdup(made);
		r = store_last_run(e->store, &p->revert_after);
		if (r >= 0)
			r = store_proof_put(e->store, p);
		return r < 0 ? r : case_state(e, c, CASE_PROVING, "undoing %.12s on top of %.12s as %.12s", c->culprit,
					      s->cmp.head, made);
	}
	r = proof_build(e, s, c, p->revert_commit, &why);
	if (why)
		return prove_concluded(e, s, c, p, why);
	return r > 0 ? measure_revert(e, s, c, p) : r;
}

static int aligned_done(struct engine *e, struct db_case *c, struct db_proof *p, const char *text)
{
	int r;

	p->aligned = xstrdup(text);
	r = store_proof_put(e->store, p);
	return r < 0 ? r : case_state(e, c, CASE_PROVING, "code layout: %s", text);
}

static const char *aligned_word(const struct verdict_result *v, double whole, double most)
{
	if (v->verdict != VERDICT_DIFFERENT)
		return most < fabs(whole) ? "vanishes, so it comes from the code's layout"
					  : "is not shown again, and not excluded";
	if ((v->effect < 0) != (whole < 0))
		return "turns round";
	return fabs(v->effect) < fabs(whole) / 2 ? "remains in part" : "remains";
}

/* What is left of the effect where no function moved: is it the commit's work, or where the linker put the code? */
static int judge_aligned(struct engine *e, struct db_case *c, struct db_proof *p, const struct pairs_result *x)
{
	const struct verdict_result *v = &x->v;
	double whole = p->effect, most = MAX(fabs(v->lo), fabs(v->hi));
	const char *word = aligned_word(v, whole, most);
	_cleanup_free_ char *text =
		xasprintf("with every function aligned to 64 bytes in both builds the difference %s: %+.3f%%, 95%% "
			  "interval %+.3f%% to %+.3f%%, %zu+%zu boots",
			  word, 100 * v->effect, 100 * v->lo, 100 * v->hi, x->n_a, x->n_b);

	p->aligned_effect = v->effect;
	return aligned_done(e, c, p, text);
}

int prove_aligned(struct engine *e, const struct scope *s, struct db_case *c, struct db_proof *proof)
{
	_cleanup_free_ char *kconfig = xasprintf("%s" KCONFIG_ALIGNED, s->cmp.kconfig), *why = NULL;
	_cleanup_pairs_ struct pairs_result x = {0};
	struct scope a = *s;    /* borrowed */
	struct pairs p;
	int r;

	a.cmp.kconfig = kconfig;
	if (!proof->aligned_after) {
		r = store_last_run(e->store, &proof->aligned_after);
		if (r >= 0)
			r = store_proof_put(e->store, proof);
		return r < 0 ? r
			     : case_state(e, c, CASE_PROVING, "building %.12s and its parent with aligned functions",
					  c->culprit);
	}
	r = proof_builds(e, &a, c, proof->parent, &why);
	p = proof_pairs(&a, c, proof->parent, c->culprit, proof->aligned_after);
	if (r > 0)
		r = pairs_step(e, &p, &x);
	if (r == -ENOTRECOVERABLE)
		why = xstrdup(err_msg());
	if (why) {
		_cleanup_free_ char *text = xasprintf("not measured with aligned functions: %s", why);

		return aligned_done(e, c, proof, text);
	}
	return r > 0 ? judge_aligned(e, c, proof, &x) : r;
}
