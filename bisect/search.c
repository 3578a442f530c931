/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <Rmath.h>
#include "bisect/search-internal.h"

#define END_SHARE 0.06           /* of all boots at the ends at least, while the levels are unknown */
#define DRIFT_END_SHARE 0.2     /* more of them should the machine drift: only they tell how much */
#define SURE_SHARE 0.2           /* ... and at commits that are surely good or surely bad, the ends among them */
#define SURE 0.01
#define FORK_WORTH 0.7           /* of a boot of what does not descend from good: its level is to be known, too */
#define LEAST_SPLIT 0.01         /* of the doubt that is allowed: what splits less is not measured with side branches */
#define TOLD_BOOTS 20            /* times 1 + (2/snr)²: a commit with more has told what it can */
#define BUILD_BOOTS 0.7         /* a build is written off over so much of the boots that settle a bit */
#define WORTH_A_BUILD 0.1      /* chance to build: below, all around failed, and it is taken to fail as they do */
#define FIRST_BOOTS 2           /* at each end */
#define OPENING_BOOTS 10         /* at each end before the search leaves them ... */
#define OPENING_ODDS 0.4         /* ... unless the data speak 2.5 : 1 for an effect */
#define SURELY_DIFFER 1e-6       /* p value of the ends' boots */
#define END_ODDS 4.0             /* Bayes factor for the level of each end before anybody is named */
#define NONE_PRIOR 0.1          /* a search starts after a change was seen */
#define NONE_PRIOR_KNOWN 0.02   /* levels from history: it was seen before */
#define LONELY_SNR_MIN 3.0       /* below, one boot decides nothing anyhow */
#define LONELY_SNR_MAX 12.0      /* above, an outlier hardly hits the other level */
#define NONE_ODDS 20.0          /* evidence (Bayes factor) against "no effect" before anybody is named, for it before
				   the search ends */

static int check_config(const struct search_config *c, const struct dag *dag)
{
	if (!(c->confidence > 0.5 && c->confidence < 1))
		return err_set(-EINVAL, "search confidence '%g' is not between 0.5 and 1", c->confidence);
	if (!dag->n)
		return err_set(-EINVAL, "the range has no commits");
	if (!(c->min_effect >= 0) || !(c->sigma_floor >= 0) || !(c->nu >= 0) || !(c->boot_cost >= 0) ||
	    !(c->build_cost >= 0))
		return err_set(-EINVAL, "search settings must not be negative nor NaN");
	if (c->means_known && (!isfinite(c->mean_good) || !isfinite(c->mean_bad) || !isfinite(c->sigma) ||
			       !(c->sigma > 0) || c->mean_good == c->mean_bad))
		return err_set(-EINVAL, "known levels '%g' and '%g' with spread '%g' cannot guide a search",
			       c->mean_good, c->mean_bad, c->sigma);
	if (c->prior)
		for (uint32_t i = 0; i < dag->n; i++)
			if (!(c->prior[i] >= 0) || !isfinite(c->prior[i]))
				return err_set(-EINVAL, "prior '%g' of commit %u is not a weight", c->prior[i], i);
	return 0;
}

static void normalise(struct search *s)
{
	double sum = 0;

	for (uint32_t i = 0; i < s->dag->n; i++) {
		bool candidate = i > 0 && s->in_range[i] && !s->dropped[i] && !s->outside[i];

		s->weight[i] = !candidate ? 0 : s->c.prior ? s->c.prior[i] : 1;
		sum += s->weight[i];
	}
	for (uint32_t i = 0; i < s->dag->n && sum > 0; i++)
		s->weight[i] /= sum;
	s->classes_valid = s->model_valid = false;
}

