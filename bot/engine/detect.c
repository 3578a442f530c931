/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Change points of what is stored: more boots for the provisional ones, a comparison for those that nobody has asked
 * about. */
#include "bot/engine/detect.h"
#include "bot/engine/measured.h"
#include "bot/engine/pairs.h"
#include "bot/engine/points.h"
#include "bot/engine/tasks.h"
#include "jobs/job.h"
#include "lib/change.h"

#define MIN_COMMITS 12          /* on the branch's line: with fewer a series says nothing that comparisons do not */
#define MAX_COMMITS 400         /* the newest ones; older points have had their answer */
#define MAX_BAD 3

/* ---- does somebody know already? ---- */

static bool same_detection(const struct detect_scope *d, const struct db_comparison *c, int64_t machine)
{
	return c->tree == d->tree->id && c->machine == machine && streq(c->kconfig, d->tcfg->kconfig) &&
	       streq(c->job, d->job->id);
}

/* A comparison over a wider range answers for the point while it is open, and later by its cases: one that named a
 * commit only for that commit, any other for all that lies between. */
static int wider_covers(struct engine *e, const struct detect_scope *d, const char *dir, const struct db_comparison *c,
			const char *before, const char *at)
{
	struct db_case *all = NULL;
	size_t n = 0;
	bool yes = false;
	int r;

	if (tree_is_ancestor(dir, c->base, before) != 1 || tree_is_ancestor(dir, at, c->head) != 1)
		return 0;
	if (c->state == COMPARISON_OPEN)
		return 1;
	r = store_cases(e->store, &all, &n);
	for (size_t i = 0; r >= 0 && i < n && !yes; i++)
		if (all[i].comparison == c->id && streq(all[i].metric, d->metric))
			yes = !all[i].culprit || (tree_is_ancestor(dir, all[i].culprit, at) == 1 &&
						  tree_is_ancestor(dir, all[i].culprit, before) != 1);
	DB_LIST_RELEASE(all, n, db_case_release);
	return r < 0 ? r : yes;
}

static int covered(struct engine *e, const struct detect_scope *d, int64_t machine, const char *before, const char *at)
{
	_cleanup_free_ char *dir = engine_git_dir(e->cfg, d->tree->name);
	struct db_comparison *all = NULL;
	size_t n = 0;
	int r = store_comparisons(e->store, &all, &n), yes = 0;

	for (size_t i = 0; r >= 0 && i < n && !yes; i++) {
		if (!same_detection(d, &all[i], machine))
			continue;
		if (streq(all[i].base, before) && streq(all[i].head, at))
			yes = 1;
		else if (all[i].state == COMPARISON_OPEN || all[i].state == COMPARISON_DIFFERENT)
			yes = r = wider_covers(e, d, dir, &all[i], before, at);
	}
	DB_LIST_RELEASE(all, n, db_comparison_release);
	return r < 0 ? r : yes;
}

/* ---- more boots ---- */

