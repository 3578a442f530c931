/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work for the queue, and what earlier work has measured. */
#include "bot/engine/engine.h"
#include "bisect/compare-class.h"
#include "db/setup.h"
#include "jobs/job.h"

#include <json-c/json.h>

#define MAX_ATTEMPTS 5
#define MAX_SPENT 50            /* replicate numbers that may be skipped over */

/* ---- tasks ---- */

static struct json_object *payload_of(const struct scope *s, const char *commit)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "tree", json_text(s->tree.name));
	json_object_object_add(o, "commit", json_text(commit));
	json_object_object_add(o, "kconfig", json_text(s->cmp.kconfig));
	return o;
}

/* Adds a task; its payload object is put. Returns 0 when new, 1 when it was there, or negative. */
static int add_task(struct engine *e, struct db_task *t, struct json_object *payload, const int64_t *needs, int64_t *ret_id)
{
	_cleanup_free_ char *line = json_line(payload);
	int r;

	t->payload = line;
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
		r = store_runs(e->store, b.id, s->job.id, s->machine.tbox_group, false, &runs, &n);
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
	json_object_object_add(p, "job", json_text(s->job.id));
	json_object_object_add(p, "machine", json_text(s->machine.name));
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
	json_object_object_add(p, "job", json_text(s->job.id));
	json_object_object_add(p, "machine", json_text(s->machine.name));
	json_object_object_add(p, "replicate", json_object_new_int64(0));
	json_object_object_add(p, "profile", json_object_new_boolean(true));
	if (base)
		json_object_object_add(p, "base", json_text(base));
	return add_task(e, &t, p, (const int64_t[]){build, 0}, &id);
}

/* The next free number of the canary. */
static int canary_run(struct engine *e, const struct canary *k, int64_t *next, int priority, int64_t case_id)
{
	int r = 1;

	for (int tries = 0; r == 1 && tries < MAX_SPENT; tries++)
		r = run_task(e, &k->scope, k->commit, (*next)++, priority, case_id, NULL);
	return MIN(r, 0);
}

#define FAILED_IN_A_ROW 8
#define RUNS_PER_BOOT 10        /* of max_boots: more than that in one comparison is no measuring any more */

static bool says_nothing(const struct scope *s, const struct db_run *run)
{
	return s->failing ? run->verdict == RUN_INFRA : run->verdict != RUN_OK;
}

/* Who asks for a verdict and only gets failures would ask for ever: -ENOTRECOVERABLE then. */
static int still_runs(struct engine *e, const struct scope *s, const char *commit)
{
	struct db_build b = {0};
	struct db_run *runs = NULL;
	size_t n = 0, bad = 0, recent = 0, i;
	int r = s->cmp.id ? store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b) : -ENOENT;

	if (r >= 0)
		r = store_runs(e->store, b.id, s->job.id, s->machine.tbox_group, false, &runs, &n);
	for (i = r < 0 ? 0 : n; i > 0 && says_nothing(s, &runs[i - 1]); i--)
		bad++;
	for (i = 0; r >= 0 && i < n; i++)
		recent += runs[i].id > s->cmp.after_run;
	if (r >= 0 && recent > (size_t)e->cfg->max_boots * RUNS_PER_BOOT)
		r = err_set(-ENOTRECOVERABLE, "%zu runs of %.12s came to no verdict", recent, commit);
	if (r >= 0 && bad >= FAILED_IN_A_ROW)
		r = err_set(-ENOTRECOVERABLE, "the last %zu runs of %.12s failed, the last one: %s%s%s", bad, commit,
			    run_verdict_word(runs[n - 1].verdict), runs[n - 1].cause ? ": " : "",
			    runs[n - 1].cause ? runs[n - 1].cause : "");
	DB_LIST_RELEASE(runs, n, db_run_release);
	db_build_release(&b);
	return r == -ENOENT ? 0 : MIN(r, 0);
}

