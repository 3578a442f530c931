/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Failures: the head does not work at all. From what the runs say to the case, and what the search and the proof make of it.
 * Runs that failed on our side or were not trusted are never a commit's failure.
 */
#include "bot/engine/failure.h"
#include "bot/engine/case-state.h"
#include "bot/engine/measured.h"
#include "bot/engine/pairs.h"
#include "bot/engine/tasks.h"

#define CASE_ALPHA 0.01         /* of the ends; the search and the proof follow */
#define REVERT_BOOTS 3
#define HIDDEN_RUNS 3

/* ---- what a run says ---- */

/* Of a text "VERDICT: CAUSE": the way to fail, as far as ways can be told apart. RUN_INCOMPLETE, not set up or cut off, says
 * nothing about a kernel but where it happens with one commit again and again and with another one never. Where there is no
 * such word RUN_INFRA, in which nobody fails. */
static enum run_verdict kind_of_failure(const char *failure)
{
	_cleanup_free_ char *word = xstrndup(failure, strcspn(failure, ":"));
	enum run_verdict v;

	return run_verdict_from(word, &v) >= 0 && run_failed(v) ? v : RUN_INFRA;
}

/* 1: it failed in that way, 0: it did not, -1: it says nothing about that. */
static int outcome(enum run_verdict own, enum run_verdict kind)
{
	if (own == RUN_INFRA)
		return -1;
	if (!run_failed(own)) /* ended well, or what it measured is not trusted: it ran */
		return 0;
	return own == kind ? 1 : kind == RUN_BOOT_FAILED ? 0 : -1;
}

struct outcomes { bool *failed; int64_t *run; size_t n, silent; };      /* silent: runs that say nothing, but for ours */

static void outcomes_release(struct outcomes *o)
{
	free(o->failed);
	free(o->run);
	*o = (struct outcomes){0};
}

static int runs_of(struct engine *e, const struct scope *s, const char *commit, struct db_run **ret, size_t *ret_n)
{
	struct db_build b = {0};
	int r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b);

	*ret = NULL;
	*ret_n = 0;
	if (r >= 0)
		r = store_runs(e->store, b.id, s->job.id, s->machine.tbox_group, false, ret, ret_n);
	db_build_release(&b);
	return r == -ENOENT ? 0 : r;
}

static int outcomes_of(struct engine *e, const struct scope *s, const char *commit, enum run_verdict kind, int64_t after_run,
		       struct outcomes *ret)
{
	struct outcomes o = {0};
	struct db_run *runs = NULL;
	size_t n = 0;
	int r = runs_of(e, s, commit, &runs, &n);

	if (r < 0)
		return r;
	o.failed = xcalloc(n + 1, sizeof(*o.failed));
	o.run = xcalloc(n + 1, sizeof(*o.run));
	for (size_t i = 0; i < n; i++) {
		int x = runs[i].id > after_run ? outcome(runs[i].verdict, kind) : -1;

		if (x >= 0) {
			o.run[o.n] = runs[i].id;
			o.failed[o.n++] = x;
		}
		o.silent += x < 0 && runs[i].id > after_run && runs[i].verdict != RUN_INFRA;
	}
	DB_LIST_RELEASE(runs, n, db_run_release);
	*ret = o;
	return 0;
}

static char *words_of(const struct db_run *run)
{
	return xasprintf("%s: %s", run_verdict_word(run->verdict), run->cause ? run->cause : "no cause known");
}

