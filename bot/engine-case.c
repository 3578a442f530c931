/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a case from "confirmed" to "reported": the search, the proof, the report. */
#include "bot/engine.h"
#include "jobs/check.h"
#include "kernels/build.h"
#include "lib/buf.h"

#include <json-c/json.h>

#define PRIO_SEARCH 200
#define PRIO_PROOF 300
#define MAX_READY 20000         /* candidates up to which the build cache is looked through */
#define MAX_PARTS 4             /* culprits searched in one comparison */

static int set_state(struct engine *e, struct db_case *c, const char *state, const char *fmt, ...) _printf_(4, 5);
static int set_state(struct engine *e, struct db_case *c, const char *state, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	free(c->state);
	c->state = xstrdup(state);
	c->changed = now_usec();
	store_event(e->store, c->id, c->comparison, 0, "case %" PRId64 " %s: %s", c->id, state, text);
	return store_case_put(e->store, c, NULL);
}

static int set_note(struct db_case *c, const char *note)
{
	free(c->note);
	c->note = xstrdup(note);
	return 0;
}

/* ---- what is known of each commit ---- */

struct node { struct db_build *build; bool ready; };     /* ready: finished in the build cache, but not asked for yet */
struct field {                  /* the range with all that the database knows of it */
	struct tree_range range;
	struct db_build *builds; size_t n_builds;
	struct node *node;
	struct db_case *earlier; size_t n_earlier;      /* found culprits of the same comparison */
	bool **below;                                   /* [earlier][node]: has that culprit among its ancestors */
	double *step;                                   /* [earlier]: its relative effect */
};

static void field_release(struct field *f)
{
	for (size_t i = 0; i < f->n_earlier; i++)
		free(f->below[i]);
	DB_LIST_RELEASE(f->earlier, f->n_earlier, db_case_release);
	DB_LIST_RELEASE(f->builds, f->n_builds, db_build_release);
	free(f->below);
	free(f->step);
	free(f->node);
	tree_range_release(&f->range);
	*f = (struct field){0};
}

static int by_commit(const void *a, const void *b)
{
	return strcmp(((const struct db_build *)a)->commit, ((const struct db_build *)b)->commit);
}

static double proof_number(const struct db_case *c, const char *key)
{
	struct json_object *o = c->proof ? json_tokener_parse(c->proof) : NULL, *v;
	double d = json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v)
			   ? json_object_get_double(v) : NAN;

	json_object_put(o);
	return d;
}

static int64_t node_of(const struct field *f, const char *oid)
{
	for (uint32_t i = 0; i < f->range.dag.n; i++)
		if (streq(f->range.oid[i], oid))
			return i;
	return -1;
}

