/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine.h"
#include "bot/engine-detect.h"
#include "bot/points.h"
#include "bisect/compare-class.h"
#include "jobs/check.h"
#include "kernels/build.h"
#include "lib/fs.h"

#include <json-c/json.h>

#define MAX_BAD_RUNS 3          /* runs of one side that may fail before the comparison is called broken */
#define MAX_ATTEMPTS 5
#define MAX_DISTURBED 3         /* rounds of a comparison in which the canary moved */
#define MAX_SPENT 50            /* replicate numbers that may be skipped over */

char *engine_git_dir(const struct config *cfg, const char *tree) { return xasprintf("%s/trees/%s.git", cfg->state_dir, tree); }

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

bool engine_has_active(const struct engine *e, int64_t comparison, int64_t case_id)
{
	for (size_t i = 0; i < e->n_active; i++)
		if (e->active[i].comparison == comparison && e->active[i].case_id == case_id)
			return true;
	return false;
}

/* ---- tasks ---- */

static struct json_object *payload_of(const struct scope *s, const char *commit)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "tree", json_object_new_string(s->tree.name));
	json_object_object_add(o, "commit", json_object_new_string(commit));
	json_object_object_add(o, "kconfig", json_object_new_string(s->cmp.kconfig));
	return o;
}

/* Adds a task; its payload object is put. Returns 0 when new, 1 when it was there, or negative. */
static int add_task(struct engine *e, struct db_task *t, struct json_object *payload, const int64_t *needs, int64_t *ret_id)
{
	int r;

	t->payload = (char *)json_object_to_json_string_ext(payload, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	t->max_attempts = MAX_ATTEMPTS;
	r = store_task_add(e->store, t, needs, ret_id);
	json_object_put(payload);
	return r;
}

int engine_build_task(struct engine *e, const struct scope *s, const char *commit, int priority, int64_t case_id,
		      int64_t *ret_id)
{
	_cleanup_free_ char *key = xasprintf("build:%s:%s:%s:%s", s->tree.name, commit, s->cmp.kconfig, s->cmp.epoch);
	struct db_task t = {.kind = (char *)"build", .key = key, .priority = priority, .resource = (char *)"build",
			    .comparison = s->cmp.id, .case_id = case_id};

	return add_task(e, &t, payload_of(s, commit), NULL, ret_id);
}

/* The first replicate number not used yet. */
static int next_replicate(struct engine *e, const struct scope *s, const char *commit, int64_t *ret)
{
	struct db_build b = {0};
	struct db_run *runs = NULL;
	size_t n = 0;
	int64_t next = 1;
	int r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b);

	if (r == -ENOENT) {
		*ret = 1;
		return 0;
	}
	if (r >= 0)
		r = store_runs(e->store, b.id, s->job.id, s->machine.tbox_group, NULL, &runs, &n);
	for (size_t i = 0; r >= 0 && i < n; i++)
		next = MAX(next, runs[i].replicate + 1);
	if (r >= 0)
		*ret = next;
	DB_LIST_RELEASE(runs, n, db_run_release);
	db_build_release(&b);
	return MIN(r, 0);
}

/* needs: the builds to wait for, its own among them, 0-terminated; NULL: its own. */
static int run_task(struct engine *e, const struct scope *s, const char *commit, int64_t replicate, int priority,
		    int64_t case_id, const int64_t *needs)
{
	_cleanup_free_ char *key = xasprintf("run:%s:%s:%s:%s:%s:%" PRId64, s->tree.name, commit, s->cmp.kconfig, s->job.id,
					     s->machine.tbox_group, replicate);
	_cleanup_free_ char *resource = xasprintf("machine:%s", s->machine.name);
	struct json_object *p;
	struct db_task t = {.kind = (char *)"run", .key = key, .priority = priority, .resource = resource,
			    .comparison = s->cmp.id, .case_id = case_id}, old = {0};
	int64_t build, id;
	int r = engine_build_task(e, s, commit, priority, case_id, &build);

	if (r < 0)
		return r;
	if (store_task_by_key(e->store, key, &old) >= 0) { /* given up without a result: this number is spent */
		bool spent = streq(old.state, "failed") || streq(old.state, "cancelled");

		db_task_release(&old);
		if (spent)
			return 1;
	}
	p = payload_of(s, commit);
	json_object_object_add(p, "job", json_object_new_string(s->job.id));
	json_object_object_add(p, "machine", json_object_new_string(s->machine.name));
	json_object_object_add(p, "replicate", json_object_new_int64(replicate));
	return add_task(e, &t, p, needs ? needs : (const int64_t[]){build, 0}, &id);
}

