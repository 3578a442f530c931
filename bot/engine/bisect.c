/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/bisect.h"
#include "bot/engine/case-state.h"
#include "bot/engine/known.h"
#include "bot/engine/needs.h"
#include "bot/engine/proof.h"
#include "bot/engine/tasks.h"

/* The search has ended: what is left where it is a set, and what was dropped. */
static int keep_candidates(struct engine *e, struct db_case *c, const struct known_range *f, struct search *search,
			   const struct search_step *step)
{
	const uint32_t first = 1 + f->range.n_forks, n = f->range.dag.n;
	_cleanup_free_ struct db_candidate *list = xcalloc(n, sizeof(*list));
	_cleanup_free_ bool *left = xcalloc(n, sizeof(*left));
	size_t k = 0;

	for (uint32_t i = 0; i < step->set_n && step->action == SEARCH_SET; i++)
		left[step->set[i]] = true;
	for (uint32_t i = first; i < n; i++) {
		enum dropped why = search_dropped(search, i) ?: search_skipped(search, i);

		if (why == DROPPED_NAMED) /* it has a case of its own */
			why = DROPPED_NOT;
		if (left[i] || why)
			list[k++] = (struct db_candidate){c->id, f->range.oid[i],
							  left[i] ? CANDIDATE_LEFT : CANDIDATE_DROPPED, why,
							  left[i] ? search_posterior(search, i) : NAN};
	}
	c->commits = n - first;
	return store_candidates_put(e->store, c->id, list, k);
}

static int found_one(struct engine *e, const struct scope *s, struct db_case *c, const struct known_range *f,
		     const struct search *search, const struct search_step *step)
{
	uint32_t parent = search_parent(search, step->node);

	free(c->culprit);
	c->culprit = xstrdup(f->range.oid[step->node]);
	c->posterior = step->posterior;
	c->effect = step->effect;
	c->effect_lo = step->effect_lo;
	c->effect_hi = step->effect_hi;
	if (parent == UINT32_MAX) {
		case_note(c, "the culprit begins a history of its own: it has no parent, so there is no proof");
		return case_state(e, c, CASE_FOUND, "%.12s, posterior %.4f; not proven: it has no parent", c->culprit,
				  c->posterior);
	}
	return proof_start(e, s, c, c->culprit, f->range.oid[parent]);
}

static int measure(struct engine *e, const struct scope *s, struct db_case *c, const struct known_range *f,
		   struct search *search, const struct search_step *step)
{
	const struct case_node *n = &f->node[step->node];
	const char *commit = f->range.oid[step->node];
	int r;

	if (!n->build) { /* build first: its image may turn out to be known already */
		_cleanup_need_ struct need need = {0};

		r = need_build(e, s, commit, PRIO_SEARCH, c->id, &need);
		if (r >= 0 && need.state == NEED_NEVER) {
			case_note(c, need.reason);
			return case_state(e, c, CASE_NOT_REPRODUCED, "%.12s cannot be built here: %s", commit,
					  need.reason);
		}
		if (r < 0 || !need.queued)
			return r;
		c->builds++;
	} else {
		r = engine_run_tasks(e, s, commit, MAX(step->boots, 1u), PRIO_SEARCH, c->id);
		c->boots += MAX(r, 0);
	}
	if (r < 0)
		return r;
	store_event(e->store, c->id, s->cmp.id, 0,
		    "bisection: %s %.12s (%u boot%s; %s); none %.3f, about %.0f more boots",
		    n->build ? "boot" : "build", commit, step->boots, step->boots == 1 ? "" : "s",
		    step->why ? step->why : "", search_posterior_none(search), step->expected_boots);
	return MIN(case_put(e, c), 0);
}

/* Why a search gave up: an end that cannot be measured by its name, else what the search says. */
static void say_ends(const struct known_range *f, const struct search *search, const struct search_step *step,
		     struct db_case *c)
{
	const uint32_t end[2] = {0, f->range.dag.n - 1};
	_cleanup_buf_ struct buf b = {0};

	for (int i = 0; i < 2; i++) {
		enum dropped why = search_skipped(search, end[i]);

		if (why)
			buf_addf(&b, "%s%.12s %s", b.len ? "; " : "", f->range.oid[end[i]], dropped_text(why));
	}
	case_note(c, b.len ? b.s : step->why);
}

static int found_set(struct engine *e, struct db_case *c, const struct search_step *step)
{
	_cleanup_free_ char *note = xasprintf("the culprit is one of a set: %s", step->why);

	c->posterior = step->posterior;
	case_note(c, note);
	return case_state(e, c, CASE_FOUND, "one of %u commits, posterior %.4f: %s", step->set_n, step->posterior,
			  step->why);
}

/* The ends do not differ: what was seen is gone, or came before. */
static int found_nothing(struct engine *e, const struct scope *s, struct db_case *c, const struct known_range *f,
			 const struct search_step *step)
{
	_cleanup_free_ char *note = NULL;

	if (f->cleared.n)
		return proof_nobody(e, c, step->why);
	note = c->failure
		       ? xstrdup("the head does not fail more often than the base when run again")
		       : xasprintf(
				 "no difference shown between the ends when measured again: what changed the metric, if anything "
				 "did, lies outside of %.12s..%.12s",
				 s->cmp.base, s->cmp.head);
	case_note(c, note);
	return c->failure ? case_state(e, c, CASE_NOT_REPRODUCED, "%s", note)
			  : case_state(e, c, CASE_NOT_REPRODUCED, "%s; effects above %.3f%% are excluded", note,
				       100 * step->excluded);
}

int bisect_step(struct engine *e, const struct scope *s, struct db_case *c)
{
	struct known_range f = {0};
	struct search *search = NULL;
	struct search_step step = {0};
	int r = known_load(e, s, c, &f);

	if (r >= 0)
		r = known_search(e, s, c, &f, &search);
	if (r >= 0)
		r = search_step(search, &step);
	if (r >= 0 && step.action != SEARCH_MEASURE)
		r = keep_candidates(e, c, &f, search, &step);
	if (r >= 0)
		switch (step.action) {
		case SEARCH_MEASURE:
			r = measure(e, s, c, &f, search, &step);
			break;
		case SEARCH_FOUND:
			r = found_one(e, s, c, &f, search, &step);
			break;
		case SEARCH_SET:
			r = found_set(e, c, &step);
			break;
		case SEARCH_NOT_REPRODUCED:
			r = found_nothing(e, s, c, &f, &step);
			break;
		case SEARCH_GAVE_UP:
			say_ends(&f, search, &step, c);
			if (f.cleared.n)
				r = proof_nobody(e, c, step.why);
			else
				r = case_state(e, c, CASE_NOT_REPRODUCED, "gave up after %" PRId64 " boots: %s",
					       c->boots, c->note ? c->note : "");
			break;
		}
	search_free(search);
	known_release(&f);
	return r;
}

int bisect_start(struct engine *e, const struct scope *s, struct db_case *c)
{
	const struct search_costs k = known_costs(e, s);
	char clean[64] = "";

	if (isfinite(k.learnt.clean) && isfinite(k.learnt.incremental))
		snprintf(clean, sizeof(clean), " (from nothing %.3g s)", k.learnt.clean);
	return case_state(e, c, CASE_BISECTING, "%.12s..%.12s; a boot takes about %.3g s, a build %.3g s%s",
			  s->cmp.base, s->cmp.head, k.boot, k.build, clean);
}