/* Culprits found earlier in this comparison: their steps are taken out of the values. */
static int load_earlier(struct engine *e, const struct db_case *c, struct field *f)
{
	struct db_case *all = NULL;
	size_t n = 0;
	int r = store_cases(e->store, NULL, &all, &n);

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
static int load_ready(struct engine *e, const struct scope *s, struct field *f)
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

static int field_load(struct engine *e, const struct scope *s, const struct db_case *c, struct field *ret)
{
	struct field f = {0};
	int r = tree_range(s->git_dir, s->cmp.base, s->cmp.head, s->tcfg.max_commits, &f.range);

	if (r >= 0)
		r = store_builds(e->store, s->tree.id, s->cmp.kconfig, &f.builds, &f.n_builds);
	if (r < 0) {
		field_release(&f);
		return r;
	}
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

static bool built_ok(const struct node *n) { return n->build && streq(n->build->state, "ok"); }

/* Its image equals that of all its parents: it cannot have changed anything. */
static bool same_image(const struct field *f, uint32_t i)
{
	const struct dag *d = &f->range.dag;

	if (!built_ok(&f->node[i]) || d->first[i] == d->first[i + 1])
		return false;
	for (uint32_t p = d->first[i]; p < d->first[i + 1]; p++) {
		const struct node *parent = &f->node[d->parent[p]];

		if (!built_ok(parent) || !streq(parent->build->image_hash, f->node[i].build->image_hash))
			return false;
	}
	return true;
}

static int observe(struct engine *e, const struct scope *s, const struct db_case *c, const struct field *f, uint32_t i,
		   struct search *search)
{
	struct boots b = {0};
	int r = engine_boots(e, s, f->range.oid[i], c->metric, s->cmp.created, &b);
	size_t bad, good;

	for (size_t k = 0; r >= 0 && k < b.n; k++) {
		double v = b.value[k];

		for (size_t j = 0; j < f->n_earlier; j++)
			if (f->below[j][i])
				v /= 1 + f->step[j];
		r = search_observe(search, i, v, b.when[k]);
	}
	if (r >= 0 && !b.n) {
		r = engine_bad_runs(e, s, f->range.oid[i], &bad, &good, NULL);
		if (r >= 0 && bad >= 2)
			r = search_skip(search, i);
	}
	boots_release(&b);
	return MIN(r, 0);
}

static enum search_drop reason_code(const char *why) { return strstr(why, "arch") ? SEARCH_OTHER_ARCH : SEARCH_DOCS; }

/* Tells the search all that the database knows. */
static int feed(struct engine *e, const struct scope *s, const struct db_case *c, const struct field *f, struct search *search)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < f->range.dag.n; i++) {
		const struct node *n = &f->node[i];

		if (f->range.why[i])
			r = search_drop(search, i, reason_code(f->range.why[i]));
		else if (i && same_image(f, i))
			r = search_drop(search, i, SEARCH_SAME_IMAGE);
		for (size_t j = 0; r >= 0 && j < f->n_earlier; j++)
			if (streq(f->range.oid[i], f->earlier[j].culprit))
				r = search_drop(search, i, SEARCH_SAME_IMAGE);
		if (r >= 0 && n->build && streq(n->build->state, "broken"))
			r = search_skip(search, i);
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

static int search_for(struct engine *e, const struct scope *s, const struct db_case *c, const struct field *f,
		      struct search **ret)
{
	struct verdict_config vc;
	struct costs k = costs(e, s);
	struct search *search = NULL;
	int r = engine_verdict_config(e, s, c->metric, &vc);
	struct search_config sc = {.confidence = c->confidence, .min_effect = r < 0 ? 0 : vc.min_effect,
				   .sigma_floor = r < 0 ? 0 : vc.sigma_floor,
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
static char *candidates_json(const struct field *f, struct search *search, const struct search_step *step)
{
	struct json_object *o = json_object_new_object(), *left = json_object_new_array(), *drop = json_object_new_array();
	char *text;

	for (uint32_t i = 0; i < step->set_n && step->action == SEARCH_SET; i++) {
		struct json_object *x = json_object_new_object();

		json_object_object_add(x, "commit", json_object_new_string(f->range.oid[step->set[i]]));
		json_object_object_add(x, "posterior", json_object_new_double(search_posterior(search, step->set[i])));
		json_object_array_add(left, x);
	}
	for (uint32_t i = 1; i < f->range.dag.n; i++) {
		const char *why = f->range.why[i] ? f->range.why[i] : same_image(f, i) ? "same image as its parent" :
				  f->node[i].build && streq(f->node[i].build->state, "broken") ? "does not build" : NULL;

		if (why) {
			struct json_object *x = json_object_new_object();

			json_object_object_add(x, "commit", json_object_new_string(f->range.oid[i]));
			json_object_object_add(x, "why", json_object_new_string(why));
			json_object_array_add(drop, x);
		}
	}
	json_object_object_add(o, "commits", json_object_new_int(f->range.dag.n - 1));
	json_object_object_add(o, "set", left);
	json_object_object_add(o, "dropped", drop);
	text = xstrdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return text;
}

/* ---- the search ---- */

static int start_proof(struct engine *e, const struct scope *s, struct db_case *c, const char *culprit);

static int found_one(struct engine *e, const struct scope *s, struct db_case *c, const struct field *f,
		     const struct search_step *step)
{
	free(c->culprit);
	c->culprit = xstrdup(f->range.oid[step->node]);
	c->posterior = step->posterior;
	c->effect = step->effect;
	c->effect_lo = step->effect_lo;
	c->effect_hi = step->effect_hi;
	return start_proof(e, s, c, c->culprit);
}

static int measure(struct engine *e, const struct scope *s, struct db_case *c, const struct field *f, struct search *search,
		   const struct search_step *step)
{
	const struct node *n = &f->node[step->node];
	int64_t task;
	int r;

	if (!n->build) { /* build first: its image may turn out to be known already */
		r = engine_build_task(e, s, f->range.oid[step->node], PRIO_SEARCH, c->id, &task);
		if (r == 1) {
			struct db_task t = {0};

			r = store_task_by_id(e->store, task, &t);
			if (r >= 0 && (streq(t.state, "failed") || streq(t.state, "cancelled"))) {
				set_note(c, t.result);
				r = set_state(e, c, "not-reproduced", "%.12s cannot be built here: %s",
					      f->range.oid[step->node], t.result ? t.result : "no reason known");
			}
			db_task_release(&t);
			return MIN(r, 0);
		}
		c->builds += r == 0;
	} else {
		r = engine_run_tasks(e, s, f->range.oid[step->node], MAX(step->boots, 1u), PRIO_SEARCH, c->id);
		c->boots += MAX(r, 0);
	}
	if (r < 0)
		return r;
	store_event(e->store, c->id, s->cmp.id, 0,
		    "bisection: %s %.12s (%u boot%s; %s); none %.3f, about %.0f more boots", n->build ? "boot" : "build",
		    f->range.oid[step->node], step->boots, step->boots == 1 ? "" : "s", step->why ? step->why : "",
		    search_posterior_none(search), step->expected_boots);
	return store_case_put(e->store, c, NULL);
}

static int bisect(struct engine *e, const struct scope *s, struct db_case *c)
{
	struct field f = {0};
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
			r = found_one(e, s, c, &f, &step);
			break;
		case SEARCH_SET:
			c->posterior = step.posterior;
			set_note(c, "the commits between cannot be built or booted: the culprit is one of a set");
			r = set_state(e, c, "found", "one of %u commits, posterior %.4f", step.set_n, step.posterior);
			break;
		case SEARCH_NOT_REPRODUCED:
			set_note(c, "no difference between the ends when measured again");
			r = set_state(e, c, "not-reproduced", "effects above %.3f%% are excluded", 100 * step.excluded);
			break;
		case SEARCH_GAVE_UP:
			set_note(c, "gave up: more boots than allowed");
			r = set_state(e, c, "not-reproduced", "gave up after %" PRId64 " boots: %s", c->boots,
				      step.why ? step.why : "");
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
	return set_state(e, c, "bisecting", "%.12s..%.12s; a boot takes about %.3g s, a build %.3g s%s", s->cmp.base, s->cmp.head,
			 k.boot, k.build, clean);
}

/* ---- the proof: culprit against its parent, interleaved, fresh boots ---- */

static int start_proof(struct engine *e, const struct scope *s, struct db_case *c, const char *culprit)
{
	struct commit_info info = {0};
	struct json_object *o = json_object_new_object();
	double tries = proof_number(c, "tries");
	int r = tree_commit(s->git_dir, culprit, &info);

	if (r >= 0 && !info.n_parents)
		r = err_set(-EINVAL, "commit %.12s has no parent to prove it against", culprit);
	if (r >= 0) {
		json_object_object_add(o, "parent", json_object_new_string(info.parents[0]));
		json_object_object_add(o, "since", json_object_new_int64(now_usec()));
		json_object_object_add(o, "tries", json_object_new_int(isfinite(tries) ? tries + 1 : 1));
		free(c->proof);
		c->proof = xstrdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
		r = set_state(e, c, "proving", "%.12s (\"%s\"), posterior %.4f after %" PRId64 " boots and %" PRId64 " builds",
			      culprit, info.subject, c->posterior, c->boots, c->builds);
	}
	json_object_put(o);
	commit_info_release(&info);
	return r;
}

static char *proof_json(const struct db_case *c, const char *parent, const struct boots *a, const struct boots *b,
			const struct verdict_result *v)
{
	struct json_object *o = json_tokener_parse(c->proof);
	const struct { const char *key; double v; } numbers[] = {
		{"boots_parent", a->n}, {"boots_culprit", b->n}, {"mean_parent", v->mean_a}, {"mean_culprit", v->mean_b},
		{"sd", v->sd}, {"effect", v->effect}, {"lo", v->lo}, {"hi", v->hi}, {"p", v->p}};
	char *text;

	json_object_object_add(o, "parent", json_object_new_string(parent));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (isfinite(numbers[i].v))
			json_object_object_add(o, numbers[i].key, json_object_new_double(numbers[i].v));
	text = xstrdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return text;
}

/* Much of the whole change unexplained by this culprit? Then search on for the next one. */
static int look_for_more(struct engine *e, const struct scope *s, const struct db_case *c, const struct verdict_result *v,
			 const struct verdict_config *vc)
{
	struct db_case next = {.comparison = c->comparison, .metric = c->metric, .state = (char *)"bisecting",
			       .part = c->part + 1, .confidence = c->confidence, .posterior = NAN};
	double rest = (1 + c->effect) / (1 + v->effect) - 1;
	double slack = (v->hi - v->lo) / 2 + (c->effect_hi - c->effect_lo) / 2;
	int64_t id = 0;
	int r;

	if (!isfinite(rest) || fabs(rest) < MAX(2 * vc->min_effect, 2 * slack) || next.part >= MAX_PARTS)
		return 0;
	next.effect = rest;
	next.effect_lo = rest - slack;
	next.effect_hi = rest + slack;
	next.opened = next.changed = now_usec();
	r = store_case_put(e->store, &next, &id);
	if (r >= 0)
		store_event(e->store, id, s->cmp.id, 0, "%+.3f%% of %+.3f%% is not explained by %.12s: searching on", 100 * rest,
			    100 * c->effect, c->culprit);
	return r == -EEXIST ? 0 : MIN(r, 0);
}

static int proof_failed(struct engine *e, struct db_case *c, const struct verdict_result *v)
{
	if (proof_number(c, "tries") < 3) {
		free(c->culprit);
		c->culprit = NULL;
		return set_state(e, c, "bisecting", "the proof contradicts the search (%+.3f%% against the parent): searching on",
				 100 * v->effect);
	}
	set_note(c, "the proof contradicts the search");
	return set_state(e, c, "not-reproduced", "no proof after three tries (%+.3f%% against the parent)", 100 * v->effect);
}

/* Was it the machine that changed? 1: yes, or not known yet; the proof goes on or begins afresh. */
static int proof_disturbed(struct engine *e, const struct scope *s, struct db_case *c, const char *parent, usec_t since,
			   const struct verdict_result *v)
{
	struct canary_verdict k = {0};
	int r = engine_canary_verdict(e, s, c->metric, parent, c->culprit, since, v->effect, &k);

	if (r >= 0 && k.state == CANARY_MORE) {
		r = engine_pair_tasks(e, s, parent, c->culprit, 1, PRIO_PROOF, c->id);
		c->boots += MAX(r, 0);
		return r < 0 ? r : 1;
	}
	if (r < 0 || k.state != CANARY_MOVED)
		return r;
	r = engine_flag_machine(e, s, k.text + 2);
	store_event(e->store, c->id, c->comparison, 0, "proof: machine '%s' was not steady%s", s->machine.name, k.text);
	if (r >= 0 && proof_number(c, "tries") < 3)
		r = start_proof(e, s, c, c->culprit);
	else if (r >= 0) {
		set_note(c, "no proof: the machine changed while the culprit and its parent were measured");
		r = set_state(e, c, "not-reproduced", "the machine was not steady in three tries of the proof%s", k.text);
	}
	return r < 0 ? r : 1;
}

static int prove_with(struct engine *e, const struct scope *s, struct db_case *c, const char *parent, usec_t since)
{
	struct verdict_config vc;
	struct verdict_result v = {0};
	struct boots a = {0}, b = {0};
	int r = engine_verdict_config(e, s, c->metric, &vc);

	if (r >= 0)
		r = engine_boots(e, s, parent, c->metric, since, &a);
	if (r >= 0)
		r = engine_boots(e, s, c->culprit, c->metric, since, &b);
	if (r >= 0) {
		vc.min_boots = engine_deterministic(s) ? MIN(e->cfg->proof_boots, 3) : e->cfg->proof_boots;
		r = verdict_two(&vc, a.value, a.n, b.value, b.n, &v);
	}
	if (r >= 0 && v.verdict == VERDICT_MORE) {
		r = engine_pair_tasks(e, s, parent, c->culprit, MAX(v.more_boots, a.n < vc.min_boots ? vc.min_boots - a.n : 1),
				      PRIO_PROOF, c->id);
		c->boots += MAX(r, 0);
		if (r >= 0)
			r = store_case_put(e->store, c, NULL);
	} else if (r >= 0 && v.verdict == VERDICT_DIFFERENT && (r = proof_disturbed(e, s, c, parent, since, &v)) != 0) {
		r = MIN(r, 0);
	} else if (r >= 0 && v.verdict == VERDICT_DIFFERENT && (v.effect < 0) == (c->effect < 0)) {
		char *text = proof_json(c, parent, &a, &b, &v);

		free(c->proof);
		c->proof = text;
		r = look_for_more(e, s, c, &v, &vc);
		if (r >= 0)
			r = set_state(e, c, "proving", "%.12s proven against its parent: %+.3f%%, %zu+%zu boots", c->culprit,
				      100 * v.effect, a.n, b.n);
	} else if (r >= 0) {
		r = proof_failed(e, c, &v);
	}
	boots_release(&a);
	boots_release(&b);
	return MIN(r, 0);
}

/* 1: built and usable; 0: wait; -ENOEXEC: it will never be, with the reason as message. */
static int need_build(struct engine *e, const struct scope *s, struct db_case *c, const char *commit)
{
	struct db_build b = {0};
	struct db_task t = {0};
	int64_t task;
	int r = engine_build_task(e, s, commit, PRIO_PROOF, c->id, &task);

	c->builds += r == 0;
	if (r >= 0)
		r = store_task_by_id(e->store, task, &t);
	if (r >= 0)
		r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b);
	if (r == -ENOENT && t.state && (streq(t.state, "failed") || streq(t.state, "cancelled")))
		r = err_set(-ENOEXEC, "%.12s cannot be built: %s", commit, t.result ? t.result : "no reason known");
	else if (r == -ENOENT)
		r = 0;
	else if (r >= 0 && !streq(b.state, "ok"))
		r = err_set(-ENOEXEC, "%.12s does not build: %s", commit, b.error ? b.error : "see its log");
	else if (r >= 0)
		r = 1;
	db_task_release(&t);
	db_build_release(&b);
	return r;
}

static void proof_set(struct db_case *c, const char *key, struct json_object *value)
{
	struct json_object *o = json_tokener_parse(c->proof);

	json_object_object_add(o, key, value);
	free(c->proof);
	c->proof = xstrdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static char *proof_text(const struct db_case *c, const char *key)
{
	struct json_object *o = c->proof ? json_tokener_parse(c->proof) : NULL, *v;
	char *s = json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v) && v
			  ? xstrdup(json_object_get_string(v)) : NULL;

	json_object_put(o);
	return s;
}

/* The last word on a proven case. */
static int conclude(struct engine *e, const struct scope *s, struct db_case *c, const char *revert)
{
	_cleanup_free_ char *parent = proof_text(c, "parent"), *said = xstrdup(revert);   /* it may be err_msg() */
	struct db_pair_check reach = {0};

	if (parent && engine_reach(e, s, parent, c->culprit, &reach) >= 0 && streq(reach.verdict, CHECK_FAIL))
		store_event(e->store, c->id, s->cmp.id, 0, "warning: %.12s is not reached, so the place of code in memory or something "
			    "else did it: %s", c->culprit, reach.evidence);
	db_pair_check_release(&reach);
	proof_set(c, "revert", json_object_new_string(said));
	return set_state(e, c, "found", "%.12s proven against its parent: %+.3f%% (%+.3f%% to %+.3f%%), p=%.2g; revert: %s",
			 c->culprit, 100 * proof_number(c, "effect"), 100 * proof_number(c, "lo"), 100 * proof_number(c, "hi"),
			 proof_number(c, "p"), said);
}

/* Tip against tip with the culprit undone, interleaved. */
static int measure_revert(struct engine *e, const struct scope *s, struct db_case *c, const char *revert, usec_t since)
{
	struct verdict_config vc;
	struct verdict_result v = {0};
	struct boots a = {0}, b = {0};
	char text[300];
	int r = engine_verdict_config(e, s, c->metric, &vc);

	if (r >= 0)
		r = engine_boots(e, s, s->cmp.head, c->metric, since, &a);
	if (r >= 0)
		r = engine_boots(e, s, revert, c->metric, since, &b);
	if (r >= 0)
		r = verdict_two(&vc, a.value, a.n, b.value, b.n, &v);
	if (r >= 0 && v.verdict == VERDICT_MORE) {
		r = engine_pair_tasks(e, s, s->cmp.head, revert, MAX(v.more_boots, 1), PRIO_PROOF, c->id);
		c->boots += MAX(r, 0);
		r = r < 0 ? r : store_case_put(e->store, c, NULL);
	} else if (r >= 0) {
		snprintf(text, sizeof(text), "undone on top of %.10s: %+.3f%%, 95%% interval %+.3f%% to %+.3f%%, %zu+%zu boots%s",
			 s->cmp.head, 100 * v.effect, 100 * v.lo, 100 * v.hi, a.n, b.n,
			 v.verdict != VERDICT_DIFFERENT ? " (no change shown: something else in the range hides it)" :
			 (v.effect < 0) == (c->effect < 0) ? " (the same direction: treat with care)" : "");
		r = conclude(e, s, c, text);
	}
	boots_release(&a);
	boots_release(&b);
	return MIN(r, 0);
}

static int prove_by_revert(struct engine *e, const struct scope *s, struct db_case *c)
{
	_cleanup_free_ char *revert = proof_text(c, "revert_commit"), *made = NULL;
	double since = proof_number(c, "revert_since");
	int r;

	if (!revert) {
		if (streq(c->culprit, s->cmp.head))
			return conclude(e, s, c, "it is the tip itself: undone, that is its parent");
		r = tree_revert(s->git_dir, c->culprit, s->cmp.head, &made);
		if (r < 0)
			return conclude(e, s, c, err_msg());
		proof_set(c, "revert_commit", json_object_new_string(made));
		proof_set(c, "revert_since", json_object_new_int64(now_usec()));
		return set_state(e, c, "proving", "undoing %.12s on top of %.12s as %.12s", c->culprit, s->cmp.head, made);
	}
	r = need_build(e, s, c, revert);
	if (r == -ENOEXEC)
		return conclude(e, s, c, err_msg());
	return r > 0 ? measure_revert(e, s, c, revert, since) : r;
}

static int aligned_done(struct engine *e, struct db_case *c, const char *text)
{
	proof_set(c, "aligned", json_object_new_string(text));
	return set_state(e, c, "proving", "code layout: %s", text);
}

/* What is left of the effect where no function moved: is it the commit's work, or where the linker put the code? */
static int judge_aligned(struct engine *e, struct db_case *c, const struct verdict_result *v, size_t boots_a, size_t boots_b)
{
	double whole = proof_number(c, "effect"), most = MAX(fabs(v->lo), fabs(v->hi));
	const char *word = v->verdict == VERDICT_DIFFERENT
				   ? (v->effect < 0) != (whole < 0) ? "turns round" : fabs(v->effect) < fabs(whole) / 2 ? "remains in part" : "remains"
				   : most < fabs(whole) ? "vanishes, so it comes from the code's layout" : "is not shown again, and not excluded";
	_cleanup_free_ char *text = xasprintf("with every function aligned to 64 bytes in both builds the difference %s: %+.3f%%, 95%% "
					      "interval %+.3f%% to %+.3f%%, %zu+%zu boots", word, 100 * v->effect, 100 * v->lo,
					      100 * v->hi, boots_a, boots_b);

	proof_set(c, "aligned_effect", json_object_new_double(v->effect));
	return aligned_done(e, c, text);
}

static int measure_aligned(struct engine *e, const struct scope *a, struct db_case *c, const char *parent, usec_t since)
{
	struct verdict_config vc;
	struct verdict_result v = {0};
	struct boots x = {0}, y = {0};
	int r = engine_verdict_config(e, a, c->metric, &vc);

	if (r >= 0)
		r = engine_boots(e, a, parent, c->metric, since, &x);
	if (r >= 0)
		r = engine_boots(e, a, c->culprit, c->metric, since, &y);
	if (r >= 0)
		r = verdict_two(&vc, x.value, x.n, y.value, y.n, &v);
	if (r >= 0 && v.verdict == VERDICT_MORE) {
		r = engine_pair_tasks(e, a, parent, c->culprit, MAX(v.more_boots, 1u), PRIO_PROOF, c->id);
		c->boots += MAX(r, 0);
		r = r < 0 ? r : store_case_put(e->store, c, NULL);
	} else if (r >= 0) {
		r = judge_aligned(e, c, &v, x.n, y.n);
	}
	boots_release(&x);
	boots_release(&y);
	return MIN(r, 0);
}

/* Both again with aligned functions, interleaved, as a configuration of its own. */
static int prove_aligned(struct engine *e, const struct scope *s, struct db_case *c, const char *parent)
{
	_cleanup_free_ char *kconfig = xasprintf("%s" KCONFIG_ALIGNED, s->cmp.kconfig);
	double since = proof_number(c, "aligned_since");
	struct scope a = *s;    /* borrowed */
	int r;

	a.cmp.kconfig = kconfig;
	if (!isfinite(since)) {
		proof_set(c, "aligned_since", json_object_new_int64(now_usec()));
		return set_state(e, c, "proving", "building %.12s and its parent with aligned functions", c->culprit);
	}
	r = need_build(e, &a, c, parent);
	if (r > 0)
		r = need_build(e, &a, c, c->culprit);
	if (r == -ENOEXEC) {
		_cleanup_free_ char *text = xasprintf("not measured with aligned functions: %s", err_msg());

		return aligned_done(e, c, text);
	}
	return r > 0 ? measure_aligned(e, &a, c, parent, (usec_t)since) : r;
}

/* One more boot of the culprit sees whether it runs what it changes; where instructions can be counted exactly, one of the
 * parent, too, for their difference. For the report only, never for the verdict. Returns 1, or negative. */
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

static int prove(struct engine *e, const struct scope *s, struct db_case *c)
{
	struct json_object *o = c->proof ? json_tokener_parse(c->proof) : NULL, *p, *t;
	int r;

	if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, "parent", &p) ||
	    !json_object_object_get_ex(o, "since", &t)) {
		json_object_put(o);
		return start_proof(e, s, c, c->culprit);
	}
	if (isfinite(proof_number(c, "effect"))) {
		_cleanup_free_ char *aligned = proof_text(c, "aligned");

		bool wanted = e->cfg->proof_aligned || proof_number(c, "align") == 1;

		r = wanted && !aligned ? prove_aligned(e, s, c, json_object_get_string(p)) : prove_by_revert(e, s, c);
		json_object_put(o);
		return r;
	}
	r = need_build(e, s, c, json_object_get_string(p));
	if (r > 0)
		r = need_build(e, s, c, c->culprit);
	if (r > 0)
		r = count_both(e, s, c, json_object_get_string(p));
	if (r == -ENOEXEC) {
		set_note(c, "the culprit or its parent does not build, so there is no proof");
		r = set_state(e, c, "found", "not proven: %s", err_msg());
	} else if (r > 0) {
		r = prove_with(e, s, c, json_object_get_string(p), json_object_get_int64(t));
	}
	json_object_put(o);
	return MIN(r, 0);
}

/* ---- the report ---- */

static int case_task(struct engine *e, const struct db_case *c, const char *kind, const char *way, int64_t *ret_id)
{
	struct json_object *o = json_object_new_object();
	_cleanup_free_ char *key = xasprintf("%s:%" PRId64 "%s%s", kind, c->id, way ? ":" : "", way ? way : "");
	struct db_task t = {.kind = (char *)kind, .key = key, .priority = 400, .resource = (char *)"mail",
			    .comparison = c->comparison, .case_id = c->id, .max_attempts = way ? 1000 : 5};
	int r;

	json_object_object_add(o, "case", json_object_new_int64(c->id));
	if (way)
		json_object_object_add(o, "way", json_object_new_string(way));
	t.payload = (char *)json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
	r = store_task_add(e->store, &t, NULL, ret_id);
	json_object_put(o);
	return r;
}

static int report(struct engine *e, struct db_case *c)
{
	static const char *const ways[] = {"mbox", "smtp"};
	struct db_task t = {0};
	int64_t id;
	bool done = true;
	int r = case_task(e, c, "report", NULL, &id);

	if (r >= 0)
		r = store_task_by_id(e->store, id, &t);
	if (r < 0 || !streq(t.state, "done")) {
		db_task_release(&t);
		return MIN(r, 0);
	}
	db_task_release(&t);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(ways); i++) {
		if (i == 1 && !e->cfg->mail_smtp_enabled)
			continue;
		r = case_task(e, c, "send", ways[i], &id);
		if (r >= 0)
			r = store_task_by_id(e->store, id, &t);
		done = done && r >= 0 && (streq(t.state, "done") || streq(t.state, "failed"));
		db_task_release(&t);
	}
	if (r >= 0 && done)
		r = set_state(e, c, "reported", "report delivered");
	return MIN(r, 0);
}

int engine_plan_case(struct engine *e, struct db_case *c)
{
	struct scope s = {0};
	int r = 0;

	if (streq(c->state, "found"))
		return report(e, c);
	if (engine_has_active(e, c->comparison, c->id))
		return 0;
	r = engine_scope(e, c->comparison, &s);
	if (r >= 0)
		r = engine_same_epoch(&s);
	if (r < 0)
		return r;
	if (r == 0) {
		set_note(c, "the configuration or the toolchain has changed meanwhile");
		r = set_state(e, c, "not-reproduced", "the configuration or the toolchain has changed meanwhile");
	} else if (streq(c->state, "suspected") || streq(c->state, "confirmed"))
		r = start_search(e, &s, c);
	else if (streq(c->state, "proving"))
		r = prove(e, &s, c);
	else
		r = bisect(e, &s, c);
	scope_release(&s);
	return r;
}