int search_new(const struct search_config *cfg, const struct dag *dag, struct search **ret)
{
	struct search *s;
	int r = check_config(cfg, dag);

	if (r < 0)
		return r;
	s = xcalloc(1, sizeof(*s));
	s->c = *cfg;
	s->dag = dag;
	if (!s->c.max_boots)
		s->c.max_boots = 2000;
	if (!(s->c.boot_cost > 0))
		s->c.boot_cost = 1;
	s->none_prior = s->c.means_known ? NONE_PRIOR_KNOWN : NONE_PRIOR;
	s->none = s->none_prior;
	if (cfg->means_known)
		s->est = (struct estimate){.good = cfg->mean_good, .bad = cfg->mean_bad, .sigma = cfg->sigma,
					   .delta = cfg->mean_bad - cfg->mean_good};
	s->weight = xcalloc(dag->n, sizeof(*s->weight));
	s->mass = xcalloc(dag->n, sizeof(*s->mass));
	s->in_range = xcalloc(dag->n, sizeof(bool));
	s->skipped = xcalloc(dag->n, sizeof(*s->skipped));
	s->built = xcalloc(dag->n, sizeof(bool));
	s->outside = xcalloc(dag->n, sizeof(bool));
	s->seen = xcalloc(dag->n, sizeof(bool));
	s->dropped = xcalloc(dag->n, sizeof(*s->dropped));
	s->c.prior = NULL;
	if (cfg->prior) {
		double *own = xcalloc(dag->n, sizeof(*own));

		memcpy(own, cfg->prior, dag->n * sizeof(*own));
		s->c.prior = own;
	}
	dag_ancestors(dag, dag->n - 1, s->in_range);
	chains_find(s);
	normalise(s);
	*ret = s;
	return 0;
}

void search_free(struct search *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_sites; i++) {
		free(s->site[i].y);
		free(s->site[i].when);
		site_forget(&s->site[i]);
	}
	free(s->site);
	classes_release(&s->cl);
	chains_release(&s->ch);
	pasts_release(&s->past);
	fork_levels_release(&s->forks);
	free((double *)s->c.prior);
	free(s->weight);
	free(s->mass);
	free(s->in_range);
	free(s->skipped);
	free(s->built);
	free(s->outside);
	free(s->seen);
	free(s->dropped);
	free(s->set);
	free(s);
}

static int check_node(const struct search *s, uint32_t node)
{
	if (node >= s->dag->n)
		return err_set(-EINVAL, "commit %u is not one of the %u of this search", node, s->dag->n);
	return 0;
}

int search_drop(struct search *s, uint32_t node, enum dropped why)
{
	int r = check_node(s, node);

	if (r < 0)
		return r;
	s->dropped[node] = why;
	normalise(s);
	return 0;
}

int search_outside(struct search *s, uint32_t node)
{
	int r = check_node(s, node);

	if (r < 0)
		return r;
	if (!node || node == s->dag->n - 1)
		return err_set(-EINVAL, "commit %u is an end of the range, not outside of it", node);
	s->outside[node] = true;
	pasts_release(&s->past);
	normalise(s);
	return 0;
}

int search_built(struct search *s, uint32_t node)
{
	int r = check_node(s, node);

	if (r < 0)
		return r;
	s->built[node] = true;
	return 0;
}

int search_skip(struct search *s, uint32_t node, enum dropped why)
{
	int r = check_node(s, node);

	if (r < 0)
		return r;
	s->skipped[node] = why;
	return 0;
}

enum dropped search_dropped(const struct search *s, uint32_t node) { return s->dropped[node]; }
enum dropped search_skipped(const struct search *s, uint32_t node) { return s->skipped[node]; }

struct site *search_site(const struct search *s, uint32_t node)
{
	size_t lo = 0, hi = s->n_sites;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->site[mid].node < node)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n_sites && s->site[lo].node == node ? &s->site[lo] : NULL;
}

static struct site *site_add(struct search *s, uint32_t node)
{
	size_t at = s->n_sites;

	GROW(s->site, s->n_sites, s->cap_sites);
	for (; at > 0 && s->site[at - 1].node > node; at--)
		s->site[at] = s->site[at - 1];
	s->site[at] = (struct site){.node = node};
	s->n_sites++;
	s->classes_valid = false;
	return &s->site[at];
}

static void rescale(struct search *s, double value)
{
	int e = value != 0 ? ilogb(value) : 0;

	if (value == 0 || (s->n_obs && e <= s->exponent))
		return;
	for (size_t i = 0; i < s->n_sites; i++)
		for (size_t k = 0; k < s->site[i].n; k++)
			s->site[i].y[k] = ldexp(s->site[i].y[k], s->exponent - e);
	s->exponent = e;
}