/* How the head fails most often since the question was asked, with the last such run's words; NULL: in no way. */
static int main_failure(struct engine *e, const struct scope *s, char **ret)
{
	struct db_run *runs = NULL, *last = NULL;
	size_t n = 0, most = 0;
	int r = runs_of(e, s, s->cmp.head, &runs, &n);

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
		*ret = words_of(last);
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
static bool same_question(const struct scope *s, const struct db_comparison *c, enum run_verdict kind)
{
	return c->tree == s->cmp.tree && c->machine == s->cmp.machine && streq(c->kconfig, s->cmp.kconfig) &&
	       (streq(c->job, s->cmp.job) || kind == RUN_BOOT_FAILED);
}

/* The case that tells people, or will, of this failure: a head that stays broken is compared with the last good one again
 * and again. 0: none. */
static int known_case(struct engine *e, const struct scope *s, enum run_verdict kind, int64_t *ret)
{
	struct db_case *all = NULL;
	size_t n = 0;
	int r = store_cases(e->store, &all, &n);

	*ret = 0;
	for (size_t i = n; r >= 0 && !*ret && i-- > 0;) {
		struct db_comparison c = {0};
		bool told = db_case_mails(&all[i]) || all[i].state == CASE_IGNORED;

		if (!all[i].failure || kind_of_failure(all[i].failure) != kind || !told ||
		    all[i].state == CASE_NOT_REPRODUCED ||
		    store_comparison_by_id(e->store, all[i].comparison, &c) < 0)
			continue;
		if (same_question(s, &c, kind) && in_range(s, all[i].culprit ? all[i].culprit : c.head))
			*ret = all[i].id;
		db_comparison_release(&c);
	}
	DB_LIST_RELEASE(all, n, db_case_release);
	return r;
}

/* ---- the case ---- */

void failure_sides_release(struct failure_sides *f)
{
	free(f->text);
	*f = (struct failure_sides){0};
}

/* Mostly it fails in another way: it will not say whether it would in this one, however often it is asked. */
static bool is_hidden(const struct outcomes *o) { return o->silent >= HIDDEN_RUNS && o->silent > o->n; }

int failure_compare(struct engine *e, const struct scope *s, const char *failure, const char *a, const char *b,
		    int64_t after_run, double alpha, struct failure_sides *ret)
{
	struct failure_sides f = {0};
	struct outcomes x = {0}, y = {0};
	enum run_verdict kind = kind_of_failure(failure);
	int r = outcomes_of(e, s, a, kind, after_run, &x);

	if (r >= 0)
		r = outcomes_of(e, s, b, kind, after_run, &y);
	if (r >= 0) {
		verdict_fails(alpha, (size_t)e->cfg->max_boots, x.failed, x.n, y.failed, y.n, &f.v);
		f.hidden = is_hidden(&x) || is_hidden(&y);
		if (f.hidden)
			f.v.verdict = VERDICT_SAME;
		f.n_a = x.n;
		f.n_b = y.n;
		f.rate_a = x.n ? (double)f.v.fails_a / x.n : 0;
		f.rate_b = y.n ? (double)f.v.fails_b / y.n : 0;
		f.text = xasprintf("%.12s fails in %zu of %zu boots, %.12s in %zu of %zu", b, f.v.fails_b, y.n, a,
				   f.v.fails_a, x.n);
		*ret = f;
	}
	outcomes_release(&x);
	outcomes_release(&y);
	return r;
}

static int open_case(struct engine *e, const struct scope *s, const char *failure, const struct failure_sides *f,
		     int64_t *ret)
{
	struct db_case c = {.comparison = s->cmp.id, .metric = (char *)FAILURE_METRIC, .state = CASE_CONFIRMED,
			    .confidence = e->cfg->confidence, .effect = f->rate_b - f->rate_a, .effect_lo = NAN,
			    .effect_hi = NAN, .posterior = NAN, .boots = f->n_a + f->n_b, .builds = 2,
			    .failure = (char *)failure};
	int r = store_metric_put(e->store, &(struct metric_value){(char *)FAILURE_METRIC, 0, "", -1, false});

	c.opened = c.changed = now_usec();
	if (r >= 0)
		r = store_case_put(e->store, &c, ret);
	if (r >= 0)
		store_event(e->store, *ret, s->cmp.id, 0, "case opened: fails: %s; %s, p=%.2g", failure, f->text,
			    f->v.p);
	return r == -EEXIST ? 0 : r;
}

int failure_of_head(struct engine *e, const struct scope *s, char **ret_text)
{
	_cleanup_(failure_sides_release) struct failure_sides f = {0};
	_cleanup_free_ char *failure = NULL;
	struct scope fails = *s;        /* borrowed */
	int64_t id = 0;
	int r = main_failure(e, s, &failure);

	if (r < 0 || !failure)
		return r;
	if (s->cmp.asked == ASKED_DAEMON)
		r = known_case(e, s, kind_of_failure(failure), &id);
	if (r < 0 || id) {
		*ret_text = xasprintf("; case %" PRId64 " is about it", id);
		return MIN(r, 0);
	}
	r = failure_compare(e, s, failure, s->cmp.base, s->cmp.head, s->cmp.after_run, CASE_ALPHA, &f);
	fails.failing = true;
	if (r >= 0 && f.v.verdict == VERDICT_MORE)
		return engine_pair_tasks(e, &fails, s->cmp.base, s->cmp.head, (int)f.v.more_boots, PRIO_COMPARISON, 0) > 0;
	if (r >= 0 && f.v.verdict == VERDICT_DIFFERENT)
		r = open_case(e, s, failure, &f, &id);
	if (id)
		*ret_text = xasprintf("; %.12s does not fail so: case %" PRId64 " looks for the first commit that does",
				      s->cmp.base, id);
	return MIN(r, 0);
}

int failure_observe(struct engine *e, const struct scope *s, const struct db_case *c, const char *commit, uint32_t node,
		    struct search *search)
{
	struct outcomes o = {0};
	int r = outcomes_of(e, s, commit, kind_of_failure(c->failure), s->cmp.after_run, &o);

	for (size_t i = 0; r >= 0 && i < o.n; i++)
		r = search_observe(search, node, o.failed[i], o.run[i]);
	if (r >= 0 && !o.n && o.silent >= 2) { /* it fails in another way, which hides whether it would in this one */
		r = search_skip(search, node);
		r = r < 0 ? r : 1;
	}
	outcomes_release(&o);
	return r;
}

/* The head may fail in the same way with other words, for which the culprit is not to blame. */
int failure_own_words(struct engine *e, const struct scope *s, struct db_case *c, int64_t after_run)
{
	enum run_verdict kind = kind_of_failure(c->failure);
	struct db_run *runs = NULL, *last = NULL;
	size_t n = 0;
	int r = runs_of(e, s, c->culprit, &runs, &n);

	for (size_t i = 0; i < n; i++)
		if (runs[i].id > after_run && outcome(runs[i].verdict, kind) == 1)
			last = &runs[i];
	if (last) {
		free(c->failure);
		c->failure = words_of(last);
	}
	DB_LIST_RELEASE(runs, n, db_run_release);
	return r;
}

int failure_revert(struct engine *e, const struct scope *s, struct db_case *c, const char *revert, int64_t after_run,
		   char **ret_text)
{
	struct outcomes o = {0};
	size_t failed = 0;
	int r = outcomes_of(e, s, revert, kind_of_failure(c->failure), after_run, &o);

	for (size_t i = 0; r >= 0 && i < o.n; i++)
		failed += o.failed[i];
	if (r >= 0 && o.n + o.silent < REVERT_BOOTS) {
		r = engine_run_tasks(e, s, revert, (int)(REVERT_BOOTS - o.n - o.silent), PRIO_PROOF, c->id);
		c->boots += MAX(r, 0);
		r = r < 0 ? r : store_case_put(e->store, c, NULL);
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
