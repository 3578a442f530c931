/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which metrics differ between builds. The way from runs to a verdict is written down in docs/JUDGING.md. */
#include "bisect/compare.h"

#include "bisect/compare-class.h"
#include "bisect/compare-internal.h"
#include "lib/change.h"

/* How the difference between two builds is tested. */
enum test { TEST_NONE, TEST_T, TEST_RANK, TEST_CONSTANT, TEST_PRESENCE, TEST_FAIL };

struct metric_work {                   /* one metric */
	struct reduced r;
	bool fail;              /* counts failures */
	double s2, df;          /* pooled variance of boots around their build's mean, in units of scale^2 */
	double level;           /* mean size of the metric, in units of scale */
	double rel;             /* s2 / level^2 where it may speak for other metrics, else NAN */
	double df0, s0sq;       /* what is borrowed (s0sq relative) */
};
struct pass {                    /* one cmp_run() */
	const struct cmp_config *c;
	const struct cmp_metric *m;
	size_t n;
	double fdr, confidence;
	struct metric_work *w;
	enum test *test;        /* [metric * n_builds + build] */
	bool *partial;          /* same: some boots lack the metric */
	double crit_df, crit;   /* the last critical value: most metrics have the same df */
	double df_cap;
	struct cmp_result res;
};

/* ---- which test ---- */

static bool few_counts(const struct boot_means *a, const struct boot_means *b, double scale)
{
	size_t n = a->n + b->n, zeros = 0, distinct = 0;
	_cleanup_free_ double *v = xcalloc(n + 1, sizeof(*v));
	bool whole = true;

	for (size_t i = 0; i < n; i++) {
		v[i] = i < a->n ? a->v[i] : b->v[i - a->n];
		zeros += v[i] == 0;
		whole = whole && v[i] * scale == rint(v[i] * scale);
	}
	if (2 * zeros > n)
		return true;
	if (!whole)
		return false;
	qsort(v, n, sizeof(*v), stat_cmp_double);
	for (size_t i = 0; i < n; i++)
		distinct += !i || v[i] != v[i - 1];
	return 3 * distinct <= 2 * n && (v[n - 1] - v[0]) * scale <= (double)n;
}

static enum test choose_test(const struct reduced *r, size_t b, bool fail)
{
	const struct boot_means *x = &r->b[0], *y = &r->b[b];

	if (fail)
		return x->all && y->all ? TEST_FAIL : TEST_NONE;
	if (!x->n && !y->n)
		return TEST_NONE;
	if (!x->n || !y->n)
		return TEST_PRESENCE;
	if (x->constant && y->constant && x->n > 1 && y->n > 1)
		return TEST_CONSTANT;
	return few_counts(x, y, r->scale) ? TEST_RANK : TEST_T;
}

/* Boots of one build that gave any value at all; all metrics must share one list of runs, else it is not known. */
struct alive { const uint32_t *id; size_t n, boots; bool *any, mixed; };

static void note_alive(struct alive *a, const struct slots *s, const struct cmp_metric *m, size_t b)
{
	if (!m->n[b] || !s->id || a->mixed)
		return;
	if (!a->any)
		*a = (struct alive){s->id, s->n, s->n_slots, xcalloc(s->n_slots + 1, sizeof(bool)), false};
	a->mixed = a->id != s->id || a->n != s->n;
	for (size_t k = 0; k < a->boots && !a->mixed; k++)
		a->any[k] = a->any[k] || s->count[k] > 0;
}

static size_t count_dead(const struct alive *a)
{
	size_t dead = 0;

	for (size_t k = 0; k < a->boots && !a->mixed; k++)
		dead += !a->any[k];
	return dead < a->boots ? dead : 0;
}

/* A build that was given no runs for a metric has it in none of its boots. A boot in which nothing was measured lacks
 * no metric: it just went wrong. */
static void reduce_all(struct pass *run, struct slots *slots)
{
	size_t N = run->c->n_builds;
	_cleanup_free_ size_t *boots = xcalloc(N, sizeof(*boots));
	_cleanup_free_ struct alive *alive = xcalloc(N, sizeof(*alive));

	for (size_t i = 0; i < run->n; i++) {
		struct metric_work *w = &run->w[i];

		w->fail = metric_is_fail(run->m[i].name);
		cmp_reduce(run->c, &run->m[i], slots, w->fail, &w->r);
		for (size_t b = 0; b < N; b++) {
			boots[b] = MAX(boots[b], w->r.b[b].all);
			if (!w->fail)
				note_alive(&alive[b], &slots[b], &run->m[i], b);
		}
	}
	for (size_t b = 0; b < N; b++) {
		size_t dead = count_dead(&alive[b]);

		for (size_t i = 0; i < run->n; i++) {
			if (!run->m[i].n[b])
				run->w[i].r.b[b].all = boots[b];
			if (!run->w[i].fail)
				run->w[i].r.b[b].all -= dead;
		}
		free(alive[b].any);
	}
}

