/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proof: culprit against its parent, interleaved, fresh boots; then with aligned functions; then undone on the tip. */
#include "bot/engine/proof.h"
#include "bot/engine/case-state.h"
#include "bot/engine/failure.h"
#include "bot/engine/needs.h"
#include "bot/engine/reach-plan.h"
#include "bot/engine/pairs.h"
#include "bot/engine/tasks.h"
#include "jobs/check.h"

#include <json-c/json.h>

#define MAX_PARTS 4             /* culprits searched in one comparison */
#define MAX_CONTRADICTED 4      /* proofs that may contradict a search */

/* A member of the proof's JSON, with a reference of its own; NULL where there is none. */
static struct json_object *proof_member(const struct db_case *c, const char *key)
{
	struct json_object *o = c->proof ? json_tokener_parse(c->proof) : NULL, *v = NULL;

	if (json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v))
		json_object_get(v);
	json_object_put(o);
	return v;
}

double proof_number(const struct db_case *c, const char *key)
{
	struct json_object *o = c->proof ? json_tokener_parse(c->proof) : NULL, *v;
	double d = json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v)
			   ? json_object_get_double(v) : NAN;

	json_object_put(o);
	return d;
}

void proof_contradicted(const struct db_case *c, struct strv *ret)
{
	struct json_object *list = proof_member(c, "contradicted");
	size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *commit = json_object_object_get(json_object_array_get_idx(list, i), "commit");

		if (commit)
			strv_add(ret, json_object_get_string(commit));
	}
	json_object_put(list);
}

int proof_start(struct engine *e, const struct scope *s, struct db_case *c, const char *culprit, const char *parent)
{
	struct commit_info info = {0};
	struct json_object *o = json_object_new_object(), *before = proof_member(c, "contradicted");
	double tries = proof_number(c, "tries");
	int64_t last = 0;       /* later runs are fresh */
	int r = store_last_run(e->store, &last);

	if (r >= 0)
		r = tree_commit(s->git_dir, culprit, &info);
	if (r >= 0 && !info.n_parents)
		r = err_set(-ENOTRECOVERABLE, "commit %.12s begins a history: it has no parent to prove it against",
			    culprit);
	if (r >= 0) {
		json_object_object_add(o, "parent", json_text(parent ? parent : info.parents[0]));
		json_object_object_add(o, "after_run", json_object_new_int64(last));
		json_object_object_add(o, "tries", json_object_new_int(isfinite(tries) ? tries + 1 : 1));
		if (before)
			json_object_object_add(o, "contradicted", json_object_get(before));
		free(c->proof);
		c->proof = json_line(o);
		r = case_state(e, c, CASE_PROVING, "%.12s (\"%s\"), posterior %.4f after %" PRId64 " boots and %" PRId64 " builds",
			      culprit, info.subject, c->posterior, c->boots, c->builds);
	}
	json_object_put(before);
	json_object_put(o);
	commit_info_release(&info);
	return r;
}

/* Keeps what was measured of both. */
static void proof_keep(struct db_case *c, const char *parent, const struct pairs_result *x)
{
	const struct verdict_result *v = &x->v;
	struct json_object *o = json_tokener_parse(c->proof);
	const struct { const char *key; double v; } numbers[] = {
		{"boots_parent", x->n_a}, {"boots_culprit", x->n_b}, {"mean_parent", v->mean_a}, {"mean_culprit", v->mean_b},
		{"sd", v->sd}, {"effect", v->effect}, {"lo", v->lo}, {"hi", v->hi}, {"p", v->p}};

	json_object_object_add(o, "parent", json_text(parent));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (isfinite(numbers[i].v))
			json_object_object_add(o, numbers[i].key, json_object_new_double(numbers[i].v));
	free(c->proof);
	c->proof = json_line(o);
	json_object_put(o);
}

/* Much of the whole change unexplained by this culprit? Then search on for the next one. */
static int look_for_more(struct engine *e, const struct scope *s, const struct db_case *c, const struct verdict_result *v,
			 double min_effect)
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
		store_event(e->store, id, s->cmp.id, 0, "%+.3f%% of %+.3f%% is not explained by %.12s: searching on", 100 * rest,
			    100 * c->effect, c->culprit);
	return r == -EEXIST ? 0 : MIN(r, 0);
}

