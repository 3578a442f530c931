/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-judge-search - the search's and the sequential verdict's rows of the table in docs/BENCHMARKS.md: measured
 * value beside its target.
 *
 *	bench-judge-search [TRIALS]        1,000 unless told; about a quarter of an hour
 */
#include <time.h>
#include "bisect/simulate.h"
#include "bisect/verdict.h"

static uint64_t trials = 1000;

static void row(const char *what, double measured, const char *relation, double target, bool good)
{
	printf("%-84s %9.4g  %s %-7g %s\n", what, measured, relation, target, good ? "met" : "MISSED");
	fflush(stdout);
}

static struct simulate_result run(struct simulate_config c)
{
	struct simulate_config d;
	struct simulate_result r = {0};

	simulate_config_default(&d);
	d.n = c.n;
	d.snr = c.snr;
	d.outliers = c.outliers;
	d.means_known = c.means_known;
	d.null = c.null;
	d.drift = c.drift;
	d.history = c.history;
	d.confidence = c.confidence > 0 ? c.confidence : 0.95;
	d.trials = trials;
	if (simulate_search(&d, &r) < 0)
		fprintf(stderr, "bench-judge-search: %s\n", err_msg());
	return r;
}

/* Stated posterior against the share of right ones among the searches that name somebody, with its standard error. */
static void stated(const char *what, const struct simulate_result *r)
{
	double right = r->named > 0 ? r->covered / r->named : NAN,
	       se = sqrt(right * (1 - right) / (r->named * r->trials));
	char text[112];

	snprintf(text, sizeof(text), "%s: stated %.3f, right %.3f (se %.3f), boots %.1f", what, r->nominal, right, se,
		 r->mean_runs);
	row(text, fabs(r->nominal - right), "<=", 0.02, fabs(r->nominal - right) <= 0.02);
}

static void unknown_levels(void)
{
	const struct { double snr, runs; } rows[] = {{1, 140}, {2, 50}, {5, 27}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct simulate_result r =
			run((struct simulate_config){.n = 1024, .snr = rows[i].snr, .outliers = 0.05});
		char what[96];

		snprintf(what, sizeof(what), "n=1024, levels unknown, 5 %% outliers, snr %g: boots", rows[i].snr);
		row(what, r.mean_runs, "<=", rows[i].runs, r.mean_runs <= rows[i].runs);
		row("    exact culprit", r.exact, ">=", 0.95, r.exact >= 0.95);
		row("    distinct builds", r.mean_builds, "<=", 13, r.mean_builds <= 13);
		stated("    posterior", &r);
	}
}

static void calibration(void)
{
	const double asked[] = {0.8, 0.9, 0.95, 0.99};

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		for (int snr = 1; snr <= 2; snr++) {
			struct simulate_result r =
				run((struct simulate_config){.n = 64, .snr = snr, .confidence = asked[i]});
			char what[64];

			snprintf(what, sizeof(what), "n=64, snr %d, asked %g", snr, asked[i]);
			stated(what, &r);
			row("    right, at least what was asked", r.covered / r.named, ">=", asked[i] - 0.02,
			    r.covered / r.named >= asked[i] - 0.02);
		}
}

static void drifts(void)
{
	for (int sigmas = 1; sigmas <= 4; sigmas *= 2) {
		struct simulate_result r = run((struct simulate_config){.n = 256, .snr = 2, .drift = sigmas});
		char what[64];

		snprintf(what, sizeof(what), "n=256, snr 2, drift of %d sigma in 100 boots", sigmas);
		stated(what, &r);
	}
}

/* What goes wrong in real histories, against the plain line. */
static void odd_histories(void)
{
	const char *const names[] = {"line", "blocks", "drift", "flaky", "two-culprits", "merge-window", "outside"};
	double line = NAN;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct simulate_result r = run((struct simulate_config){.n = 256, .snr = 2, .history = names[i]});
		char what[96];

		if (!i)
			line = r.mean_runs;
		snprintf(what, sizeof(what), "n=256, snr 2, history %s: right (%.1f builds)", names[i], r.mean_builds);
		row(what, r.exact, ">=", 0.95, r.exact >= 0.95);
		row("    boots / line's", r.mean_runs / line, "<=", 1.5, r.mean_runs <= 1.5 * line);
	}
}

