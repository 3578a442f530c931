/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a case from "confirmed" to "reported": the search; the proof is proof.c, the report report.c. */
#include "bot/engine/case.h"
#include "bot/engine/case-state.h"
#include "bot/engine/failure.h"
#include "bot/engine/measured.h"
#include "bot/engine/needs.h"
#include "bot/engine/proof-record.h"
#include "bot/engine/proof.h"
#include "bot/engine/report.h"
#include "bot/engine/tasks.h"
#include "kernels/build.h"

#include <json-c/json.h>

#define MAX_READY 20000         /* candidates up to which the build cache is looked through */

/* ---- what is known of each commit ---- */

struct case_node {
	struct db_build *build;
	bool ready;             /* finished in the build cache, but not asked for yet */
};
struct known_range {                  /* the range with all that the database knows of it */
	struct tree_range range;
	struct db_build *builds; size_t n_builds;
	struct case_node *node;
	struct db_case *earlier; size_t n_earlier;      /* found culprits of the same comparison */
	bool **below;                                   /* [earlier][node]: has that culprit among its ancestors */
	double *step;                                   /* [earlier]: its relative effect */
	struct strv cleared;                            /* named before, and contradicted by a proof */
};

static void field_release(struct known_range *f)
{
	for (size_t i = 0; i < f->n_earlier; i++)
		free(f->below[i]);
	DB_LIST_RELEASE(f->earlier, f->n_earlier, db_case_release);
	DB_LIST_RELEASE(f->builds, f->n_builds, db_build_release);
	free(f->below);
	free(f->step);
	strv_release(&f->cleared);
	free(f->node);
	tree_range_release(&f->range);
	*f = (struct known_range){0};
}

static int by_commit(const void *a, const void *b)
{
	return strcmp(((const struct db_build *)a)->commit, ((const struct db_build *)b)->commit);
}

static int64_t node_of(const struct known_range *f, const char *oid)
{
	for (uint32_t i = 0; i < f->range.dag.n; i++)
		if (streq(f->range.oid[i], oid))
			return i;
	return -1;
}

/* Culprits found earlier in this comparison: their steps are taken out of the values. */
static int load_earlier(struct engine *e, const struct db_case *c, struct known_range *f)
{
	struct db_case *all = NULL;
	size_t n = 0;
	int r = store_cases(e->store, &all, &n);

	f->earlier = xcalloc(n, sizeof(*f->earlier));
	f->below = xcalloc(n, sizeof(*f->below));
	f->step = xcalloc(n, sizeof(*f->step));
	for (size_t i = 0; r >= 0 && i < n; i++) {
		double step = all[i].comparison == c->comparison && streq(all[i].metric, c->metric) && all[i].part < c->part &&
					      all[i].culprit ? proof_number(&all[i], "effect") : NAN;
		int64_t at = isfinite(step) ? node_of(f, all[i].culprit) : -1;

		if (at >= 0) {
			bool *below = xcalloc(f->range.dag.n, sizeof(bool));
			const struct dag *d = &f->range.dag;

			below[at] = true;
			for (uint32_t k = at + 1; k < d->n; k++)
				for (uint32_t p = d->first[k]; p < d->first[k + 1]; p++)
					below[k] |= below[d->parent[p]];
			f->below[f->n_earlier] = below;
			f->step[f->n_earlier] = step;
			f->earlier[f->n_earlier++] = all[i];
			all[i] = (struct db_case){0};
		}
	}
	DB_LIST_RELEASE(all, n, db_case_release);
	return MIN(r, 0);
}

/* Builds of an earlier search, of another tree or branch: they cost a look into the cache. */
static int load_ready(struct engine *e, const struct scope *s, struct known_range *f)
{
	const struct build_request q = {.kind = s->tcfg.program ? BUILD_PROGRAM : BUILD_KERNEL, .tree = s->tree.name,
					.git_dir = s->git_dir, .kconfig = s->cmp.kconfig, .command = s->tcfg.build_command,
					.artefact = s->tcfg.artefact, .state_dir = e->cfg->state_dir, .cache_dir = e->cfg->cache_dir};
	_cleanup_free_ bool *ready = xcalloc(f->range.dag.n + 1, sizeof(*ready));

	if (f->range.dag.n <= MAX_READY && build_ready(&q, f->range.oid, f->range.dag.n, ready) >= 0)
		for (uint32_t i = 0; i < f->range.dag.n; i++)
			f->node[i].ready = ready[i] && !f->node[i].build;
	return 0;
}