char *engine_profile_key(const struct scope *s, const char *commit)
{
	return xasprintf("profile:%s:%s:%s:%s:%s:%s", s->tree.name, commit, s->cmp.kconfig, s->cmp.epoch, s->job.id,
			 s->machine.tbox_group);
}

int engine_profile_task(struct engine *e, const struct scope *s, const char *base, const char *commit, const char *key, int priority,
			int64_t case_id)
{
	_cleanup_free_ char *usual = engine_profile_key(s, commit);
	_cleanup_free_ char *resource = xasprintf("machine:%s", s->machine.name);
	struct db_task t = {.kind = (char *)"run", .key = key ? (char *)key : usual, .priority = priority, .resource = resource,
			    .comparison = s->cmp.id, .case_id = case_id};
	struct json_object *p;
	int64_t build, id;
	int r = engine_build_task(e, s, commit, priority, case_id, &build);

	if (r < 0)
		return r;
	p = payload_of(s, commit);
	json_object_object_add(p, "job", json_object_new_string(s->job.id));
	json_object_object_add(p, "machine", json_object_new_string(s->machine.name));
	json_object_object_add(p, "replicate", json_object_new_int64(0));
	json_object_object_add(p, "profile", json_object_new_boolean(true));
	if (base)
		json_object_object_add(p, "base", json_object_new_string(base));
	return add_task(e, &t, p, (const int64_t[]){build, 0}, &id);
}

int engine_run_tasks(struct engine *e, const struct scope *s, const char *commit, int n, int priority, int64_t case_id)
{
	int64_t first = 0;
	int r = next_replicate(e, s, commit, &first), added = 0;

	for (int tries = 0; r >= 0 && added < n && tries < n + MAX_SPENT; tries++) {
		r = run_task(e, s, commit, first++, priority, case_id, NULL);
		added += r == 0;
	}
	return r < 0 ? r : added;
}

/* The next free number of the canary. */
static int canary_run(struct engine *e, const struct canary *k, int64_t *next, int priority, int64_t case_id)
{
	int r = 1;

	for (int tries = 0; r == 1 && tries < MAX_SPENT; tries++)
		r = run_task(e, &k->scope, k->commit, (*next)++, priority, case_id, NULL);
	return MIN(r, 0);
}

/* How runs alternate: forth and back, so that what drifts with time hits all alike: A B C C B A A B C. */
struct turns {
	const struct engine_point *p; size_t n_points;
	bool back;                      /* the first round goes back */
	const struct canary *canary;    /* runs after each round; NULL: none */
	int n, priority;
	int64_t case_id;
	const int64_t *needs;
};

static int turns(struct engine *e, const struct turns *t)
{
	_cleanup_free_ int64_t *next = xcalloc(t->n_points, sizeof(*next));
	int64_t canary = 0;
	int total = (int)t->n_points * t->n, added = 0, r = 0;

	for (size_t k = 0; r >= 0 && k < t->n_points; k++)
		r = next_replicate(e, t->p[k].s, t->p[k].commit, &next[k]);
	if (r >= 0 && t->canary)
		r = next_replicate(e, &t->canary->scope, t->canary->commit, &canary);
	for (int tries = 0; r >= 0 && added < total && tries < total + MAX_SPENT; tries++) {
		size_t round = added / t->n_points, i = added % t->n_points;
		size_t k = (round + t->back) % 2 ? t->n_points - 1 - i : i;

		r = run_task(e, t->p[k].s, t->p[k].commit, next[k]++, t->priority, t->case_id, t->needs);
		added += r == 0;
		if (r == 0 && i == t->n_points - 1 && t->canary)
			r = canary_run(e, t->canary, &canary, t->priority, t->case_id);
	}
	return r < 0 ? r : added;
}

int engine_pair_tasks(struct engine *e, const struct scope *s, const char *a, const char *b, int n, int priority,
		      int64_t case_id)
{
	struct canary k = {0};
	struct turns t = {.p = (const struct engine_point[]){{s, a}, {s, b}}, .n_points = 2, .n = n, .priority = priority,
			  .case_id = case_id};
	int64_t next = 1;
	int r = next_replicate(e, s, a, &next);

	if (r >= 0)
		r = engine_canary(e, s, a, b, priority, case_id, &k);
	t.canary = k.on ? &k : NULL;
	t.back = next % 2 == 0; /* A B B A goes on where the last call stopped */
	if (r >= 0)
		r = turns(e, &t);
	canary_release(&k);
	return r;
}

