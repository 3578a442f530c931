/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Failures: the head does not work at all. From what the runs say to the case, and what the search and the proof make
 * of it. Runs that failed on our side or were not trusted are never a commit's failure.
 */
#include "bot/engine/failure.h"
#include "bot/engine/case-state.h"
#include "bot/engine/measured.h"
#include "bot/engine/outcomes.h"
#include "bot/engine/pairs.h"
#include "bot/engine/tasks.h"

#define CASE_ALPHA 0.01         /* of the ends; the search and the proof follow */
#define REVERT_BOOTS 3

/* How the head fails most often since the question was asked, with the last such run's words; NULL: in no way. */
static int main_failure(struct engine *e, const struct scope *s, char **ret)
{
	struct db_run *runs = NULL, *last = NULL;
	size_t n = 0, most = 0;
	int r = engine_run_list(e, s, s->cmp.head, &runs, &n);

	for (size_t i = 0; i < n; i++) {
		size_t same = 0;

		for (size_t k = 0; run_failed(runs[i].verdict) && k < n; k++)
			same += runs[k].id > s->cmp.after_run && runs[k].verdict == runs[i].verdict;
		if (same && same >= most) {
			most = same;
			last = &runs[i];
		}
	}
	if (last)
		*ret = failure_words(last);
	DB_LIST_RELEASE(runs, n, db_run_release);
	return r;
}

/* ---- is it known? ---- */

/* Is a commit new in our range, base excluded? */
static bool in_range(const struct scope *s, const char *commit)
{
	return tree_is_ancestor(s->git_dir, commit, s->cmp.head) == 1 &&
	       tree_is_ancestor(s->git_dir, commit, s->cmp.base) == 0;
}

/* A kernel that does not boot does so in every job; any other failure is the job's. */
static bool same_failure(const struct scope *s, const struct db_comparison *c, enum run_verdict kind)
{
	return c->tree == s->cmp.tree && c->machine == s->cmp.machine && streq(c->kconfig, s->cmp.kconfig) &&
	       (streq(c->job, s->cmp.job) || kind == RUN_BOOT_FAILED);
}

/* The case that tells people, or will, of this failure: a head that stays broken is compared with the last good one
 * again and again. 0: none. */
static int known_case(struct engine *e, const struct scope *s, enum run_verdict kind, int64_t *ret)
{
	struct db_case *all = NULL;
	size_t n = 0;
	int r = store_cases(e->store, &all, &n);

	*ret = 0;
	for (size_t i = n; r >= 0 && !*ret && i-- > 0;) {
		struct db_comparison c = {0};
		bool told = db_case_mails(&all[i]) || all[i].state == CASE_IGNORED;

		if (!all[i].failure || failure_kind(all[i].failure) != kind || !told ||
		    all[i].state == CASE_NOT_REPRODUCED ||
		    store_comparison_by_id(e->store, all[i].comparison, &c) < 0)
			continue;
		if (same_failure(s, &c, kind) && in_range(s, all[i].culprit ? all[i].culprit : c.head))
			*ret = all[i].id;
		db_comparison_release(&c);
	}
	DB_LIST_RELEASE(all, n, db_case_release);
	return r;
}

/* ---- the case ---- */

static int open_failure_case(struct engine *e, const struct scope *s, const char *failure, const struct pairs_result *x,
			     int64_t *ret)
{
	struct db_case c = {.comparison = s->cmp.id, .metric = (char *)FAILURE_METRIC, .state = CASE_CONFIRMED,
			    .confidence = e->cfg->confidence, .effect = x->v.effect, .effect_lo = NAN, .effect_hi = NAN,
			    .posterior = NAN, .boots = x->n_a + x->n_b, .builds = 2, .failure = (char *)failure};
	int r = store_metric_put(e->store, &(struct metric_value){(char *)FAILURE_METRIC, 0, "", -1, false});

	c.opened = c.changed = now_usec();
	if (r >= 0)
		r = store_case_put(e->store, &c, ret);
	if (r >= 0)
		store_event(e->store, *ret, s->cmp.id, 0, "case opened: fails: %s; %s, p=%.2g", failure, x->text,
			    x->v.p);
	return r == -EEXIST ? 0 : r;
}