static void prepare(struct pass *run, size_t i, double *ret_share)
{
	struct metric_work *w = &run->w[i];
	bool t = false;
	size_t N = run->c->n_builds, levels = 0;

	for (size_t b = 0; b < N; b++) {
		const struct boot_means *x = &w->r.b[b];

		if (b) {
			enum test test = choose_test(&w->r, b, w->fail);

			run->test[i * N + b] = test;
			run->partial[i * N + b] = x->n < x->all || w->r.b[0].n < w->r.b[0].all;
			t = t || test == TEST_T;
		}
		if (!x->n)
			continue;
		w->s2 += x->ss;
		w->df += (double)(x->n - 1);
		w->level += fabs(x->mean);
		levels++;
	}
	w->s2 = w->df > 0 ? w->s2 / w->df : 0;
	w->level = levels && w->level > 0 ? w->level / (double)levels : 1;
	w->rel = t && w->s2 > 0 ? w->s2 / (w->level * w->level) : NAN;
	*ret_share = cmp_between_share(&w->r);
}

/* ---- moderation ---- */

/* The df that most of the metrics have: the prior is fitted on these. */
static double usual_df(const struct pass *run)
{
	_cleanup_free_ double *df = xcalloc(run->n + 1, sizeof(*df));
	size_t n = 0, most = 0;
	double ret = 0;

	for (size_t i = 0; i < run->n; i++)
		if (!isnan(run->w[i].rel))
			df[n++] = run->w[i].df;
	qsort(df, n, sizeof(*df), stat_cmp_double);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && df[j] == df[i]; j++)
			;
		if (j - i >= most) {
			most = j - i;
			ret = df[i];
		}
	}
	return ret;
}

static void moderate(struct pass *run)
{
	_cleanup_free_ double *rel = xcalloc(run->n + 1, sizeof(*rel)), *df0 = xcalloc(run->n + 1, sizeof(*df0));
	double usual = usual_df(run);
	struct stat_prior prior;

	for (size_t i = 0; i < run->n; i++) {
		const struct metric_work *w = &run->w[i];
		bool own = run->m[i].prior_df > 0 && run->m[i].prior_sd > 0;

		rel[i] = w->df == usual && !own ? w->rel : NAN;
		run->df_cap += isnan(w->rel) ? 0 : w->df;
	}
	prior = stat_prior_fit(rel, run->n, usual, df0);
	for (size_t i = 0; i < run->n; i++) {
		struct metric_work *w = &run->w[i];

		if (run->m[i].prior_df > 0 && run->m[i].prior_sd > 0) {
			w->df0 = run->m[i].prior_df;
			w->s0sq = run->m[i].prior_sd * run->m[i].prior_sd;
		} else {
			w->df0 = isnan(rel[i]) ? prior.df0 : df0[i];
			w->s0sq = prior.s0sq;
		}
	}
}

/* Smyth 2004, equation (1): the weighted mean of prior and own variance. Degrees of freedom are at most those of all
 * metrics together. */
static void posterior(const struct pass *run, size_t i, bool borrow, double *ret_s2, double *ret_df)
{
	const struct metric_work *w = &run->w[i];
	double s0sq = w->s0sq * w->level * w->level, df0 = borrow ? w->df0 : 0;

	*ret_s2 = w->s2;
	*ret_df = w->df;
	if (!(df0 > 0))
		return;
	*ret_s2 = isinf(df0) ? s0sq : (df0 * s0sq + w->df * w->s2) / (df0 + w->df);
	*ret_df = df0 + w->df;
	if (!(run->m[i].prior_df > 0 && run->m[i].prior_sd > 0))
		*ret_df = MIN(*ret_df, MAX(run->df_cap, w->df));
}

/* ---- effect and interval ---- */

static double critical(struct pass *run, double df)
{
	if (df != run->crit_df) {
		run->crit = stat_t_crit(run->confidence, df);
		run->crit_df = df;
	}
	return run->crit;
}

/* Fieller 1954: all ratios r of the true means with |mb - r ma| <= t se(mb - r ma); holds 1 exactly where the t-test
 * does not reject. Written for r - 1, so that nothing cancels where the spread is 1e-9 of the mean. */