int engine_matrix_tasks(struct engine *e, const struct engine_point *p, size_t n_points, int n, int priority)
{
	_cleanup_free_ int64_t *builds = xcalloc(n_points + 1, sizeof(*builds));
	size_t n_builds = 0;
	int r = 0;

	for (size_t k = 0; r >= 0 && k < n_points; k++) {
		int64_t id;
		bool known = false;

		r = engine_build_task(e, p[k].s, p[k].commit, priority, 0, &id);
		for (size_t i = 0; i < n_builds; i++)
			known |= builds[i] == id;
		if (r >= 0 && !known)
			builds[n_builds++] = id;
	}
	return r < 0 ? r : turns(e, &(const struct turns){.p = p, .n_points = n_points, .n = n, .priority = priority,
							   .needs = builds});
}

/* ---- values ---- */

void boots_release(struct boots *b)
{
	free(b->value);
	free(b->when);
	*b = (struct boots){0};
}

int engine_boots(struct engine *e, const struct scope *s, const char *commit, const char *metric, usec_t since,
		 struct boots *ret)
{
	struct db_build b = {0};
	struct sample x = {0};
	struct boots out = {0};
	int r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b);

	if (r >= 0)
		r = store_sample(e->store, b.id, s->job.id, s->machine.tbox_group, metric, &x);
	db_build_release(&b);
	if (r == -ENOENT) { /* not built: no boots */
		*ret = out;
		return 0;
	}
	if (r < 0)
		return r;
	out.value = xcalloc(x.n, sizeof(double));
	out.when = xcalloc(x.n, sizeof(double));
	for (size_t i = 0; i < x.n; i++) {
		size_t runs = 0;
		double sum = 0;
		bool first = true;

		for (size_t j = 0; j < i && first; j++)
			first = !streq(x.boot[j], x.boot[i]);
		if (!first || x.time[i] < since)
			continue;
		for (size_t j = i; j < x.n; j++)
			if (streq(x.boot[j], x.boot[i])) {
				sum += x.value[j];
				runs++;
			}
		out.value[out.n] = sum / runs;
		out.when[out.n++] = x.time[i] / 1e6;
	}
	sample_release(&x);
	*ret = out;
	return 0;
}

int engine_bad_runs(struct engine *e, const struct scope *s, const char *commit, size_t *ret_bad, size_t *ret_ok,
		    char **ret_cause)
{
	struct db_build b = {0};
	struct db_run *runs = NULL;
	size_t n = 0, bad = 0, good = 0;
	char *cause = NULL;
	int r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b);

	if (r >= 0)
		r = store_runs(e->store, b.id, s->job.id, s->machine.tbox_group, NULL, &runs, &n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (streq(runs[i].verdict, "ok")) {
			good++;
		} else if (!streq(runs[i].verdict, "infra")) {
			bad++;
			free(cause);
			cause = xasprintf("%s: %s", runs[i].verdict, runs[i].cause ? runs[i].cause : "no cause known");
		}
	}
	DB_LIST_RELEASE(runs, n, db_run_release);
	db_build_release(&b);
	if (r < 0 && r != -ENOENT) {
		free(cause);
		return r;
	}
	*ret_bad = bad;
	*ret_ok = good;
	if (ret_cause)
		*ret_cause = cause;
	else
		free(cause);
	return 0;
}

/* Pooled relative spread of the boots within the builds of the tree (one-way analysis of variance). */
static int known_spread(struct engine *e, const struct scope *s, const char *metric, double *ret_sd, double *ret_df)
{
	struct db_build *b = NULL;
	size_t n = 0;
	double ss = 0, df = 0;
	int r = store_builds(e->store, s->tree.id, s->cmp.kconfig, &b, &n);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct boots x = {0};
		double mean = 0;

		if (!streq(b[i].state, "ok") || streq(b[i].commit, s->cmp.base) || streq(b[i].commit, s->cmp.head) ||
		    engine_boots(e, s, b[i].commit, metric, 0, &x) < 0)
			continue;
		for (size_t k = 0; k < x.n; k++)
			mean += x.value[k] / x.n;
		for (size_t k = 0; k < x.n && x.n > 1 && mean != 0; k++)
			ss += (x.value[k] / mean - 1) * (x.value[k] / mean - 1);
		df += x.n > 1 ? x.n - 1 : 0;
		boots_release(&x);
	}
	DB_LIST_RELEASE(b, n, db_build_release);
	if (r < 0)
		return r;
	*ret_sd = df > 0 ? sqrt(ss / df) : 0;
	*ret_df = df;
	return 0;
}