/* Who asked for boots of this commit: what its own series shows because a person asked for them, that person asks. */
static int asked_by_hand(struct engine *e, const struct detect_scope *d, int64_t machine, const char *at,
			 enum asked_by *ret)
{
	struct db_comparison *all = NULL;
	size_t n = 0;
	int r = store_comparisons(e->store, &all, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (same_detection(d, &all[i], machine) && streq(all[i].base, at) && streq(all[i].head, at) &&
		    all[i].asked != ASKED_DAEMON)
			*ret = all[i].asked == ASKED_HAND_MAIL ? ASKED_HAND_MAIL : ASKED_HAND;
	DB_LIST_RELEASE(all, n, db_comparison_release);
	return MIN(r, 0);
}

/* The place of the boots that a provisional point at this commit gets: a comparison of the commit with itself, ended.
 * Its place among the runs tells which boots those are. */
static int place_of_boots(struct engine *e, const struct detect_scope *d, const char *at, struct scope *ret)
{
	struct db_comparison c = {0};
	int64_t id;
	int r = engine_ask(e, d->tree, d->tcfg, d->branch, at, at, d->job, d->machine, &id);

	if (r >= 0)
		r = store_comparison_by_id(e->store, id, &c);
	if (r >= 0 && c.state == COMPARISON_OPEN)
		r = store_comparison_end(e->store, id, COMPARISON_CANCELLED, FAULT_NONE,
					 "boots for a provisional change point");
	db_comparison_release(&c);
	return r < 0 ? r : engine_scope(e, id, ret);
}

/* 1: asked for, 0: they are there already, -ENODATA: they do not come. */
static int ask_boots(struct engine *e, const struct detect_scope *d, const char *before, const char *at)
{
	const char *commit[2] = {before, at};
	struct scope s = {0};
	const struct pairs p = {.s = &s, .a = before, .b = at, .priority = PRIO_DETECT};
	size_t least = SIZE_MAX;
	int r = place_of_boots(e, d, at, &s), added = 0;

	for (int i = 0; r >= 0 && i < 2; i++) {
		struct engine_runs k = {0};

		r = engine_runs(e, &s, commit[i], s.cmp.after_run, &k);
		if (r >= 0 && k.bad + k.ours >= MAX_BAD)
			r = err_set(-ENODATA, "%.12s gives no values any more", commit[i]);
		least = MIN(least, k.good + k.bad + k.ours);
		engine_runs_release(&k);
	}
	if (r >= 0 && least < (size_t)e->cfg->detect_boots)
		r = added = pairs_more(e, &p, e->cfg->detect_boots - (int)least);
	scope_release(&s);
	return r < 0 ? r : added > 0;
}

/* ---- points ---- */

static int answer(struct engine *e, const struct detect_scope *d, const struct history *h, const struct detect_point *p,
		  int64_t machine, char **ret_what)
{
	const char *at = h->commit[p->index], *before = h->commit[p->index - 1];
	_cleanup_free_ char *what = NULL;
	_cleanup_buf_ struct buf change = {0};
	int64_t id = 0;
	struct engine asker = *e;       /* borrowed */
	int r = covered(e, d, machine, before, at);

	if (!change_no_base(p->before, p->after))
		buf_adds(&change, "by ");
	add_change(&change, p->before, p->after);
	if (r == 0 && e->asked == ASKED_DAEMON)
		r = asked_by_hand(e, d, machine, at, &asker.asked);
	if (r != 0)
		return MIN(r, 0);
	e = &asker;
	if (p->provisional && e->cfg->detect_boots > 0) {
		r = ask_boots(e, d, before, at);
		if (r == -ENODATA)
			return 0;
		if (r > 0)
			what = xasprintf("%s/%s: %s may have changed %s at %.12s: %d more boots of it and of %.12s",
					 d->tree->name, d->branch, d->metric, buf_str(&change), at,
					 e->cfg->detect_boots, before);
	}
	if (r == 0) {
		r = engine_ask(e, d->tree, d->tcfg, d->branch, before, at, d->job, d->machine, &id);
		what = xasprintf("%s/%s: %s has changed %s at %.12s: comparing it with %.12s", d->tree->name, d->branch,
				 d->metric, buf_str(&change), at, before);
	}
	if (r < 0)
		return r;
	store_event(e->store, 0, id, 0, "%s", what);
	if (ret_what) {
		free(*ret_what);
		*ret_what = TAKE_PTR(what);
	}
	return 1;
}

int engine_answer(struct engine *e, const struct detect_scope *d, const struct history *h,
		  const struct detect_result *res, char **ret_what)
{
	struct db_machine m = {0};
	int r = store_machine_get(e->store, d->machine, &m);

	for (size_t i = res->n; r == 0 && i-- > 0;)     /* the newest first, one at a time */
		if (res->v[i].index > 0)
			r = answer(e, d, h, &res->v[i], m.id, ret_what);
	db_machine_release(&m);
	return r;
}

int engine_detect_config(struct engine *e, const struct detect_scope *d, struct detect_config *ret)
{
	struct scope s = {.tree = *d->tree, .job = *d->job};    /* borrowed: not released */
	struct verdict_config vc;
	int r = store_machine_get(e->store, d->machine, &s.machine);

	s.cmp.kconfig = d->tcfg->kconfig;
	if (r >= 0)
		r = engine_verdict_config(e, &s, d->metric, &vc);
	db_machine_release(&s.machine);
	if (r >= 0)
		*ret = (struct detect_config){.min_effect = vc.min_effect, .min_segment = 5};
	return MIN(r, 0);
}

static int look_at(struct engine *e, const struct detect_scope *d)
{
	_cleanup_(history_release) struct history h = {0};
	_cleanup_(detect_result_release) struct detect_result res = {0};
	struct db_machine m = {0};
	struct detect_config cfg;
	int r = store_machine_get(e->store, d->machine, &m);
	struct history_query q = {.tree = d->tree->name,
				  .kconfig = d->tcfg->kconfig,
				  .job = d->job->id,
				  .machine = m.tbox_group,
				  .metric = d->metric,
				  .branch = d->branch,
				  .one_setup = true,
				  .max_commits = MAX_COMMITS};

	if (r >= 0)
		r = history_load(e->store, e->cfg, &q, &h);
	db_machine_release(&m);
	if (r < 0 || h.n_commits < MIN_COMMITS)
		return r == -ENOENT ? 0 : MIN(r, 0);
	r = engine_detect_config(e, d, &cfg);
	if (r >= 0)
		r = detect_run(&cfg, h.index, h.value, h.n, &res);
	return r < 0 ? r : engine_answer(e, d, &h, &res, NULL);
}

/* 1: something was asked. */
static int look_at_job(struct engine *e, struct detect_scope *d, const struct job *j)
{
	const char *const *kpi = job_kpis(j);
	struct db_job row = {0};
	int r = job_to_db(j, &row);

	d->job = &row;
	for (size_t i = 0; r == 0 && kpi[i]; i++) {
		d->metric = kpi[i];
		r = look_at(e, d);
	}
	db_job_release(&row);
	return r;
}

/* ---- when ---- */

/* Work of this tree that is not done: what it brings is waited for. */
static bool busy(struct engine *e, const struct db_tree *tree)
{
	struct db_case *cases = NULL;
	size_t n = 0;
	bool yes = false;

	for (size_t i = 0; i < e->n_active && !yes; i++) {
		struct db_comparison c = {0};

		yes = e->active[i].comparison && store_comparison_by_id(e->store, e->active[i].comparison, &c) >= 0 &&
		      c.tree == tree->id;
		db_comparison_release(&c);
	}
	if (!yes)
		(void)store_cases(e->store, &cases, &n);
	for (size_t i = 0; i < n && !yes; i++) {
		struct db_comparison c = {0};

		yes = db_case_measures(&cases[i]) && store_comparison_by_id(e->store, cases[i].comparison, &c) >= 0 &&
		      c.tree == tree->id;
		db_comparison_release(&c);
	}
	DB_LIST_RELEASE(cases, n, db_case_release);
	return yes;
}

int engine_plan_detect(struct engine *e, const struct db_tree *tree, const struct tree_config *t,
		       const struct db_branch *b)
{
	struct detect_scope d = {.tree = tree, .tcfg = t, .branch = b->name, .machine = t->machine};
	int64_t newest = 0;
	int r;

	if (!e->cfg->detect_boots || !b->head)
		return 0;
	r = store_newest_run(e->store, tree->id, b->detected, &newest);
	if (r < 0 || !newest || busy(e, tree))
		return MIN(r, 0);
	for (size_t i = 0; r == 0 && i < t->jobs.n; i++) {
		struct job_list jobs = {0};

		r = job_load(t->jobs.v[i], e->cfg->dir, NULL, &jobs);
		for (size_t k = 0; r == 0 && k < jobs.n; k++)
			r = look_at_job(e, &d, &jobs.v[k]);
		job_list_release(&jobs);
	}
	return r < 0 ? r : store_branch_detected(e->store, b->id, newest);
}