static void ratio_interval(double ma, double mb, double v, double na, double nb, struct cmp_delta *d)
{
	double a = ma * ma - v / na, mid, half, sign = ma < 0 ? -1 : 1;

	d->lo = -INFINITY;
	d->hi = INFINITY;
	if (!(a > 0))
		return;
	mid = ma * (mb - ma) + v / na;
	half = sqrt(MAX(0, v * (ma * ma / nb + mb * mb / na - v / (na * nb))));
	d->lo = MIN(sign * (mid - half) / a, sign * (mid + half) / a);
	d->hi = MAX(sign * (mid - half) / a, sign * (mid + half) / a);
}

static void effect(struct pass *run, const struct metric_work *w, size_t b, double s2, double df, struct cmp_delta *d)
{
	const struct boot_means *x = &w->r.b[0], *y = &w->r.b[b];
	double na = (double)x->n, nb = (double)y->n, crit = critical(run, df), v = crit * crit * s2, half;

	if (d->points) {
		d->effect = (y->mean - x->mean) * w->r.scale;
		half = df > 0 ? sqrt(v * (1 / na + 1 / nb)) * w->r.scale : INFINITY;
		d->lo = d->effect - half;
		d->hi = d->effect + half;
		return;
	}
	d->effect = change_relative(x->mean, y->mean);
	if (df > 0)
		ratio_interval(x->mean, y->mean, v, na, nb, d);
	else
		ratio_interval(0, 0, 0, 1, 1, d);
}

/* ---- the tests ---- */

static void test_t(struct pass *run, size_t i, size_t b, struct cmp_delta *d)
{
	const struct metric_work *w = &run->w[i];
	const struct boot_means *x = &w->r.b[0], *y = &w->r.b[b];
	double s2, df, se, diff = y->mean - x->mean;

	posterior(run, i, true, &s2, &df);
	se = sqrt(s2 * (1 / (double)x->n + 1 / (double)y->n));
	d->p = se > 0 ? stat_t_p(diff / se, df) : NAN;
	effect(run, w, b, s2, df, d);
}

static void test_rank(struct pass *run, size_t i, size_t b, struct cmp_delta *d)
{
	const struct metric_work *w = &run->w[i];
	const struct boot_means *x = &w->r.b[0], *y = &w->r.b[b];

	d->p = stat_rank_p(x->v, x->n, y->v, y->n);
	effect(run, w, b, w->s2, w->df, d);
}

static void test_constant(struct pass *run, size_t i, size_t b, struct cmp_delta *d)
{
	effect(run, &run->w[i], b, 0, 1, d);
	d->lo = d->hi = d->effect;
	d->p = d->effect == 0;
}

static void test_presence(struct pass *run, size_t i, size_t b, struct cmp_delta *d)
{
	const struct metric_work *w = &run->w[i];
	const struct boot_means *x = &w->r.b[0], *y = &w->r.b[b];
	double mean = (y->n ? y->mean : -x->mean) * w->r.scale;

	d->p = stat_fisher_p(x->n, x->all, y->n, y->all);
	d->effect = d->points ? mean : y->n ? INFINITY : -1;
	d->lo = d->hi = NAN;
}

/* Wilson's score interval of one rate. */
static void wilson(double hits, double n, double z, double *lo, double *hi)
{
	double p = hits / n, mid = p + z * z / (2 * n), half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));

	*lo = (mid - half) / (1 + z * z / n);
	*hi = (mid + half) / (1 + z * z / n);
}

/* Newcombe 1998, method 10: the difference of two rates from their Wilson intervals. In points. */
static void test_fail(struct pass *run, size_t i, size_t b, struct cmp_delta *d)
{
	const struct boot_means *x = &run->w[i].r.b[0], *y = &run->w[i].r.b[b];
	double z = critical(run, INFINITY), pa, pb, la, ha, lb, hb;

	d->p = stat_fisher_p(x->hits, x->all, y->hits, y->all);
	pa = (double)x->hits / (double)x->all;
	pb = (double)y->hits / (double)y->all;
	wilson((double)x->hits, (double)x->all, z, &la, &ha);
	wilson((double)y->hits, (double)y->all, z, &lb, &hb);
	d->effect = 100 * (pb - pa);
	d->lo = 100 * (pb - pa - hypot(pb - lb, ha - pa));
	d->hi = 100 * (pb - pa + hypot(hb - pb, pa - la));
}

static void (*const tests[])(struct pass *, size_t, size_t, struct cmp_delta *) = {
	[TEST_T] = test_t, [TEST_RANK] = test_rank, [TEST_CONSTANT] = test_constant,
	[TEST_PRESENCE] = test_presence, [TEST_FAIL] = test_fail,
};

