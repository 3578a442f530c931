/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <Rmath.h>
#include "bisect/search-internal.h"
#include "bisect/simulate.h"
#include "bisect/verdict.h"
#include "tests/tap.h"

static const struct search_config sane = {.confidence = 0.95, .boot_cost = 1, .build_cost = 2};

/* Plays a search on a graph: level and spread of a commit decide its values. */
struct play { const struct dag *dag; const double *level; double sd; struct rng rng; uint32_t boots, builds; };

static struct search_step play(struct search *s, struct play *p, const bool *broken)
{
	_cleanup_free_ bool *built = xcalloc(p->dag->n, sizeof(bool));
	struct search_step st;

	while (search_step(s, &st) == 0 && st.action == SEARCH_MEASURE) {
		p->builds += !built[st.node];
		built[st.node] = true;
		if (broken && broken[st.node]) {
			search_skip(s, st.node, DROPPED_NO_BUILD);
			continue;
		}
		for (uint32_t i = 0; i < st.boots; i++, p->boots++)
			search_observe(s, st.node, p->level[st.node] + p->sd * rng_normal(&p->rng), p->boots);
	}
	return st;
}

static double *levels(const struct dag *d, uint32_t culprit, double good, double bad)
{
	double *l = xcalloc(d->n, sizeof(*l));
	bool *is = xcalloc(d->n, sizeof(*is));

	for (uint32_t x = 0; x < d->n; x++) {
		is[x] = x == culprit;
		for (uint32_t e = d->first[x]; e < d->first[x + 1]; e++)
			is[x] |= is[d->parent[e]];
		l[x] = is[x] ? bad : good;
	}
	free(is);
	return l;
}

/* Random history with octopus merges; every commit is an ancestor of the last. */
static void random_dag(struct rng *r, uint32_t n, struct dag *ret)
{
	struct dag_builder b = {0};
	_cleanup_free_ uint32_t *tips = xmalloc(64 * sizeof(*tips));
	uint32_t n_tips = 1;

	dag_add(&b, NULL, 0);
	tips[0] = 0;
	while (b.d.n + 1 < n) {
		double u = rng_uniform(r);
		uint32_t k = (uint32_t)(rng_uniform(r) * n_tips);

		if (u < 0.2 && n_tips < 60) {
			uint32_t from = tips[k];

			dag_add(&b, &from, 1);
			tips[n_tips++] = b.d.n - 1;
		} else if (u < 0.3 && n_tips > 1) {
			uint32_t want = 2 + (uint32_t)(rng_uniform(r) * 5), np = MIN(n_tips, want);

			dag_add(&b, tips + n_tips - np, np);
			n_tips -= np - 1;
			tips[n_tips - 1] = b.d.n - 1;
		} else {
			dag_add(&b, &tips[k], 1);
			tips[k] = b.d.n - 1;
		}
	}
	dag_add(&b, tips, n_tips);
	dag_take(&b, ret);
}

static void graph(void)
{
	struct rng r;
	struct dag d;
	struct search *s;
	_cleanup_free_ bool *seen = NULL;
	_cleanup_free_ double *value = NULL, *mass = NULL;
	double worst = 0;
	int wrong = 0;

	rng_seed(&r, 3);
	random_dag(&r, 700, &d);
	is_int(search_new(&sane, &d, &s), 0, "search on a graph with octopus merges");
	seen = xcalloc(d.n, sizeof(bool));
	value = xcalloc(d.n, sizeof(double));
	mass = xcalloc(d.n, sizeof(double));
	for (uint32_t x = 0; x < d.n; x++)
		value[x] = rng_uniform(&r);
	ancestor_mass(s, value, mass);
	for (uint32_t x = 0; x < d.n; x++) {
		double want = 0;

		dag_ancestors(&d, x, seen);
		for (uint32_t c = 0; c < d.n; c++)
			want += seen[c] ? value[c] : 0;
		worst = MAX(worst, fabs(want - mass[x]));
	}
	ok(worst < 1e-9, "ancestors count once each (worst %g)", worst);
	for (uint32_t x = 0; x < d.n; x += 37)
		search_observe(s, x, 1, 0);
	search_observe(s, d.n - 1, 1, 0);
	search_posterior_none(s);
	for (size_t i = 0; i < s->n_sites; i++) {
		dag_ancestors(&d, s->site[i].node, seen);
		for (uint32_t c = 1; c < d.n; c++) {
			uint32_t k = s->cl.of[c];

			wrong += k != UINT32_MAX &&
				 (s->cl.pattern[(size_t)k * s->cl.words + i / 64] >> (i % 64) & 1) != seen[c];
		}
	}
	ok(wrong == 0, "every class knows its bad sites");
	search_free(s);
	dag_release(&d);
}

