/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The canary: a build that never changes, measured between the others, tells whether the machine did. */
#include "bot/engine/canary.h"
#include "bot/engine/measured.h"
#include "bot/engine/needs.h"
#include "bot/engine/tasks.h"
#include "bisect/compare-class.h"
#include "bot/engine/points.h"
#include "jobs/job.h"
#include "kernels/build.h"

#define CANARY_ALPHA 0.01       /* the machine is accused more lightly than a commit: boots are all that it costs */
#define CANARY_SHARE 0.25       /* of the KPI's change that the canary must show at least */
#define CANARY_WAIT 12          /* pairs after which nobody waits for a canary's values any more */

void canary_release(struct canary *k)
{
	scope_release(&k->scope);
	free(k->commit);
	free(k->why);
	*k = (struct canary){0};
}

static int load_job(const char *name, const char *dir, struct store *s, struct db_job *ret)
{
	struct job_list l = {0};
	int r = job_load(name, dir, NULL, &l);

	if (r >= 0 && l.n != 1)
		r = err_set(-EINVAL, "job '%s' has %zu points, a canary is one", name, l.n);
	if (r >= 0)
		r = job_to_db(&l.v[0], ret);
	if (r >= 0)
		r = store_job_put(s, ret);
	job_list_release(&l);
	return MIN(r, 0);
}

/* Something that stays: an id or a tag, no branch. */
static int resolve(const char *git_dir, const char *rev, char **ret)
{
	_cleanup_free_ char *tag = xasprintf("refs/tags/%s", rev);
	bool id = strlen(rev) >= 7 && strspn(rev, "0123456789abcdef") == strlen(rev);

	return tree_resolve(git_dir, id ? rev : tag, ret);
}

static int fill(struct engine *e, const struct scope *s, const struct canary_config *cc, const char *a, const char *b,
		struct canary *k)
{
	struct scope *x = &k->scope;
	char epoch[BUILD_EPOCH];
	int r = store_machine_by_id(e->store, s->cmp.machine, &x->machine);

	if (r >= 0)
		r = store_tree_get(e->store, cc->tree ? cc->tree : s->tree.name, &x->tree);
	if (r >= 0)
		r = tree_config_from_db(&x->tree, &x->tcfg);
	if (r >= 0)
		r = load_job(cc->job, e->cfg->dir, e->store, &x->job);
	if (r < 0)
		return r;
	x->git_dir = engine_git_dir(e->cfg, x->tree.name);
	r = resolve(x->git_dir, cc->commit, &k->commit);
	if (r < 0)
		return r;
	x->cmp.base = xstrdup(k->commit); /* its own values, shifts and all, are no history of its spread */
	x->cmp.id = s->cmp.id;
	x->cmp.after_run = s->cmp.after_run;
	x->cmp.kconfig = xstrdup(x->tree.id == s->tree.id ? s->cmp.kconfig : x->tcfg.kconfig);
	r = build_epoch(x->tcfg.program ? BUILD_PROGRAM : BUILD_KERNEL, x->cmp.kconfig, epoch);
	x->cmp.epoch = xstrdup(r < 0 ? "" : epoch);
	if (r >= 0 && streq(x->job.id, s->job.id) && x->tree.id == s->tree.id &&
	    (streq(k->commit, a) || streq(k->commit, b)))
		r = err_set(-EINVAL, "it is one of the two builds that are compared");
	return r;
}

/* Its build: 1 usable, 0 to wait for, negative: there will be none. */
static int need(struct engine *e, struct canary *k, int priority, int64_t case_id)
{
	_cleanup_need_ struct need n = {0};
	int r = need_build(e, &k->scope, k->commit, priority, case_id, &n);

	if (r >= 0 && n.why)
		r = err_set(-ENOEXEC, "%.12s %s", k->commit,
			    n.state == NEED_BROKEN ? "does not build" : "cannot be built");
	return r < 0 ? r : n.state == NEED_BUILT;
}

int engine_canary(struct engine *e, const struct scope *s, const char *a, const char *b, int priority, int64_t case_id,
		  struct canary *ret)
{
	const struct canary_config *cc = config_canary(e->cfg, s->machine.name);
	struct canary k = {0};
	int r;

	if (!cc || engine_deterministic(s)) {
		*ret = k;
		return 1;
	}
	r = fill(e, s, cc, a, b, &k);
	if (r >= 0)
		r = need(e, &k, priority, case_id);
	k.on = r == 1;
	if (r < 0) {
		k.why = xstrdup(err_msg());
		r = 1;
	}
	*ret = k;
	return r;
}

/* ---- did it move? ---- */

struct mark { double when, value; char side; };         /* side: 'a', 'b', or 'c' for the canary */

static int by_time(const void *x, const void *y)
{
	const struct mark *a = x, *b = y;

	return a->when != b->when ? (a->when > b->when) - (a->when < b->when)
				  : (a->side > b->side) - (a->side < b->side);
}

static void add_marks(struct mark *m, size_t *n, const struct boots *b, char side)
{
	for (size_t i = 0; i < b->n; i++)
		m[(*n)++] = (struct mark){b->when[i], b->value[i], side};
}