/* LKP's number, but for a base that is 0 or negative: lib/change.h says what these are. */
static double lkp_number(const struct cmp_side *base, const struct cmp_side *other, bool fail, bool points)
{
	double a = isnan(base->mean) ? 0 : base->mean, b = isnan(other->mean) ? 0 : other->mean;

	if (fail)
		return 100 * (b - a);
	return points ? b - a : 100 * change_relative(a, b);
}

static void compare_pair(struct pass *run, size_t i, size_t b)
{
	struct cmp_row *row = &run->res.row[i];
	struct cmp_delta *d = &row->delta[b];
	enum test test = run->test[i * run->c->n_builds + b];

	*d = (struct cmp_delta){.points = row->fail || metric_is_points(row->name), .p = NAN, .q = NAN, .effect = NAN,
				.lo = NAN, .hi = NAN};
	d->change = lkp_number(&row->side[0], &row->side[b], row->fail, d->points);
	if (!tests[test])
		return;
	tests[test](run, i, b, d);
	if ((test == TEST_T || test == TEST_RANK) && run->partial[i * run->c->n_builds + b]) {
		/* two questions, value and presence: Bonferroni */
		const struct boot_means *x = &run->w[i].r.b[0], *y = &run->w[i].r.b[b];
		double p = stat_fisher_p(x->n, x->all, y->n, y->all);

		d->p = MIN(1, 2 * (isnan(d->p) ? p : MIN(p, d->p)));
	}
}

static void fill_side(const struct metric_work *w, size_t b, bool fail, bool lkp, struct cmp_side *s)
{
	const struct boot_means *x = &w->r.b[b];

	*s = (struct cmp_side){.runs = x->runs, .boots = x->all};
	s->mean = (fail || lkp ? x->run_mean : x->mean) * w->r.scale;
	s->sd = x->run_sd * w->r.scale;
	s->stddev_pct = s->mean == 0 ? s->sd : 100 * (x->run_sd / fabs(x->run_mean));
}

/* ---- verdicts ---- */

/* t-tests and exact tests of counts are two families: p-values of few values cannot get small, and would never pass
 * beside thousands of t-tests. */
static void q_values(struct pass *run, size_t b)
{
	_cleanup_free_ double *p = xcalloc(run->n + 1, sizeof(*p)), *q = xcalloc(run->n + 1, sizeof(*q));

	for (int family = 0; family < 2; family++) {
		for (size_t i = 0; i < run->n; i++) {
			size_t at = i * run->c->n_builds + b;
			bool t = run->test[at] == TEST_T && !run->partial[at];

			p[i] = run->test[at] == TEST_CONSTANT || t == (family == 1) ? NAN : run->res.row[i].delta[b].p;
		}
		stat_bh(p, q, run->n);
		for (size_t i = 0; i < run->n; i++)
			if (!isnan(p[i]))
				run->res.row[i].delta[b].q = q[i];
	}
}

static enum cmp_verdict judge(const struct pass *run, enum test test, const struct cmp_delta *d, double least,
			      const struct reduced *r, size_t b)
{
	bool called = d->q <= run->fdr, precise;

	if (test == TEST_NONE)
		return CMP_NO_DATA;
	if (test == TEST_PRESENCE)
		return !called ? CMP_UNCLEAR : r->b[b].n ? CMP_APPEARED : CMP_VANISHED;
	if (test == TEST_CONSTANT)
		return fabs(d->effect) >= least && d->effect != 0 ? CMP_CHANGED : CMP_SAME;
	if (test == TEST_FAIL)
		return called ? CMP_CHANGED : d->effect == 0 ? CMP_UNSHOWN : CMP_UNCLEAR;
	if (d->lo > -least && d->hi < least)
		return CMP_SAME;
	/* data precise enough to show an effect of just the size of interest must show all of it */
	precise = d->hi - d->lo <= 2 * least;
	if (called && fabs(d->effect) >= least && (!precise || d->lo >= least || d->hi <= -least))
		return CMP_CHANGED;
	return d->p > 1 - run->confidence && !precise ? CMP_UNSHOWN : CMP_UNCLEAR;
}

static bool lkp_changed(const struct cmp_metric *m, size_t b)
{
	_cleanup_free_ double *base = xcalloc(m->n[0] + 1, sizeof(double)),
			      *other = xcalloc(m->n[b] + 1, sizeof(double));

	for (size_t i = 0; i < m->n[0]; i++)
		base[i] = isfinite(m->value[0][i]) ? m->value[0][i] : 0;
	for (size_t i = 0; i < m->n[b]; i++)
		other[i] = isfinite(m->value[b][i]) ? m->value[b][i] : 0;
	return cmp_lkp_changed(m->name, base, m->n[0], other, m->n[b]);
}