/* The posterior of a small search against a plain numerical integration of the documented formula by scipy. */
static void against_scipy(void)
{
	const double y[4][3] = {{10.1, 9.7, 10.2}, {10.4, 9.9, NAN}, {11.3, NAN, NAN}, {11.8, 11.1, 12.0}};
	struct search_config c = sane;
	struct search *s;
	struct dag d;
	const char *script =
		"import numpy as np\n"
		"from scipy import stats\n"
		"Y=[[10.1,9.7,10.2],[10.4,9.9],[11.3],[11.8,11.1,12.0]]\n"
		"sig=np.exp(np.linspace(np.log(.02),np.log(20),40)); mu=np.linspace(0,22,551); h=mu[1]-mu[0]\n"
		"D=mu[None,:]-mu[:,None]\n"
		"def lik(ys,s): return np.prod([stats.t.pdf((y-mu)/s,3)/s for y in ys],axis=0) if len(ys) else None\n"
		"def total(g,b): return sum(lik(g,s)@stats.cauchy.pdf(D,0,2**.5*s)@lik(b,s)*h*h for s in sig)\n"
		"def none(ys): return sum(lik(ys,s).sum()*h for s in sig)\n"
		"import sys; none0=float(sys.argv[1])\n"
		"cat=lambda l:[v for r in l for v in r]\n"
		"p=[total(cat(Y[:k]),cat(Y[k:]))/3*(1-none0) for k in (1,2,3)]+[none(cat(Y))*none0]\n"
		"print(*[x/sum(p) for x in p])\n";
	_cleanup_free_ char *cmd = NULL;
	double want[4] = {NAN, NAN, NAN, NAN};
	FILE *p;

	dag_line(4, &d);
	c.nu = 3;
	search_new(&c, &d, &s);
	for (uint32_t x = 0; x < 4; x++)
		for (int i = 0; i < 3 && !isnan(y[x][i]); i++)
			search_observe(s, x, y[x][i], 0);
	search_posterior_none(s);
	cmd = xasprintf("/usr/bin/python3 -c \"%s\" %.17g", script, s->none_prior);
	p = popen(cmd, "r");
	ok(fscanf(p, "%lf %lf %lf %lf", &want[0], &want[1], &want[2], &want[3]) == 4, "scipy answered");
	pclose(p);
	for (uint32_t x = 1; x < 4; x++)
		is_near(search_posterior(s, x), want[x - 1], 0.005, "posterior of commit %u", x);
	is_near(search_posterior_none(s) / want[3], 1, 0.05, "posterior of no effect");
	search_free(s);
	dag_release(&d);
	is_near(split_information(0.5, 0.5), 0.0437, 5e-5, "capacity at snr 0.5");
	is_near(split_information(0.5, 1), 0.1607, 5e-5, "capacity at snr 1");
	is_near(split_information(0.5, 2), 0.4859, 5e-5, "capacity at snr 2");
	is_near(split_information(0.5, 5), 0.9752, 5e-5, "capacity at snr 5");
	is_near(simulate_bound(1024, 1, 0.95), 57.3, 0.1, "bound for 1,024 commits");
}

/* Entropy of the value minus that within each class, on a fine lattice; x is a site of the search. */
static double information_at(const struct search *s, uint32_t x)
{
	double p[16], mean[16], sd[16], h = 0, step = 1e-4 * s->est.sigma, all = 0;
	size_t n = 0;

	p[n] = s->none;
	mean[n] = s->level.good;
	sd[n++] = sqrt(s->level.good_var + s->level.sigma * s->level.sigma);
	for (uint32_t k = 0; k < s->cl.n; k++, n++) {
		const struct estimate *e = &s->cl.est[k];
		bool bad = s->cl.pattern[k] >> (search_site(s, x) - s->site) & 1;

		p[n] = s->cl.post[k];
		mean[n] = bad ? e->bad : e->good;
		sd[n] = sqrt((bad ? e->bad_var : e->good_var) + e->sigma * e->sigma);
	}
	for (size_t i = 0; i < n; i++)
		all += p[i];
	for (double y = s->est.good - 30 * s->est.sigma; y < s->est.good + 30 * s->est.sigma; y += step) {
		double f = 0;

		for (size_t i = 0; i < n; i++)
			f += p[i] / all * dnorm(y, mean[i], sd[i], 0);
		h -= f > 0 ? f * log2(f) * step : 0;
	}
	for (size_t i = 0; i < n; i++)
		h -= p[i] / all * log2(sd[i] * sqrt(2 * M_PI * exp(1)));
	return h;
}

/* What the next boot tells: against a plain integral; and where that must be more or less. */
static void gain(void)
{
	const double between[] = {10.9, 10.4, 10.8, 11.1};
	struct search *s;
	struct dag d;
	double first, more;

	dag_line(9, &d);
	search_new(&sane, &d, &s);
	for (int i = 0; i < 3; i++) {
		search_observe(s, 0, 10 + 0.4 * i, i);
		search_observe(s, 8, 11 + 0.5 * i, i);
	}
	search_posterior_none(s);
	ok(boot_information(s, 4) > boot_information(s, 0), "the middle tells more than an end");
	ok(boot_information(s, 4) > boot_information(s, 1), "and than a commit next to it");
	search_observe(s, 4, between[0], 4);
	search_posterior_none(s);
	for (uint32_t x = 0; x < 9; x += 4)
		is_near(boot_information(s, x) / information_at(s, x), 1, 0.05,
			"boot at %u: as a plain integral has it", x);
	first = boot_information(s, 4) / boot_information(s, 0);
	for (int i = 0; i < 12; i++)
		search_observe(s, 4, between[i % 4], 5 + i);
	search_posterior_none(s);
	more = boot_information(s, 4) / boot_information(s, 0);
	ok(more < first && more < 1, "a commit between the levels tells less and less (%.2f, %.2f of an end's)", first,
	   more);
	search_free(s);
	dag_release(&d);
}

/* Feeds a fixed set of values after a transformation; returns the posteriors of all commits. */
static void transformed(double scale, double shift, bool reverse, double *post, uint32_t n)
{
	struct rng r;
	struct dag d;
	struct search *s;
	double y[12][3];

	rng_seed(&r, 8);
	dag_line(n, &d);
	search_new(&sane, &d, &s);
	for (uint32_t x = 0; x < n; x++)
		for (int i = 0; i < 3; i++)
			y[x][i] = scale * (50 + (x >= 7 ? 2 : 0) + rng_normal(&r)) + shift;
	for (uint32_t k = 0; k < n; k++)
		for (int i = 0; i < 3; i++)
			search_observe(s, reverse ? n - 1 - k : k, y[reverse ? n - 1 - k : k][i], i);
	for (uint32_t x = 0; x < n; x++)
		post[x] = search_posterior(s, x);
	post[n] = search_posterior_none(s);
	search_free(s);
	dag_release(&d);
}

static double distance(const double *a, const double *b, uint32_t n)
{
	double worst = 0;

	for (uint32_t i = 0; i <= n; i++)
		worst = MAX(worst, fabs(a[i] - b[i]));
	return worst;
}

