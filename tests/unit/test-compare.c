/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verdicts: what must not matter does not, odd data have the results they should, error rates are what they claim. */
#include "bisect/compare-class.h"
#include "bisect/compare.h"
#include "tests/tap.h"

static uint64_t state = 1;

static double uniform(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((double)(state >> 11) + .5) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()); }

/* Metrics with equal numbers of runs on two sides. */
struct set { struct cmp_metric *m; size_t n, cap; };

static double *add(struct set *s, const char *name, const double *a, size_t na, const double *b, size_t nb,
		   const uint32_t *boot_a, const uint32_t *boot_b)
{
	double *v = xcalloc(na + nb + 1, sizeof(*v)), **value = xcalloc(2, sizeof(*value));
	const uint32_t **boot = xcalloc(2, sizeof(*boot));
	size_t *n = xcalloc(2, sizeof(*n));

	for (size_t i = 0; i < na; i++)
		v[i] = a ? a[i] : 0;
	for (size_t i = 0; i < nb; i++)
		v[na + i] = b ? b[i] : 0;
	value[0] = v;
	value[1] = v + na;
	n[0] = na;
	n[1] = nb;
	boot[0] = boot_a;
	boot[1] = boot_b;
	GROW(s->m, s->n, s->cap);
	s->m[s->n++] = (struct cmp_metric){.name = xstrdup(name), .value = (const double *const *)value,
					   .boot = (const uint32_t *const *)boot, .n = n, .min_effect = -1};
	return v;
}
#define ADD(s, name, ...) ADD_(s, name, __VA_ARGS__)
#define ADD_(s, name, a, b) add(s, name, a, ARRAY_SIZE(a), b, ARRAY_SIZE(b), NULL, NULL)
#define V(...) ((const double[]){__VA_ARGS__})

static void set_free(struct set *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free((void *)s->m[i].value[0]);
		free((void *)s->m[i].value);
		free((void *)s->m[i].boot);
		free((void *)s->m[i].n);
		free((void *)s->m[i].name);
	}
	free(s->m);
	*s = (struct set){0};
}

static struct cmp_result judge(const struct set *s, enum cmp_rule rule)
{
	struct cmp_config c = {.rule = rule, .n_builds = 2};
	struct cmp_result r = {0};

	if (cmp_run(&c, s->m, s->n, &r) < 0)
		printf("# %s\n", err_msg());
	return r;
}

/* ---- odd data ---- */