int engine_verdict_config(struct engine *e, const struct scope *s, const char *metric, struct verdict_config *ret)
{
	struct job j = {0};
	bool exact = engine_deterministic(s);
	double rule = effect_rules_find(&e->cfg->min_effects, metric);
	struct verdict_config c = {.alpha = e->cfg->alpha, .min_effect = e->cfg->min_effect, .min_boots = e->cfg->min_boots,
				   .max_boots = e->cfg->max_boots, .sigma_floor = exact ? 2e-5 : 0};
	int r = job_from_canonical(s->job.name, s->job.canonical, &j);

	if (r < 0)
		return r;
	if (isfinite(rule) && !metric_is_points(metric)) /* said for this metric: it holds as it is, on every machine */
		c.min_effect = rule;
	else if (!exact) /* a job's own threshold is for the noise of real machines */
		c.min_effect = MAX(c.min_effect, job_kpi_threshold(&j, metric));
	if (exact && c.min_boots > 2)
		c.min_boots = 2;
	job_release(&j);
	r = known_spread(e, s, metric, &c.prior_sd, &c.prior_df);
	if (r < 0)
		return r;
	*ret = c;
	return 0;
}

/* ---- comparisons ---- */

int engine_ask(struct engine *e, const struct db_tree *tree, const struct tree_config *tcfg, const char *branch,
	       const char *base, const char *head, const struct db_job *job, const char *machine, int64_t *ret_id)
{
	struct db_machine m = {0};
	char epoch[BUILD_EPOCH] = "";
	struct db_comparison c = {.tree = tree->id, .epoch = epoch, .branch = (char *)branch, .base = (char *)base, .head = (char *)head,
				  .kconfig = tcfg->kconfig, .job = job->id, .state = (char *)"open"};
	int r = store_machine_get(e->store, machine, &m);

	if (r == -ENOENT)
		return err_set(-ENOENT, "there is no machine '%s'; 'kperfbot machine list' shows them", machine);
	if (r >= 0)
		r = store_job_put(e->store, job);
	c.machine = m.id;
	if (r >= 0)
		r = build_epoch(tcfg->program ? BUILD_PROGRAM : BUILD_KERNEL, tcfg->kconfig, epoch);
	if (r >= 0)
		r = store_comparison_put(e->store, &c, ret_id);
	db_machine_release(&m);
	return MIN(r, 0);
}

static int end_comparison(struct engine *e, const struct scope *s, const char *state, const char *fmt, ...) _printf_(4, 5);
static int end_comparison(struct engine *e, const struct scope *s, const char *state, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	store_event(e->store, 0, s->cmp.id, 0, "comparison %.12s..%.12s: %s: %s", s->cmp.base, s->cmp.head, state, text);
	return store_comparison_end(e->store, s->cmp.id, state, text);
}

int engine_same_epoch(const struct scope *s)
{
	char now[BUILD_EPOCH];
	int r = build_epoch(s->tcfg.program ? BUILD_PROGRAM : BUILD_KERNEL, s->cmp.kconfig, now);

	return r < 0 ? r : streq(now, s->cmp.epoch);
}

/* Both builds there and usable? 1: yes, 0: wait or ended. */
static int need_builds(struct engine *e, const struct scope *s)
{
	const char *commit[2] = {s->cmp.base, s->cmp.head};
	struct db_build b[2] = {0};
	int r = 1;

	for (int i = 0; i < 2 && r > 0; i++) {
		struct db_task t = {0};
		int64_t task;

		r = engine_build_task(e, s, commit[i], 100, 0, &task);
		if (r >= 0)
			r = store_task_by_id(e->store, task, &t);
		if (r >= 0)
			r = store_build_get(e->store, s->tree.id, commit[i], s->cmp.kconfig, &b[i]);
		if (r == -ENOENT)
			r = t.state && (streq(t.state, "failed") || streq(t.state, "cancelled"))
				    ? end_comparison(e, s, "broken", "%.12s cannot be built: %s", commit[i],
						     t.result ? t.result : "no reason known")
				    : 0;
		else if (r >= 0 && !streq(b[i].state, "ok"))
			r = end_comparison(e, s, "broken", "%.12s does not build: %s", commit[i],
					   b[i].error ? b[i].error : "see its log");
		else if (r >= 0)
			r = 1;
		db_task_release(&t);
	}
	if (r > 0 && streq(b[0].image_hash, b[1].image_hash))
		r = end_comparison(e, s, "same", "both build the same image");
	db_build_release(&b[0]);
	db_build_release(&b[1]);
	return r;
}