/* Keeps what the proof measured; the search leaves that commit out from now on. */
static void contradict(struct db_case *c, const char *parent, double effect)
{
	struct json_object *o = json_object_new_object(), *list = proof_member(c, "contradicted");
	struct json_object *one = json_object_new_object();

	if (!json_object_is_type(list, json_type_array)) {
		json_object_put(list);
		list = json_object_new_array();
	}
	json_object_object_add(one, "commit", json_text(c->culprit));
	json_object_object_add(one, "parent", json_text(parent));
	json_object_object_add(one, "effect", isfinite(effect) ? json_object_new_double(effect) : NULL);
	json_object_array_add(list, one);
	json_object_object_add(o, "contradicted", list);
	free(c->proof);
	c->proof = json_line(o);
	free(c->culprit);
	c->culprit = NULL;
	c->posterior = NAN;
	json_object_put(o);
}

int proof_nobody(struct engine *e, struct db_case *c, const char *why)
{
	_cleanup_strv_ struct strv list = {0};
	_cleanup_buf_ struct buf b = {0};

	proof_contradicted(c, &list);
	for (size_t i = 0; i < list.n; i++)
		buf_addf(&b, "%s%.12s", i ? ", " : "", list.v[i]);
	buf_addf(&b, "%s named by the search, but measured again shows no such change against %s",
		 list.n > 1 ? " were" : " was", list.n > 1 ? "their parents" : "its parent");
	if (why)
		buf_addf(&b, "; without %s: %s", list.n > 1 ? "them" : "it", why);
	case_note(c, buf_str(&b));
	return case_state(e, c, CASE_NOT_REPRODUCED, "%s", c->note);
}

static int proof_failed(struct engine *e, struct db_case *c, const char *parent, const struct verdict_result *v)
{
	_cleanup_strv_ struct strv list = {0};
	_cleanup_free_ char *named = xstrdup(c->culprit);

	contradict(c, parent, v->effect);
	proof_contradicted(c, &list);
	if (list.n >= MAX_CONTRADICTED)
		return proof_nobody(e, c, NULL);
	return case_state(e, c, CASE_BISECTING,
			  "the proof contradicts the search: %.12s is %+.3f%% against its parent %.12s; searching "
			  "on without it",
			  named, 100 * v->effect, parent);
}

/* Boots of two commits for a proof. */
static struct pairs proof_pairs(const struct scope *s, struct db_case *c, const char *a, const char *b, int64_t after)
{
	return (struct pairs){.s = s, .a = a, .b = b, .metric = c->failure ? NULL : c->metric, .failure = c->failure,
			      .after_run = after, .priority = PRIO_PROOF, .c = c};
}

/* It was the machine that changed: the proof begins afresh. */
static int proof_disturbed(struct engine *e, const struct scope *s, struct db_case *c, const char *parent,
			   const char *canary)
{
	int r = engine_flag_machine(e, s, canary + 2);

	store_event(e->store, c->id, c->comparison, 0, "proof: machine '%s' was not steady%s", s->machine.name, canary);
	if (r < 0)
		return r;
	if (proof_number(c, "tries") < 3)
		return proof_start(e, s, c, c->culprit, parent);
	case_note(c, "no proof: the machine changed while the culprit and its parent were measured");
	return case_state(e, c, CASE_NOT_REPRODUCED, "the machine was not steady in three tries of the proof%s", canary);
}

/* The same of a benchmark that fails: the rates of both instead of means. */
static int prove_failure(struct engine *e, const struct scope *s, struct db_case *c, const char *parent, int64_t after)
{
	_cleanup_pairs_ struct pairs_result x = {0};
	const struct pairs p = proof_pairs(s, c, parent, c->culprit, after);
	int r = pairs_step(e, &p, &x);

	if (r <= 0)
		return r;
	if (x.hidden) {
		case_note(c, "the culprit or its parent fails in another way, too, so there is no proof");
		return case_state(e, c, CASE_FOUND, "not proven: %s", x.text);
	}
	if (x.v.verdict != VERDICT_DIFFERENT)
		return proof_failed(e, c, parent, &x.v);
	proof_keep(c, parent, &x);
	r = failure_own_words(e, s, c, after);
	return r < 0 ? r : case_state(e, c, CASE_PROVING, "proven against its parent: %s", x.text);
}