int search_observe(struct search *s, uint32_t node, double value, double when)
{
	struct site *t;
	size_t cap;
	int r = check_node(s, node);

	if (r < 0)
		return r;
	if (!isfinite(value) || isnan(when) || (s->c.binary && value != 0 && value != 1))
		return err_set(-EINVAL, "value '%g' of commit %u is no measurement: leave the boot out", value, node);
	rescale(s, value);
	t = search_site(s, node);
	if (!t)
		t = site_add(s, node);
	cap = t->cap;
	GROW(t->when, t->n, cap);
	GROW(t->y, t->n, t->cap);
	t->when[t->n] = when;
	t->y[t->n++] = ldexp(value, -s->exponent);
	s->built[node] = true;
	s->n_obs++;
	s->model_valid = false;
	return 0;
}

static bool ends_measured(const struct search *s)
{
	return search_site(s, 0) && search_site(s, s->dag->n - 1);
}

static void refresh(struct search *s)
{
	if (!s->past.of)
		pasts_find(s);
	if (!s->classes_valid)
		classes_refine(s);
	if (!s->model_valid && (s->c.means_known ? s->n_obs > 0 : ends_measured(s))) {
		model_evaluate(s);
	} else if (!s->classes_valid || !s->model_valid) {
		s->none = s->none_prior;
		s->none_bad = s->c.means_known ? s->none / 2 : 0;
		for (uint32_t k = 0; k < s->cl.n; k++)
			s->cl.post[k] = s->cl.weight[k] * (1 - s->none);
	}
	s->classes_valid = s->model_valid = true;
}

static double candidate_posterior(const struct search *s, uint32_t node)
{
	uint32_t k = s->cl.of[node];

	return k == UINT32_MAX ? 0 : s->cl.post[k] * s->weight[node] / s->cl.weight[k];
}

uint32_t search_parent(const struct search *s, uint32_t node)
{
	const struct dag *d = s->dag;

	refresh((struct search *)s);
	if (node >= d->n || d->first[node] == d->first[node + 1])
		return UINT32_MAX;
	for (uint32_t e = d->first[node]; e < d->first[node + 1]; e++)
		if (s->past.of[d->parent[e]] == s->past.of[node])
			return d->parent[e];
	return d->parent[d->first[node]];
}

double search_posterior(const struct search *s, uint32_t node)
{
	refresh((struct search *)s); /* fills in what the observations already determine */
	return node < s->dag->n ? candidate_posterior(s, node) : 0;
}

double search_posterior_none(const struct search *s)
{
	refresh((struct search *)s);
	return s->none;
}

static size_t boots_at(const struct search *s, uint32_t node)
{
	const struct site *t = search_site(s, node);

	return t ? t->n : 0;
}

static double snr(const struct search *s)
{
	return s->est.sigma > 0 ? fabs(s->est.delta) / s->est.sigma : 1;
}

/* Bayes factor for "no effect" against "one of the candidates": evidence only, whatever was believed before. */
static double none_evidence(const struct search *s)
{
	return s->none / (1 - s->none) * (1 - s->none_prior) / s->none_prior;
}

static bool measurable(const struct search *s, uint32_t x)
{
	return s->in_range[x] && !s->skipped[x] &&
	       (x != 0 || s->c.means_known); /* else the ends are measured on their own */
}

static bool worth_trying(const struct search *s, const double *chance, uint32_t x)
{
	return measurable(s, x) && chance[x] >= WORTH_A_BUILD;
}

/* What is measured at x speaks relative to its past's level: the fork point to boot before, or UINT32_MAX. */
static uint32_t reference_due(const struct search *s, uint32_t x)
{
	uint32_t past = s->past.of[x], ref = past ? s->past.reference[past] : UINT32_MAX;

	return ref == UINT32_MAX || s->skipped[ref] || boots_at(s, ref) >= FIRST_BOOTS ? UINT32_MAX : ref;
}

