/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/known.h"
#include "bot/engine/failure.h"
#include "bot/engine/measured.h"
#include "bot/engine/proof-record.h"
#include "bot/engine/tasks.h"
#include "kernels/build.h"

#define MAX_READY 20000         /* candidates up to which the build cache is looked through */

void known_release(struct known_range *f)
{
	for (size_t i = 0; i < f->n_earlier; i++)
		free(f->below[i]);
	DB_LIST_RELEASE(f->earlier, f->n_earlier, db_case_release);
	DB_LIST_RELEASE(f->builds, f->n_builds, db_build_release);
	free(f->below);
	free(f->step);
	strv_release(&f->cleared);
	free(f->node);
	tree_range_release(&f->range);
	*f = (struct known_range){0};
}

static int by_commit(const void *a, const void *b)
{
	return strcmp(((const struct db_build *)a)->commit, ((const struct db_build *)b)->commit);
}

static int64_t node_of(const struct known_range *f, const char *oid)
{
	for (uint32_t i = 0; i < f->range.dag.n; i++)
		if (streq(f->range.oid[i], oid))
			return i;
	return -1;
}

static double proven_effect(struct engine *e, const struct db_case *c)
{
	_cleanup_proof_ struct db_proof p = {0};

	return store_proof_get(e->store, c, &p) >= 0 && p.state == PROOF_SHOWN ? p.effect : NAN;
}

/* Culprits found earlier in this comparison: their steps are taken out of the values. */
static int load_earlier(struct engine *e, const struct db_case *c, struct known_range *f)
{
	struct db_case *all = NULL;
	size_t n = 0;
	int r = store_cases(e->store, &all, &n);

	f->earlier = xcalloc(n, sizeof(*f->earlier));
	f->below = xcalloc(n, sizeof(*f->below));
	f->step = xcalloc(n, sizeof(*f->step));
	for (size_t i = 0; r >= 0 && i < n; i++) {
		double step =
			all[i].comparison == c->comparison && streq(all[i].metric, c->metric) && all[i].part < c->part
				? proven_effect(e, &all[i])
				: NAN;
		int64_t at = isfinite(step) ? node_of(f, all[i].culprit) : -1;

		if (at >= 0) {
			bool *below = xcalloc(f->range.dag.n, sizeof(bool));
			const struct dag *d = &f->range.dag;

			below[at] = true;
			for (uint32_t k = at + 1; k < d->n; k++)
				for (uint32_t p = d->first[k]; p < d->first[k + 1]; p++)
					below[k] |= below[d->parent[p]];
			f->below[f->n_earlier] = below;
			f->step[f->n_earlier] = step;
			f->earlier[f->n_earlier++] = all[i];
			all[i] = (struct db_case){0};
		}
	}
	DB_LIST_RELEASE(all, n, db_case_release);
	return MIN(r, 0);
}

/* Builds of an earlier search, of another tree or branch: they cost a look into the cache. */
static int load_ready(struct engine *e, const struct scope *s, struct known_range *f)
{
	const struct build_request q = {.kind = s->tcfg.program ? BUILD_PROGRAM : BUILD_KERNEL,
					.tree = s->tree.name,
					.git_dir = s->git_dir,
					.kconfig = s->cmp.kconfig,
					.command = s->tcfg.build_command,
					.artefact = s->tcfg.artefact,
					.state_dir = e->cfg->state_dir,
					.cache_dir = e->cfg->cache_dir};
	_cleanup_free_ bool *ready = xcalloc(f->range.dag.n + 1, sizeof(*ready));

	if (f->range.dag.n <= MAX_READY && build_ready(&q, f->range.oid, f->range.dag.n, ready) >= 0)
		for (uint32_t i = 0; i < f->range.dag.n; i++)
			f->node[i].ready = ready[i] && !f->node[i].build;
	return 0;
}

int known_load(struct engine *e, const struct scope *s, const struct db_case *c, struct known_range *ret)
{
	struct known_range f = {0};
	int r = tree_range(s->git_dir, s->cmp.base, s->cmp.head, s->tcfg.max_commits, &f.range);

	if (r >= 0)
		r = store_builds(e->store, s->tree.id, s->cmp.kconfig, &f.builds, &f.n_builds);
	if (r < 0) {
		known_release(&f);
		return r;
	}
	f.node = xcalloc(f.range.dag.n, sizeof(*f.node));
	qsort(f.builds, f.n_builds, sizeof(*f.builds), by_commit);
	for (uint32_t i = 0; i < f.range.dag.n && f.n_builds; i++) {
		struct db_build key = {.commit = f.range.oid[i]};

		f.node[i].build = bsearch(&key, f.builds, f.n_builds, sizeof(key), by_commit);
		if (f.node[i].build && !engine_build_done(e, s, f.range.oid[i]))
			f.node[i].build = NULL;
	}
	r = load_ready(e, s, &f);
	if (r >= 0)
		r = proof_contradicted(e, c, &f.cleared);
	if (r >= 0)
		r = load_earlier(e, c, &f);
	if (r < 0) {
		known_release(&f);
		return r;
	}
	*ret = f;
	return 0;
}