static int open_case(struct engine *e, const struct scope *s, const char *metric, const struct verdict_result *v, size_t boots)
{
	struct db_case c = {.comparison = s->cmp.id, .metric = (char *)metric, .state = (char *)"confirmed",
			    .confidence = e->cfg->confidence, .effect = v->effect, .effect_lo = v->lo, .effect_hi = v->hi,
			    .posterior = NAN, .boots = boots, .builds = 2};
	int64_t id = 0;
	int r;

	c.opened = c.changed = now_usec();
	r = store_case_put(e->store, &c, &id);
	if (r == -EEXIST)
		return 0;
	if (r >= 0)
		store_event(e->store, id, s->cmp.id, 0, "case opened: %s %+.3f%% (%+.3f%% to %+.3f%%), p=%.2g, %zu boots", metric,
			    100 * v->effect, 100 * v->lo, 100 * v->hi, v->p, boots);
	return r;
}

struct judged {
	enum verdict verdict;
	size_t more, boots;
	double effect, p, min_effect;
	bool disturbed;         /* the canary moved, too */
	char canary[300];       /* what it says, for the reason */
};

/* A difference counts when it was not the machine that changed. */
static int judge_different(struct engine *e, const struct scope *s, const char *metric, const struct verdict_result *v, size_t boots,
			   struct judged *out)
{
	struct canary_verdict k = {0};
	int r = engine_canary_verdict(e, s, metric, s->cmp.base, s->cmp.head, s->cmp.created, v->effect, &k);

	if (r < 0)
		return r;
	memcpy(out->canary, k.text, sizeof(out->canary));
	if (k.state == CANARY_MORE) {
		out->verdict = VERDICT_MORE;
		out->more = MAX(out->more, 1u);
		return 0;
	}
	out->verdict = VERDICT_DIFFERENT;
	out->effect = v->effect;
	out->disturbed = k.state == CANARY_MOVED;
	return out->disturbed ? 0 : open_case(e, s, metric, v, boots);
}

static int judge_metric(struct engine *e, const struct scope *s, const char *metric, size_t n_kpis, bool first, struct judged *out)
{
	struct verdict_config vc;
	struct verdict_result v = {0};
	struct boots a = {0}, b = {0};
	int r = engine_boots(e, s, s->cmp.base, metric, s->cmp.created, &a);

	if (r >= 0)
		r = engine_boots(e, s, s->cmp.head, metric, s->cmp.created, &b);
	if (r >= 0)
		r = engine_verdict_config(e, s, metric, &vc);
	/* a KPI that this machine does not give (no value on any boot) is not judged */
	if (r >= 0 && (a.n || b.n || first)) {
		vc.alpha /= n_kpis;
		r = verdict_two(&vc, a.value, a.n, b.value, b.n, &v);
		if (r >= 0 && v.verdict == VERDICT_DIFFERENT && out->verdict != VERDICT_DIFFERENT)
			r = judge_different(e, s, metric, &v, a.n + b.n, out);
		else if (r >= 0 && v.verdict == VERDICT_MORE && out->verdict == VERDICT_SAME)
			out->verdict = VERDICT_MORE;
		if (first)
			out->effect = v.effect;
		out->more = MAX(out->more, v.more_boots);
		out->p = v.p;
		out->min_effect = vc.min_effect;
		out->boots = MAX(out->boots, a.n + b.n);
	}
	boots_release(&a);
	boots_release(&b);
	return r;
}

