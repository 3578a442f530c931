/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/proof.h"
#include "bot/engine/case-state.h"
#include "bot/engine/failure.h"
#include "bot/engine/proof-after.h"
#include "bot/engine/proof-measure.h"
#include "bot/engine/proof-record.h"
#include "bot/engine/reach-plan.h"
#include "bot/engine/tasks.h"

#define MAX_PARTS 4             /* culprits searched in one comparison */
#define MAX_CONTRADICTED 4      /* proofs that may contradict a search */

int proof_start(struct engine *e, const struct scope *s, struct db_case *c, const char *culprit, const char *parent)
{
	struct commit_info info = {0};
	int64_t last = 0;       /* later runs are fresh */
	int r = store_last_run(e->store, &last);

	if (r >= 0)
		r = tree_commit(s->git_dir, culprit, &info);
	if (r >= 0 && !info.n_parents)
		r = err_set(-ENOTRECOVERABLE, "commit %.12s begins a history: it has no parent to prove it against",
			    culprit);
	if (r >= 0)
		r = proof_begin(e, c, parent ? parent : info.parents[0], last);
	if (r >= 0)
		r = case_state(e, c, CASE_PROVING,
			       "%.12s (\"%s\"), posterior %.4f after %" PRId64 " boots and %" PRId64 " builds", culprit,
			       info.subject, c->posterior, c->boots, c->builds);
	commit_info_release(&info);
	return r;
}

/* Much of the whole change unexplained by this culprit? Then search on for the next one. */
static int look_for_more(struct engine *e, const struct scope *s, const struct db_case *c,
			 const struct verdict_result *v, double min_effect)
{
	struct db_case next = {.comparison = c->comparison, .metric = c->metric, .state = CASE_BISECTING,
			       .part = c->part + 1, .confidence = c->confidence, .posterior = NAN};
	double rest = (1 + c->effect) / (1 + v->effect) - 1;
	double slack = (v->hi - v->lo) / 2 + (c->effect_hi - c->effect_lo) / 2;
	int64_t id = 0;
	int r;

	if (!isfinite(rest) || fabs(rest) < MAX(2 * min_effect, 2 * slack) || next.part >= MAX_PARTS)
		return 0;
	next.effect = rest;
	next.effect_lo = rest - slack;
	next.effect_hi = rest + slack;
	next.opened = next.changed = now_usec();
	r = store_case_put(e->store, &next, &id);
	if (r >= 0)
		store_event(e->store, id, s->cmp.id, 0, "%+.3f%% of %+.3f%% is not explained by %.12s: searching on",
			    100 * rest, 100 * c->effect, c->culprit);
	return r == -EEXIST ? 0 : MIN(r, 0);
}

int proof_nobody(struct engine *e, struct db_case *c, const char *why)
{
	_cleanup_strv_ struct strv list = {0};
	_cleanup_buf_ struct buf b = {0};
	int r = proof_contradicted(e, c, &list);

	if (r < 0)
		return r;
	for (size_t i = 0; i < list.n; i++)
		buf_addf(&b, "%s%.12s", i ? ", " : "", list.v[i]);
	buf_addf(&b, "%s named by the search, but measured again shows no such change against %s",
		 list.n > 1 ? " were" : " was", list.n > 1 ? "their parents" : "its parent");
	if (why)
		buf_addf(&b, "; without %s: %s", list.n > 1 ? "them" : "it", why);
	case_note(c, buf_str(&b));
	return case_state(e, c, CASE_NOT_REPRODUCED, "%s", c->note);
}

static int proof_failed(struct engine *e, struct db_case *c, struct db_proof *p, const struct verdict_result *v)
{
	_cleanup_strv_ struct strv list = {0};
	int r = proof_contradict(e, c, p, v->effect);

	if (r >= 0)
		r = proof_contradicted(e, c, &list);
	if (r < 0)
		return r;
	if (list.n >= MAX_CONTRADICTED)
		return proof_nobody(e, c, NULL);
	return case_state(e, c, CASE_BISECTING,
			  "the proof contradicts the search: %.12s is %+.3f%% against its parent %.12s; searching "
			  "on without it",
			  p->commit, 100 * v->effect, p->parent);
}

/* It was the machine that changed: the proof begins afresh. */
static int proof_disturbed(struct engine *e, const struct scope *s, struct db_case *c, const struct db_proof *p,
			   const char *canary)
{
	int r = engine_flag_machine(e, s, canary + 2);

	store_event(e->store, c->id, c->comparison, 0, "proof: machine '%s' was not steady%s", s->machine.name, canary);
	if (r < 0)
		return r;
	if (p->tries < 3)
		return proof_start(e, s, c, c->culprit, p->parent);
	case_note(c, "no proof: the machine changed while the culprit and its parent were measured");
	return case_state(e, c, CASE_NOT_REPRODUCED, "the machine was not steady in three tries of the proof%s",
			  canary);
}

