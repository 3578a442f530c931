/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/heads.h"
#include "bot/engine/points.h"
#include "jobs/job.h"

/* True where the two will never be compared, however often it is tried: not what time or memory of ours was too short
 * for. */
static bool never(const char *git_dir, const struct db_branch *b, int r)
{
	_cleanup_free_ char *text = xstrdup(err_msg());
	struct commit_info head = {0};
	bool final = r == -E2BIG || tree_fault(r);

	if (r == -ENOENT) /* where the head can be read the other one is gone, or shares nothing with it */
		final = tree_commit(git_dir, b->head, &head) >= 0;
	commit_info_release(&head);
	(void)err_set(r, "%s", text);
	return final;
}

/* Where a head is compared from: the last head that was measured, or the merge base with it after a force push. *ret
 * NULL: from nowhere. Negative: it cannot be told now. */
static int base_for(struct engine *e, const char *git_dir, const struct db_branch *b, const char *measured,
		    const struct tree_config *t, char **ret)
{
	_cleanup_free_ char *base = NULL;
	struct tree_range range = {0};
	int r = tree_is_ancestor(git_dir, measured, b->head);

	if (r > 0)
		base = xstrdup(measured);
	else if (r == 0)
		r = tree_merge_base(git_dir, measured, b->head, &base);
	if (r >= 0)
		r = tree_range(git_dir, base, b->head, t->max_commits, &range);
	tree_range_release(&range);
	if (r < 0 && !never(git_dir, b, r))
		return r;
	if (r < 0)
		store_event(e->store, 0, 0, 0, "%s: %.12s cannot be compared with %.12s, starting afresh there: %s",
			    b->name, measured, b->head, err_msg());
	else
		*ret = TAKE_PTR(base);
	return 0;
}

/* A point of a job that was asked about a new head. from: measured head; c.id 0: nothing to compare with it. */
struct head_question { char *job, *from; struct db_comparison c; };
struct round {                  /* all of them */
	struct engine *e;
	const struct db_tree *tree; const struct tree_config *t; const struct db_branch *b;
	char *git_dir;
	int64_t machine;
	char *from, *base;      /* the last answer of base_for() */
	struct head_question *q; size_t n, cap;
	int open;
};

static void round_release(struct round *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->q[i].job);
		free(o->q[i].from);
		db_comparison_release(&o->q[i].c);
	}
	free(o->q);
	free(o->git_dir);
	free(o->from);
	free(o->base);
}

/* The head that a job's next one is compared with: the last that was measured; a job that is new goes on from where
 * another one stands, or from the head before. */
static int measured_head(const struct round *o, const char *job, char **ret)
{
	int r = store_base_get(o->e->store, o->b->id, job, o->machine, o->t->kconfig, ret);

	if (r == -ENOENT)
		r = store_base_get(o->e->store, o->b->id, NULL, 0, NULL, ret);
	if (r != -ENOENT)
		return r;
	*ret = xstrdup(o->b->tested);
	return 0;
}

static int find_base(struct round *o, const char *from)
{
	int r;

	if (streq(o->from, from))
		return 0;
	free(o->from);
	free(o->base);
	o->from = o->base = NULL;
	r = base_for(o->e, o->git_dir, o->b, from, o->t, &o->base);
	if (r >= 0)
		o->from = xstrdup(from);
	return r;
}

/* What a series does on the new head. 1: open. */
static int ask_patched(struct round *o, const struct job *job, const struct db_job *dj, struct db_comparison *ret)
{
	_cleanup_free_ char *patched = NULL;
	int64_t id;
	int r = points_patch(o->e->store, o->tree, o->git_dir, o->b->head, job->patches, false, &patched);

	if (r == -EWOULDBLOCK) /* the mirror is being fetched: next time */
		return 1;
	if (r == -ENOTSUP || tree_fault(r)) {
		store_event(o->e->store, 0, 0, 0, "%s/%s: %s", o->tree->name, o->b->name, err_msg());
		return 0;
	}
	if (r >= 0)
		r = engine_ask(o->e, o->tree, o->t, o->b->name, o->b->head, patched, dj, o->t->machine, &id);
	if (r >= 0)
		r = store_comparison_by_id(o->e->store, id, ret);
	return r < 0 ? r : ret->state == COMPARISON_OPEN;
}