/* All KPIs of the job; the first that differs opens the case. */
static int judge(struct engine *e, const struct scope *s, struct judged *ret)
{
	struct job j = {0};
	int r = job_from_canonical(s->job.name, s->job.canonical, &j);
	struct judged out = {.verdict = VERDICT_SAME};
	size_t n_kpis = 0;

	if (r < 0)
		return r;
	while (job_kpis(&j)[n_kpis])
		n_kpis++;
	for (size_t k = 0; r >= 0 && k < n_kpis; k++)
		r = judge_metric(e, s, job_kpis(&j)[k], n_kpis, k == 0, &out);
	job_release(&j);
	if (r >= 0)
		*ret = out;
	return MIN(r, 0);
}

static int side_broken(struct engine *e, const struct scope *s)
{
	const char *commit[2] = {s->cmp.base, s->cmp.head};

	for (int i = 0; i < 2; i++) {
		_cleanup_free_ char *cause = NULL;
		size_t bad = 0, good = 0;
		int r = engine_bad_runs(e, s, commit[i], &bad, &good, &cause);

		if (r < 0)
			return r;
		if (bad >= MAX_BAD_RUNS && bad > good) {
			r = end_comparison(e, s, "broken", "%zu of %zu runs of %.12s failed, the last one: %s", bad, bad + good,
					   commit[i], cause);
			return r < 0 ? r : 1;
		}
	}
	return 0;
}

/* Did a link's limit hide what the kernel can do? Then "same" says little. */
static bool capped(struct engine *e, const struct scope *s)
{
	const char *const commit[] = {s->cmp.base, s->cmp.head};
	bool found = false;

	for (int i = 0; i < 2; i++) {
		struct db_build b = {0};
		struct db_check *list = NULL;
		size_t n = 0;

		if (store_build_get(e->store, s->tree.id, commit[i], s->cmp.kconfig, &b) >= 0)
			(void)store_checks(e->store, b.id, s->job.id, s->machine.tbox_group, &list, &n);
		for (size_t k = 0; k < n; k++)
			found |= streq(list[k].name, "line-rate") && startswith(list[k].evidence, CHECK_CAPPED);
		DB_LIST_RELEASE(list, n, db_check_release);
		db_build_release(&b);
	}
	return found;
}

/* The machine changed between the two: it is measured afresh, and after some rounds left undecided. */
static int disturbed(struct engine *e, const struct scope *s, const struct judged *j)
{
	_cleanup_free_ char *what = xasprintf("not steady: %+.3f%% between %.10s and %.10s%s", 100 * j->effect, s->cmp.base,
					      s->cmp.head, j->canary);
	int r = engine_flag_machine(e, s, what);

	if (r < 0)
		return r;
	if (s->cmp.disturbed + 1 >= MAX_DISTURBED)
		return end_comparison(e, s, "disturbed", "machine '%s' was %s; 'kperfbot machine show %s'", s->machine.name, what,
				      s->machine.name);
	store_event(e->store, 0, s->cmp.id, 0, "comparison %.12s..%.12s: machine '%s' was %s: measuring again", s->cmp.base,
		    s->cmp.head, s->machine.name, what);
	return store_comparison_again(e->store, s->cmp.id);
}

/* The verdict is there: told together with what says against it. A difference that was not reached is one all the same. */
static int end_judged(struct engine *e, const struct scope *s, const struct judged *j)
{
	struct db_pair_check reach = {0};
	bool unreached = engine_reach(e, s, s->cmp.base, s->cmp.head, &reach) >= 0 && streq(reach.verdict, CHECK_FAIL);
	int r;

	if (j->verdict == VERDICT_DIFFERENT)
		r = end_comparison(e, s, "different", "%+.3f%% after %zu boots%s%s%s", 100 * j->effect, j->boots, j->canary,
				   unreached ? "; warning: not reached, so the place of code in memory or something else did it: " : "",
				   unreached ? reach.evidence : "");
	else
		r = end_comparison(e, s, "same", "%+.3f%% after %zu boots; smallest change of interest %.2f%%%s%s%s",
				   100 * j->effect, j->boots, 100 * j->min_effect,
				   capped(e, s) ? "; capped: the link was at its limit, which can hide a change" : "",
				   unreached ? "; same, but not reached: " : "", unreached ? reach.evidence : "");
	db_pair_check_release(&reach);
	return r;
}

static int act_on(struct engine *e, const struct scope *s, const struct judged *j)
{
	if (j->verdict == VERDICT_MORE)
		return engine_pair_tasks(e, s, s->cmp.base, s->cmp.head, MAX(j->more, 1), 100, 0);
	if (j->verdict == VERDICT_DIFFERENT && j->disturbed)
		return disturbed(e, s, j);
	return end_judged(e, s, j);
}