static bool built_ok(const struct case_node *n) { return n->build && n->build->state == BUILD_OK; }

/* Its image equals that of all its parents: it cannot have changed anything. */
static bool same_image(const struct known_range *f, uint32_t i)
{
	const struct dag *d = &f->range.dag;

	if (!built_ok(&f->node[i]) || d->first[i] == d->first[i + 1])
		return false;
	for (uint32_t p = d->first[i]; p < d->first[i + 1]; p++) {
		const struct case_node *parent = &f->node[d->parent[p]];

		if (!built_ok(parent) || !streq(parent->build->image_hash, f->node[i].build->image_hash))
			return false;
	}
	return true;
}

static int observe(struct engine *e, const struct scope *s, const struct db_case *c, const struct known_range *f,
		   uint32_t i, struct search *search)
{
	struct boots b = {0};
	struct engine_runs runs = {0};
	int r;

	if (c->failure)
		return failure_observe(e, s, c, f->range.oid[i], i, search);
	r = engine_boots(e, s, f->range.oid[i], c->metric, s->cmp.after_run, &b);
	for (size_t k = 0; r >= 0 && k < b.n; k++) {
		double v = b.value[k];

		for (size_t j = 0; j < f->n_earlier; j++)
			if (f->below[j][i])
				v /= 1 + f->step[j];
		r = search_observe(search, i, v, b.when[k]);
	}
	if (r >= 0 && !b.n) {
		r = engine_runs(e, s, f->range.oid[i], 0, &runs);
		if (r >= 0 && runs.bad >= 2)
			r = search_skip(search, i, runs.no_boot == runs.bad ? DROPPED_NO_BOOT : DROPPED_RUNS_FAIL);
		engine_runs_release(&runs);
	}
	boots_release(&b);
	return MIN(r, 0);
}

/* Tells the search all that the database knows. */
static int feed(struct engine *e, const struct scope *s, const struct db_case *c, const struct known_range *f,
		struct search *search)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < f->range.dag.n; i++) {
		const struct case_node *n = &f->node[i];

		if (i && i <= f->range.n_forks)
			r = search_outside(search, i);
		else if (f->range.why[i])
			r = search_drop(search, i, f->range.why[i]);
		else if (i && same_image(f, i))
			r = search_drop(search, i, DROPPED_SAME_IMAGE);
		for (size_t j = 0; r >= 0 && j < f->n_earlier; j++)
			if (streq(f->range.oid[i], f->earlier[j].culprit))
				r = search_drop(search, i, DROPPED_NAMED);
		if (r >= 0 && strv_has(&f->cleared, f->range.oid[i]))
			r = search_drop(search, i, DROPPED_CLEARED);
		if (r >= 0 && n->build && n->build->state == BUILD_BROKEN)
			r = search_skip(search, i, DROPPED_NO_BUILD);
		if (r >= 0 && n->ready)
			r = search_built(search, i);
		if (r >= 0 && built_ok(n)) {
			r = search_built(search, i);
			if (r >= 0)
				r = observe(e, s, c, f, i, search);
		}
	}
	return r;
}

struct search_costs known_costs(struct engine *e, const struct scope *s)
{
	struct search_costs k = {.build = 60, .boot = store_run_cost(e->store, s->job.id, s->machine.tbox_group),
			  .learnt = {.clean = NAN, .incremental = NAN}};

	(void)store_build_costs(e->store, s->tree.id, s->cmp.kconfig, &k.learnt);
	if (isfinite(k.learnt.incremental))
		k.build = k.learnt.incremental;
	else if (isfinite(k.learnt.clean))
		k.build = k.learnt.clean;
	if (!isfinite(k.boot))
		k.boot = 10;
	return k;
}

int known_search(struct engine *e, const struct scope *s, const struct db_case *c, const struct known_range *f,
		 struct search **ret)
{
	struct verdict_config vc;
	struct search_costs k = known_costs(e, s);
	struct search *search = NULL;
	int r = engine_verdict_config(e, s, c->metric, &vc);
	struct search_config sc = {.confidence = c->confidence, .min_effect = r < 0 || c->failure ? 0 : vc.min_effect,
				   .sigma_floor = r < 0 || c->failure ? 0 : vc.sigma_floor, .binary = c->failure,
				   .build_cost = k.build, .boot_cost = k.boot};

	if (r >= 0)
		r = search_new(&sc, &f->range.dag, &search);
	if (r >= 0)
		r = feed(e, s, c, f, search);
	if (r < 0) {
		search_free(search);
		return r;
	}
	*ret = search;
	return 0;
}
