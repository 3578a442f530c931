/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <Rmath.h>
#include "bisect/search-internal.h"
#include "bisect/simulate-internal.h"

#define LEVEL 1000.0            /* of the good base; the spread of a boot is 1 */

static uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

void rng_seed(struct rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		r->s[i] = z ^ z >> 31;
	}
}

static uint64_t next_u64(struct rng *r)
{
	uint64_t *s = r->s, out = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return out;
}

double rng_uniform(struct rng *r)
{
	return ((next_u64(r) >> 11) + 0.5) * 0x1p-53;
}

double rng_normal(struct rng *r)
{
	return qnorm(rng_uniform(r), 0, 1, 1, 0);
}

void simulate_config_default(struct simulate_config *c)
{
	*c = (struct simulate_config){
		.n = 256, .snr = 2, .outlier_sigma = 6, .confidence = 0.95, .boot_cost = 1, .build_cost = NAN,
		.trials = 1000, .seed = 1,
	};
}

double simulate_bound(double n, double snr, double confidence)
{
	double e = 1 - confidence, h2 = -(e * log2(e) + confidence * log2(confidence));

	return MAX(0, confidence * log2(n) - h2) / split_information(0.5, snr);
}

void simulate_history(struct rng *r, uint32_t n, bool merges, struct dag *ret)
{
	struct dag_builder b = {0};
	uint32_t tip = 0;

	if (!merges) {
		dag_line(n, ret);
		return;
	}
	dag_add(&b, NULL, 0);
	while (b.d.n < n) {
		uint32_t parents[4] = {tip}, np = 1, branches = rng_uniform(r) < 0.1 ? 3 : 1, from = tip;

		if (rng_uniform(r) < 0.4 || n - b.d.n < 48) {
			dag_add(&b, &tip, 1);
			tip = b.d.n - 1;
			continue;
		}
		for (uint32_t k = 0; k < branches; k++) {
			uint32_t back = (uint32_t)(rng_uniform(r) * 20), at = from - MIN(from, back);
			uint32_t len = 1 + (uint32_t)(rng_uniform(r) * 12);

			while (len-- > 0) {
				dag_add(&b, &at, 1);
				at = b.d.n - 1;
			}
			parents[np++] = at;
		}
		dag_add(&b, parents, np);
		tip = b.d.n - 1;
	}
	dag_take(&b, ret);
}

double boot_plain(struct trial *t, uint32_t node)
{
	const struct simulate_config *c = t->c;
	double y = t->level[node] + rng_normal(&t->rng) + c->drift * t->boots / 100;

	return rng_uniform(&t->rng) < c->outliers ? y + c->outlier_sigma : y;
}

uint32_t trial_pick(struct trial *t)
{
	return 1 + (uint32_t)(rng_uniform(&t->rng) * (t->dag.n - 1));
}

void trial_step(struct trial *t, uint32_t node, double step)
{
	const struct dag *d = &t->dag;
	_cleanup_free_ bool *has = xcalloc(d->n, sizeof(*has));

	if (t->c->null)
		return;
	for (uint32_t x = node; x < d->n; x++) { /* all commits are ancestors of the last one or dangle */
		has[x] = x == node;
		for (uint32_t e = d->first[x]; e < d->first[x + 1]; e++)
			has[x] |= has[d->parent[e]];
		t->level[x] += has[x] ? step : 0;
	}
}

void trial_levels(struct trial *t)
{
	uint32_t n = t->dag.n;

	t->level = xcalloc(n, sizeof(*t->level));
	t->broken = xcalloc(n, sizeof(bool));
	t->built = xcalloc(n, sizeof(bool));
	t->booted = xcalloc(n, sizeof(bool));
	trial_step(t, t->culprit, t->c->snr);
	trial_step(t, t->second, t->c->second);
	for (uint32_t x = 1; x + 1 < n; x++)
		t->broken[x] = rng_uniform(&t->rng) < t->c->skip;
}

static void trial_release(struct trial *t)
{
	dag_release(&t->dag);
	free(t->level);
	free(t->outside);
	free(t->broken);
	free(t->built);
	free(t->booted);
}

/* Two failed boots and no good one: it does not boot, as the daemon sees it. */
static void measure_step(struct trial *t, struct search *s, const struct search_step *st)
{
	bool failed = t->broken[st->node];

	if (!t->built[st->node])
		t->builds += st->node > 0 && st->node + 1 < t->dag.n;
	t->built[st->node] = true;
	for (uint32_t i = 0, bad = 0; i < st->boots && !failed; t->boots++) {
		double y = t->history->boot ? t->history->boot(t, st->node) : boot_plain(t, st->node);

		if (isnan(y)) {
			failed = ++bad >= 2 && !t->booted[st->node];
			continue;
		}
		search_observe(s, st->node, LEVEL + y, t->boots);
		t->booted[st->node] = true;
		i++;
	}
	if (failed)
		search_skip(s, st->node, DROPPED_NO_BUILD);
}

static bool holds(const struct search_step *st, uint32_t culprit)
{
	if (st->action == SEARCH_FOUND)
		return st->node == culprit;
	for (uint32_t i = 0; i < st->set_n; i++)
		if (st->set[i] == culprit)
			return true;
	return false;
}

/* No commit of the set that builds would have told its members apart. */
static bool smallest_set(const struct trial *t, const struct search_step *st)
{
	_cleanup_free_ bool *seen = xcalloc(t->dag.n, sizeof(*seen));

	for (uint32_t i = 0; i < st->set_n; i++) {
		if (t->broken[st->set[i]])
			continue;
		dag_ancestors(&t->dag, st->set[i], seen);
		for (uint32_t k = 0; k < st->set_n; k++)
			if (!seen[st->set[k]])
				return false;
	}
	return st->action == SEARCH_SET;
}