static void known_levels(void)
{
	const double snrs[] = {0.5, 1, 2};
	const uint32_t sizes[] = {256, 1024};

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++)
		for (size_t i = 0; i < ARRAY_SIZE(snrs); i++) {
			struct simulate_result r =
				run((struct simulate_config){.n = sizes[k], .snr = snrs[i], .means_known = true});
			char what[96];

			snprintf(what, sizeof(what), "n=%u, levels known, snr %g: boots / bound (exact %.3f)", sizes[k],
				 snrs[i], r.exact);
			row(what, r.mean_runs / r.bound, "<=", 1.2, r.mean_runs / r.bound <= 1.2);
		}
}

static void nothing_there(void)
{
	const struct { uint32_t n; double snr; } rows[] = {{256, 1}, {256, 2}, {1024, 1}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct simulate_result r =
			run((struct simulate_config){.n = rows[i].n, .snr = rows[i].snr, .null = true});
		char what[96];

		snprintf(what, sizeof(what),
			 "n=%u, no effect, smallest of interest %g sigma (%.0f boots): names somebody", rows[i].n,
			 0.5 * rows[i].snr, r.mean_runs);
		row(what, r.named, "<=", 0.01, r.named <= 0.01);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Slowest decision step of one search. */
static double slowest_step(const struct dag *d, struct rng *rng)
{
	struct search_config c = {.confidence = 0.95, .boot_cost = 1, .build_cost = 2};
	struct search_step st;
	struct search *s;
	double worst = 0;

	if (search_new(&c, d, &s) < 0)
		return NAN;
	for (;;) {
		double t = seconds();

		search_step(s, &st);
		worst = MAX(worst, seconds() - t);
		if (st.action != SEARCH_MEASURE)
			break;
		for (uint32_t i = 0; i < st.boots; i++)
			search_observe(s, st.node, 100 + rng_normal(rng) + (st.node > d->n / 3 ? 2 : 0), i);
	}
	search_free(s);
	return worst;
}

static void steps(void)
{
	struct rng rng;
	struct dag line, merges;
	double on_line, with_merges;

	rng_seed(&rng, 1);
	dag_line(10001, &line);
	simulate_history(&rng, 10001, true, &merges);
	on_line = 1e3 * slowest_step(&line, &rng);
	with_merges = 1e3 * slowest_step(&merges, &rng);
	row("10,000 candidates on a line: slowest step, ms", on_line, "<=", 50, on_line <= 50);
	row("10,000 candidates with merges: slowest step, ms", with_merges, "<=", 50, with_merges <= 50);
	dag_release(&line);
	dag_release(&merges);
}

static void verdicts(void)
{
	const struct { const char *what; double effect, history, target; } rows[] = {
		{"sequential verdict, alpha .001, no effect, at most 20 + 20: boots", 0, 0, 14},
		{"    5 sigma, spread known from history: boots", 5, 20, 6},
		{"    5 sigma, nothing known: boots", 5, 0, 12},
		{"    3 sigma, nothing known: boots", 3, 0, 20},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdict_config c = {.alpha = 0.001,
					   .min_boots = 2,
					   .max_boots = 20,
					   .prior_sd = 0.001,
					   .prior_df = rows[i].history};
		struct verdict_result v;
		double boots = 0, wrong = 0;
		struct rng rng;

		rng_seed(&rng, 1);
		for (uint64_t t = 0; t < trials; t++) {
			double a[20], b[20];
			size_t n = 2;

			for (int k = 0; k < 20; k++) {
				a[k] = 1000 + rng_normal(&rng);
				b[k] = 1000 + rows[i].effect + rng_normal(&rng);
			}
			while (verdict_two(&c, a, n, b, n, &v) == 0 && v.verdict == VERDICT_MORE)
				n += v.more_boots;
			boots += 2.0 * n;
			wrong += (v.verdict == VERDICT_DIFFERENT) != (rows[i].effect > 0);
		}
		row(rows[i].what, boots / trials, "<=", rows[i].target, boots / trials <= rows[i].target);
		row("        wrong", wrong / trials, "<=", rows[i].effect > 0 ? 0.01 : 0.001,
		    wrong / trials <= (rows[i].effect > 0 ? 0.01 : 0.001));
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		trials = strtoull(argv[1], NULL, 10);
	if (!trials) {
		fprintf(stderr, "usage: bench-judge-search [TRIALS]\n");
		return 2;
	}
	steps();
	verdicts();
	known_levels();
	unknown_levels();
	nothing_there();
	calibration();
	drifts();
	odd_histories();
	return 0;
}