static int prove_with(struct engine *e, const struct scope *s, struct db_case *c, const char *parent, int64_t after)
{
	_cleanup_pairs_ struct pairs_result x = {0};
	struct pairs p = proof_pairs(s, c, parent, c->culprit, after);
	int r;

	p.min_boots = engine_deterministic(s) ? MIN(e->cfg->proof_boots, 3) : e->cfg->proof_boots;
	p.canary = true;
	r = pairs_step(e, &p, &x);
	if (r <= 0)
		return r;
	if (x.canary.state == CANARY_MOVED)
		return proof_disturbed(e, s, c, parent, x.canary.text);
	if (x.v.verdict != VERDICT_DIFFERENT || (x.v.effect < 0) != (c->effect < 0))
		return proof_failed(e, c, parent, &x.v);
	proof_keep(c, parent, &x);
	r = look_for_more(e, s, c, &x.v, x.min_effect);
	return r < 0 ? r : case_state(e, c, CASE_PROVING, "%.12s proven against its parent: %+.3f%%, %zu+%zu boots", c->culprit,
				      100 * x.v.effect, x.n_a, x.n_b);
}

/* 1: built and usable; 0: wait, or where *ret_why (new string) says so it will never be. */
static int proof_build(struct engine *e, const struct scope *s, struct db_case *c, const char *commit, char **ret_why)
{
	_cleanup_need_ struct need n = {0};
	int r = need_build(e, s, commit, PRIO_PROOF, c->id, &n);

	if (r < 0)
		return r;
	c->builds += n.queued;
	*ret_why = TAKE_PTR(n.why);
	return n.state == NEED_BUILT;
}

static int proof_builds(struct engine *e, const struct scope *s, struct db_case *c, const char *parent, char **ret_why)
{
	int r = proof_build(e, s, c, parent, ret_why);

	return r > 0 ? proof_build(e, s, c, c->culprit, ret_why) : r;
}

static void proof_set(struct db_case *c, const char *key, struct json_object *value)
{
	struct json_object *o = json_tokener_parse(c->proof);

	json_object_object_add(o, key, value);
	free(c->proof);
	c->proof = json_line(o);
	json_object_put(o);
}

/* Where the runs stand now: later ones are fresh. */
static int proof_mark(struct engine *e, struct db_case *c, const char *key)
{
	int64_t last = 0;
	int r = store_last_run(e->store, &last);

	if (r >= 0)
		proof_set(c, key, json_object_new_int64(last));
	return r;
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
	proof_set(c, "revert", json_text(said));
	if (c->failure)
		return case_state(e, c, CASE_FOUND, "%.12s fails, its parent does not, p=%.2g: %s; revert: %s", c->culprit,
				  proof_number(c, "p"), c->failure, said);
	return case_state(e, c, CASE_FOUND, "%.12s proven against its parent: %+.3f%% (%+.3f%% to %+.3f%%), p=%.2g; revert: %s",
			 c->culprit, 100 * proof_number(c, "effect"), 100 * proof_number(c, "lo"), 100 * proof_number(c, "hi"),
			 proof_number(c, "p"), said);
}

/* Tip against tip with the culprit undone, interleaved. */
static int measure_revert(struct engine *e, const struct scope *s, struct db_case *c, const char *revert, int64_t after)
{
	_cleanup_pairs_ struct pairs_result x = {0};
	const struct pairs p = proof_pairs(s, c, s->cmp.head, revert, after);
	const struct verdict_result *v = &x.v;
	char text[300];
	int r;

	if (c->failure) {
		_cleanup_free_ char *told = NULL;

		r = failure_revert(e, s, c, revert, after, &told);
		return r > 0 ? conclude(e, s, c, told) : r;
	}
	r = pairs_step(e, &p, &x);
	if (r <= 0)
		return r;
	snprintf(text, sizeof(text), "undone on top of %.10s: %+.3f%%, 95%% interval %+.3f%% to %+.3f%%, %zu+%zu boots%s",
		 s->cmp.head, 100 * v->effect, 100 * v->lo, 100 * v->hi, x.n_a, x.n_b,
		 v->verdict != VERDICT_DIFFERENT ? " (no change shown: something else in the range hides it)" :
		 (v->effect < 0) == (c->effect < 0) ? " (the same direction: treat with care)" : "");
	return conclude(e, s, c, text);
}

static int prove_by_revert(struct engine *e, const struct scope *s, struct db_case *c)
{
	_cleanup_free_ char *revert = proof_text(c, "revert_commit"), *made = NULL, *why = NULL;
	double after = proof_number(c, "revert_after");
	int r;

	if (!revert) {
		if (streq(c->culprit, s->cmp.head))
			return conclude(e, s, c, "it is the tip itself: undone, that is its parent");
		r = tree_revert(s->git_dir, c->culprit, s->cmp.head, &made);
		if (r < 0)
			return conclude(e, s, c, err_msg());
		proof_set(c, "revert_commit", json_text(made));
		r = proof_mark(e, c, "revert_after");
		return r < 0 ? r : case_state(e, c, CASE_PROVING, "undoing %.12s on top of %.12s as %.12s", c->culprit,
					      s->cmp.head, made);
	}
	r = proof_build(e, s, c, revert, &why);
	if (why)
		return conclude(e, s, c, why);
	return r > 0 ? measure_revert(e, s, c, revert, isfinite(after) ? (int64_t)after : 0) : r;
}