static void trial_score(const struct trial *t, const struct search_step *st, struct simulate_result *sum)
{
	bool named = st->action == SEARCH_FOUND || st->action == SEARCH_SET;
	bool nobody = t->culprit == SIMULATE_NOBODY && st->action == SEARCH_NOT_REPRODUCED;
	bool right = holds(st, t->culprit) || holds(st, t->second);
	double truth = t->c->snr / LEVEL;

	sum->named += named;
	sum->exact += nobody || (right && (st->action == SEARCH_FOUND || smallest_set(t, st)));
	sum->covered += nobody || right;
	sum->unfinished += st->action == SEARCH_GAVE_UP;
	sum->not_reproduced += st->action == SEARCH_NOT_REPRODUCED;
	sum->nominal += named ? st->posterior : 0;
	sum->interval += named && st->effect_lo <= truth && truth <= st->effect_hi;
	sum->mean_builds += t->builds;
	sum->mean_runs += t->boots;
}

static int trial_run(struct trial *t, struct simulate_result *sum)
{
	const struct simulate_config *c = t->c;
	struct search_config cfg = {
		.confidence = c->confidence, .min_effect = 0.5 * c->snr / LEVEL, .means_known = c->means_known,
		.mean_good = LEVEL,
		.mean_bad = LEVEL + c->snr, .sigma = 1, .boot_cost = c->boot_cost,
		.build_cost = !isnan(c->build_cost) ? c->build_cost : c->means_known ? 0 : 2 * c->boot_cost,
		.max_boots = c->max_boots,
	};
	struct search_step st;
	struct search *s = NULL;
	int r;

	t->history->make(t);
	if (c->null)
		t->culprit = t->second = SIMULATE_NOBODY;
	r = search_new(&cfg, &t->dag, &s);
	for (uint32_t x = 0; r >= 0 && t->outside && x < t->dag.n; x++)
		r = t->outside[x] ? search_outside(s, x) : 0;
	while (r >= 0 && (r = search_step(s, &st)) >= 0 && st.action == SEARCH_MEASURE)
		measure_step(t, s, &st);
	if (r >= 0)
		trial_score(t, &st, sum);
	search_free(s);
	trial_release(t);
	return r;
}

static int cmp_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int check_simulation(const struct simulate_config *c)
{
	if (!c->trials || c->trials > SIMULATE_MAX_TRIALS || !c->n || c->n > SIMULATE_MAX_COMMITS)
		return err_set(-EINVAL, "a simulation needs 1 to %d trials and 1 to %d commits", SIMULATE_MAX_TRIALS,
			       SIMULATE_MAX_COMMITS);
	if (!(c->snr > 0 && c->snr < 1e6))
		return err_set(-EINVAL, "snr '%g' is not between 0 and 1000000", c->snr);
	if (!(c->outliers >= 0 && c->outliers <= 1) || !(c->skip >= 0 && c->skip <= 1))
		return err_set(-EINVAL, "a share of outliers or of broken commits lies between 0 and 1");
	if (!(c->boot_cost > 0) || c->build_cost < 0)
		return err_set(-EINVAL, "a boot costs something, a build not less than nothing");
	if (!isfinite(c->outlier_sigma) || !isfinite(c->drift) || !isfinite(c->second))
		return err_set(-EINVAL, "outliers, drift and the second step must be finite numbers");
	return 0;
}

static const struct simulated_history *history_by_name(const char *name)
{
	for (size_t i = 0; i < n_histories; i++)
		if (streq(histories[i].name, name ? name : "line"))
			return &histories[i];
	return NULL;
}

char *simulate_histories(bool what)
{
	char *all = xstrdup("");

	for (size_t i = 0; i < n_histories; i++) {
		_cleanup_free_ char *before = all;

		all = what ? xasprintf("%s\n%s: %s", before, histories[i].name, histories[i].what)
			   : xasprintf("%s%s%s", before, i ? ", " : "", histories[i].name);
	}
	return all;
}

int simulate_search(const struct simulate_config *c, struct simulate_result *ret)
{
	struct simulate_result sum = {0};
	_cleanup_free_ uint32_t *runs = NULL;

	const struct simulated_history *history = history_by_name(c->history);
	int bad = check_simulation(c);

	if (bad < 0)
		return bad;
	if (!history) {
		_cleanup_free_ char *names = simulate_histories(false);

		return err_set(-EINVAL, "there is no history '%s'; there are %s", c->history, names);
	}
	runs = xcalloc(c->trials, sizeof(*runs));
	for (uint64_t i = 0; i < c->trials; i++) {
		struct trial t = {.c = c, .history = history};
		int r;

		rng_seed(&t.rng, c->seed * 1000003 + i);
		r = trial_run(&t, &sum);
		if (r < 0)
			return r;
		runs[i] = t.boots;
	}
	qsort(runs, c->trials, sizeof(*runs), cmp_u32);
	sum.trials = c->trials;
	sum.confidence = c->confidence;
	sum.bound = simulate_bound(c->n, c->snr, c->confidence);
	sum.p95_runs = runs[(c->trials - 1) * 95 / 100];
	sum.nominal = sum.named > 0 ? sum.nominal / sum.named : 0;
	sum.interval = sum.named > 0 ? sum.interval / sum.named : 0;
	sum.mean_runs /= c->trials;
	sum.mean_builds /= c->trials;
	sum.exact /= c->trials;
	sum.covered /= c->trials;
	sum.unfinished /= c->trials;
	sum.named /= c->trials;
	sum.not_reproduced /= c->trials;
	*ret = sum;
	return 0;
}