static void verdicts(struct pass *run)
{
	size_t N = run->c->n_builds;

	for (size_t i = 0; i < run->n; i++) {
		const struct cmp_metric *m = &run->m[i];
		double least = m->min_effect < 0 ? metric_min_effect(m->name) : m->min_effect;
		bool changed = false;

		for (size_t b = 1; b < N; b++) {
			struct cmp_delta *d = &run->res.row[i].delta[b];
			enum test test = run->test[i * N + b];

			if (test == TEST_CONSTANT)
				d->q = d->p;
			if (run->c->rule == CMP_LKP)
				d->verdict = test == TEST_NONE ? CMP_NO_DATA :
					     lkp_changed(m, b) ? CMP_CHANGED : CMP_UNSHOWN;
			else
				d->verdict = judge(run, test, d, least, &run->w[i].r, b);
			changed = changed || cmp_is_change(d->verdict);
		}
		run->res.changed += changed;
	}
}

static int check(const struct cmp_config *c, const struct cmp_metric *m, size_t n)
{
	if (c->n_builds < 1)
		return err_set(-EINVAL, "nothing to compare: give two builds");
	for (size_t i = 0; i < n; i++)
		if (!m[i].name || !m[i].value || !m[i].n)
			return err_set(-EINVAL, "metric %zu has no name or no values", i);
	return 0;
}

int cmp_run(const struct cmp_config *c, const struct cmp_metric *m, size_t n, struct cmp_result *ret)
{
	struct pass run = {.c = c, .m = m, .n = n, .crit_df = NAN, .fdr = c->fdr > 0 ? c->fdr : .05,
			  .confidence = c->confidence > 0 && c->confidence < 1 ? c->confidence : .95};
	_cleanup_free_ double *share = NULL;
	struct slots *slots;
	size_t N = c->n_builds, n_shares = 0;
	int r = check(c, m, n);

	if (r < 0)
		return r;
	slots = xcalloc(N, sizeof(*slots));
	share = xcalloc(n + 1, sizeof(*share));
	run.w = xcalloc(n + 1, sizeof(*run.w));
	run.test = xcalloc(n * N + 1, sizeof(*run.test));
	run.partial = xcalloc(n * N + 1, sizeof(*run.partial));
	run.res = (struct cmp_result){xcalloc(n + 1, sizeof(struct cmp_row)), n, N, NAN, 0};
	run.res.row[0].side = xcalloc(n * N + 1, sizeof(struct cmp_side));
	run.res.row[0].delta = xcalloc(n * N + 1, sizeof(struct cmp_delta));
	reduce_all(&run, slots);
	for (size_t i = 0; i < n; i++) {
		struct cmp_row *row = &run.res.row[i];

		prepare(&run, i, &share[n_shares]);
		n_shares += !isnan(share[n_shares]);
		*row = (struct cmp_row){m[i].name, run.w[i].fail, run.res.row[0].side + i * N,
					run.res.row[0].delta + i * N};
		for (size_t b = 0; b < N; b++)
			fill_side(&run.w[i], b, row->fail, c->rule == CMP_LKP, &row->side[b]);
	}
	run.res.between_share = stat_median(share, n_shares);
	moderate(&run);
	for (size_t b = 1; b < N; b++) {
		for (size_t i = 0; i < n; i++)
			compare_pair(&run, i, b);
		q_values(&run, b);
	}
	verdicts(&run);
	*ret = run.res;
	for (size_t i = 0; i < n; i++)
		cmp_reduced_release(&run.w[i].r);
	cmp_slots_release(slots, N);
	free(run.w);
	free(run.test);
	free(run.partial);
	return 0;
}

const char *cmp_verdict_name(enum cmp_verdict v)
{
	static const char *const names[] = {[CMP_SAME] = "same",	 [CMP_CHANGED] = "changed",
					    [CMP_UNCLEAR] = "unclear",	 [CMP_UNSHOWN] = "no change shown",
					    [CMP_APPEARED] = "appeared", [CMP_VANISHED] = "vanished",
					    [CMP_NO_DATA] = "no data"};

	return names[v];
}

void cmp_result_release(struct cmp_result *r)
{
	if (r->row) {
		free(r->row[0].side);
		free(r->row[0].delta);
	}
	free(r->row);
	*r = (struct cmp_result){0};
}