/*
 * Where the level of a past is not known for sure, a label is no value. There balance[x] becomes the variance of what
 * is expected at x over the candidates, in squared effects; of two levels an effect apart that is p (1 - p).
 */
static void fork_balance(struct search *s, const double *value, double *balance)
{
	const struct fork_levels *l = &s->forks;
	uint32_t n = s->dag->n;
	_cleanup_free_ double *part = xcalloc(n, sizeof(*part));
	_cleanup_free_ double *one = xcalloc(n, sizeof(*one)), *two = xcalloc(n, sizeof(*two));
	double some = 1 - s->none, delta2 = MAX(s->est.delta * s->est.delta, s->est.sigma * s->est.sigma);

	for (uint32_t x = 0; x < n; x++)
		balance[x] *= s->past.of[x] ? FORK_WORTH : 1;
	for (size_t f = 0; f < l->n; f++) {
		const double(*level)[2] = (const double(*)[2])l->level + f * s->cl.n;
		double mean = 0, square = 0;

		for (uint32_t k = 0; k < s->cl.n; k++) {
			mean += s->cl.post[k] / some * (level[k][0] - s->est.good);
			square += s->cl.post[k] / some * (level[k][0] - s->est.good) * (level[k][0] - s->est.good);
		}
		for (int power = 1; power <= 2; power++) {
			for (uint32_t x = 0; x < n; x++) {
				uint32_t k = s->cl.of[x];
				double good = k == UINT32_MAX ? 0 : level[k][0] - s->est.good;
				double bad = k == UINT32_MAX ? 0 : level[k][1] - s->est.good;

				part[x] = value[x] / some * (power == 1 ? bad - good : bad * bad - good * good);
			}
			ancestor_mass(s, part, power == 1 ? one : two);
		}
		for (uint32_t x = 1; x < n; x++)
			if (s->past.of[x] == l->past[f]) {
				double m = mean + one[x];

				balance[x] = MAX(0.0, MIN(0.5, (square + two[x] - m * m) / delta2));
			}
	}
}

struct choice { uint32_t node; double value, split, chance; };

/* Best commit to measure: of the built ones by information a boot, of the others by information times the chance that
 * it builds. */
static void best_splits(struct search *s, struct choice *built, struct choice *fresh)
{
	_cleanup_free_ double *chance = build_chance(s), *value = xcalloc(s->dag->n, sizeof(*value));
	_cleanup_free_ double *balance = xcalloc(s->dag->n, sizeof(*balance));
	double some = s->c.means_known ? 1 : 1 - s->none, told = TOLD_BOOTS * (1 + 4 / MAX(snr(s) * snr(s), 1e-3));
	double least = s->past.n > 1 ? LEAST_SPLIT * (1 - s->c.confidence) : 1e-9; /* below, the level is known */

	*built = *fresh = (struct choice){UINT32_MAX, 0, 0, 1};
	for (uint32_t x = 0; x < s->dag->n; x++)
		value[x] = candidate_posterior(s, x);
	ancestor_mass(s, value, s->mass);
	for (uint32_t x = 0; x < s->dag->n; x++) {
		double p = some > 0 ? (s->mass[x] + s->none_bad) / some : 0;

		balance[x] = MIN(p, 1 - p);
	}
	if (s->past.n > 1)
		fork_balance(s, value, balance);
	for (uint32_t x = 0; x < s->dag->n; x++) {
		struct choice *c = s->built[x] ? built : fresh;

		if (balance[x] > least && balance[x] * chance[x] > c->value && worth_trying(s, chance, x) &&
		    (!s->built[x] || boots_at(s, x) < told))
			*c = (struct choice){x, balance[x] * chance[x], balance[x], chance[x]};
	}
}

/*
 * One outlier can look exactly like the other level. So no single boot decides, unless the levels are so far apart that
 * an outlier would hardly hit the other one: the site on whose only boot the choice between class k and its neighbour
 * rests, or UINT32_MAX.
 */