static void properties(void)
{
	double a[13], b[13], sum = 0;

	transformed(1, 0, false, a, 12);
	for (int i = 0; i <= 12; i++)
		sum += a[i];
	is_near(sum, 1, 1e-12, "posteriors sum to 1");
	transformed(1, 0, true, b, 12);
	ok(distance(a, b, 12) == 0, "the order in which commits are fed changes no bit");
	transformed(8, 0, false, b, 12);
	ok(distance(a, b, 12) < 1e-12, "nor does the unit");
	transformed(1e290, 0, false, b, 12);
	ok(distance(a, b, 12) < 1e-9, "nor a huge one");
	transformed(1, 1000, false, b, 12);
	ok(distance(a, b, 12) < 1e-6, "nor a constant added");
	transformed(-1, 0, false, b, 12);
	ok(distance(a, b, 12) < 1e-9, "nor the sign");
}

/* A slope is told from a step by booting the ends again; without one nothing is averaged. */
static void drifting(void)
{
	for (int slope = 0; slope <= 5; slope += 5) {
		struct rng r;
		struct dag d;
		struct search *s;
		size_t n = 0;

		rng_seed(&r, 4);
		dag_line(9, &d);
		search_new(&sane, &d, &s);
		for (int round = 0; round < 10; round++)
			for (uint32_t x = 0; x < 9; x += 4, n++)
				search_observe(s, x, 100 + (x ? 3 : 0) + slope * n / 30.0 + rng_normal(&r), n);
		search_posterior_none(s);
		if (slope)
			ok(s->drift > 0.99, "a slope of 5 sigma is a drift with %.4f", s->drift);
		else
			ok(s->drift < 0.2, "without one: %.4f", s->drift);
		is_near(s->est.delta * ldexp(1, s->exponent), 3, 1, "the effect without it");
		ok(search_posterior(s, 1) + search_posterior(s, 2) + search_posterior(s, 3) + search_posterior(s, 4) >
			   0.99,
		   "the right half");
		search_free(s);
		dag_release(&d);
	}
}

static void deterministic_machine(void)
{
	const uint32_t sizes[] = {16, 64};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint32_t n = sizes[i], culprit = n / 3, bits = (uint32_t)ceil(log2(n));
		struct search_config c = {.confidence = 0.99,
					  .min_effect = 0.0005,
					  .sigma_floor = 1e-5,
					  .boot_cost = 7,
					  .build_cost = 90};
		struct dag d;
		struct search *s;
		struct search_step st;
		struct play p = {.dag = &d, .sd = 1.2};

		dag_line(n + 1, &d);
		rng_seed(&p.rng, 5);
		p.level = levels(&d, culprit, 57750, 57618);
		search_new(&c, &d, &s);
		st = play(s, &p, NULL);
		is_int(st.action, SEARCH_FOUND, "%u commits on a deterministic machine: found (%s)", n, st.why);
		is_int(st.node, culprit, "the right one");
		ok(p.boots <= bits + 6, "in %u boots", p.boots);
		ok(p.builds <= bits + 2, "and %u builds, the ends among them", p.builds);
		ok(st.effect_lo < -132.0 / 57750 && -132.0 / 57750 < st.effect_hi, "effect %.4f %%", 100 * st.effect);
		search_free(s);
		free((double *)p.level);
		dag_release(&d);
	}
}

/* Two instructions of 9,990: 0.02 %, eight standard deviations of a boot. It is found where the smallest change of
 * interest is set to 0.01 %, and excluded, not named, where that is left at 0.1 %. */
static void two_instructions(void)
{
	const double interest[] = {0.0001, 0.001};
	enum { TRIALS = 30 };

	for (size_t i = 0; i < ARRAY_SIZE(interest); i++) {
		struct search_config c = {.confidence = 0.99, .min_effect = interest[i], .sigma_floor = 2e-5,
					  .boot_cost = 6,
					  .build_cost = 11};
		uint32_t right = 0, boots = 0, absent = 0, proved = 0;

		for (uint64_t t = 0; t < TRIALS; t++) {
			struct verdict_config v = {.alpha = 0.001, .min_effect = interest[i], .min_boots = 2,
						   .max_boots = 40,
						   .sigma_floor = 2e-5};
			struct verdict_result verdict = {0};
			double a[40], b[40];
			struct search_step st;
			struct search *s;
			struct dag d;
			struct play p = {.dag = &d, .sd = 0.3};

			rng_seed(&p.rng, 31 + t);
			dag_line(65, &d);
			p.level = levels(&d, 20 + (uint32_t)t, 12526.5, 12526.5 * (1 - 2.0 / 9990));
			search_new(&c, &d, &s);
			st = play(s, &p, NULL);
			right += st.action == SEARCH_FOUND && st.node == 20 + t;
			absent += st.action == SEARCH_NOT_REPRODUCED;
			boots += p.boots;
			for (int k = 0; k < 40; k++) {
				a[k] = p.level[0] + p.sd * rng_normal(&p.rng);
				b[k] = p.level[64] + p.sd * rng_normal(&p.rng);
			}
			for (size_t n = 2; n <= 40; n += MAX(verdict.more_boots, 1u))
				if (verdict_two(&v, a, n, b, n, &verdict) < 0 || verdict.verdict != VERDICT_MORE)
					break;
			proved += verdict.verdict == VERDICT_DIFFERENT;
			search_free(s);
			free((double *)p.level);
			dag_release(&d);
		}
		if (!i) {
			ok(right >= TRIALS - 1, "0.02 %% on a deterministic machine: found in %u of %d, %.1f boots",
			   right, TRIALS, (double)boots / TRIALS);
			ok(proved >= TRIALS - 1, "and proved in %u", proved);
		} else {
			is_int(absent, TRIALS, "of no interest below 0.1 %%");
			is_int(proved, 0, "nor proved");
		}
	}
}

