/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/case.h"
#include "bot/engine/detect.h"
#include "bot/engine/heads.h"
#include "bot/engine/judge.h"
#include "bot/engine/trouble.h"

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

static int machine_there(const struct engine *e, const char *name)
{
	return config_machine(e->cfg, name) ? 0 : err_set(-ENODEV, "machine '%s' is not in the configuration any more",
							  name);
}

/* Is the machine of a comparison in the configuration? */
static int can_measure(struct engine *e, int64_t comparison)
{
	struct db_comparison c = {0};
	struct db_machine m = {0};
	int r = store_comparison_by_id(e->store, comparison, &c);

	if (r >= 0)
		r = store_machine_by_id(e->store, c.machine, &m);
	if (r >= 0)
		r = machine_there(e, m.name);
	db_machine_release(&m);
	db_comparison_release(&c);
	return r;
}

static int plan_comparison(struct engine *e, int64_t id)
{
	int r = can_measure(e, id);

	return r < 0 ? r : engine_plan_comparison(e, id);
}

/* What is found is reported without the machine. */
static int plan_case(struct engine *e, struct db_case *c)
{
	int r = db_case_measures(c) ? can_measure(e, c->comparison) : 0;

	return r < 0 ? r : engine_plan_case(e, c);
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
		int k;

		if (trouble_waits(e, PLAN_BRANCH, b[i].id))
			continue;
		k = machine_there(e, t.machine);
		if (k >= 0)
			k = engine_plan_head(e, tree, &t, &b[i], open, n_open, &left, &waits);
		if (k >= 0 && streq(b[i].head, b[i].tested) && !tree_has_open(tree, open, n_open))
			k = engine_plan_detect(e, tree, &t, &b[i]);
		if (k < 0)
			(void)err_prefix(k, "%s/%s", tree->name, b[i].name);
		k = trouble_note(e, PLAN_BRANCH, b[i].id, k);
		if (k < 0 && !first)
			first = k;
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
	keep_first(store_tasks_living(e->store, &e->active, &e->n_active), &first, &text);
	keep_first(store_cases(e->store, &cases, &n_cases), &first, &text);
	for (size_t i = 0; i < n_cases; i++)
		if (db_case_lives(&cases[i]) && !trouble_waits(e, PLAN_CASE, cases[i].id))
			keep_first(trouble_note(e, PLAN_CASE, cases[i].id, plan_case(e, &cases[i])), &first,
				   &text);
	keep_first(store_comparisons_in(e->store, COMPARISON_OPEN, &open, &n_open), &first, &text);
	for (size_t i = 0; i < n_open; i++)
		if (!trouble_waits(e, PLAN_COMPARISON, open[i].id))
			keep_first(trouble_note(e, PLAN_COMPARISON, open[i].id,
						plan_comparison(e, open[i].id)), &first, &text);
	keep_first(store_trees(e->store, &trees, &n_trees), &first, &text);
	for (size_t i = 0; i < n_trees; i++)
		if (trees[i].enabled)
			keep_first(plan_tree(e, &trees[i], open, n_open), &first, &text);
	troubles_sweep(e);
	DB_LIST_RELEASE(trees, n_trees, db_tree_release);
	DB_LIST_RELEASE(open, n_open, db_comparison_release);
	DB_LIST_RELEASE(cases, n_cases, db_case_release);
	return first ? err_set(first, "%s", text) : 0;
}