/* Both builds, and the canary's where there is one. */
static int need_all(struct engine *e, const struct scope *s)
{
	struct canary k = {0};
	int r = need_builds(e, s);

	if (r <= 0)
		return r;
	r = engine_canary(e, s, s->cmp.base, s->cmp.head, 100, 0, &k);
	canary_release(&k);
	return r;
}

/* Queues the boot that sees what the head executes. True: the verdict waits for it, since there are results already. */
static bool wait_for_reach(struct engine *e, const struct scope *s)
{
	size_t bad = 0, good = 0;

	return engine_reach_plan(e, s, s->cmp.base, s->cmp.head, 100, 0) > 0 &&
	       engine_bad_runs(e, s, s->cmp.head, &bad, &good, NULL) >= 0 && bad + good;
}

static int plan_comparison(struct engine *e, int64_t id)
{
	struct scope s = {0};
	struct judged j = {0};
	int r = engine_scope(e, id, &s);

	if (r >= 0)
		r = engine_same_epoch(&s);
	if (r == 0)
		r = end_comparison(e, &s, "cancelled", "the configuration or the toolchain has changed since it was asked");
	else if (r > 0)
		r = need_all(e, &s);
	if (r > 0 && !engine_has_active(e, id, 0) && !wait_for_reach(e, &s)) {
		r = side_broken(e, &s);
		if (r == 0) {
			r = judge(e, &s, &j);
			if (r >= 0)
				r = act_on(e, &s, &j);
		}
	}
	scope_release(&s);
	return MIN(r, 0);
}

/* ---- branches ---- */

/* Where to compare a head from: the last tested head, or the merge base with it after a force push. NULL: nowhere. */
static char *base_for(struct engine *e, const char *git_dir, const struct db_branch *b, const struct tree_config *t)
{
	char *base = NULL;
	int r = tree_is_ancestor(git_dir, b->tested, b->head);
	struct tree_range range = {0};

	if (r > 0)
		base = xstrdup(b->tested);
	else if (tree_merge_base(git_dir, b->tested, b->head, &base) < 0)
		base = NULL;
	if (base && tree_range(git_dir, base, b->head, t->max_commits, &range) < 0) {
		store_event(e->store, 0, 0, 0, "%s: %.12s is too far behind %.12s, starting afresh there: %s", b->name, base,
			    b->head, err_msg());
		free(base);
		base = NULL;
	}
	tree_range_release(&range);
	return base;
}

/* A point with a series asks what the series does on the new head; one without, what the new head does. 1: open. */
static int ask_point(struct engine *e, const struct db_tree *tree, const struct tree_config *t, const struct db_branch *b,
		     const char *base, const struct job *job)
{
	_cleanup_free_ char *git_dir = engine_git_dir(e->cfg, tree->name), *patched = NULL;
	struct db_job dj = {0};
	struct db_comparison c = {0};
	int64_t id;
	int r = job->patches ? points_patch(e->store, tree, git_dir, b->head, job->patches, false, &patched) : 0;

	if (r == -EWOULDBLOCK) /* the mirror is being fetched: next time */
		return 1;
	if (r == -ENOTSUP) {
		store_event(e->store, 0, 0, 0, "%s/%s: %s", tree->name, b->name, err_msg());
		return 0;
	}
	if (r >= 0)
		r = job_to_db(job, &dj);
	if (r >= 0)
		r = engine_ask(e, tree, t, b->name, patched ? b->head : base, patched ? patched : b->head, &dj, t->machine, &id);
	if (r >= 0)
		r = store_comparison_by_id(e->store, id, &c);
	if (r >= 0)
		r = streq(c.state, "open");
	db_comparison_release(&c);
	db_job_release(&dj);
	return r;
}

/* Makes the comparisons of a new head. Returns how many of them are still open. */
static int ask_all(struct engine *e, const struct db_tree *tree, const struct tree_config *t, const struct db_branch *b,
		   const char *base)
{
	const struct strv none = {0};
	int open = 0, r = 0;

	for (size_t i = 0; r >= 0 && i < t->jobs.n; i++) {
		struct job_list jobs = {0};

		r = points_jobs(t->jobs.v[i], e->cfg->dir, NULL, &none, &t->patches, &jobs);
		for (size_t k = 0; r >= 0 && k < jobs.n; k++) {
			r = ask_point(e, tree, t, b, base, &jobs.v[k]);
			open += r > 0;
		}
		job_list_release(&jobs);
	}
	return r < 0 ? r : open;
}