static void skips_and_drops(void)
{
	struct dag d;
	struct search *s;
	struct search_step st;
	struct play p = {.dag = &d, .sd = 0.1};
	bool broken[21] = {0};

	dag_line(21, &d);
	rng_seed(&p.rng, 6);
	p.level = levels(&d, 11, 100, 103);
	for (int i = 9; i < 12; i++)
		broken[i] = true;
	search_new(&sane, &d, &s);
	st = play(s, &p, broken);
	is_int(st.action, SEARCH_SET, "broken commits around the culprit give a set");
	is_int(st.set_n, 4, "of the three broken ones and the next good one");
	ok(st.set_n == 4 && st.set[0] == 9 && st.set[3] == 12, "named by number");
	ok(st.posterior >= 0.95, "with its probability %.3f", st.posterior);
	search_free(s);

	search_new(&sane, &d, &s);
	for (uint32_t i = 9; i < 13; i++)
		if (i != 11)
			search_drop(s, i, DROPPED_SAME_IMAGE);
	st = play(s, &p, broken);
	ok(st.action == SEARCH_FOUND && st.node == 11, "where the others cannot matter the broken one is named");
	ok(search_posterior(s, 10) == 0, "a dropped commit has no probability");
	ok(search_dropped(s, 10) == DROPPED_SAME_IMAGE && search_dropped(s, 11) == DROPPED_NOT &&
	   search_skipped(s, 11) == DROPPED_NO_BUILD, "and says why; one that does not build is still a candidate");
	search_free(s);

	search_new(&sane, &d, &s);
	for (uint32_t i = 1; i < 20; i++)
		search_skip(s, i, DROPPED_NO_BUILD);
	st = play(s, &p, NULL);
	ok(st.action == SEARCH_SET && st.set_n == 20, "everything between the ends skipped: all of them");
	search_free(s);

	search_new(&sane, &d, &s);
	search_skip(s, 20, DROPPED_NO_BUILD);
	search_step(s, &st);
	is_int(st.action, SEARCH_GAVE_UP, "a head that does not boot ends the search");
	search_free(s);

	search_new(&sane, &d, &s);
	for (uint32_t i = 1; i < 21; i++)
		search_drop(s, i, DROPPED_DOCS);
	search_step(s, &st);
	is_int(st.action, SEARCH_GAVE_UP, "no candidates: %s", st.why);
	search_free(s);
	free((double *)p.level);
	dag_release(&d);
}

/* What a search should say at best where some commits do not build: the candidates between the last commit that builds
 * and has the good level, and the first with the bad one. */
static bool is_block_set(const struct search_step *st, const bool *broken, uint32_t culprit)
{
	uint32_t lo = culprit, hi = culprit;

	while (broken[lo - 1])
		lo--;
	while (broken[hi])
		hi++;
	if (lo == hi)
		return st->action == SEARCH_FOUND && st->node == culprit;
	return st->action == SEARCH_SET && st->set_n == hi - lo + 1 && st->set[0] == lo && st->set[hi - lo] == hi;
}

/* Rows of commits that do not build, on a line of 502: bisecting two edges of a row takes 2 log2(251) builds. */
static void blocks(void)
{
	const struct { const char *what; uint32_t from[2], len, culprit, builds; } cases[] = {
		{"the culprit inside of 109 broken commits", {200}, 109, 240, 18},
		{"the culprit is the first broken one", {200}, 109, 200, 18},
		{"the culprit is the first one that builds again", {200}, 109, 309, 18},
		{"the culprit is the last one that builds", {200}, 109, 199, 18},
		{"the culprit is the second one that builds again", {200}, 109, 310, 18},
		{"the culprit between two rows", {150, 300}, 100, 275, 20},
		{"the culprit in the second of two rows", {150, 300}, 100, 333, 20},
		{"nine broken commits", {240}, 9, 245, 14},
		{"one broken commit", {251}, 1, 251, 11},
	};
	struct dag d;

	dag_line(503, &d);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play p = {.dag = &d, .sd = 1, .level = levels(&d, cases[i].culprit, 1000, 1005)};
		bool broken[503] = {0};
		struct search_step st;
		struct search *s;

		for (uint32_t x = 0; x < cases[i].len; x++)
			for (int k = 0; k < 2 && cases[i].from[k]; k++)
				broken[cases[i].from[k] + x] = true;
		rng_seed(&p.rng, 21);
		search_new(&sane, &d, &s);
		st = play(s, &p, broken);
		ok(is_block_set(&st, broken, cases[i].culprit), "%s: the smallest answer there is (%u of %u)",
		   cases[i].what, st.set_n, st.node);
		ok(p.builds <= cases[i].builds + 2, "in %u builds, the ends among them", p.builds);
		search_free(s);
		free((double *)p.level);
	}
	dag_release(&d);
}

/* A commit breaks the build of all its descendants until another mends it, which is how rows come about in a history
 * with merges; side branches that forked before build. */