static int aligned_done(struct engine *e, struct db_case *c, const char *text)
{
	proof_set(c, "aligned", json_text(text));
	return case_state(e, c, CASE_PROVING, "code layout: %s", text);
}

/* What is left of the effect where no function moved: is it the commit's work, or where the linker put the code? */
static int judge_aligned(struct engine *e, struct db_case *c, const struct pairs_result *x)
{
	const struct verdict_result *v = &x->v;
	double whole = proof_number(c, "effect"), most = MAX(fabs(v->lo), fabs(v->hi));
	const char *word = v->verdict == VERDICT_DIFFERENT
				   ? (v->effect < 0) != (whole < 0) ? "turns round" : fabs(v->effect) < fabs(whole) / 2 ? "remains in part" : "remains"
				   : most < fabs(whole) ? "vanishes, so it comes from the code's layout" : "is not shown again, and not excluded";
	_cleanup_free_ char *text = xasprintf("with every function aligned to 64 bytes in both builds the difference %s: %+.3f%%, 95%% "
					      "interval %+.3f%% to %+.3f%%, %zu+%zu boots", word, 100 * v->effect, 100 * v->lo,
					      100 * v->hi, x->n_a, x->n_b);

	proof_set(c, "aligned_effect", json_object_new_double(v->effect));
	return aligned_done(e, c, text);
}

/* Both again with aligned functions, interleaved, as a configuration of its own. */
static int prove_aligned(struct engine *e, const struct scope *s, struct db_case *c, const char *parent)
{
	_cleanup_free_ char *kconfig = xasprintf("%s" KCONFIG_ALIGNED, s->cmp.kconfig), *why = NULL;
	_cleanup_pairs_ struct pairs_result x = {0};
	double after = proof_number(c, "aligned_after");
	struct scope a = *s;    /* borrowed */
	struct pairs p;
	int r;

	a.cmp.kconfig = kconfig;
	if (!isfinite(after)) {
		r = proof_mark(e, c, "aligned_after");
		return r < 0 ? r : case_state(e, c, CASE_PROVING, "building %.12s and its parent with aligned functions",
					      c->culprit);
	}
	r = proof_builds(e, &a, c, parent, &why);
	if (why) {
		_cleanup_free_ char *text = xasprintf("not measured with aligned functions: %s", why);

		return aligned_done(e, c, text);
	}
	p = proof_pairs(&a, c, parent, c->culprit, (int64_t)after);
	if (r > 0)
		r = pairs_step(e, &p, &x);
	return r > 0 ? judge_aligned(e, c, &x) : r;
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

int proof_go_on(struct engine *e, const struct scope *s, struct db_case *c)
{
	struct json_object *o = c->proof ? json_tokener_parse(c->proof) : NULL, *p, *t;
	_cleanup_free_ char *why = NULL;
	int r;

	if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, "parent", &p) ||
	    !json_object_object_get_ex(o, "after_run", &t)) {
		json_object_put(o);
		return proof_start(e, s, c, c->culprit, NULL);
	}
	if (isfinite(proof_number(c, "effect"))) {
		_cleanup_free_ char *aligned = proof_text(c, "aligned");

		bool wanted = !c->failure && (e->cfg->proof_aligned || proof_number(c, "align") == 1);

		r = wanted && !aligned ? prove_aligned(e, s, c, json_object_get_string(p)) : prove_by_revert(e, s, c);
		json_object_put(o);
		return r;
	}
	r = proof_builds(e, s, c, json_object_get_string(p), &why);
	if (r > 0 && !c->failure) /* there is nothing to count where it fails */
		r = count_both(e, s, c, json_object_get_string(p));
	if (why) {
		case_note(c, "the culprit or its parent does not build, so there is no proof");
		r = case_state(e, c, CASE_FOUND, "not proven: %s", why);
	} else if (r > 0) {
		r = (c->failure ? prove_failure : prove_with)(e, s, c, json_object_get_string(p),
							      json_object_get_int64(t));
	}
	json_object_put(o);
	return MIN(r, 0);
}