static void odd_data(void)
{
	const double inf = INFINITY, none = NAN;
	struct set s = {0};
	struct cmp_result r;
	const struct cmp_row *w;

	ADD(&s, "x.equal", V(5, 5, 5), V(5, 5, 5));
	ADD(&s, "x.constant", V(5, 5, 5), V(6, 6, 6));
	ADD(&s, "x.constant-hardly", V(100000, 100000), V(100001, 100001));
	ADD(&s, "x.zero", V(0, 0, 0), V(0, 0, 0));
	ADD(&s, "x.from-zero", V(0, 0, 0), V(3, 3, 3));
	ADD(&s, "x.one-run", V(1), V(2));
	ADD(&s, "x.nothing", V(none, none), V(none, none));
	ADD(&s, "x.appears", V(none, none, none, none, none, none), V(1, 2, 3, 4, 5, 6));
	ADD(&s, "x.vanishes", V(1, 2, 3, 4, 5, 6), V(none, none, none, none, none, none));
	ADD(&s, "x.infinite", V(inf, 1, 2, 1), V(1, 2, 1, -inf));
	ADD(&s, "x.huge", V(1e300, 1.1e300, 1.2e300), V(1.7e308, 1.6e308, 1.5e308));
	ADD(&s, "x.tiny", V(1e-310, 1.1e-310, 1.2e-310), V(9e-310, 9.1e-310, 9.2e-310));
	ADD(&s, "x.negative", V(-10, -11, -10.5, -10.2), V(-20, -21, -20.5, -20.2));
	ADD(&s, "x.signs", V(-1, 1, -2, 2), V(-1, 2, -2, 1.5));
	ADD(&s, "dmesg.WARNING:x", V(0, 0, 0, 0, 0, 0), V(1, 1, 1, 1, 1, 1));
	ADD(&s, "dmesg.BUG:x", V(none, none, none), V(none, 1, none));
	add(&s, "x.no-side", NULL, 0, V(1, 2, 3), 3, NULL, NULL);
	r = judge(&s, CMP_MODERATED);
	is_int(r.n_rows, s.n, "a row for each metric");
#define VERDICT(i, v, what) is_str(cmp_verdict_name(r.row[i].delta[1].verdict), v, "%s", what)
	VERDICT(0, "same", "equal constants are the same");
	VERDICT(1, "changed", "different constants differ");
	VERDICT(2, "same", "... but not by less than the smallest effect");
	VERDICT(3, "same", "zeros are the same");
	VERDICT(4, "changed", "from zero to something is a change");
	ok(isinf(r.row[4].delta[1].effect), "... of no finite percentage");
	VERDICT(5, "unclear", "one run a side decides nothing");
	ok(isnan(r.row[5].delta[1].p) && isinf(r.row[5].delta[1].hi), "... and its interval is everything");
	VERDICT(6, "no data", "no values");
	VERDICT(7, "appeared", "a metric appears");
	is_near(r.row[7].delta[1].p, 2. / 924, 1e-12, "... by Fisher's test of 0 of 6 against 6 of 6");
	VERDICT(8, "vanished", "a metric vanishes");
	w = &r.row[9];
	ok(isfinite(w->side[0].mean) && w->side[0].runs == 4, "infinities are no values");
	w = &r.row[10];
	ok(isfinite(w->delta[1].effect) && w->delta[1].lo <= w->delta[1].effect &&
		   w->delta[1].effect <= w->delta[1].hi && w->delta[1].p < .05,
	   "1e300 does not overflow");
	ok(r.row[11].delta[1].p < .01, "1e-310 does not underflow");
	ok(r.row[12].delta[1].effect < 0 && r.row[12].delta[1].change < 0, "more negative is less, in both numbers");
	ok(r.row[12].side[0].stddev_pct >= 0, "and a spread is no less than none");
	ok(isinf(r.row[13].delta[1].hi), "no ratio to a mean that may be zero");
	VERDICT(14, "changed", "6 failures of 6 against none");
	is_near(r.row[14].delta[1].change, 100, 1e-9, "... are 100 points");
	VERDICT(15, "unclear", "one failure of 3 proves nothing");
	is_int(r.row[15].side[0].runs, 3, "... and runs without the line count as passed");
	VERDICT(16, "appeared", "a side that was given no runs had as many as other metrics");
	for (size_t i = 0; i < r.n_rows; i++)
		ok(!(r.row[i].delta[1].q > 1) && !(r.row[i].delta[1].q < 0), "q of %s lies in 0..1", r.row[i].name);
	cmp_result_release(&r);
	set_free(&s);
	r = judge(&s, CMP_MODERATED);
	is_int(r.n_rows, 0, "no metrics, no rows");
	cmp_result_release(&r);
	ok(cmp_run(&(struct cmp_config){0}, NULL, 0, &r) == -EINVAL, "no builds");
}

static void million_runs(void)
{
	enum { N = 1000000 };
	struct set s = {0};
	struct cmp_result r;
	double *v = add(&s, "x.m", NULL, N, NULL, N, NULL, NULL);

	for (size_t i = 0; i < 2 * N; i++)
		v[i] = 1000 + normal() + (i >= N ? .6 : 0);
	v = add(&s, "x.counts", NULL, N, NULL, N, NULL, NULL);
	for (size_t i = 0; i < 2 * N; i++)
		v[i] = floor(3 * uniform());
	r = judge(&s, CMP_MODERATED);
	is_near(r.row[0].delta[1].effect, 6e-4, 1e-5, "a million runs a side");
	ok(r.row[1].delta[1].p > 1e-4, "... of counts with ties");
	cmp_result_release(&r);
	set_free(&s);
}