static void blocks_with_merges(void)
{
	uint32_t held = 0, named = 0, builds = 0;
	enum { TRIALS = 20 };

	for (uint64_t t = 0; t < TRIALS; t++) {
		struct play p = {.sd = 1};
		struct search_step st;
		struct search *s;
		struct dag d;
		_cleanup_free_ double *breaks = NULL, *mends = NULL;
		_cleanup_free_ bool *broken = NULL;
		uint32_t culprit;

		rng_seed(&p.rng, 100 + t);
		simulate_history(&p.rng, 400, true, &d);
		p.dag = &d;
		breaks = levels(&d, d.n / 3, 0, 1);
		mends = levels(&d, d.n / 2, 0, 1);
		broken = xcalloc(d.n, sizeof(*broken));
		for (uint32_t x = 0; x + 1 < d.n; x++)
			broken[x] = breaks[x] > 0 && !(mends[x] > 0);
		do {
			free((double *)p.level);
			culprit = 1 + (uint32_t)(rng_uniform(&p.rng) * (d.n - 1));
			p.level = levels(&d, culprit, 1000, 1005);
		} while (!(p.level[d.n - 1] > 1001));
		search_new(&sane, &d, &s);
		st = play(s, &p, broken);
		named += st.action == SEARCH_FOUND || st.action == SEARCH_SET;
		held += st.action == SEARCH_FOUND && st.node == culprit;
		for (uint32_t k = 0; k < st.set_n; k++)
			held += st.set[k] == culprit;
		builds += p.builds;
		search_free(s);
		free((double *)p.level);
		dag_release(&d);
	}
	is_int(named, TRIALS, "a row of a sixth of a history with merges: all name somebody");
	ok(held >= TRIALS - 3, "with the culprit in %u of %d", held, TRIALS);
	ok(builds <= 22 * TRIALS, "in %.1f builds", (double)builds / TRIALS);
}

static void two_steps(void)
{
	struct dag d;
	double level[129];

	dag_line(129, &d);
	for (int equal = 0; equal < 2; equal++) {
		struct play p = {.dag = &d, .level = level, .sd = 0.01};
		struct search_step st;
		struct search *s;

		for (int x = 0; x < 129; x++)
			level[x] = 100 + (x >= 40 ? 1 : 0) + (x >= 90 ? (equal ? 1 : 2) : 0);
		rng_seed(&p.rng, 9);
		search_new(&sane, &d, &s);
		st = play(s, &p, NULL);
		is_int(st.action, SEARCH_FOUND, "two steps: one is found in %u boots", p.boots);
		is_int(st.node, equal ? 40 : 90, equal ? "of equal ones the earlier" : "the larger one");
		ok(p.boots < 30, "quickly");
		search_free(s);
	}
	dag_release(&d);
}

/* A step that is undone before the head: what was measured of it between does not make the ends differ. */
static void undone(void)
{
	struct dag d;
	double level[33];
	struct play p = {.dag = &d, .level = level, .sd = 1};
	int right = 0;

	dag_line(33, &d);
	for (int x = 0; x < 33; x++)
		level[x] = x >= 12 && x < 24 ? 102 : 100;
	for (int i = 0; i < 20; i++) {
		struct search_step st;
		struct search *s;

		rng_seed(&p.rng, 70 + (uint64_t)i);
		search_new(&sane, &d, &s);
		for (uint32_t k = 0; k < 12; k++)
			search_observe(s, 12 + k % 4 * 3, 102 + rng_normal(&p.rng), k);
		st = play(s, &p, NULL);
		right += st.action == SEARCH_NOT_REPRODUCED;
		search_free(s);
	}
	ok(right >= 17, "a step that is undone: nobody is named in %d of 20", right);
	dag_release(&d);
}

/*
 * good 0 --- 10 .. 15 --- M 16 --- 17 .. 24 head           1: fork point, before good's fix
 *        1 --- 2 .. 9 ---'                                  (with_root: 2 has no parent)
 */
static void side_branch(bool with_root, struct dag *ret)
{
	struct dag_builder b = {0};
	const uint32_t merge[] = {15, 9};

	dag_add(&b, NULL, 0);
	dag_add(&b, NULL, 0);
	for (uint32_t x = 2; x < 25; x++) {
		uint32_t p = x == 10 ? 0 : x - 1;

		if (x == 16)
			dag_add(&b, merge, 2);
		else
			dag_add(&b, &p, x != 2 || !with_root);
	}
	dag_take(&b, ret);
}

static void forks(void)
{
	const struct {
		const char *what;
		double fork, step, sd;
		uint32_t culprit;
		bool root, broken;
		uint32_t also;
	} cases[] = {
		{"after the merge, the branch as slow as it", -10, -10, 0.3, 20, false, false, 20},
		{"the same, noisier", -10, -10, 4, 20, false, false, 20},
		{"the merge itself", -10, -10, 0.3, 16, false, false, 16},
		{"in the branch, whose level is good's", 0, -10, 0.3, 5, false, false, 5},
		{"in the branch at a level of its own", -10, -10, 0.3, 5, false, false, 5},
		{"in the branch at a higher level", 25, -10, 0.3, 2, false, false, 2},
		{"on the mainline beside it", -10, -10, 0.3, 12, false, false, 12},
		{"the fork point does not build", -10, -10, 0.3, 20, false, true, 20},
		{"it does not build, first of the branch or the merge", -35, -10, 0.3, 16, false, true, 2},
		{"a history without a fork point", 70, -10, 0.3, 18, true, false, 18},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dag d;
		struct play p = {.dag = &d, .sd = cases[i].sd};
		bool broken[25] = {[1] = cases[i].broken}, right;
		struct search_step st;
		struct search *s;
		double *level;

		side_branch(cases[i].root, &d);
		p.level = level = levels(&d, cases[i].culprit, 100, 100 + cases[i].step);
		for (uint32_t x = 1; x < 10; x++)
			level[x] += cases[i].fork;
		rng_seed(&p.rng, 21 + i);
		search_new(&sane, &d, &s);
		if (!cases[i].root)
			is_int(search_outside(s, 1), 0, "side branch, %s", cases[i].what);
		st = play(s, &p, broken);
		right = st.action == SEARCH_FOUND && st.node == cases[i].culprit;
		if (cases[i].also != cases[i].culprit)
			right = st.action == SEARCH_SET && st.set_n == 2 && st.set[0] == cases[i].also &&
				st.set[1] == cases[i].culprit;
		ok(right, "%u is named, %s, in %u boots and %u builds", st.node, st.why, p.boots, p.builds);
		ok(p.boots < (cases[i].sd > 1 ? 70 : 45), "with few boots");
		ok(search_posterior(s, 1) == 0 || cases[i].root, "the fork point has no probability");
		search_free(s);
		free(level);
		dag_release(&d);
	}
}