static uint32_t lonely_site(const struct search *s, uint32_t k)
{
	const struct classes *cl = &s->cl;

	if (snr(s) < LONELY_SNR_MIN || snr(s) > LONELY_SNR_MAX)
		return UINT32_MAX;
	for (uint32_t other = 0; other < cl->n; other++) {
		size_t site = 0, differ = 0;

		for (uint32_t w = 0; w < cl->words; w++) {
			uint64_t x =
				cl->pattern[(size_t)k * cl->words + w] ^ cl->pattern[(size_t)other * cl->words + w];

			differ += (size_t)__builtin_popcountll(x);
			if (x)
				site = 64 * (size_t)w + (size_t)__builtin_ctzll(x);
		}
		if (differ == 1 && s->site[site].n == 1 && !s->skipped[s->site[site].node])
			return s->site[site].node;
	}
	return UINT32_MAX;
}

static uint32_t best_class(const struct search *s)
{
	uint32_t best = 0;

	for (uint32_t k = 1; k < s->cl.n; k++)
		if (s->cl.post[k] > s->cl.post[best])
			best = k;
	return best;
}

/* The class's candidates into s->set; true when a commit would split it that can be measured, for all that is known. */
static bool class_members(struct search *s, uint32_t k, uint32_t *ret_n)
{
	_cleanup_free_ double *value = xcalloc(s->dag->n, sizeof(*value)), *chance = build_chance(s);
	uint32_t n = 0;

	free(s->set);
	s->set = xmalloc(s->dag->n * sizeof(*s->set));
	for (uint32_t x = 0; x < s->dag->n; x++)
		if (s->cl.of[x] == k) {
			s->set[n++] = x;
			value[x] = s->weight[x] / s->cl.weight[k];
		}
	*ret_n = n;
	ancestor_mass(s, value, s->mass);
	for (uint32_t x = 1; x < s->dag->n; x++)
		if (worth_trying(s, chance, x) && s->mass[x] > 1e-6 && s->mass[x] < 1 - 1e-6)
			return true;
	return false;
}

/* The lonely site of an answer that could be given; on the way there it is cheaper to find a wrong turn at its end. */
static uint32_t lonely_answer(struct search *s)
{
	uint32_t best = best_class(s), n;

	if (!s->cl.n || s->cl.post[best] < s->c.confidence || class_members(s, best, &n))
		return UINT32_MAX;
	return lonely_site(s, best);
}

/* Only two levels of a measured value, both unknown: boot_information() can tell what a boot is worth for them and for
 * the search at once. */
static bool joint_levels(const struct search *s) { return !s->c.means_known && !s->c.binary && s->past.n <= 1; }

/* The measured commit, ends included, where a boot tells most; of the others built the one that splits best. */
static struct choice telling_site(struct search *s, const struct choice *split)
{
	struct choice best = *split;

	if (!joint_levels(s)) {
		best.value = split_information(split->split, snr(s));
		return best;
	}
	best.value = split->node == UINT32_MAX ? 0 : boot_information(s, split->node);
	for (size_t i = 0; i < s->n_sites; i++) {
		uint32_t x = s->site[i].node;
		double value = s->skipped[x] ? 0 : boot_information(s, x);

		if (value > best.value)
			best = (struct choice){x, value, 0, 1};
	}
	return best;
}

/* Stay on what is built until a build pays: the gain of a new place is spread over the boots it will take to settle
 * it. */
static uint32_t next_split(struct search *s)
{
	double boots, move;
	uint32_t lonely = lonely_answer(s);
	struct choice built, fresh;

	if (lonely != UINT32_MAX)
		return lonely;
	best_splits(s, &built, &fresh);
	built = telling_site(s, &built);
	if (built.node == UINT32_MAX || fresh.node == UINT32_MAX)
		return built.node != UINT32_MAX ? built.node : fresh.node;
	boots = MAX(1.0, BUILD_BOOTS / split_information(0.5, snr(s)));
	move = joint_levels(s) ? boot_information(s, fresh.node) : split_information(fresh.split, snr(s));
	move *= boots / (boots * s->c.boot_cost + s->c.build_cost / fresh.chance);
	return built.value / s->c.boot_cost >= move ? built.node : fresh.node;
}