/* ---- boots ---- */

static void boots(void)
{
	static const uint32_t three[9] = {1, 1, 1, 2, 2, 2, 3, 3, 3}, mixed[9] = {3, 1, 2, 1, 2, 3, 1, 2, 3};
	struct set s = {0};
	struct cmp_result r;
	/* each boot has its own level; within, runs agree */
	const double a[9] = {10, 10.01, 10.02, 11, 11.01, 11.02, 12, 12.01, 12.02};
	const double b[9] = {13, 13.01, 13.02, 14, 14.01, 14.02, 12, 12.01, 12.02};
	const double am[9] = {12, 10, 11, 10.01, 11.01, 12.01, 10.02, 11.02, 12.02};

	add(&s, "x.boots", a, 9, b, 9, three, three);
	add(&s, "x.runs", a, 9, b, 9, NULL, NULL);
	add(&s, "x.mixed", am, 9, b, 9, mixed, three);
	s.m[1].prior_df = 0;
	r = judge(&s, CMP_MODERATED);
	ok(r.row[0].delta[1].p > 10 * r.row[1].delta[1].p, "nine runs of three boots are three values");
	is_near(r.row[2].delta[1].p, r.row[0].delta[1].p, 1e-12, "in whatever order the runs come");
	is_int(r.row[0].side[0].boots, 3, "boots are counted");
	ok(r.between_share > .99, "nearly all of the spread is between boots");
	cmp_result_release(&r);
	set_free(&s);
}

/* A crashed boot has no values at all: other boots do not become "some boots lack it" by that. */
static void dead_boots(void)
{
	static const uint32_t id[5] = {1, 2, 3, 4, 5};
	const double none = NAN, a[5] = {10, none, 10.2, 9.9, 10.1}, b[5] = {12, 12.1, 11.9, 12.2, 12.05},
		     c[5] = {1, none, none, 2, 1};
	struct set s = {0};
	struct cmp_result r;

	add(&s, "x.a", a, 5, b, 5, id, id);
	add(&s, "x.b", c, 5, b, 5, id, id);
	add(&s, "x.c", NULL, 0, b, 5, id, id);
	r = judge(&s, CMP_MODERATED);
	is_int(r.row[0].side[0].boots, 4, "a boot without any value does not count");
	ok(r.row[0].delta[1].p < 1e-4, "... and the usual test is used");
	is_int(r.row[1].side[0].boots, 4, "a boot that lacks one metric does");
	is_near(r.row[2].delta[1].p, 1. / 126, 1e-9, "a metric that appears: 0 of 4 against 5 of 5");
	cmp_result_release(&r);
	set_free(&s);
}

/* ---- what must not matter ---- */

static void draw(struct set *s, size_t n, size_t runs, double shift, size_t shifted)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = xasprintf("x.m%zu", i);
		double mean = exp(3 + 10 * uniform()), sd = mean * .01 * exp(.5 * normal());
		double *v = add(s, name, NULL, runs, NULL, runs, NULL, NULL);

		for (size_t k = 0; k < 2 * runs; k++)
			v[k] = mean + sd * (normal() + (k >= runs && i < shifted ? shift : 0));
	}
}