static int field_load(struct engine *e, const struct scope *s, const struct db_case *c, struct known_range *ret)
{
	struct known_range f = {0};
	int r = tree_range(s->git_dir, s->cmp.base, s->cmp.head, s->tcfg.max_commits, &f.range);

	if (r >= 0)
		r = store_builds(e->store, s->tree.id, s->cmp.kconfig, &f.builds, &f.n_builds);
	if (r < 0) {
		field_release(&f);
		return r;
	}
	proof_contradicted(c, &f.cleared);
	f.node = xcalloc(f.range.dag.n, sizeof(*f.node));
	qsort(f.builds, f.n_builds, sizeof(*f.builds), by_commit);
	for (uint32_t i = 0; i < f.range.dag.n && f.n_builds; i++) {
		struct db_build key = {.commit = f.range.oid[i]};

		f.node[i].build = bsearch(&key, f.builds, f.n_builds, sizeof(key), by_commit);
	}
	r = load_ready(e, s, &f);
	if (r >= 0)
		r = load_earlier(e, c, &f);
	if (r < 0) {
		field_release(&f);
		return r;
	}
	*ret = f;
	return 0;
}

static bool built_ok(const struct case_node *n) { return n->build && n->build->state == BUILD_OK; }

/* Its image equals that of all its parents: it cannot have changed anything. */
static bool same_image(const struct known_range *f, uint32_t i)
{
	const struct dag *d = &f->range.dag;

	if (!built_ok(&f->node[i]) || d->first[i] == d->first[i + 1])
		return false;
	for (uint32_t p = d->first[i]; p < d->first[i + 1]; p++) {
		const struct case_node *parent = &f->node[d->parent[p]];

		if (!built_ok(parent) || !streq(parent->build->image_hash, f->node[i].build->image_hash))
			return false;
	}
	return true;
}

static int observe(struct engine *e, const struct scope *s, const struct db_case *c, const struct known_range *f,
		   uint32_t i, struct search *search)
{
	struct boots b = {0};
	struct engine_runs runs = {0};
	int r;

	if (c->failure)
		return failure_observe(e, s, c, f->range.oid[i], i, search);
	r = engine_boots(e, s, f->range.oid[i], c->metric, s->cmp.after_run, &b);
	for (size_t k = 0; r >= 0 && k < b.n; k++) {
		double v = b.value[k];

		for (size_t j = 0; j < f->n_earlier; j++)
			if (f->below[j][i])
				v /= 1 + f->step[j];
		r = search_observe(search, i, v, b.when[k]);
	}
	if (r >= 0 && !b.n) {
		r = engine_runs(e, s, f->range.oid[i], 0, &runs);
		if (r >= 0 && runs.bad >= 2)
			r = search_skip(search, i, runs.no_boot == runs.bad ? DROPPED_NO_BOOT : DROPPED_RUNS_FAIL);
		engine_runs_release(&runs);
	}
	boots_release(&b);
	return MIN(r, 0);
}

/* Tells the search all that the database knows. */
static int feed(struct engine *e, const struct scope *s, const struct db_case *c, const struct known_range *f,
		struct search *search)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < f->range.dag.n; i++) {
		const struct case_node *n = &f->node[i];

		if (i && i <= f->range.n_forks)
			r = search_outside(search, i);
		else if (f->range.why[i])
			r = search_drop(search, i, f->range.why[i]);
		else if (i && same_image(f, i))
			r = search_drop(search, i, DROPPED_SAME_IMAGE);
		for (size_t j = 0; r >= 0 && j < f->n_earlier; j++)
			if (streq(f->range.oid[i], f->earlier[j].culprit))
				r = search_drop(search, i, DROPPED_NAMED);
		if (r >= 0 && strv_has(&f->cleared, f->range.oid[i]))
			r = search_drop(search, i, DROPPED_CLEARED);
		if (r >= 0 && n->build && n->build->state == BUILD_BROKEN)
			r = search_skip(search, i, DROPPED_NO_BUILD);
		if (r >= 0 && n->ready)
			r = search_built(search, i);
		if (r >= 0 && built_ok(n)) {
			r = search_built(search, i);
			if (r >= 0)
				r = observe(e, s, c, f, i, search);
		}
	}
	return r;
}

/* Seconds, learnt from what was built and booted here. Every candidate is built after a neighbour, so that is what a build
 * costs; from nothing only where no other is known (programs are always built so). */
struct costs { double build, boot; struct build_costs learnt; };
static struct costs costs(struct engine *e, const struct scope *s)
{
	struct costs k = {.build = 60, .boot = store_run_cost(e->store, s->job.id, s->machine.tbox_group),
			  .learnt = {.clean = NAN, .incremental = NAN}};

	(void)store_build_costs(e->store, s->tree.id, s->cmp.kconfig, &k.learnt);
	if (isfinite(k.learnt.incremental))
		k.build = k.learnt.incremental;
	else if (isfinite(k.learnt.clean))
		k.build = k.learnt.clean;
	if (!isfinite(k.boot))
		k.boot = 10;
	return k;
}

static int search_for(struct engine *e, const struct scope *s, const struct db_case *c, const struct known_range *f,
		      struct search **ret)
{
	struct verdict_config vc;
	struct costs k = costs(e, s);
	struct search *search = NULL;
	int r = engine_verdict_config(e, s, c->metric, &vc);
	struct search_config sc = {.confidence = c->confidence, .min_effect = r < 0 || c->failure ? 0 : vc.min_effect,
				   .sigma_floor = r < 0 || c->failure ? 0 : vc.sigma_floor, .binary = c->failure,
				   .build_cost = k.build, .boot_cost = k.boot};