static void beside_good(void)
{
	struct dag_builder b = {0};
	struct search_step st;
	struct search *s;
	struct dag d;

	dag_add(&b, NULL, 0);
	dag_add(&b, NULL, 0);
	dag_add(&b, (const uint32_t[]){1}, 1);
	dag_add(&b, (const uint32_t[]){2}, 1);
	dag_take(&b, &d);
	search_new(&sane, &d, &s);
	search_outside(s, 1);
	search_step(s, &st);
	is_int(st.action, SEARCH_GAVE_UP, "a head beside good: %s", st.why);
	search_free(s);
	dag_release(&d);
}

/* However many fork points a history has, pasts are told apart in memory that grows with the commits. */
static void many_forks(void)
{
	const uint32_t n = 20000;
	struct dag_builder b = {0};
	struct search_step st;
	struct search *s;
	struct dag d;
	uint32_t tip = 0;

	for (uint32_t x = 0; x <= n; x++)
		dag_add(&b, NULL, 0);
	for (uint32_t x = 1; x <= n; x++) {
		const uint32_t parents[] = {tip ? tip : 1, x};

		dag_add(&b, parents, parents[0] == x ? 1 : 2);
		tip = b.d.n - 1;
	}
	dag_add(&b, (const uint32_t[]){0, tip}, 2);
	dag_take(&b, &d);
	search_new(&sane, &d, &s);
	for (uint32_t x = 1; x <= n; x++)
		search_outside(s, x);
	search_step(s, &st);
	ok(st.action == SEARCH_MEASURE && s->past.n > n, "%u fork points merged one by one", n);
	is_int(search_outside(s, d.n - 1), -EINVAL, "the head is no fork point");
	search_free(s);
	dag_release(&d);
}

/* A step of the ends that is hidden between larger ones is not called absent. */
static void hidden_step(void)
{
	const double level[] = {100, 1e-320, 50, 49.9, 300};
	struct play p = {.level = level, .sd = 0};
	struct search_step st;
	struct search *s;
	struct dag d;

	dag_line(5, &d);
	p.dag = &d;
	search_new(&sane, &d, &s);
	st = play(s, &p, NULL);
	ok(st.action != SEARCH_NOT_REPRODUCED, "ends of 100 and 300 differ, whatever lies between: %s", st.why);
	search_free(s);
	dag_release(&d);
}

static void degenerate(void)
{
	struct search_config c = sane;
	struct dag d = {0};
	struct search *s = NULL;
	struct search_step st;
	struct play p = {.dag = &d, .sd = 0};

	is_int(search_new(&c, &d, &s), -EINVAL, "no commits refused");
	dag_line(1, &d);
	is_int(search_new(&c, &d, &s), 0, "one commit");
	search_step(s, &st);
	is_int(st.action, SEARCH_GAVE_UP, "has no culprit");
	is_int(search_observe(s, 0, INFINITY, 0), -EINVAL, "infinity refused");
	is_int(search_observe(s, 7, 1, 0), -EINVAL, "unknown commit refused");
	search_free(s);
	dag_release(&d);
	c.confidence = 1;
	dag_line(2, &d);
	is_int(search_new(&c, &d, &s), -EINVAL, "confidence 1 refused");
	rng_seed(&p.rng, 1);
	search_new(&sane, &d, &s);
	p.level = levels(&d, 1, 1e300, 1.01e300);
	st = play(s, &p, NULL);
	ok(st.action == SEARCH_FOUND && st.node == 1, "two commits, 1e300, no spread: found in %u boots", p.boots);
	is_near(st.effect, 0.01, 1e-6, "effect 1 %%");
	search_free(s);
	free((double *)p.level);
	dag_release(&d);

	dag_line(33, &d);
	p = (struct play){.dag = &d, .level = levels(&d, 99, 7, 7)};
	search_new(&sane, &d, &s);
	st = play(s, &p, NULL);
	ok(st.action == SEARCH_NOT_REPRODUCED && p.boots <= 8, "all values equal: not reproduced after %u boots",
	   p.boots);
	search_free(s);
	free((double *)p.level);
	dag_release(&d);
}

/* What was never measured is not called absent. */
static void few_boots(void)
{
	struct search_config c = sane;
	struct search_step st;
	struct search *s;
	struct dag d;

	dag_line(9, &d);
	c.max_boots = 2;
	search_new(&c, &d, &s);
	search_observe(s, 0, 100, 0);
	search_observe(s, 4, 101, 1);
	search_step(s, &st);
	ok(st.action == SEARCH_GAVE_UP, "boots run out before the head has any: %s", st.why);
	search_free(s);
	dag_release(&d);
}

static void huge(void)
{
	struct rng r;
	struct dag d;
	struct search *s;
	struct search_step st;
	struct play p = {.dag = &d, .sd = 1};

	rng_seed(&r, 12);
	random_dag(&r, 100000, &d);
	rng_seed(&p.rng, 2);
	p.level = levels(&d, 61803, 1000, 1100);
	search_new(&sane, &d, &s);
	st = play(s, &p, NULL);
	ok(st.action == SEARCH_FOUND && st.node == 61803, "100,000 commits with octopus merges: found in %u boots",
	   p.boots);
	search_free(s);
	free((double *)p.level);
	dag_release(&d);
}

