/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine.h"
#include "bot/engine-detect.h"
#include "bot/points.h"

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

/* ---- branches ---- */

/* Where to compare a head from: the last tested head, or the merge base with it after a force push. NULL: nowhere. */
static char *base_for(struct engine *e, const char *git_dir, const struct db_branch *b, const struct tree_config *t)
{
	char *base = NULL;
	int r = tree_is_ancestor(git_dir, b->tested, b->head);
	struct tree_range range = {0};

	if (r > 0)
		base = xstrdup(b->tested);
	else if (tree_fault(r) || tree_merge_base(git_dir, b->tested, b->head, &base) < 0)
		base = NULL; /* what one question could not answer in time, the other will not */
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
	if (r == -ENOTSUP || tree_fault(r)) {
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

/* left: how many comparisons the tree may still open now; 0 and a new head: *ret_waits. */
static int plan_branch(struct engine *e, const struct db_tree *tree, const struct tree_config *t, const struct db_branch *b,
		       const struct db_comparison *open, size_t n_open, int *left, bool *ret_waits)
{
	_cleanup_free_ char *git_dir = engine_git_dir(e->cfg, tree->name), *base = NULL;
	int r;

	if (!b->head || streq(b->head, b->tested))
		return 0;
	for (size_t i = 0; i < n_open; i++)
		if (open[i].tree == tree->id && streq(open[i].branch, b->name))
			return 0; /* one round at a time: the newest head is next */
	if (b->tested && *left <= 0) {
		*ret_waits = true;
		return 0;
	}
	if (b->tested) {
		base = base_for(e, git_dir, b, t);
		--*left; /* what will not be open has cost time, too */
	}
	if (!base || streq(base, b->head)) {
		store_event(e->store, 0, 0, 0, "%s/%s: starting from %.12s", tree->name, b->name, b->head);
		return store_branch_tested(e->store, b->id, b->head);
	}
	r = ask_all(e, tree, t, b, base);
	*left -= MAX(r - 1, 0);
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

static int open_of_branches(const struct db_tree *tree, const struct db_comparison *open, size_t n_open)
{
	int n = 0;

	for (size_t i = 0; i < n_open; i++)
		n += open[i].tree == tree->id && *open[i].branch;
	return n;
}

static void note_waiting(struct engine *e, const struct db_tree *tree)
{
	strv_add(&e->waiting, tree->name);
	if (!strv_has(&e->waited, tree->name)) /* say so once */
		store_event(e->store, 0, 0, 0, "tree '%s' has more new heads than the %d that are compared at once; "
			    "the others wait for their turn", tree->name, ENGINE_MAX_OPEN);
}

static int plan_tree(struct engine *e, const struct db_tree *tree, const struct db_comparison *open, size_t n_open)
{
	struct tree_config t = {0};
	struct db_branch *b = NULL;
	size_t n = 0;
	int r = tree_config_from_db(tree, &t), first = 0, left = ENGINE_MAX_OPEN - open_of_branches(tree, open, n_open);
	bool waits = false;

	if (r >= 0)
		r = store_branches_by_turn(e->store, tree->id, &b, &n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		int k = plan_branch(e, tree, &t, &b[i], open, n_open, &left, &waits);

		if (k >= 0 && streq(b[i].head, b[i].tested) && !tree_has_open(tree, open, n_open))
			k = engine_plan_detect(e, tree, &t, &b[i]);
		if (k < 0 && !first)
			first = err_prefix(k, "%s/%s", tree->name, b[i].name);
	}
	if (waits)
		note_waiting(e, tree);
	DB_LIST_RELEASE(b, n, db_branch_release);
	tree_config_release(&t);
	return r < 0 ? r : first;
}

/* ---- all ---- */

static void release_active(struct engine *e)
{
	DB_LIST_RELEASE(e->active, e->n_active, db_task_release);
	e->active = NULL;
	e->n_active = 0;
}

void engine_release(struct engine *e)
{
	release_active(e);
	strv_release(&e->waiting);
	strv_release(&e->waited);
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

	release_active(e);
	strv_release(&e->waited);
	e->waited = e->waiting;
	e->waiting = (struct strv){0};
	e->asked = ASKED_DAEMON;
	keep_first(store_tasks(e->store, "ready,running", &e->active, &e->n_active), &first, &text);
	keep_first(store_cases(e->store, NULL, &cases, &n_cases), &first, &text);
	for (size_t i = 0; i < n_cases; i++)
		if (db_case_lives(&cases[i]))
			keep_first(engine_plan_case(e, &cases[i]), &first, &text);
	keep_first(store_comparisons(e->store, "open", &open, &n_open), &first, &text);
	for (size_t i = 0; i < n_open; i++)
		keep_first(engine_plan_comparison(e, open[i].id), &first, &text);
	keep_first(store_trees(e->store, &trees, &n_trees), &first, &text);
	for (size_t i = 0; i < n_trees; i++)
		if (trees[i].enabled)
			keep_first(plan_tree(e, &trees[i], open, n_open), &first, &text);
	DB_LIST_RELEASE(trees, n_trees, db_tree_release);
	DB_LIST_RELEASE(open, n_open, db_comparison_release);
	DB_LIST_RELEASE(cases, n_cases, db_case_release);
	return first ? err_set(first, "%s", text) : 0;
}