/* What the new head does. 1: open. */
static int ask_head(struct round *o, const struct db_job *dj)
{
	struct head_question q = {.job = xstrdup(dj->id)};
	int64_t id;
	int r = store_job_put(o->e->store, dj); /* also where nothing can be asked: the branch goes on with it */

	if (r >= 0)
		r = measured_head(o, dj->id, &q.from);
	if (r >= 0)
		r = find_base(o, q.from);
	if (r >= 0 && o->base && !streq(o->base, o->b->head)) {
		r = engine_ask(o->e, o->tree, o->t, o->b->name, o->base, o->b->head, dj, o->t->machine, &id);
		if (r >= 0)
			r = store_comparison_by_id(o->e->store, id, &q.c);
		if (r >= 0)
			r = q.c.state == COMPARISON_OPEN;
	}
	GROW(o->q, o->n, o->cap);
	o->q[o->n++] = q;
	return r;
}

static int ask_point(struct round *o, const struct job *job)
{
	struct db_job dj = {0};
	struct db_comparison c = {0};
	int r = job_to_db(job, &dj);

	if (r >= 0)
		r = job->patches ? ask_patched(o, job, &dj, &c) : ask_head(o, &dj);
	if (r > 0)
		o->open++;
	db_comparison_release(&c);
	db_job_release(&dj);
	return r;
}

/* Makes the comparisons of a new head. */
static int ask_all(struct round *o)
{
	const struct strv none = {0};
	struct db_machine m = {0};
	int r = o->t->jobs.n ? store_machine_get(o->e->store, o->t->machine, &m) : 0;

	o->machine = m.id;
	db_machine_release(&m);
	if (r == -ENOENT)
		return err_set(r, "there is no machine '%s'; 'kperfbot machine list' shows them", o->t->machine);
	for (size_t i = 0; r >= 0 && i < o->t->jobs.n; i++) {
		struct job_list jobs = {0};

		r = points_jobs(o->t->jobs.v[i], o->e->cfg->dir, NULL, &none, &o->t->patches, &jobs);
		for (size_t k = 0; r >= 0 && k < jobs.n; k++)
			r = ask_point(o, &jobs.v[k]);
		job_list_release(&jobs);
	}
	return MIN(r, 0);
}

/* Does the next head go on from this one? It was measured; or there is nothing else that ever will be. */
static bool goes_on(const struct head_question *q)
{
	return !q->c.id || q->c.state == COMPARISON_SAME || q->c.state == COMPARISON_UNSHOWN ||
	       q->c.state == COMPARISON_DIFFERENT || q->c.fault == FAULT_BASE;
}

/* The comparisons of the head have ended: from where each job goes on, and that it is done with, all at once. */
static int end_round(struct round *o)
{
	struct store *s = o->e->store;
	int r = store_begin(s);

	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < o->n; i++) {
		const struct head_question *q = &o->q[i];

		r = store_base_put(s, &(struct db_base){.branch = o->b->id,
							.job = q->job,
							.machine = o->machine,
							.kconfig = o->t->kconfig,
							.oid = goes_on(q) ? o->b->head : q->from});
		if (!goes_on(q))
			store_event(s, 0, q->c.id, 0,
				    "%s/%s: %.12s was not measured (%s), the next head is compared with %.12s",
				    o->tree->name, o->b->name, o->b->head, comparison_state_word(q->c.state), q->from);
	}
	if (r >= 0)
		r = store_branch_tested(s, o->b->id, o->b->head);
	if (r >= 0)
		return store_commit(s);
	store_rollback(s);
	return r;
}

int engine_plan_head(struct engine *e, const struct db_tree *tree, const struct tree_config *t,
		     const struct db_branch *b, const struct db_comparison *open, size_t n_open, int *left,
		     bool *ret_waits)
{
	_cleanup_(round_release) struct round o = {.e = e, .tree = tree, .t = t, .b = b};
	int r;

	if (!b->head || streq(b->head, b->tested))
		return 0;
	for (size_t i = 0; i < n_open; i++)
		if (open[i].tree == tree->id && streq(open[i].branch, b->name))
			return 0; /* one round at a time: the newest head is next */
	if (!b->tested) {
		store_event(e->store, 0, 0, 0, "%s/%s: starting from %.12s", tree->name, b->name, b->head);
		return store_branch_tested(e->store, b->id, b->head);
	}
	if (*left <= 0) {
		*ret_waits = true;
		return 0;
	}
	--*left; /* what will not be open has cost time, too */
	o.git_dir = engine_git_dir(e->cfg, tree->name);
	r = ask_all(&o);
	*left -= MAX(o.open - 1, 0);
	return r < 0 || o.open ? r : end_round(&o);
}