static void simulated(void)
{
	const struct { const char *what; struct simulate_config c; double runs, exact; } cases[] = {
		{"snr 5, levels unknown, outliers", {.n = 256, .snr = 5, .outliers = 0.05, .trials = 40}, 24, 0.95},
		{"snr 3, levels unknown", {.n = 64, .snr = 3, .trials = 30}, 60, 0.95},
		{"snr 2, levels known", {.n = 256, .snr = 2, .means_known = true, .trials = 100}, 25, 0.95},
		{"merges", {.n = 128, .snr = 4, .merges = true, .trials = 30}, 40, 0.95},
	};
	struct simulate_config null, drift;
	struct simulate_result r;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct simulate_config c = cases[i].c;
		double se = sqrt(0.95 * 0.05 / c.trials);

		c.outlier_sigma = 6;
		c.confidence = 0.95;
		c.boot_cost = 1;
		c.build_cost = 2;
		c.seed = 4;
		is_int(simulate_search(&c, &r), 0, "%s", cases[i].what);
		ok(r.exact >= cases[i].exact - 3 * se, "exact in %.3f", r.exact);
		ok(r.mean_runs <= cases[i].runs, "%.1f boots", r.mean_runs);
		ok(r.mean_builds <= log2(c.n) + 3, "%.1f builds", r.mean_builds);
	}
	simulate_config_default(&null);
	null.null = true;
	null.trials = 30;
	null.n = 64;
	null.snr = 3;
	is_int(simulate_search(&null, &r), 0, "no effect");
	ok(r.named <= 0.01 + 3 * sqrt(0.01 * 0.99 / 30), "names somebody in %.3f", r.named);
	ok(r.not_reproduced >= 0.95, "says so in %.3f", r.not_reproduced);
	null.null = false;
	null.skip = 0.3;
	is_int(simulate_search(&null, &r), 0, "30 %% broken commits");
	ok(r.covered >= 0.95 - 3 * sqrt(0.95 * 0.05 / 30), "culprit named or in the set in %.3f", r.covered);
	drift = null;
	drift.skip = 0;
	drift.snr = 2;
	drift.trials = 15;
	drift.drift = 6; /* without a term of its own half of the answers are wrong */
	is_int(simulate_search(&drift, &r), 0, "drift of 6 sigma per 100 boots at snr 2");
	ok(r.exact >= 0.93 - 3 * sqrt(0.93 * 0.07 / 15), "exact in %.3f", r.exact);
}

/* Each history by name: right as often as was asked. */
static void histories(void)
{
	struct simulate_config c;
	struct simulate_result r;
	const char *const names[] = {"line", "blocks", "drift", "flaky", "two-culprits", "merge-window", "outside"};

	simulate_config_default(&c);
	c.n = 64;
	c.trials = 40;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		c.history = names[i];
		is_int(simulate_search(&c, &r), 0, "history %s", names[i]);
		ok(r.covered >= 0.95 - 3 * sqrt(0.95 * 0.05 / c.trials), "right in %.3f, %.1f boots, %.1f builds",
		   r.covered, r.mean_runs, r.mean_builds);
	}
	c.null = true; /* whatever the history does besides, none of its commits has an effect */
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		c.history = names[i];
		is_int(simulate_search(&c, &r), 0, "history %s without an effect", names[i]);
		ok(r.named <= 0.05 && r.exact >= 0.9 && r.covered == r.exact, "names somebody in %.3f, says so in %.3f",
		   r.named, r.exact);
	}
	c.history = "spiral";
	is_int(simulate_search(&c, &r), -EINVAL, "no such history: %s", err_msg());
}

/* ---- the first commit that fails ---- */

/* The posterior by summing over a fine grid of the two failure rates. */
static double by_grid(uint32_t n, const int (*seen)[2], uint32_t culprit, double *ret_none)
{
	const int steps = 2000;
	double like[2] = {0}, one = 0;

	for (int side = 0; side < 2; side++) { /* Beta(.5, 5) before the culprit, Beta(2, .5) from there on */
		double a = side ? 2 : 0.5, b = side ? 0.5 : 5, norm = 0;

		for (int i = 0; i < steps; i++) { /* p = sin^2 x has no poles at the ends */
			double x = (i + 0.5) * M_PI_2 / steps, p = sin(x) * sin(x), w = dbeta(p, a, b, 0) * sin(2 * x),
			       l = 1;

			for (uint32_t k = 0; k < n; k++)
				if ((k >= culprit) == side)
					l *= pow(p, seen[k][1]) * pow(1 - p, seen[k][0]);
			like[side] += w * l;
			norm += w;
		}
		like[side] /= norm;
	}
	for (int i = 0; i < steps; i++) {
		double p = (i + 0.5) / steps, l = 1;

		for (uint32_t k = 0; k < n; k++)
			l *= pow(p, seen[k][1]) * pow(1 - p, seen[k][0]);
		one += l / steps;
	}
	*ret_none = one;
	return like[0] * like[1];
}

static void line_dag(uint32_t n, struct dag *ret)
{
	struct dag_builder b = {0};

	dag_add(&b, NULL, 0);
	for (uint32_t i = 1; i < n; i++)
		dag_add(&b, (uint32_t[]){i - 1}, 1);
	dag_take(&b, ret);
}

static void failing_oracle(void)
{
	const int seen[6][2] = {{4, 1}, {0, 0}, {3, 0}, {1, 2}, {0, 0}, {1, 5}};        /* worked, failed */
	struct search_config c = sane;
	struct dag d = {0};
	struct search *s;
	double want[6], none = 0, sum = 0;

	c.binary = true;
	line_dag(6, &d);
	search_new(&c, &d, &s);
	for (uint32_t x = 0, t = 0; x < 6; x++)
		for (int failed = 0; failed < 2; failed++)
			for (int k = 0; k < seen[x][failed]; k++)
				search_observe(s, x, failed, t++);
	for (uint32_t x = 1; x < 6; x++)
		sum += want[x] = 0.9 / 5 * by_grid(6, seen, x, &none);
	sum += 0.1 * none;
	for (uint32_t x = 1; x < 6; x++)
		is_near(search_posterior(s, x), want[x] / sum, 1e-5, "posterior of %u is that of the grid", x);
	is_near(search_posterior_none(s), 0.1 * none / sum, 1e-5, "and that of none");
	is_int(search_observe(s, 2, 0.5, 9), -EINVAL, "half a failure is none");
	search_free(s);
	dag_release(&d);
}

