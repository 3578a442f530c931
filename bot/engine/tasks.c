/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work for the queue. */
#include "bot/engine/tasks.h"
#include "bot/engine/measured.h"

#define MAX_ATTEMPTS 5
#define MAX_SPENT 50            /* replicate numbers that may be skipped over */

/* What s asks for, on a commit. */
static struct task_payload payload_of(const struct scope *s, const char *commit)
{
	return (struct task_payload){.tree = s->tree.name, .commit = (char *)commit, .kconfig = s->cmp.kconfig,
				     .job = s->job.id, .machine = s->machine.name};
}

/* Returns 0 when new, 1 when it was there, or negative. */
static int add_task(struct engine *e, struct db_task *t, const struct task_payload *p, const int64_t *needs,
		    int64_t *ret_id)
{
	_cleanup_free_ char *json = task_payload_json(t->kind, p), *resource = task_resource(t->kind, p->machine);

	t->payload = json;
	t->resource = resource;
	t->max_attempts = MAX_ATTEMPTS;
	return store_task_add(e->store, t, needs, ret_id);
}

static char *build_key(const struct scope *s, const char *commit)
{
	return xasprintf("build:%s:%s:%s:%s", s->tree.name, commit, s->cmp.kconfig, s->cmp.epoch);
}

bool engine_build_done(struct engine *e, const struct scope *s, const char *commit)
{
	_cleanup_free_ char *key = build_key(s, commit);
	struct db_task t = {0};
	bool done = store_task_by_key(e->store, key, &t) >= 0 && t.state == TASK_DONE;

	db_task_release(&t);
	return done;
}

int engine_build_task(struct engine *e, const struct scope *s, const char *commit, int priority, int64_t case_id,
		      int64_t *ret_id)
{
	_cleanup_free_ char *key = build_key(s, commit);
	struct db_task t = {
		.kind = TASK_BUILD, .key = key, .priority = priority, .comparison = s->cmp.id, .case_id = case_id};
	struct task_payload p = payload_of(s, commit);

	return add_task(e, &t, &p, NULL, ret_id);
}

/* The first replicate number not used yet. */
static int next_replicate(struct engine *e, const struct scope *s, const char *commit, int64_t *ret)
{
	struct db_run *runs;
	size_t n;
	int64_t next = 1;
	int r = engine_run_list(e, s, commit, &runs, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		next = MAX(next, runs[i].replicate + 1);
	if (r >= 0)
		*ret = next;
	DB_LIST_RELEASE(runs, n, db_run_release);
	return r;
}

/* needs: the builds to wait for, its own among them, 0-terminated; NULL: its own. */
static int run_task(struct engine *e, const struct scope *s, const char *commit, int64_t replicate, int priority,
		    int64_t case_id, const int64_t *needs)
{
	_cleanup_free_ char *key = xasprintf("run:%s:%s:%s:%s:%s:%" PRId64, s->tree.name, commit, s->cmp.kconfig,
					     s->job.id, s->machine.tbox_group, replicate);
	struct task_payload p = payload_of(s, commit);
	struct db_task t = {.kind = TASK_RUN,
			    .key = key,
			    .priority = priority,
			    .comparison = s->cmp.id,
			    .case_id = case_id},
		       old = {0};
	int64_t build, id;
	int r = engine_build_task(e, s, commit, priority, case_id, &build);

	if (r < 0)
		return r;
	if (store_task_by_key(e->store, key, &old) >= 0) { /* given up without a result: this number is spent */
		bool spent = task_gave_up(old.state);

		db_task_release(&old);
		if (spent)
			return 1;
	}
	p.replicate = replicate;
	return add_task(e, &t, &p, needs ? needs : (const int64_t[]){build, 0}, &id);
}

char *engine_profile_key(const struct scope *s, const char *commit)
{
	return xasprintf("profile:%s:%s:%s:%s:%s:%s", s->tree.name, commit, s->cmp.kconfig, s->cmp.epoch, s->job.id,
			 s->machine.tbox_group);
}

int engine_profile_task(struct engine *e, const struct scope *s, const char *base, const char *commit, const char *key,
			int priority, int64_t case_id)
{
	_cleanup_free_ char *usual = engine_profile_key(s, commit);
	struct db_task t = {.kind = TASK_PROFILE, .key = key ? (char *)key : usual, .priority = priority,
			    .comparison = s->cmp.id, .case_id = case_id};
	struct task_payload p = payload_of(s, commit);
	int64_t build, id;
	int r = engine_build_task(e, s, commit, priority, case_id, &build);

	if (r < 0)
		return r;
	p.base = (char *)base;
	return add_task(e, &t, &p, (const int64_t[]){build, 0}, &id);
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
	struct db_run *runs = NULL;
	size_t n = 0, bad = 0, recent = 0, i;
	int r = s->cmp.id ? engine_run_list(e, s, commit, &runs, &n) : 0;

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
	return r;
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

/* A run with the next free number. */
static int next_run(struct engine *e, const struct engine_point *p, int64_t *next, int priority, int64_t case_id)
{
	int r = 1;

	for (int tries = 0; r == 1 && tries < MAX_SPENT; tries++)
		r = run_task(e, p->s, p->commit, (*next)++, priority, case_id, NULL);
	return MIN(r, 0);
}

int engine_turns(struct engine *e, const struct turns *t)
{
	_cleanup_free_ int64_t *next = xcalloc(t->n_points, sizeof(*next));
	int64_t beside = 0;
	int total = (int)t->n_points * t->n, added = 0, r = 0;
	bool back;

	for (size_t k = 0; r >= 0 && k < t->n_points; k++) {
		r = still_runs(e, t->p[k].s, t->p[k].commit);
		if (r >= 0)
			r = next_replicate(e, t->p[k].s, t->p[k].commit, &next[k]);
	}
	if (r >= 0 && t->beside)
		r = next_replicate(e, t->beside->s, t->beside->commit, &beside);
	back = t->goes_on && next[0] % 2 == 0;
	for (int tries = 0; r >= 0 && added < total && tries < total + MAX_SPENT; tries++) {
		size_t round = added / t->n_points, i = added % t->n_points;
		size_t k = (round + back) % 2 ? t->n_points - 1 - i : i;

		r = run_task(e, t->p[k].s, t->p[k].commit, next[k]++, t->priority, t->case_id, t->needs);
		added += r == 0;
		if (r == 0 && i == t->n_points - 1 && t->beside)
			r = next_run(e, t->beside, &beside, t->priority, t->case_id);
	}
	return r < 0 ? r : added;
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
	return r < 0 ? r : engine_turns(e, &(const struct turns){.p = p, .n_points = n_points, .n = n,
								  .priority = priority, .needs = builds});
}

bool engine_has_active(const struct engine *e, int64_t comparison, int64_t case_id)
{
	for (size_t i = 0; i < e->n_active; i++)
		if (e->active[i].comparison == comparison && e->active[i].case_id == case_id)
			return true;
	return false;
}