int failure_of_head(struct engine *e, const struct scope *s, char **ret_text)
{
	_cleanup_pairs_ struct pairs_result x = {0};
	_cleanup_free_ char *failure = NULL;
	struct scope fails = *s;        /* borrowed */
	int64_t id = 0;
	int r = main_failure(e, s, &failure);

	if (r < 0 || !failure)
		return r;
	if (s->cmp.asked == ASKED_DAEMON)
		r = known_case(e, s, failure_kind(failure), &id);
	if (r >= 0 && id)
		*ret_text = xasprintf("; case %" PRId64 " is about it", id);
	if (r < 0 || id)
		return MIN(r, 0);
	fails.failing = true;
	r = pairs_step(e, &(const struct pairs){.s = &fails, .a = s->cmp.base, .b = s->cmp.head, .failure = failure,
						.after_run = s->cmp.after_run, .alpha = CASE_ALPHA,
						.priority = PRIO_COMPARISON}, &x);
	if (r == 0)
		return x.queued > 0;
	if (r > 0 && x.v.verdict == VERDICT_DIFFERENT)
		r = open_failure_case(e, s, failure, &x, &id);
	if (id)
		*ret_text = xasprintf("; %.12s does not fail so: case %" PRId64 " looks for the first commit that does",
				      s->cmp.base, id);
	return MIN(r, 0);
}

int failure_observe(struct engine *e, const struct scope *s, const struct db_case *c, const char *commit, uint32_t node,
		    struct search *search)
{
	struct outcomes o = {0};
	int r = engine_outcomes(e, s, commit, failure_kind(c->failure), s->cmp.after_run, &o);

	for (size_t i = 0; r >= 0 && i < o.n; i++)
		r = search_observe(search, node, o.failed[i], o.run[i]);
	if (r >= 0 && !o.n && o.silent >= 2) /* it fails in another way, which hides whether it would in this one */
		r = search_skip(search, node, DROPPED_OTHER_FAILURE);
	outcomes_release(&o);
	return r;
}

/* The head may fail in the same way with other words, for which the culprit is not to blame. */
int failure_own_words(struct engine *e, const struct scope *s, struct db_case *c, int64_t after_run)
{
	enum run_verdict kind = failure_kind(c->failure);
	struct db_run *runs = NULL, *last = NULL;
	size_t n = 0;
	int r = engine_run_list(e, s, c->culprit, &runs, &n);

	for (size_t i = 0; i < n; i++)
		if (runs[i].id > after_run && failure_outcome(runs[i].verdict, kind) == 1)
			last = &runs[i];
	if (last) {
		free(c->failure);
		c->failure = failure_words(last);
	}
	DB_LIST_RELEASE(runs, n, db_run_release);
	return r;
}

int failure_revert(struct engine *e, const struct scope *s, struct db_case *c, const char *revert, int64_t after_run,
		   char **ret_text)
{
	struct outcomes o = {0};
	size_t failed = 0;
	int r = engine_outcomes(e, s, revert, failure_kind(c->failure), after_run, &o);

	for (size_t i = 0; r >= 0 && i < o.n; i++)
		failed += o.failed[i];
	if (r >= 0 && o.n + o.silent < REVERT_BOOTS) {
		r = engine_run_tasks(e, s, revert, (int)(REVERT_BOOTS - o.n - o.silent), PRIO_PROOF, c->id);
		c->boots += MAX(r, 0);
		r = r < 0 ? r : case_put(e, c);
		r = MIN(r, 0);
	} else if (r >= 0) {
		*ret_text = xasprintf("undone on top of %.10s: fails in %zu of %zu boots%s", s->cmp.head, failed,
				      o.n + o.silent, failed ? " (something else in the range fails, too)" :
				      o.silent ? ", but in another way in some" : "");
		r = 1;
	}
	outcomes_release(&o);
	return r;
}