static uint32_t next_site(struct search *s)
{
	uint32_t x = next_split(s), ref = x != UINT32_MAX ? reference_due(s, x) : UINT32_MAX;

	return ref != UINT32_MAX ? ref : x;
}

/* Posterior that a site is bad, given that there is a culprit. */
static double site_bad(const struct search *s, size_t i)
{
	double bad = 0, all = 0;

	for (uint32_t k = 0; k < s->cl.n; k++) {
		all += s->cl.post[k];
		if (site_is_bad(s, k, i))
			bad += s->cl.post[k];
	}
	return all > 0 ? bad / all : 0;
}

/* Boots whose level is beyond doubt: those of the ends and of sites that are surely good or surely bad. */
static void sure_boots(const struct search *s, double *ret_good, double *ret_bad)
{
	*ret_good = *ret_bad = 0;
	for (size_t i = 0; i < s->n_sites; i++) {
		double p = s->site[i].node == 0 ? 0 : site_bad(s, i);

		if (site_past(s, i))
			continue;
		if (p < SURE)
			*ret_good += s->site[i].n;
		else if (p > 1 - SURE)
			*ret_bad += s->site[i].n;
	}
}

/* Where the worth of levels is not reckoned (side branches have their own; failing has rates): boots by rule to know
 * them. */
static bool levels_vague(const struct search *s)
{
	double good, bad, next = s->n_obs + 1, doubt = none_evidence(s);
	size_t a = boots_at(s, 0), b = boots_at(s, s->dag->n - 1);

	sure_boots(s, &good, &bad);
	return (doubt > 0.05 && MIN(a, b) < 18) || (doubt > 0.25 && a + b < 0.5 * next) ||
	       MIN(good, bad) < SURE_SHARE / 2 * next;
}

/* The end to boot again, or UINT32_MAX: an effect must be likely before a search for it pays, and the ends must be seen
 * now and then until it is over, so that a drift of the machine shows. */
static uint32_t anchor_due(const struct search *s)
{
	uint32_t head = s->dag->n - 1;
	size_t a = boots_at(s, 0), b = boots_at(s, head);
	double share = END_SHARE + DRIFT_END_SHARE * s->drift, doubt = none_evidence(s), next = s->n_obs + 1;

	if (s->c.means_known || s->doubtful_end != UINT32_MAX)
		return s->doubtful_end;
	if ((doubt > OPENING_ODDS && MIN(a, b) < OPENING_BOOTS) || (doubt > 1 && a + b < 0.5 * next) ||
	    a + b < share * next || (!joint_levels(s) && levels_vague(s)))
		return a <= b ? 0 : head;
	return UINT32_MAX;
}

static double relative(const struct search *s, double delta)
{
	double unit = s->c.binary ? 1 : fabs(s->est.good) > 0 ? fabs(s->est.good) : fabs(s->est.bad);

	return unit > 0 ? delta / unit : 0;
}

static void report_effect(const struct search *s, struct search_step *st)
{
	double q = qnorm(0.5 + s->c.confidence / 2, 0, 1, 1, 0), half = 1.959964 * s->est.delta_sd;

	st->effect = relative(s, s->est.delta);
	st->effect_lo = relative(s, s->est.delta - half);
	st->effect_hi = relative(s, s->est.delta + half);
	st->excluded = relative(s, fabs(s->est.delta) + q * s->est.delta_sd);
}

static void expect_boots(const struct search *s, struct search_step *st)
{
	double entropy = 0, odds = s->c.confidence / (1 - s->c.confidence), r = snr(s);

	for (uint32_t k = 0; k < s->cl.n; k++)
		if (s->cl.post[k] > 0)
			entropy -= s->cl.post[k] * log2(s->cl.post[k] / MAX(s->cl.weight[k] * s->dag->n, 1.0));
	st->expected_boots = ceil(MAX(entropy, 0.0) / MAX(split_information(0.5, r), 1e-3) +
				  (entropy > 0 ? 4 * log(odds) / MAX(r * r, 0.01) : 0));
}

/* The data exclude every effect of interest; of a metric that repeats to its resolution, every effect that it could
 * show. */