static void invariance(void)
{
	enum { N = 60, RUNS = 6 };
	struct set s = {0};
	struct cmp_result r, x;
	double worst_p = 0, worst_e = 0;

	state = 42;
	draw(&s, N, RUNS, 3, 20);
	r = judge(&s, CMP_MODERATED);

	for (size_t i = 0; i < N; i++)  /* other units */
		for (size_t k = 0; k < 2 * RUNS; k++)
			((double *)s.m[i].value[0])[k] *= 1000. / (double)(1 + i);
	x = judge(&s, CMP_MODERATED);
	for (size_t i = 0; i < N; i++) {
		worst_p = MAX(worst_p, fabs(x.row[i].delta[1].p / r.row[i].delta[1].p - 1));
		worst_e = MAX(worst_e, fabs(x.row[i].delta[1].effect - r.row[i].delta[1].effect));
	}
	ok(worst_p < 1e-6 && worst_e < 1e-9, "units do not matter");
	cmp_result_release(&x);

	for (size_t i = 0; i < N; i++) { /* other order */
		double *v = (double *)s.m[i].value[0], swap = v[0];

		v[0] = v[4];
		v[4] = swap;
	}
	x = judge(&s, CMP_MODERATED);
	worst_p = 0;
	for (size_t i = 0; i < N; i++)
		worst_p = MAX(worst_p, fabs(x.row[i].delta[1].p / r.row[i].delta[1].p - 1));
	ok(worst_p < 1e-6, "the order of runs does not matter");
	cmp_result_release(&x);

	for (size_t i = 0; i < N; i++) { /* B against A */
		const double **v = (const double **)s.m[i].value, *swap = v[0];

		v[0] = v[1];
		v[1] = swap;
	}
	x = judge(&s, CMP_MODERATED);
	worst_p = worst_e = 0;
	for (size_t i = 0; i < N; i++) {
		double back = 1 / (1 + x.row[i].delta[1].effect) - 1;

		worst_p = MAX(worst_p, fabs(x.row[i].delta[1].p / r.row[i].delta[1].p - 1));
		worst_e = MAX(worst_e, fabs(back - r.row[i].delta[1].effect));
		worst_e = MAX(worst_e, fabs(1 / (1 + x.row[i].delta[1].lo) - 1 - r.row[i].delta[1].hi));
	}
	ok(worst_p < 1e-6, "A against B and B against A have the same p");
	ok(worst_e < 1e-9, "... and inverse ratios and intervals");
	for (size_t i = 0; i < N; i++) { /* swapped back, so that everything is freed */
		const double **v = (const double **)s.m[i].value, *swap = v[0];

		v[0] = v[1];
		v[1] = swap;
	}
	cmp_result_release(&x);

	ADD(&s, "x.constant", V(5, 5, 5, 5, 5, 5), V(5, 5, 5, 5, 5, 5));
	x = judge(&s, CMP_MODERATED);
	worst_p = 0;
	for (size_t i = 0; i < N; i++)
		worst_p = MAX(worst_p, fabs(x.row[i].delta[1].q - r.row[i].delta[1].q));
	ok(worst_p < 1e-6, "a constant metric beside them changes no q");
	cmp_result_release(&x);
	for (size_t i = 0; i < N; i++) {
		const struct cmp_delta *d = &r.row[i].delta[1];

		if ((d->p < .05) != (d->lo > 0 || d->hi < 0))
			worst_e = 1;
	}
	ok(worst_e < 1, "the interval leaves out 0 exactly where p < .05");
	cmp_result_release(&r);
	set_free(&s);
}

/* ---- error rates ---- */