/* A canary belongs to the side whose runs it stands among: before and after it, or the one of them that there is. */
static char side_of(const struct mark *m, size_t n, size_t i)
{
	char before = i && m[i - 1].side != 'c' ? m[i - 1].side : 0,
	     after = i + 1 < n && m[i + 1].side != 'c' ? m[i + 1].side : 0;

	return before && after && before != after ? 0 : before ? before : after;
}

static void split(const struct boots side[3], double *a, size_t *na, double *b, size_t *nb)
{
	size_t n = 0;
	_cleanup_free_ struct mark *m = xcalloc(side[0].n + side[1].n + side[2].n + 1, sizeof(*m));

	*na = *nb = 0;
	for (int i = 0; i < 3; i++)
		add_marks(m, &n, &side[i], "abc"[i]);
	qsort(m, n, sizeof(*m), by_time);
	for (size_t i = 0; i < n; i++) {
		char x = m[i].side == 'c' ? side_of(m, n, i) : 0;

		if (x == 'a')
			a[(*na)++] = m[i].value;
		else if (x == 'b')
			b[(*nb)++] = m[i].value;
	}
}

static int canary_kpi(const struct canary *k, char **ret)
{
	struct job j = {0};
	int r = job_from_canonical(k->scope.job.name, k->scope.job.canonical, &j);

	if (r >= 0 && !job_kpis(&j)[0])
		r = err_set(-EINVAL, "job '%s' has no KPI", j.name);
	if (r >= 0)
		*ret = xstrdup(job_kpis(&j)[0]);
	job_release(&j);
	return MIN(r, 0);
}

static int compare_sides(struct engine *e, const struct canary *k, const char *metric, const struct boots side[3],
			 double effect, struct canary_verdict *v)
{
	_cleanup_free_ double *a = xcalloc(side[2].n + 1, sizeof(*a)), *b = xcalloc(side[2].n + 1, sizeof(*b));
	struct verdict_config vc;
	struct verdict_result res = {0};
	int r = engine_verdict_config(e, &k->scope, metric, &vc);

	if (r < 0)
		return r;
	vc.alpha = CANARY_ALPHA;
	vc.min_boots = 2;
	vc.min_effect = MAX(vc.min_effect, CANARY_SHARE * fabs(effect));
	split(side, a, &v->n_a, b, &v->n_b);
	v->state = MIN(side[0].n, side[1].n) < CANARY_WAIT ? CANARY_MORE : CANARY_NONE;
	if (v->n_a < 2 || v->n_b < 2)
		return 0;
	r = verdict_two(&vc, a, v->n_a, b, v->n_b, &res);
	if (res.verdict == VERDICT_DIFFERENT)
		v->state = CANARY_MOVED;
	else if ((res.verdict == VERDICT_SAME && !res.unshown) || fabs(res.effect) < vc.min_effect)
		v->state = CANARY_STEADY; /* what it shows is too little to explain the change */
	v->effect = res.effect;
	v->p = res.p;
	return r;
}

int engine_canary_verdict(struct engine *e, const struct scope *s, const char *metric, const char *base,
			  const char *head, int64_t after_run, double effect, struct canary_verdict *ret)
{
	struct canary_verdict v = {.state = CANARY_NONE};
	struct boots side[3] = {0};
	struct canary k = {0};
	_cleanup_free_ char *kpi = NULL;
	int r = engine_canary(e, s, base, head, PRIO_COMPARISON, 0, &k);

	if (r < 0 || !k.on) {
		if (r >= 0 && k.why)
			snprintf(v.text, sizeof(v.text), "; no canary: %s", k.why);
		canary_release(&k);
		*ret = v;
		return MIN(r, 0);
	}
	r = canary_kpi(&k, &kpi);
	if (r >= 0)
		r = engine_boots(e, s, base, metric, after_run, &side[0]);
	if (r >= 0)
		r = engine_boots(e, s, head, metric, after_run, &side[1]);
	if (r >= 0)
		r = engine_boots(e, &k.scope, k.commit, kpi, after_run, &side[2]);
	if (r >= 0)
		r = compare_sides(e, &k, kpi, side, effect, &v);
	if (r >= 0 && (v.state == CANARY_MOVED || v.state == CANARY_STEADY))
		snprintf(v.text, sizeof(v.text),
			 "; canary %.10s %s: %s %+.3f%% beside the second commit, %zu+%zu boots", k.commit,
			 v.state == CANARY_MOVED ? "moved" : "steady", kpi, 100 * v.effect, v.n_a, v.n_b);
	else if (r >= 0 && v.state == CANARY_NONE)
		snprintf(v.text, sizeof(v.text), "; the canary does not tell: %+.3f%%, %zu+%zu boots", 100 * v.effect,
			 v.n_a, v.n_b);
	for (int i = 0; i < 3; i++)
		boots_release(&side[i]);
	canary_release(&k);
	if (r >= 0)
		*ret = v;
	return MIN(r, 0);
}

/* ---- what follows ---- */

int engine_flag_machine(struct engine *e, const struct scope *s, const char *what)
{
	if (!machine_state_works(s->machine.state))
		return 0;
	return store_machine_state(e->store, s->machine.id, MACHINE_SUSPECT, s->machine.failures, what);
}