static bool excluded(const struct search *s)
{
	double q = qnorm(0.5 + MAX(s->c.confidence, 0.99) / 2, 0, 1, 1, 0);
	double least = MAX(s->c.min_effect, 5 * MAX(s->c.sigma_floor, 1e-9));

	return !s->c.means_known && relative(s, fabs(s->est.delta) + q * s->est.delta_sd) < least;
}

/*
 * A step up and another one back look like an effect while one end has few boots: whoever stands between would be
 * named. So the boots of both ends must speak for their levels, or the other way: true when *st is final, else
 * s->doubtful_end is to be booted, if any.
 */
static bool ends_alike(struct search *s, uint32_t best, struct search_step *st)
{
	const struct noise *w = &s->noise;
	double odds = s->c.means_known || s->c.binary ? 0 : model_end_odds(s, best, &s->doubtful_end), q, half;

	if (odds < 1 / END_ODDS)
		s->doubtful_end = UINT32_MAX;
	if (odds < NONE_ODDS)
		return false;
	q = qnorm(0.5 + s->c.confidence / 2, 0, 1, 1, 0);
	half = q * w->sigma * sqrt(1.0 / boots_at(s, 0) + 1.0 / boots_at(s, s->dag->n - 1));
	st->action = SEARCH_NOT_REPRODUCED;
	st->posterior = odds / (1 + odds);
	st->effect = relative(s, w->delta);
	st->effect_lo = relative(s, w->delta - half);
	st->effect_hi = relative(s, w->delta + half);
	st->excluded = relative(s, fabs(w->delta) + half);
	st->why = "the two ends do not differ, though commits between them do";
	return true;
}

static void give_up(struct search_step *st, const char *why)
{
	st->action = SEARCH_GAVE_UP;
	st->why = why;
}

/* The boots of the ends alone, by a t test. A step that is hidden between larger ones can make "no effect" the best of
 * models none of which fits; what is seen to differ must not be called the same. */
static bool ends_differ(const struct search *s)
{
	double df = (double)s->n_obs - (double)s->n_sites, a = boots_at(s, 0), b = boots_at(s, s->dag->n - 1), t;

	if (s->c.means_known || s->c.binary || !(s->noise.sigma > 0))
		return false;
	t = fabs(s->noise.delta) / (s->noise.sigma * sqrt(1 / a + 1 / b));
	return 2 * pt(t, MAX(df, 1.0), 0, 0) < SURELY_DIFFER && relative(s, fabs(s->noise.delta)) > s->c.min_effect;
}

/* Nobody is named, or nothing is declared absent, unless the data say so: true when *st is final. */
static bool finished(struct search *s, struct search_step *st)
{
	uint32_t best = best_class(s), n;
	double evidence = none_evidence(s);

	if (excluded(s) || (s->c.means_known ? s->none >= s->c.confidence : evidence >= NONE_ODDS)) {
		st->action = SEARCH_NOT_REPRODUCED;
		st->posterior = s->none;
		st->why = "the two ends do not differ by an effect of interest";
		if (ends_differ(s))
			give_up(st, "the ends differ, but commits between fit neither of their levels: "
				    "try parts of the range");
		return true;
	}
	if (s->cl.post[best] < s->c.confidence || evidence > 1 / NONE_ODDS || lonely_site(s, best) != UINT32_MAX)
		return false;
	if (ends_alike(s, best, st))
		return true;
	if (s->doubtful_end != UINT32_MAX || class_members(s, best, &n))
		return false;
	st->posterior = s->cl.post[best];
	st->node = s->set[n - 1];
	st->action = n == 1 ? SEARCH_FOUND : SEARCH_SET;
	st->why = n == 1 ? "one commit explains the measurements" :
			   "commits between these do not build or boot, or all around them do not";
	if (n > 1) {
		st->set = s->set;
		st->set_n = n;
	}
	return true;
}