static void error_rates(void)
{
	enum { TRIALS = 60, N = 500, SHIFTED = 50 };
	double fdr = 0, fdr2 = 0, power = 0, cover = 0, se;
	size_t below[3] = {0};
	static const double level[3] = {.5, .05, .005};

	state = 7;
	for (int t = 0; t < TRIALS; t++) {
		struct set s = {0};
		struct cmp_result r;
		size_t hits = 0, wrong = 0;
		double share;

		draw(&s, N, 6, 4, SHIFTED);
		r = judge(&s, CMP_MODERATED);
		for (size_t i = 0; i < N; i++) {
			const struct cmp_delta *d = &r.row[i].delta[1];

			(i < SHIFTED ? &hits : &wrong)[0] += d->q <= .05;
			for (int k = 0; k < 3 && i >= SHIFTED; k++)
				below[k] += d->p <= level[k];
			cover += i >= SHIFTED && d->lo <= 0 && d->hi >= 0;
		}
		share = hits + wrong ? (double)wrong / (double)(hits + wrong) : 0;
		fdr += share / TRIALS;
		fdr2 += share * share / TRIALS;
		power += (double)hits / SHIFTED / TRIALS;
		cmp_result_release(&r);
		set_free(&s);
	}
	se = sqrt((fdr2 - fdr * fdr) / TRIALS);
	ok(fdr <= .05 * (N - SHIFTED) / N + 4 * se, "false discoveries: %.4f, se %.4f", fdr, se);
	ok(power > .95, "power at 4 sigma: %.3f", power);
	for (int k = 0; k < 3; k++) {
		double n = (double)TRIALS * (N - SHIFTED), seen = (double)below[k] / n;

		/* metrics of one comparison share a prior: allow twice the binomial error */
		is_near(seen, level[k], 4 * 2 * sqrt(level[k] * (1 - level[k]) / n),
			"share of p <= %g where nothing changed: %.5f", level[k], seen);
	}
	cover /= (double)TRIALS * (N - SHIFTED);
	is_near(cover, .95, 8 * sqrt(.95 * .05 / TRIALS / (N - SHIFTED)), "95 %% intervals hold the truth: %.4f",
		cover);
}

static void history(void)
{
	struct set s = {0};
	struct cmp_result r;

	ADD(&s, "x.m", V(100, 101), V(104, 105));
	ADD(&s, "x.h", V(100, 101), V(104, 105));
	s.m[1].prior_sd = .007;
	s.m[1].prior_df = 30;
	ADD(&s, "x.single", V(100), V(104));
	s.m[2].prior_sd = .007;
	s.m[2].prior_df = 30;
	r = judge(&s, CMP_MODERATED);
	ok(r.row[1].delta[1].p < r.row[0].delta[1].p / 5, "a metric's own history sharpens its test");
	ok(r.row[2].delta[1].p < .01 && isfinite(r.row[2].delta[1].hi),
	   "with history even one boot a side says something");
	cmp_result_release(&r);
	set_free(&s);
}

static void equivalence(void)
{
	struct set s = {0};
	struct cmp_result r;

	/* spread 0.002 %: everything is significant, so only what lies beyond the smallest effect counts */
	ADD(&s, "icount.clear", V(57750, 57751, 57752, 57749), V(57618, 57619, 57617, 57620));
	ADD(&s, "icount.tiny", V(57750, 57751, 57752, 57749), V(57756, 57757, 57758, 57755));
	ADD(&s, "icount.border", V(57750, 57751, 57752, 57749), V(57780, 57781, 57778, 57779));
	r = judge(&s, CMP_MODERATED);
	VERDICT(0, "changed", "-0.23 % is a change");
	VERDICT(1, "same", "0.01 %, however sure, is none");
	ok(r.row[1].delta[1].q < .05, "... though significant");
	VERDICT(2, "unclear", "an interval that holds the smallest effect of interest does not decide");
	cmp_result_release(&r);
	set_free(&s);
}

static void several_builds(void)
{
	const double a[4] = {10, 11, 10.5, 10.2}, b[4] = {20, 21, 20.5, 20.2}, c[4] = {10.1, 11, 10.4, 10.2};
	const double *const v[3] = {a, b, c};
	const size_t n[3] = {4, 4, 4};
	struct cmp_metric m = {.name = "x.m", .value = v, .n = n, .min_effect = -1};
	struct cmp_config cfg = {.n_builds = 3};
	struct cmp_result r;

	is_int(cmp_run(&cfg, &m, 1, &r), 0, "three builds");
	is_str(cmp_verdict_name(r.row[0].delta[1].verdict), "changed", "the second differs from the first");
	is_str(cmp_verdict_name(r.row[0].delta[2].verdict), "no change shown", "the third does not");
	is_int(r.changed, 1, "the row counts once");
	cmp_result_release(&r);
}

