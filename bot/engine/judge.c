/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons: two commits, a job, a machine; from the question to "same", "different" and a case. */
#include "bot/engine/judge.h"
#include "bot/engine/failure.h"
#include "bot/engine/measured.h"
#include "bot/engine/needs.h"
#include "bot/engine/pairs.h"
#include "bot/engine/reach-plan.h"
#include "bot/engine/tasks.h"
#include "jobs/check.h"
#include "jobs/job.h"
#include "kernels/build.h"
#include "lib/change.h"

#define MAX_BAD_RUNS 3          /* runs of one side that may fail before the comparison is called broken */
#define MAX_DISTURBED 3         /* rounds of a comparison in which the canary moved */

int engine_ask(struct engine *e, const struct db_tree *tree, const struct tree_config *tcfg, const char *branch,
	       const char *base, const char *head, const struct db_job *job, const char *machine, int64_t *ret_id)
{
	struct db_machine m = {0};
	char epoch[BUILD_EPOCH] = "";
	struct db_comparison c = {.tree = tree->id,
				  .epoch = epoch,
				  .branch = (char *)branch,
				  .base = (char *)base,
				  .head = (char *)head,
				  .kconfig = tcfg->kconfig,
				  .job = job->id,
				  .state = COMPARISON_OPEN,
				  .asked = e->asked};
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

static int end_comparison(struct engine *e, const struct scope *s, enum comparison_state state, enum fault fault,
			  const char *fmt, ...) _printf_(5, 6);
static int end_comparison(struct engine *e, const struct scope *s, enum comparison_state state, enum fault fault,
			  const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	store_event(e->store, 0, s->cmp.id, 0, "comparison %.12s..%.12s: %s: %s", s->cmp.base, s->cmp.head,
		    comparison_state_word(state), text);
	return store_comparison_end(e->store, s->cmp.id, state, fault, text);
}

static enum fault fault_of(bool base, bool head)
{
	return base && head ? FAULT_BOTH : base ? FAULT_BASE : FAULT_HEAD;
}

/* Both builds there and usable? 1: yes, 0: wait or ended. */
static int need_builds(struct engine *e, const struct scope *s)
{
	const char *commit[2] = {s->cmp.base, s->cmp.head};
	struct need n[2] = {0};
	int r = 0;

	for (int i = 0; r >= 0 && i < 2; i++)
		r = need_build(e, s, commit[i], PRIO_COMPARISON, 0, &n[i]);
	if (r >= 0)
		r = n[0].state != NEED_WAIT && n[1].state != NEED_WAIT;
	if (r > 0 && (n[0].why || n[1].why)) /* known of both: the one that is to blame is not compared with again */
		r = end_comparison(e, s, COMPARISON_BROKEN, n[0].state == NEED_NEVER || n[1].state == NEED_NEVER
				   ? FAULT_INFRA : fault_of(n[0].why, n[1].why), "%s%s%s", n[0].why ? n[0].why : "",
				   n[0].why && n[1].why ? "; " : "", n[1].why ? n[1].why : "");
	else if (r > 0 && streq(n[0].build.image_hash, n[1].build.image_hash))
		r = end_comparison(e, s, COMPARISON_SAME, FAULT_NONE, "both build the same image");
	need_release(&n[0]);
	need_release(&n[1]);
	return r;
}

static int open_case(struct engine *e, const struct scope *s, const char *metric, const struct verdict_result *v,
		     size_t boots)
{
	struct db_case c = {.comparison = s->cmp.id, .metric = (char *)metric, .state = CASE_CONFIRMED,
			    .confidence = e->cfg->confidence, .effect = v->effect, .effect_lo = v->lo,
			    .effect_hi = v->hi,
			    .posterior = NAN, .boots = boots, .builds = 2};
	_cleanup_buf_ struct buf what = {0};
	int64_t id = 0;
	int r;

	c.opened = c.changed = now_usec();
	r = store_case_put(e->store, &c, &id);
	if (r == -EEXIST)
		return 0;
	if (change_no_base(v->mean_a, v->mean_b))
		add_change(&what, v->mean_a, v->mean_b);
	else
		buf_addf(&what, "%+.3f%% (%+.3f%% to %+.3f%%)", 100 * v->effect, 100 * v->lo, 100 * v->hi);
	if (r >= 0)
		store_event(e->store, id, s->cmp.id, 0, "case opened: %s %s, p=%.2g, %zu boots", metric, buf_str(&what),
			    v->p, boots);
	return r;
}

struct judged {
	enum verdict verdict;
	size_t more, boots, left_out;
	double effect, min_effect;      /* of the metric that is told */
	const char *metric;             /* NULL: the first one */
	bool unshown;                   /* of that metric no change was shown, but one of lo to hi is not excluded */
	double lo, hi, mean_a, mean_b;
	bool disturbed;         /* the canary moved, too */
	char canary[300];       /* what it says, for the reason */
};

static struct pairs both_sides(const struct scope *s)
{
	return (struct pairs){.s = s, .a = s->cmp.base, .b = s->cmp.head, .after_run = s->cmp.after_run,
			      .priority = PRIO_COMPARISON};
}

/* A difference counts when it was not the machine that changed. */
static int judge_different(struct engine *e, const struct pairs *p, bool first, struct pairs_result *x,
			   struct judged *out)
{
	int r = pairs_canary(e, p, x);

	if (r < 0)
		return r;
	memcpy(out->canary, x->canary.text, sizeof(out->canary));
	if (x->canary.state == CANARY_MORE) {
		out->verdict = VERDICT_MORE;
		out->more = MAX(out->more, 1u);
		return 0;
	}
	out->verdict = VERDICT_DIFFERENT;
	out->metric = first ? NULL : p->metric;
	out->unshown = false;
	out->effect = x->v.effect;
	out->mean_a = x->v.mean_a;
	out->mean_b = x->v.mean_b;
	out->disturbed = x->canary.state == CANARY_MOVED;
	return out->disturbed ? 0 : open_case(e, p->s, p->metric, &x->v, x->n_a + x->n_b);
}

/* The first metric is told, but one of which less can be said goes before one of which more can. */
static void tell_metric(struct judged *out, const char *metric, bool first, const struct verdict_result *v,
			double min_effect)
{
	bool unshown = v->verdict == VERDICT_SAME && v->unshown;

	if (out->verdict == VERDICT_DIFFERENT || (!first && (!unshown || out->unshown)))
		return;
	out->metric = first ? NULL : metric;
	out->effect = v->effect;
	out->min_effect = min_effect;
	out->unshown = unshown;
	out->lo = v->lo;
	out->hi = v->hi;
	out->mean_a = v->mean_a;
	out->mean_b = v->mean_b;
}

static int judge_metric(struct engine *e, const struct scope *s, const char *metric, size_t n_kpis, bool first,
			struct judged *out)
{
	_cleanup_pairs_ struct pairs_result x = {0};
	struct pairs p = both_sides(s);
	int r;

	p.metric = metric;
	p.alpha = e->cfg->alpha / n_kpis;
	p.optional = !first; /* a KPI that this machine does not give (no value on any boot) is not judged */
	r = pairs_look(e, &p, &x);
	if (r < 0 || (p.optional && !x.n_a && !x.n_b))
		return r;
	if (x.v.verdict == VERDICT_DIFFERENT && out->verdict != VERDICT_DIFFERENT)
		r = judge_different(e, &p, first, &x, out);
	else if (x.v.verdict == VERDICT_MORE && out->verdict == VERDICT_SAME)
		out->verdict = VERDICT_MORE;
	tell_metric(out, metric, first, &x.v, x.min_effect);
	out->more = MAX(out->more, x.v.more_boots);
	out->boots = MAX(out->boots, x.n_a + x.n_b);
	out->left_out = MAX(out->left_out, x.left_out);
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

/* How the runs of a side ended since the question was asked, in words; NULL where enough of them did well. */
static int side_fails(struct engine *e, const struct scope *s, const char *commit, char **ret_why)
{
	struct engine_runs k = {0};
	int r = engine_runs(e, s, commit, s->cmp.after_run, &k);

	if (r >= 0 && k.bad >= MAX_BAD_RUNS && k.bad > k.good)
		*ret_why = k.no_boot == k.bad ? xasprintf("%.12s builds but does not boot (%zu of %zu boots): %s",
							  commit, k.bad, k.bad + k.good, k.cause)
					      : xasprintf("%zu of %zu runs of %.12s failed, the last one: %s", k.bad,
							  k.bad + k.good, commit, k.cause);
	engine_runs_release(&k);
	return r;
}

/* 1: there will be no verdict, or not before more runs. */
static int side_broken(struct engine *e, const struct scope *s)
{
	_cleanup_free_ char *base = NULL, *head = NULL, *more = NULL;
	int r = side_fails(e, s, s->cmp.base, &base);

	if (r >= 0)
		r = side_fails(e, s, s->cmp.head, &head);
	if (r < 0 || (!base && !head))
		return r;
	if (!base && (r = failure_of_head(e, s, &more)) != 0)
		return r;
	r = end_comparison(e, s, COMPARISON_BROKEN, fault_of(base, head), "%s%s%s%s", base ? base : "",
			   base && head ? "; " : "", head ? head : "", more ? more : "");
	return r < 0 ? r : 1;
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
			found |= list[k].capped > 0;
		DB_LIST_RELEASE(list, n, db_check_release);
		db_build_release(&b);
	}
	return found;
}

/* The machine changed between the two: it is measured afresh, and after some rounds left undecided. */
static int disturbed(struct engine *e, const struct scope *s, const struct judged *j)
{
	_cleanup_free_ char *what = xasprintf("not steady: %+.3f%% between %.10s and %.10s%s", 100 * j->effect,
					      s->cmp.base, s->cmp.head, j->canary);
	int r = engine_flag_machine(e, s, what);

	if (r < 0)
		return r;
	if (s->cmp.disturbed + 1 >= MAX_DISTURBED)
		return end_comparison(e, s, COMPARISON_DISTURBED, FAULT_NONE,
				      "machine '%s' was %s; 'kperfbot machine show %s'", s->machine.name, what,
				      s->machine.name);
	store_event(e->store, 0, s->cmp.id, 0, "comparison %.12s..%.12s: machine '%s' was %s: measuring again",
		    s->cmp.base, s->cmp.head, s->machine.name, what);
	return store_comparison_again(e->store, s->cmp.id);
}

/* Who saw nothing within the boots that are allowed has not seen that nothing is there. */
static void add_judged(const struct judged *j, struct buf *out)
{
	if (j->metric)
		buf_addf(out, "%s ", j->metric);
	if (change_no_base(j->mean_a, j->mean_b))
		add_change(out, j->mean_a, j->mean_b);
	else
		buf_addf(out, "%+.3f%%", 100 * j->effect);
	if (!j->unshown)
		return;
	buf_adds(out, ", not excluded: ");
	add_signed_percent(out, j->lo);
	buf_adds(out, " to ");
	add_signed_percent(out, j->hi);
	buf_addc(out, ',');
}

/* Runs that failed beside those that were judged: too few to call the side broken, and not to be kept quiet about. */
static void add_failed(struct engine *e, const struct scope *s, const char *commit, struct buf *out)
{
	struct engine_runs k = {0};

	if (engine_runs(e, s, commit, s->cmp.after_run, &k) >= 0 && k.bad)
		buf_addf(out, " (%zu of %zu runs of %.12s failed, the last one: %s)", k.bad, k.bad + k.good, commit,
			 k.cause);
	engine_runs_release(&k);
}

/* The verdict is there: told together with what says against it. A difference that was not reached is one all the
 * same. */
static int end_judged(struct engine *e, const struct scope *s, const struct judged *j)
{
	struct db_pair_check reach = {0};
	bool unreached = engine_reach(e, s, s->cmp.base, s->cmp.head, &reach) >= 0 && reach.verdict == CHECK_FAIL;
	_cleanup_buf_ struct buf what = {0};
	_cleanup_buf_ struct buf beside = {0};
	int r;

	add_judged(j, &what);
	if (j->left_out)
		buf_addf(&beside, " (left out: %zu measured before the root image, or what else measures, changed)",
			 j->left_out);
	add_failed(e, s, s->cmp.base, &beside);
	add_failed(e, s, s->cmp.head, &beside);
	if (j->verdict == VERDICT_DIFFERENT)
		r = end_comparison(
			e, s, COMPARISON_DIFFERENT, FAULT_NONE, "%s after %zu boots%s%s%s%s", buf_str(&what), j->boots,
			buf_str(&beside), j->canary,
			unreached ? "; warning: not reached, so the place of code in memory or something else did it: "
				  : "",
			unreached ? reach.evidence : "");
	else
		r = end_comparison(e, s, j->unshown ? COMPARISON_UNSHOWN : COMPARISON_SAME, FAULT_NONE,
				   "%s after %zu boots%s; smallest change of interest %.2f%%%s%s%s",
				   buf_str(&what), j->boots, buf_str(&beside), 100 * j->min_effect,
				   capped(e, s) ? "; capped: the link was at its limit, which can hide a change" : "",
				   unreached ? j->unshown ? "; and not reached: " : "; same, but not reached: " : "",
				   unreached ? reach.evidence : "");
	db_pair_check_release(&reach);
	return r;
}

static int act_on(struct engine *e, const struct scope *s, const struct judged *j)
{
	const struct pairs p = both_sides(s);

	if (j->verdict == VERDICT_MORE)
		return pairs_more(e, &p, (int)MAX(j->more, 1u));
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
	r = engine_canary(e, s, s->cmp.base, s->cmp.head, PRIO_COMPARISON, 0, &k);
	canary_release(&k);
	return r;
}

/* Queues the boot that sees what the head executes. True: the verdict waits for it, since there are results already. */
static bool wait_for_reach(struct engine *e, const struct scope *s)
{
	struct engine_runs k = {0};
	bool yes = engine_reach_plan(e, s, s->cmp.base, s->cmp.head, PRIO_COMPARISON, 0) > 0 &&
		   engine_runs(e, s, s->cmp.head, 0, &k) >= 0 && k.bad + k.good;

	engine_runs_release(&k);
	return yes;
}

/* What the runs say now: the verdict, or more of them. Those that will never say anything end the question, too. */
static int look(struct engine *e, const struct scope *s)
{
	struct judged j = {0};
	int r = side_broken(e, s);

	if (r == 0)
		r = judge(e, s, &j);
	else if (r > 0)
		return 0;
	if (r >= 0)
		r = act_on(e, s, &j);
	if (r == -ENOTRECOVERABLE) {
		_cleanup_free_ char *why = xstrdup(err_msg());

		r = end_comparison(e, s, COMPARISON_BROKEN, FAULT_INFRA, "%s", why);
	}
	return r;
}

int engine_plan_comparison(struct engine *e, int64_t id)
{
	struct scope s = {0};
	int r = engine_scope(e, id, &s);

	if (r >= 0)
		r = engine_same_epoch(&s);
	if (r == 0)
		r = end_comparison(e, &s, COMPARISON_CANCELLED, FAULT_NONE,
				   "the configuration or the toolchain has changed since it was asked");
	else if (r > 0)
		r = need_all(e, &s);
	if (r > 0 && !engine_has_active(e, id, 0) && !wait_for_reach(e, &s))
		r = look(e, &s);
	scope_release(&s);
	return MIN(r, 0);
}