/* Nothing that can be measured tells more: the likeliest candidates that hold the asked probability together. */
static bool joint_set(struct search *s, struct search_step *st)
{
	_cleanup_free_ bool *in = xcalloc(s->cl.n + 1, sizeof(*in));
	double sum = 0;

	if (s->c.means_known || none_evidence(s) > 1 / NONE_ODDS)
		return false;
	for (uint32_t n = 0; n < s->cl.n && sum < s->c.confidence; n++) {
		uint32_t best = UINT32_MAX;

		for (uint32_t k = 0; k < s->cl.n; k++)
			if (!in[k] && (best == UINT32_MAX || s->cl.post[k] > s->cl.post[best]))
				best = k;
		in[best] = true;
		sum += s->cl.post[best];
	}
	free(s->set);
	s->set = xmalloc(s->dag->n * sizeof(*s->set));
	for (uint32_t x = 0; x < s->dag->n; x++)
		if (s->cl.of[x] != UINT32_MAX && in[s->cl.of[x]])
			s->set[st->set_n++] = x;
	st->set = s->set;
	st->node = s->set[st->set_n - 1];
	st->posterior = sum;
	st->action = st->set_n == 1 ? SEARCH_FOUND : SEARCH_SET;
	st->why = "what can be measured does not tell these apart";
	return true;
}

static void ask_boots(struct search_step *st, uint32_t node, size_t boots, const char *why)
{
	st->action = SEARCH_MEASURE;
	st->node = node;
	st->boots = boots;
	st->why = why;
}

static bool no_candidates(const struct search *s)
{
	for (uint32_t x = 0; x < s->dag->n; x++)
		if (s->weight[x] > 0)
			return false;
	return true;
}

static uint32_t most_likely(const struct search *s)
{
	uint32_t best = 0;

	for (uint32_t x = 0; x < s->dag->n; x++)
		if (candidate_posterior(s, x) > candidate_posterior(s, best))
			best = x;
	return best;
}

/* Before there is anything to compute: false when the model can be asked. */
static bool opening(struct search *s, struct search_step *st)
{
	uint32_t head = s->dag->n - 1;

	if (no_candidates(s)) {
		give_up(st, "no commit of the range can matter");
		return true;
	}
	if (s->past.of[head]) { /* nothing between them has good's level for sure */
		give_up(st, "the head does not descend from good");
		return true;
	}
	if (s->c.means_known)
		return false;
	if (s->skipped[0] || s->skipped[head]) {
		give_up(st, "an end of the range does not build or boot");
		return true;
	}
	if (s->n_obs >= s->c.max_boots) {
		if (!ends_measured(s))
			give_up(st, "the boots ran out before both ends had any");
		return !ends_measured(s);
	}
	for (int i = 0; i < 2; i++) {
		uint32_t end = i ? head : 0;

		if (boots_at(s, end) < FIRST_BOOTS) {
			ask_boots(st, end, FIRST_BOOTS - boots_at(s, end), "the ends first");
			return true;
		}
	}
	return false;
}

int search_step(struct search *s, struct search_step *ret)
{
	struct search_step st = {0};
	uint32_t x;

	refresh(s);
	s->doubtful_end = UINT32_MAX;
	if (!opening(s, &st)) {
		report_effect(s, &st);
		expect_boots(s, &st);
		if (finished(s, &st)) {
			st.expected_boots = 0;
		} else if (s->n_obs >= s->c.max_boots) {
			give_up(&st, "the boots ran out");
			st.node = most_likely(s);
			st.posterior = candidate_posterior(s, st.node);
		} else if ((x = anchor_due(s)) != UINT32_MAX) {
			ask_boots(&st, x, 1, "an end, to know the levels and to see drift");
		} else if ((x = next_site(s)) != UINT32_MAX) {
			ask_boots(&st, x, 1, "most information for its cost");
			st.posterior = candidate_posterior(s, x);
		} else if (s->c.means_known) {
			give_up(&st, "nothing left that can be measured");
		} else if (joint_set(s, &st)) {
			st.expected_boots = 0;
		} else {
			ask_boots(&st, boots_at(s, 0) <= boots_at(s, s->dag->n - 1) ? 0 : s->dag->n - 1, 1,
				  "the ends: nothing between them can be measured");
		}
	}
	*ret = st;
	return 0;
}
