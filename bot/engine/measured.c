/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What earlier work has measured. */
#include "bot/engine/measured.h"
#include "bisect/compare-class.h"
#include "db/setup.h"
#include "jobs/job.h"

void boots_release(struct boots *b)
{
	free(b->value);
	free(b->when);
	*b = (struct boots){0};
}

/* Boots that another setup measured than the newest run of the question's place; of history, which has no such: than
 * the build's own newest one. A newer root image, say: they are no replicates of what is measured now. */
static int other_boots(struct engine *e, const struct scope *s, int64_t build, bool history, struct strv *ret)
{
	_cleanup_free_ char *now = NULL;
	struct db_setup *own = NULL;
	size_t n = 0;
	int r;

	if (history) {
		r = store_setups(e->store, build, s->job.id, s->machine.tbox_group, &own, &n);
		now = r >= 0 && n > 1 ? xstrdup(own[0].text) : NULL;
		DB_LIST_RELEASE(own, n, db_setup_release);
	} else {
		r = store_setup_newest(e->store, s->tree.id, s->cmp.kconfig, s->job.id, s->machine.id, &now);
	}
	if (r >= 0 && now)
		r = store_foreign_boots(e->store, build, s->job.id, s->machine.tbox_group, now, ret);
	return r == -ENOENT ? 0 : MIN(r, 0);
}

int engine_boots(struct engine *e, const struct scope *s, const char *commit, const char *metric, int64_t after_run,
		 struct boots *ret)
{
	struct db_build b = {0};
	struct sample x = {0};
	struct boots out = {0};
	_cleanup_strv_ struct strv others = {0};
	int r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b);

	if (r >= 0)
		r = store_sample(e->store, b.id, s->job.id, s->machine.tbox_group, metric, &x);
	if (r >= 0 && x.n)
		r = other_boots(e, s, b.id, !after_run, &others);
	db_build_release(&b);
	if (r == -ENOENT) { /* not built: no boots */
		*ret = out;
		return 0;
	}
	if (r < 0) {
		sample_release(&x);
		return r;
	}
	out.value = xcalloc(x.n, sizeof(double));
	out.when = xcalloc(x.n, sizeof(double));
	for (size_t i = 0; i < x.n; i++) {
		size_t runs = 0;
		double sum = 0;
		bool first = true;

		for (size_t j = 0; j < i && first; j++)
			first = !streq(x.boot[j], x.boot[i]);
		if (!first || x.run[i] <= after_run)
			continue;
		if (others.n && strv_has(&others, x.boot[i])) {
			out.left_out++;
			continue;
		}
		for (size_t j = i; j < x.n; j++)
			if (streq(x.boot[j], x.boot[i])) {
				sum += x.value[j];
				runs++;
			}
		out.value[out.n] = sum / runs;
		out.when[out.n++] = x.run[i];
	}
	sample_release(&x);
	*ret = out;
	return 0;
}

void engine_runs_release(struct engine_runs *k)
{
	free(k->cause);
	*k = (struct engine_runs){0};
}

static void count_run(struct engine_runs *k, const struct db_run *run)
{
	if (run->verdict == RUN_OK) {
		k->good++;
	} else if (run->verdict == RUN_INFRA) {
		k->ours++;
	} else {
		k->bad++;
		k->no_boot += run->verdict == RUN_BOOT_FAILED;
		k->untrusted += run->verdict == RUN_UNTRUSTED;
		free(k->cause);
		k->cause = xasprintf("%s: %s", run_verdict_word(run->verdict),
				     run->cause ? run->cause : "no cause known");
	}
}

int engine_run_list(struct engine *e, const struct scope *s, const char *commit, struct db_run **ret, size_t *ret_n)
{
	struct db_build b = {0};
	int r = store_build_get(e->store, s->tree.id, commit, s->cmp.kconfig, &b);

	*ret = NULL;
	*ret_n = 0;
	if (r >= 0)
		r = store_runs(e->store, b.id, s->job.id, s->machine.tbox_group, false, ret, ret_n);
	db_build_release(&b);
	return r == -ENOENT ? 0 : MIN(r, 0);
}