int engine_run_tasks(struct engine *e, const struct scope *s, const char *commit, int n, int priority, int64_t case_id)
{
	int64_t first = 0;
	int r = case_id ? still_runs(e, s, commit) : 0, added = 0;

	if (r >= 0)
		r = next_replicate(e, s, commit, &first);
	for (int tries = 0; r >= 0 && added < n && tries < n + MAX_SPENT; tries++) {
		r = run_task(e, s, commit, first++, priority, case_id, NULL);
		added += r == 0;
	}
	return r < 0 ? r : added;
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

	for (size_t k = 0; r >= 0 && k < t->n_points; k++) {
		r = still_runs(e, t->p[k].s, t->p[k].commit);
		if (r >= 0)
			r = next_replicate(e, t->p[k].s, t->p[k].commit, &next[k]);
	}
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

/* Boots that another setup measured than the newest run of the question's place; of history, which has no such: than the
 * build's own newest one. A newer root image, say: they are no replicates of what is measured now. */
static int other_boots(struct engine *e, const struct scope *s, int64_t build, bool history, struct strv *ret)
{
	_cleanup_free_ char *now = NULL;
	struct db_setup *own = NULL;
	size_t n = 0;
	int r;

	if (history) {
		r = store_setups(e->store, build, s->job.id, s->machine.tbox_group, &own, &n);
		now = r >= 0 && n > 1 ? xstrdup(own[0].text) : NULL;
		DB_LIST_RELEASE(own, n, db_setup_release);
	} else {
		r = store_setup_newest(e->store, s->tree.id, s->cmp.kconfig, s->job.id, s->machine.id, &now);
	}
	if (r >= 0 && now)
		r = store_foreign_boots(e->store, build, s->job.id, s->machine.tbox_group, now, ret);
	return r == -ENOENT ? 0 : MIN(r, 0);
}

int engine_boots(struct engine *e, const struct scope *s, const char *commit, const char *metric, int64_t after_run,
		 struct boots *ret)
{
	struct db_build b = {0};
	struct sample x = {0};
	struct boots out = {0};
	_cleanup_strv_ struct strv others = {0};
	int r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b);

	if (r >= 0)
		r = store_sample(e->store, b.id, s->job.id, s->machine.tbox_group, metric, &x);
	if (r >= 0 && x.n)
		r = other_boots(e, s, b.id, !after_run, &others);
	db_build_release(&b);
	if (r == -ENOENT) { /* not built: no boots */
		*ret = out;
		return 0;
	}
	if (r < 0) {
		sample_release(&x);
		return r;
	}
	out.value = xcalloc(x.n, sizeof(double));
	out.when = xcalloc(x.n, sizeof(double));
	for (size_t i = 0; i < x.n; i++) {
		size_t runs = 0;
		double sum = 0;
		bool first = true;

		for (size_t j = 0; j < i && first; j++)
			first = !streq(x.boot[j], x.boot[i]);
		if (!first || x.run[i] <= after_run)
			continue;
		if (others.n && strv_has(&others, x.boot[i])) {
			out.left_out++;
			continue;
		}
		for (size_t j = i; j < x.n; j++)
			if (streq(x.boot[j], x.boot[i])) {
				sum += x.value[j];
				runs++;
			}
		out.value[out.n] = sum / runs;
		out.when[out.n++] = x.run[i];
	}
	sample_release(&x);
	*ret = out;
	return 0;
}

void engine_runs_release(struct engine_runs *k)
{
	free(k->cause);
	*k = (struct engine_runs){0};
}

static void count_run(struct engine_runs *k, const struct db_run *run)
{
	if (run->verdict == RUN_OK) {
		k->good++;
	} else if (run->verdict != RUN_INFRA) {
		k->bad++;
		k->no_boot += run->verdict == RUN_BOOT_FAILED;
		k->untrusted += run->verdict == RUN_UNTRUSTED;
		free(k->cause);
		k->cause = xasprintf("%s: %s", run_verdict_word(run->verdict), run->cause ? run->cause : "no cause known");
	}
}

