/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "kperfbot bisect simulate": the culprit search on synthetic histories. */
#include <json-c/json.h>
#include "bisect/simulate.h"
#include "bot/cli/cmd-simulate.h"

static void put(struct json_object *o, const char *key, double v)
{
	json_object_object_add(o, key, isfinite(v) ? json_object_new_double(v) : NULL);
}

static void print_json(const struct simulate_result *r)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "trials", json_object_new_int64((int64_t)r->trials));
	put(o, "mean_runs", r->mean_runs);
	put(o, "p95_runs", r->p95_runs);
	put(o, "mean_builds", r->mean_builds);
	put(o, "exact", r->exact);
	put(o, "covered", r->covered);
	put(o, "unfinished", r->unfinished);
	put(o, "named", r->named);
	put(o, "not_reproduced", r->not_reproduced);
	put(o, "nominal", r->nominal);
	put(o, "confidence", r->confidence);
	put(o, "bound_runs", r->bound);
	json_print(stdout, o, false);
	json_object_put(o);
}

static int print_table(const struct simulate_result *r, enum table_form form)
{
	const struct { const char *name; double value; int digits; } cols[] = {
		{"trials", (double)r->trials, 0}, {"mean_runs", r->mean_runs, 1}, {"p95_runs", r->p95_runs, 0},
		{"mean_builds", r->mean_builds, 1}, {"exact", r->exact, 4}, {"covered", r->covered, 4},
		{"unfinished", r->unfinished, 4}, {"named", r->named, 4}, {"not_reproduced", r->not_reproduced, 4},
		{"nominal", r->nominal, 4}, {"confidence", r->confidence, 4}, {"bound_runs", r->bound, 1},
	};
	_cleanup_table_ struct table t = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cols); i++)
		table_column(&t, cols[i].name, true);
	table_row(&t);
	for (size_t i = 0; i < ARRAY_SIZE(cols); i++)
		table_numf(&t, i, cols[i].value, cols[i].digits);
	return table_print(&t, form, stdout);
}

static const struct verb simulate_verb = {
	.name = "bisect simulate",
	.usage = "[--history NAME] [--n N] [--snr S] [--confidence C] [--trials T] [--seed X] [option...]",
	.summary = "runs the culprit search on synthetic histories",
	.text = "Plays many searches with random numbers in place of boots, running the daemon's very code, and\n"
		"prints how many boots and builds they took and how often they named the right commit.\n\n"
		"exact is the share of searches that named exactly the culprit (or the smallest set possible where\n"
		"commits do not build; where there is no culprit: nobody); covered is the share of those whose answer\n"
		"(a commit, or a set that could not be told apart) contains it; named is that of those that named\n"
		"anybody; unfinished that of those that ran out of boots. nominal is the mean of the probabilities\n"
		"that the searches stated with their answers: compare it with covered. bound_runs is the least that\n"
		"information theory allows when levels and spread are known. The smallest effect of interest is half\n"
		"the step. With known levels, builds are free unless --build-cost is given, since that bound counts\n"
		"boots only.",
	.run = NULL,
};

int cmd_bisect_simulate(int argc, char **argv, struct ctx *ctx)
{
	struct simulate_config c;
	struct simulate_result res;
	int64_t n, trials, seed, max_boots = 0;
	_cleanup_free_ char *all = simulate_histories(true), *what = xasprintf("the commits (line)%s", all);
	int r;

	simulate_config_default(&c);
	n = c.n;
	trials = (int64_t)c.trials;
	seed = (int64_t)c.seed;
	const struct opt opts[] = {
		OPT_TEXT(0, "history", "NAME", &c.history, what),
		OPT_INT(0, "n", "N", &n, "candidate commits (256)"),
		OPT_DOUBLE(0, "snr", "S", &c.snr, "step in standard deviations of one boot (2)"),
		OPT_DOUBLE(0, "outliers", "F", &c.outliers, "share of boots that are outliers"),
		OPT_DOUBLE(0, "outlier-sigma", "K", &c.outlier_sigma,
			   "how far off they are, in standard deviations (6)"),
		OPT_FLAG(0, "known-means", &c.means_known, "levels and spread are known from history"),
		OPT_DOUBLE(0, "drift", "D", &c.drift,
			   "slow change of the machine, in standard deviations per 100 boots"),
		OPT_FLAG(0, "merges", &c.merges, "a history of merged topic branches instead of a line"),
		OPT_DOUBLE(0, "skip", "F", &c.skip, "share of commits that do not build"),
		OPT_DOUBLE(0, "second", "S", &c.second, "a second step of S standard deviations at another commit"),
		OPT_FLAG(0, "null", &c.null, "no effect at all"),
		OPT_DOUBLE(0, "confidence", "C", &c.confidence, "probability that the answer must reach (0.95)"),
		OPT_DOUBLE(0, "boot-cost", "SEC", &c.boot_cost, "cost of a boot (1)"),
		OPT_DOUBLE(0, "build-cost", "SEC", &c.build_cost, "cost of a build (two boots; 0 with --known-means)"),
		OPT_INT(0, "max-boots", "N", &max_boots, "boots after which a search gives up (2000)"),
		OPT_INT(0, "trials", "T", &trials, "searches to play (1000)"),
		OPT_INT(0, "seed", "X", &seed, "seed of the random numbers (1)"),
		OPT_END,
	};

	r = verb_options(&simulate_verb, &argc, &argv, opts, ctx);
	if (r >= 0)
		return r;
	if (argc > 0)
		return verb_usage(ctx, "bisect simulate takes no operand '%s'", argv[0]);
	if (n < 1 || n > SIMULATE_MAX_COMMITS || trials < 1 || trials > SIMULATE_MAX_TRIALS || max_boots < 0 ||
	    max_boots > 1000000)
		return verb_usage(ctx, "--n must lie in 1..%d, --trials in 1..%d, --max-boots in 0..1000000",
				  SIMULATE_MAX_COMMITS, SIMULATE_MAX_TRIALS);
	c.n = (uint32_t)n;
	c.trials = (uint64_t)trials;
	c.seed = (uint64_t)seed;
	c.max_boots = (uint32_t)max_boots;
	r = simulate_search(&c, &res);
	if (r < 0)
		return r == -EINVAL ? verb_usage(ctx, "%s", err_msg()) : verb_fail(ctx, r);
	if (ctx->json)
		print_json(&res);
	else if ((r = print_table(&res, ctx_form(ctx))) < 0)
		return verb_fail(ctx, r);
	return EXIT_DONE;
}