	if (r >= 0)
		r = search_new(&sc, &f->range.dag, &search);
	if (r >= 0)
		r = feed(e, s, c, f, search);
	if (r < 0) {
		search_free(search);
		return r;
	}
	*ret = search;
	return 0;
}

/* Candidates and dropped commits, for the report and "case show". */
static char *candidates_json(const struct known_range *f, struct search *search, const struct search_step *step)
{
	struct json_object *o = json_object_new_object(), *left = json_object_new_array(), *drop = json_object_new_array();
	char *text;

	for (uint32_t i = 0; i < step->set_n && step->action == SEARCH_SET; i++) {
		struct json_object *x = json_object_new_object();

		json_object_object_add(x, "commit", json_text(f->range.oid[step->set[i]]));
		json_object_object_add(x, "posterior", json_object_new_double(search_posterior(search, step->set[i])));
		json_object_array_add(left, x);
	}
	for (uint32_t i = 1 + f->range.n_forks; i < f->range.dag.n; i++) {
		enum dropped why = search_dropped(search, i) ?: search_skipped(search, i);

		if (why && why != DROPPED_NAMED) {
			struct json_object *x = json_object_new_object();

			json_object_object_add(x, "commit", json_text(f->range.oid[i]));
			json_object_object_add(x, "why", json_text(dropped_text(why)));
			json_object_array_add(drop, x);
		}
	}
	json_object_object_add(o, "commits", json_object_new_int(f->range.dag.n - 1 - f->range.n_forks));
	json_object_object_add(o, "set", left);
	json_object_object_add(o, "dropped", drop);
	text = json_line(o);
	json_object_put(o);
	return text;
}

/* ---- the search ---- */

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
			return case_state(e, c, CASE_NOT_REPRODUCED, "%.12s cannot be built here: %s", commit, need.reason);
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
		    "bisection: %s %.12s (%u boot%s; %s); none %.3f, about %.0f more boots", n->build ? "boot" : "build",
		    commit, step->boots, step->boots == 1 ? "" : "s", step->why ? step->why : "",
		    search_posterior_none(search), step->expected_boots);
	return store_case_put(e->store, c, NULL);
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

static int bisect(struct engine *e, const struct scope *s, struct db_case *c)
{
	struct known_range f = {0};
	struct search *search = NULL;
	struct search_step step = {0};
	int r = field_load(e, s, c, &f);

	if (r >= 0)
		r = search_for(e, s, c, &f, &search);
	if (r >= 0)
		r = search_step(search, &step);
	if (r >= 0 && step.action != SEARCH_MEASURE) {
		free(c->candidates);
		c->candidates = candidates_json(&f, search, &step);
	}
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
				r = case_state(e, c, CASE_NOT_REPRODUCED, "gave up after %" PRId64 " boots: %s", c->boots,
					      c->note ? c->note : "");
			break;
		}
	search_free(search);
	field_release(&f);
	return r;
}

static int start_search(struct engine *e, const struct scope *s, struct db_case *c)
{
	const struct costs k = costs(e, s);
	char clean[64] = "";

	if (isfinite(k.learnt.clean) && isfinite(k.learnt.incremental))
		snprintf(clean, sizeof(clean), " (from nothing %.3g s)", k.learnt.clean);
	return case_state(e, c, CASE_BISECTING, "%.12s..%.12s; a boot takes about %.3g s, a build %.3g s%s", s->cmp.base, s->cmp.head,
			 k.boot, k.build, clean);
}

int engine_plan_case(struct engine *e, struct db_case *c)
{
	struct scope s = {0};
	int r = 0;

	if (c->state == CASE_UNMAILED)
		return case_state(e, c, CASE_FOUND, "asked again, and now to be mailed");
	if (c->state == CASE_FOUND)
		return engine_plan_report(e, c);
	if (engine_has_active(e, c->comparison, c->id))
		return 0;
	r = engine_scope(e, c->comparison, &s);
	s.failing = c->failure;
	if (r >= 0)
		r = engine_same_epoch(&s);
	if (r < 0)
		return r;
	if (r == 0) {
		case_note(c, "the configuration or the toolchain has changed meanwhile");
		r = case_state(e, c, CASE_NOT_REPRODUCED, "the configuration or the toolchain has changed meanwhile");
	} else if (c->state == CASE_CONFIRMED)
		r = start_search(e, &s, c);
	else if (c->state == CASE_PROVING)
		r = proof_go_on(e, &s, c);
	else
		r = bisect(e, &s, c);
	if (r == -ENOTRECOVERABLE) {
		_cleanup_free_ char *why = xstrdup(err_msg());

		case_note(c, why);
		r = case_state(e, c, CASE_NOT_REPRODUCED, "%s", why);
	}
	scope_release(&s);
	return r;
}