/* A search among boots that fail at rate a without and b with the culprit. */
static struct search_step failing_play(struct search *s, const double *rate, struct rng *r, uint32_t *boots)
{
	struct search_step st;

	while (search_step(s, &st) == 0 && st.action == SEARCH_MEASURE)
		for (uint32_t i = 0; i < st.boots; i++)
			search_observe(s, st.node, rng_uniform(r) < rate[st.node], ++*boots);
	return st;
}

static void failing(void)
{
	const struct { const char *what; uint32_t n; double a, b; bool merges; int trials; double boots; } cases[] = {
		{"fails always", 256, 0, 1, false, 60, 26}, {"fails always, merges", 200, 0, 1, true, 60, 26},
		{"fails in 7 of 10", 128, 0, 0.7, false, 60, 60},
		{"1 of 20 fails before, 8 of 10 after", 128, 0.05, 0.8, false, 100, 60},
		{"the same with merges", 128, 0.05, 0.8, true, 100, 60}};
	struct rng r;

	rng_seed(&r, 5);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t boots = 0;
		int right = 0, named = 0;

		for (int k = 0; k < cases[i].trials; k++) {
			struct search_config c = sane;
			struct dag d = {0};
			struct search *s;
			struct search_step st;
			uint32_t culprit;
			_cleanup_free_ double *rate = NULL;

			if (cases[i].merges)
				random_dag(&r, cases[i].n, &d);
			else
				line_dag(cases[i].n, &d);
			culprit = 1 + (uint32_t)(rng_uniform(&r) * (d.n - 1));
			rate = levels(&d, culprit, cases[i].a, cases[i].b);
			c.binary = true;
			search_new(&c, &d, &s);
			st = failing_play(s, rate, &r, &boots);
			named += st.action == SEARCH_FOUND;
			right += st.action == SEARCH_FOUND && st.node == culprit;
			search_free(s);
			dag_release(&d);
		}
		ok(right >= 0.95 * named - 3 * sqrt(0.95 * 0.05 * named) && named >= 0.9 * cases[i].trials,
		   "%s: %d of %d right, %d named",
		   cases[i].what, right, cases[i].trials, named);
		ok(boots <= cases[i].boots * cases[i].trials, "with %.1f boots", (double)boots / cases[i].trials);
	}
}

/* A topic branch that forked before a fix in good fails all along (old), until it is merged. */
static void failing_topic(void)
{
	/* topic: 2 to 11, the main line from 12 to before the merge */
	const struct { const char *what; uint32_t merge, culprit; bool old; } cases[] = {
		{"on a long main line", 30, 17, true}, {"on a short one", 15, 13, true},
		{"after the merge", 30, 35, true},
		{"in the topic, which works before", 30, 6, false}, {"the first of the main line", 15, 12, true}};
	struct rng r;

	rng_seed(&r, 8);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int right = 0, wrong = 0;
		uint32_t boots = 0;

		for (int k = 0; k < 20; k++) {
			struct search_config c = sane;
			struct dag_builder b = {0};
			struct search *s;
			struct search_step st;
			_cleanup_free_ double *rate = NULL;

			dag_add(&b, NULL, 0);
			dag_add(&b, NULL, 0);           /* 1: the fork point, an ancestor of good */
			for (uint32_t x = 2; x < 12; x++)
				dag_add(&b, (uint32_t[]){x - 1}, 1);
			for (uint32_t x = 12; x < cases[i].merge; x++)
				dag_add(&b, (uint32_t[]){x == 12 ? 0 : x - 1}, 1);
			dag_add(&b, (uint32_t[]){cases[i].merge - 1, 11}, 2);
			for (uint32_t x = cases[i].merge + 1; x < cases[i].merge + 10; x++)
				dag_add(&b, (uint32_t[]){x - 1}, 1);
			rate = levels(&b.d, cases[i].culprit, 0.02, 0.95);
			for (uint32_t x = 1; x < 12 && cases[i].old; x++)
				rate[x] = 1;
			c.binary = true;
			search_new(&c, &b.d, &s);
			search_outside(s, 1);
			st = failing_play(s, rate, &r, &boots);
			right += st.action == SEARCH_FOUND && st.node == cases[i].culprit;
			wrong += st.action == SEARCH_FOUND && st.node != cases[i].culprit;
			search_free(s);
			dag_release(&b.d);
		}
		ok(right >= 18 && wrong <= 2, "culprit %s: %d right, %d wrong, %.1f boots", cases[i].what, right, wrong,
		   boots / 20.0);
	}
}

/* A failure that both ends show is nobody's. */
static void failing_everywhere(void)
{
	const double rates[] = {0, 0.1, 0.4, 1};
	struct rng r;
	int named = 0, trials = 0;

	rng_seed(&r, 6);
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		for (int k = 0; k < 40; k++, trials++) {
			struct search_config c = sane;
			struct dag d = {0};
			struct search *s;
			uint32_t boots = 0;
			_cleanup_free_ double *rate = NULL;

			line_dag(64, &d);
			rate = levels(&d, 63, rates[i], rates[i]);
			c.binary = true;
			search_new(&c, &d, &s);
			named += failing_play(s, rate, &r, &boots).action == SEARCH_FOUND;
			search_free(s);
			dag_release(&d);
		}
	ok(named <= 0.05 * trials, "%d of %d searches without a culprit name one", named, trials);
}

int main(void)
{
	failing_oracle();
	failing();
	failing_everywhere();
	failing_topic();
	graph();
	against_scipy();
	gain();
	properties();
	drifting();
	deterministic_machine();
	two_instructions();
	skips_and_drops();
	blocks();
	blocks_with_merges();
	two_steps();
	undone();
	forks();
	beside_good();
	many_forks();
	hidden_step();
	degenerate();
	few_boots();
	huge();
	simulated();
	histories();
	return tap_done();
}