/* ---- lkp-tests' rule ---- */

static void lkp_rule(void)
{
	struct set s = {0};
	struct cmp_result r;

	ADD(&s, "x.ops", V(100, 101, 102), V(110, 111, 112));
	ADD(&s, "x.small", V(1000, 1001, 1002), V(1005, 1006, 1007));           /* 0.5 % */
	ADD(&s, "numa-vmstat.node0.x", V(100, 101, 102), V(103, 104, 105));     /* 3 % of 5 % needed */
	ADD(&s, "x.overlap", V(100, 101, 115), V(110, 111, 112)); /* the range reaches beyond the median */
	ADD(&s, "vmstat.system.cs", V(10, 11, 12), V(20, 21, 22));              /* below the floor */
	ADD(&s, "perf-profile.self.cycles-pp.f", V(6, 7, 8), V(NAN, NAN, NAN)); /* vanished and large */
	ADD(&s, "perf-profile.self.cycles-pp.g", V(1, 2, 3), V(NAN, NAN, NAN));
	ADD(&s, "dmesg.BUG", V(0, 0, 0), V(0, 1, 0));
	ADD(&s, "x.two", V(1, 2), V(11, 12));                                   /* fewer than three on both sides */
	ADD(&s, "x.touch", V(100, 103, 104), V(103.5, 106, 107));               /* ranges overlap, medians are free */
	r = judge(&s, CMP_LKP);
	VERDICT(0, "changed", "lkp: ranges apart");
	VERDICT(1, "no change shown", "lkp: below 1 %");
	VERDICT(2, "no change shown", "lkp: below 5 % for a monitor");
	VERDICT(3, "no change shown", "lkp: a range that reaches the other median");
	VERDICT(4, "no change shown", "lkp: below the floor of its class");
	VERDICT(5, "changed", "lkp: a large symbol vanished");
	VERDICT(6, "no change shown", "lkp: a small one does not show");
	VERDICT(7, "changed", "lkp: any failure shows");
	VERDICT(8, "no change shown", "lkp: three runs are needed");
	VERDICT(9, "changed", "lkp: ranges may overlap short of the medians");
	is_near(r.row[5].side[1].mean, 0, 0, "lkp: an absent value is a zero");
	cmp_result_release(&r);
	set_free(&s);
}

static void classes(void)
{
	static const struct { const char *name; bool fail, points, program; } names[] = {
		{"stress-ng.sockfd.ops_per_sec", false, false, true},
		{"perf-profile.self.cycles-pp.fget", false, true, false},
		{"turbostat.Busy%", false, true, false}, {"dmesg.WARNING:at_x", true, false, true},
		{"ltp.abs01.fail", true, false, true},
		{"ltp.abs01.pass", true, false, true}, {"x.time.error", false, false, true},
		{"perf-stat.i.cpi", false, false, false},
		{"x.fail_rate", false, false, true}, {"last_state.crashed", true, false, true},
		{".fail", false, false, true},
		{"netdev.error.count", true, false, true}, {"perf-stats.x", false, false, true},
		{"", false, false, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ok(metric_is_fail(names[i].name) == names[i].fail &&
			   metric_is_points(names[i].name) == names[i].points &&
			   metric_is_program(names[i].name) == names[i].program,
		   "class of '%s'", names[i].name);
}

int main(void)
{
	odd_data();
	million_runs();
	boots();
	dead_boots();
	invariance();
	error_rates();
	history();
	equivalence();
	several_builds();
	lkp_rule();
	classes();
	return tap_done();
}