static int plan_branch(struct engine *e, const struct db_tree *tree, const struct tree_config *t, const struct db_branch *b,
		       const struct db_comparison *open, size_t n_open)
{
	_cleanup_free_ char *git_dir = engine_git_dir(e->cfg, tree->name), *base = NULL;
	int r;

	if (!b->head || streq(b->head, b->tested))
		return 0;
	for (size_t i = 0; i < n_open; i++)
		if (open[i].tree == tree->id && streq(open[i].branch, b->name))
			return 0; /* one round at a time: the newest head is next */
	if (b->tested)
		base = base_for(e, git_dir, b, t);
	if (!base || streq(base, b->head)) {
		store_event(e->store, 0, 0, 0, "%s/%s: starting from %.12s", tree->name, b->name, b->head);
		return store_branch_tested(e->store, b->id, b->head);
	}
	r = ask_all(e, tree, t, b, base);
	if (r != 0)
		return MIN(r, 0);
	return store_branch_tested(e->store, b->id, b->head);
}

static bool tree_has_open(const struct db_tree *tree, const struct db_comparison *open, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (open[i].tree == tree->id)
			return true;
	return false;
}

static int plan_tree(struct engine *e, const struct db_tree *tree, const struct db_comparison *open, size_t n_open)
{
	struct tree_config t = {0};
	struct db_branch *b = NULL;
	size_t n = 0;
	int r = tree_config_from_db(tree, &t), first = 0;

	if (r >= 0)
		r = store_branches(e->store, tree->id, &b, &n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		int k = plan_branch(e, tree, &t, &b[i], open, n_open);

		if (k >= 0 && streq(b[i].head, b[i].tested) && !tree_has_open(tree, open, n_open))
			k = engine_plan_detect(e, tree, &t, &b[i]);
		if (k < 0 && !first)
			first = err_prefix(k, "%s/%s", tree->name, b[i].name);
	}
	DB_LIST_RELEASE(b, n, db_branch_release);
	tree_config_release(&t);
	return r < 0 ? r : first;
}

/* ---- all ---- */

void engine_release(struct engine *e)
{
	DB_LIST_RELEASE(e->active, e->n_active, db_task_release);
	e->active = NULL;
	e->n_active = 0;
}

static bool case_lives(const struct db_case *c)
{
	static const char *const live[] = {"suspected", "confirmed", "bisecting", "proving", "found"};

	for (size_t i = 0; i < ARRAY_SIZE(live); i++)
		if (streq(c->state, live[i]))
			return true;
	return false;
}

static void keep_first(int r, int *first, char **text)
{
	if (r < 0 && !*first) {
		*first = r;
		*text = xstrdup(err_msg());
	}
}

int engine_plan(struct engine *e)
{
	struct db_tree *trees = NULL;
	struct db_comparison *open = NULL;
	struct db_case *cases = NULL;
	size_t n_trees = 0, n_open = 0, n_cases = 0;
	_cleanup_free_ char *text = NULL;
	int first = 0;

	engine_release(e);
	keep_first(store_tasks(e->store, "ready,running", &e->active, &e->n_active), &first, &text);
	keep_first(store_cases(e->store, NULL, &cases, &n_cases), &first, &text);
	for (size_t i = 0; i < n_cases; i++)
		if (case_lives(&cases[i]))
			keep_first(engine_plan_case(e, &cases[i]), &first, &text);
	keep_first(store_comparisons(e->store, "open", &open, &n_open), &first, &text);
	for (size_t i = 0; i < n_open; i++)
		keep_first(plan_comparison(e, open[i].id), &first, &text);
	keep_first(store_trees(e->store, &trees, &n_trees), &first, &text);
	for (size_t i = 0; i < n_trees; i++)
		if (trees[i].enabled)
			keep_first(plan_tree(e, &trees[i], open, n_open), &first, &text);
	DB_LIST_RELEASE(trees, n_trees, db_tree_release);
	DB_LIST_RELEASE(open, n_open, db_comparison_release);
	DB_LIST_RELEASE(cases, n_cases, db_case_release);
	return first ? err_set(first, "%s", text) : 0;
}