/* The same of a benchmark that fails: the rates of both instead of means. */
static int prove_failure(struct engine *e, const struct scope *s, struct db_case *c, struct db_proof *proof)
{
	_cleanup_pairs_ struct pairs_result x = {0};
	const struct pairs p = proof_pairs(s, c, proof->parent, c->culprit, proof->after_run);
	int r = pairs_step(e, &p, &x);

	if (r <= 0)
		return r;
	if (x.hidden) {
		case_note(c, "the culprit or its parent fails in another way, too, so there is no proof");
		return case_state(e, c, CASE_FOUND, "not proven: %s", x.text);
	}
	if (x.v.verdict != VERDICT_DIFFERENT)
		return proof_failed(e, c, proof, &x.v);
	r = proof_keep(e, proof, &x);
	if (r >= 0)
		r = failure_own_words(e, s, c, proof->after_run);
	return r < 0 ? r : case_state(e, c, CASE_PROVING, "proven against its parent: %s", x.text);
}

static int prove_with(struct engine *e, const struct scope *s, struct db_case *c, struct db_proof *proof)
{
	_cleanup_pairs_ struct pairs_result x = {0};
	struct pairs p = proof_pairs(s, c, proof->parent, c->culprit, proof->after_run);
	int r;

	p.min_boots = engine_deterministic(s) ? MIN(e->cfg->proof_boots, 3) : e->cfg->proof_boots;
	p.canary = true;
	r = pairs_step(e, &p, &x);
	if (r <= 0)
		return r;
	if (x.canary.state == CANARY_MOVED)
		return proof_disturbed(e, s, c, proof, x.canary.text);
	if (x.v.verdict != VERDICT_DIFFERENT || (x.v.effect < 0) != (c->effect < 0))
		return proof_failed(e, c, proof, &x.v);
	r = proof_keep(e, proof, &x);
	if (r >= 0)
		r = look_for_more(e, s, c, &x.v, x.min_effect);
	return r < 0 ? r
		     : case_state(e, c, CASE_PROVING, "%.12s proven against its parent: %+.3f%%, %zu+%zu boots",
				  c->culprit, 100 * x.v.effect, x.n_a, x.n_b);
}

/* One more boot of the culprit sees whether it runs what it changes; where instructions can be counted exactly, one of
 * the parent, too, for their difference. For the report only, never for the verdict. Returns 1, or negative. */
static int count_both(struct engine *e, const struct scope *s, struct db_case *c, const char *parent)
{
	const struct machine *m = engine_deterministic(s) ? config_machine(e->cfg, s->machine.name) : NULL;
	const char *const commit[] = {c->culprit, parent};
	int r = engine_reach_plan(e, s, parent, c->culprit, PRIO_PROOF - 1, c->id);
	bool exact = r >= 0 && m && !s->tcfg.program && machine_profile_check(m) >= 0;

	for (size_t i = 0; r >= 0 && exact && i < ARRAY_SIZE(commit); i++)
		r = engine_profile_task(e, s, NULL, commit[i], NULL, PRIO_PROOF - 1, c->id);
	return r < 0 ? r : 1;
}

int proof_cut_short(struct engine *e, const struct scope *s, struct db_case *c, const char *why)
{
	_cleanup_proof_ struct db_proof p = {0};
	_cleanup_free_ char *text = xasprintf("not measured: %s", why);
	int r = c->state == CASE_PROVING ? store_proof_get(e->store, c, &p) : -ENOENT;

	if (r >= 0 && p.state == PROOF_SHOWN)
		r = prove_concluded(e, s, c, &p, p.revert ? p.revert : text);
	else
		return r == -ENOENT ? 0 : MIN(r, 0);
	return r < 0 ? r : 1;
}

int proof_go_on(struct engine *e, const struct scope *s, struct db_case *c)
{
	_cleanup_proof_ struct db_proof p = {0};
	_cleanup_free_ char *why = NULL;
	int r = store_proof_get(e->store, c, &p);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == -ENOENT || (p.state == PROOF_OPEN && !p.after_run))
		return proof_start(e, s, c, c->culprit, p.parent);
	if (p.state == PROOF_CONTRADICTED) /* stopped between the two writes */
		return proof_failed(e, c, &p, &(struct verdict_result){.effect = p.effect});
	if (p.state == PROOF_SHOWN) {
		bool wanted = !c->failure && (e->cfg->proof_aligned || p.align);

		return wanted && !p.aligned ? prove_aligned(e, s, c, &p) : prove_by_revert(e, s, c, &p);
	}
	r = proof_builds(e, s, c, p.parent, &why);
	if (r > 0 && !c->failure) /* there is nothing to count where it fails */
		r = count_both(e, s, c, p.parent);
	if (why) {
		case_note(c, "the culprit or its parent does not build, so there is no proof");
		return case_state(e, c, CASE_FOUND, "not proven: %s", why);
	}
	if (r > 0)
		r = (c->failure ? prove_failure : prove_with)(e, s, c, &p);
	return MIN(r, 0);
}