int engine_runs(struct engine *e, const struct scope *s, const char *commit, int64_t after_run, struct engine_runs *ret)
{
	struct engine_runs k = {0};
	struct db_build b = {0};
	struct db_run *runs = NULL;
	size_t n = 0;
	int r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b);

	if (r >= 0)
		r = store_runs(e->store, b.id, s->job.id, s->machine.tbox_group, false, &runs, &n);
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (runs[i].id > after_run)
			count_run(&k, &runs[i]);
	DB_LIST_RELEASE(runs, n, db_run_release);
	db_build_release(&b);
	if (r < 0 && r != -ENOENT)
		return r;
	*ret = k;
	return 0;
}

int engine_bad_runs(struct engine *e, const struct scope *s, const char *commit, size_t *ret_bad, size_t *ret_ok,
		    char **ret_cause)
{
	struct engine_runs k = {0};
	int r = engine_runs(e, s, commit, 0, &k);

	if (r < 0)
		return r;
	*ret_bad = k.bad;
	*ret_ok = k.good;
	if (ret_cause)
		*ret_cause = TAKE_PTR(k.cause);
	engine_runs_release(&k);
	return 0;
}

struct own_spread { double ss, df; };   /* of one build: squares, degrees of freedom */

static int by_variance(const void *a, const void *b)
{
	const struct own_spread *x = a, *y = b;
	double v = x->ss / x->df, w = y->ss / y->df;

	return (v > w) - (v < w);
}

/* A commit whose figures are thrown like dice must not hide what all others show: builds far beyond the median are left
 * out (by chance that is one in 400 of those with two boots, and less than one in a million of those with three). */
#define SPREAD_OUTLIER 20.0

static void pool_own(struct own_spread *v, size_t n, double *ret_sd, double *ret_df)
{
	double ss = 0, df = 0, median;

	if (n)
		qsort(v, n, sizeof(*v), by_variance);
	median = n ? v[n / 2].ss / v[n / 2].df : 0;
	for (size_t i = 0; i < n; i++) {
		if (n > 2 && median > 0 && v[i].ss / v[i].df > SPREAD_OUTLIER * median)
			continue;
		ss += v[i].ss;
		df += v[i].df;
	}
	*ret_sd = df > 0 ? sqrt(ss / df) : 0;
	*ret_df = df;
}

/* Pooled relative spread of the boots within the builds of the tree (one-way analysis of variance). */
static int known_spread(struct engine *e, const struct scope *s, const char *metric, double *ret_sd, double *ret_df)
{
	struct db_build *b = NULL;
	size_t n = 0, n_own = 0;
	struct own_spread *own;
	int r = store_builds(e->store, s->tree.id, s->cmp.kconfig, &b, &n);

	own = xcalloc(n + 1, sizeof(*own));
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct own_spread o = {0};
		struct boots x = {0};
		double mean = 0;

		if (b[i].state != BUILD_OK || streq(b[i].commit, s->cmp.base) || streq(b[i].commit, s->cmp.head) ||
		    engine_boots(e, s, b[i].commit, metric, 0, &x) < 0)
			continue;
		for (size_t k = 0; k < x.n; k++)
			mean += x.value[k] / x.n;
		for (size_t k = 0; k < x.n && x.n > 1 && mean != 0; k++)
			o.ss += (x.value[k] / mean - 1) * (x.value[k] / mean - 1);
		o.df = x.n > 1 && mean != 0 ? x.n - 1 : 0;
		if (o.df > 0)
			own[n_own++] = o;
		boots_release(&x);
	}
	DB_LIST_RELEASE(b, n, db_build_release);
	if (r >= 0)
		pool_own(own, n_own, ret_sd, ret_df);
	free(own);
	return MIN(r, 0);
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