int engine_runs(struct engine *e, const struct scope *s, const char *commit, int64_t after_run, struct engine_runs *ret)
{
	struct engine_runs k = {0};
	struct db_run *runs;
	size_t n;
	int r = engine_run_list(e, s, commit, &runs, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (runs[i].id > after_run)
			count_run(&k, &runs[i]);
	DB_LIST_RELEASE(runs, n, db_run_release);
	*ret = k;
	return 0;
}

struct own_spread { double ss, df; };   /* of one build: squares, degrees of freedom */

static int by_variance(const void *a, const void *b)
{
	const struct own_spread *x = a, *y = b;
	double v = x->ss / x->df, w = y->ss / y->df;

	return (v > w) - (v < w);
}

/* A commit whose figures are thrown like dice must not hide what all others show: builds far beyond the median are left
 * out (by chance that is one in 400 of those with two boots, and less than one in a million of those with three). */
#define SPREAD_OUTLIER 20.0

static void pool_own(struct own_spread *v, size_t n, double *ret_sd, double *ret_df)
{
	double ss = 0, df = 0, median;

	if (n)
		qsort(v, n, sizeof(*v), by_variance);
	median = n ? v[n / 2].ss / v[n / 2].df : 0;
	for (size_t i = 0; i < n; i++) {
		if (n > 2 && median > 0 && v[i].ss / v[i].df > SPREAD_OUTLIER * median)
			continue;
		ss += v[i].ss;
		df += v[i].df;
	}
	*ret_sd = df > 0 ? sqrt(ss / df) : 0;
	*ret_df = df;
}

/* Pooled relative spread of the boots within the builds of the tree (one-way analysis of variance). */
static int known_spread(struct engine *e, const struct scope *s, const char *metric, double *ret_sd, double *ret_df)
{
	struct db_build *b = NULL;
	size_t n = 0, n_own = 0;
	struct own_spread *own;
	int r = store_builds(e->store, s->tree.id, s->cmp.kconfig, &b, &n);

	own = xcalloc(n + 1, sizeof(*own));
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct own_spread o = {0};
		struct boots x = {0};
		double mean = 0;

		if (b[i].state != BUILD_OK || streq(b[i].commit, s->cmp.base) || streq(b[i].commit, s->cmp.head) ||
		    engine_boots(e, s, b[i].commit, metric, 0, &x) < 0)
			continue;
		for (size_t k = 0; k < x.n; k++)
			mean += x.value[k] / x.n;
		for (size_t k = 0; k < x.n && x.n > 1 && mean != 0; k++)
			o.ss += (x.value[k] / mean - 1) * (x.value[k] / mean - 1);
		o.df = x.n > 1 && mean != 0 ? x.n - 1 : 0;
		if (o.df > 0)
			own[n_own++] = o;
		boots_release(&x);
	}
	DB_LIST_RELEASE(b, n, db_build_release);
	if (r >= 0)
		pool_own(own, n_own, ret_sd, ret_df);
	free(own);
	return MIN(r, 0);
}

int engine_verdict_config(struct engine *e, const struct scope *s, const char *metric, struct verdict_config *ret)
{
	struct job j = {0};
	bool exact = engine_deterministic(s);
	double rule = effect_rules_find(&e->cfg->min_effects, metric);
	struct verdict_config c = {.alpha = e->cfg->alpha,
				   .min_effect = e->cfg->min_effect,
				   .min_boots = e->cfg->min_boots,
				   .max_boots = e->cfg->max_boots,
				   .sigma_floor = exact ? 2e-5 : 0};
	int r = job_from_canonical(s->job.name, s->job.canonical, &j);

	if (r < 0)
		return r;
	if (isfinite(rule) && !metric_is_points(metric)) /* said for this metric: it holds as it is, on every machine */
		c.min_effect = rule;
	else if (!exact) /* a job's own threshold is for the noise of real machines */
		c.min_effect = MAX(c.min_effect, job_kpi_threshold(&j, metric));
	if (exact && c.min_boots > 2)
		c.min_boots = 2;
	job_release(&j);
	r = known_spread(e, s, metric, &c.prior_sd, &c.prior_df);
	if (r < 0)
		return r;
	*ret = c;
	return 0;
}
