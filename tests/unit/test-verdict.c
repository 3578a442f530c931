/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <Rmath.h>
#include "bisect/failure.h"
#include "bisect/simulate.h"
#include "bisect/verdict.h"
#include "tests/tap.h"

/* E of one component, written another way: marginal density ratio by integrating the noncentral t over the effect's
 * prior. */
static void against_scipy(void)
{
	const double at[][3] = {{0, 4, 1.5}, {1, 4, 1.5}, {3, 8, 2.5}, {6, 18, 5}, {12, 38, 10}, {150, 2, 1}};
	const char *script =
		"import sys\n"
		"from scipy import integrate, stats\n"
		"import numpy as np\n"
		"W = [(4,.35),(25,.35),(400,.15),(1e4,.1),(1e6,.05)]\n"
		"for line in sys.stdin:\n"
		"    t, df, m = map(float, line.split())\n"
		"    def ratio(g):\n" /* t given sigma's chi2 draw is normal: integrate over it, with and without the
					 effect */
		"        f = lambda x, k: stats.norm.pdf(t*np.sqrt(np.exp(x)/df), 0, np.sqrt(k))*np.sqrt(np.exp(x)/df)"
		"*stats.chi2.pdf(np.exp(x), df)*np.exp(x)\n"
		"        i = lambda k: integrate.quad(f, -40, 12, args=(k,), limit=2000, points=list(range(-39, 12)))[0]\n"
		"        return i(1 + m*g)/i(1)\n"
		"    print('%.12g' % np.log(sum(w*ratio(g) for g, w in W)))\n";
	char in[] = "/tmp/kpb-verdict-XXXXXX";
	_cleanup_free_ char *cmd = NULL;
	int fd = mkstemp(in);
	FILE *f = fdopen(fd, "w"), *p;

	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		fprintf(f, "%g %g %g\n", at[i][0], at[i][1], at[i][2]);
	fclose(f);
	cmd = xasprintf("/usr/bin/python3 -c \"%s\" <%s", script, in);
	p = popen(cmd, "r");
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		double want = NAN;

		if (fscanf(p, "%lf", &want) != 1)
			want = NAN;
		is_near(verdict_log_e(at[i][0], at[i][1], at[i][2]), want, 1e-5 * MAX(1.0, fabs(want)),
			"log e at t=%g df=%g m=%g is scipy's integral", at[i][0], at[i][1], at[i][2]);
	}
	pclose(p);
	unlink(in);
	for (double df = 2; df < 50; df *= 3) {
		double t = verdict_critical(0.001, df, 2);

		if (isfinite(t))
			is_near(verdict_log_e(t, df, 2), log(1000), 1e-6, "critical t at df=%g inverts E", df);
	}
}

struct tally { double different, boots; };

static struct tally play(const struct verdict_config *c, double effect, double sd, double outliers, int trials)
{
	struct tally t = {0};
	struct rng rng;

	rng_seed(&rng, 11);
	for (int i = 0; i < trials; i++) {
		double a[64], b[64];
		struct verdict_result v = {0};
		size_t n = 0;

		for (size_t k = 0; k < 64; k++) {
			a[k] = 1000 + sd * (rng_normal(&rng) + (rng_uniform(&rng) < outliers ? 6 : 0));
			b[k] = 1000 + effect + sd * (rng_normal(&rng) + (rng_uniform(&rng) < outliers ? 6 : 0));
		}
		for (n = c->min_boots; verdict_two(c, a, n, b, n, &v) == 0 && v.verdict == VERDICT_MORE && n < 64;)
			n = MIN(n + v.more_boots, (size_t)64);
		t.different += v.verdict == VERDICT_DIFFERENT;
		t.boots += 2 * n;
	}
	return (struct tally){t.different / trials, t.boots / trials};
}

static void error_rates(void)
{
	struct verdict_config c = {.alpha = 0.05, .min_boots = 2, .max_boots = 0}, known;
	const int trials = 300;
	double limit = 0.05 + 3 * sqrt(0.05 * 0.95 / trials);
	struct tally t;

	/* no futility, 64 looks: Ville's bound is what keeps this down */
	t = play(&c, 0, 1, 0, trials);
	ok(t.different <= limit, "false alarms over all looks: %.3f", t.different);
	t = play(&c, 0, 1, 0.05, trials);
	ok(t.different <= limit, "also with outliers: %.3f", t.different);
	c.min_effect = 0.001;
	t = play(&c, 1, 1, 0, trials);
	ok(t.different <= limit, "a difference of just the smallest effect of interest is no alarm: %.3f", t.different);
	c = (struct verdict_config){.alpha = 0.001, .min_boots = 2, .max_boots = 20};
	known = c;
	known.prior_sd = 0.001;
	known.prior_df = 20;
	t = play(&known, 5, 1, 0, trials);
	ok(t.different > 0.99 && t.boots < 7, "5 sigma with history: %.3f in %.1f boots", t.different, t.boots);
	t = play(&c, 5, 1, 0, trials);
	ok(t.different > 0.99 && t.boots < 13, "5 sigma without: %.3f in %.1f boots", t.different, t.boots);
	t = play(&c, 3, 1, 0, trials);
	ok(t.different > 0.98, "3 sigma: %.3f in %.1f boots", t.different, t.boots);
	t = play(&c, 0, 1, 0, trials);
	ok(t.different == 0 && t.boots < 14, "nothing there stops early: %.1f of 40 boots", t.boots);
	c.min_effect = 0.001;
	c.sigma_floor = 1e-6;
	t = play(&c, -3, 0.02, 0, trials);
	ok(t.different == 1 && t.boots <= 6, "-0.3 %% at a spread of 0.002 %%: %.1f boots", t.boots);
	t = play(&c, 0, 0.02, 0, trials);
	ok(t.different == 0 && t.boots <= 5, "no change at that spread: %.1f boots", t.boots);
}

static struct verdict_result ask(const double *a, size_t na, const double *b, size_t nb)
{
	struct verdict_config c = {.alpha = 0.01, .min_boots = 2, .max_boots = 10};
	struct verdict_result v = {0};

	is_int(verdict_two(&c, a, na, b, nb, &v), 0, "accepted");
	return v;
}

static void properties(void)
{
	double a[] = {10, 11, 10.5, 9.8}, b[] = {14, 13.6, 14.4, 14.1}, x[4], y[4];
	double ra[] = {9.8, 10.5, 11, 10};
	struct verdict_result v = ask(a, 4, b, 4), w;

	is_int(v.verdict, VERDICT_DIFFERENT, "clear difference");
	w = ask(ra, 4, b, 4);
	is_near(w.p, v.p, 1e-12, "the order does not matter");
	w = ask(b, 4, a, 4);
	is_near(w.p, v.p, 1e-12, "swapping sides keeps p");
	ok(w.effect < 0 && v.effect > 0, "and turns the sign");
	for (int i = 0; i < 4; i++) {
		x[i] = a[i] * 1e299;
		y[i] = b[i] * 1e299;
	}
	w = ask(x, 4, y, 4);
	is_near(w.p, v.p, 1e-9, "scale does not matter, up to 1e300");
	is_near(w.effect, v.effect, 1e-9, "nor for the relative effect");
	ok(v.lo < v.effect && v.effect < v.hi && v.lo > 0, "interval around the effect, without 0");
}

/* Whoever has not seen a change has not seen that there is none. */
static void unshown(void)
{
	struct verdict_config c = {.alpha = 0.001, .min_effect = .002, .min_boots = 2, .max_boots = 6};
	double a[] = {990, 1010, 1000, 985, 1015, 1003}, b[] = {988, 1007, 1001, 986, 1011, 1002};
	double calm_a[] = {1000, 1000.1, 999.9, 1000}, calm_b[] = {1000.1, 1000, 1000, 999.9};
	struct verdict_result v;

	is_int(verdict_two(&c, a, 6, b, 6, &v), 0, "noisy boots, all that are allowed");
	ok(v.verdict == VERDICT_SAME && v.unshown && v.hi > c.min_effect && v.lo < -c.min_effect, "no change shown: %s",
	   v.why);
	c.max_boots = 12;
	is_int(verdict_two(&c, a, 6, b, 6, &v), 0, "the same with more allowed");
	ok(v.verdict == VERDICT_SAME && v.unshown, "futile: %s", v.why);
	is_int(verdict_two(&c, calm_a, 4, calm_b, 4, &v), 0, "calm boots");
	ok(v.verdict == VERDICT_SAME && !v.unshown && v.hi < c.min_effect && v.lo > -c.min_effect, "the same: %s",
	   v.why);
	is_int(verdict_two(&c, a, 6, a, 6, &v), 0, "equal values with that spread");
	ok(v.verdict == VERDICT_SAME && v.unshown, "no change shown, either: %s", v.why);
}

static void degenerate(void)
{
	double same[] = {5, 5, 5}, other[] = {6, 6, 6}, zero[] = {0, 0, 0}, inf[] = {1, INFINITY}, one[] = {1};
	struct verdict_config c = {.alpha = 0.01, .min_boots = 2, .max_boots = 10};
	struct verdict_result v;

	v = ask(same, 3, same, 3);
	is_int(v.verdict, VERDICT_SAME, "all equal: same (%s)", v.why);
	v = ask(same, 3, other, 3);
	is_int(v.verdict, VERDICT_DIFFERENT, "no spread but other values: different");
	v = ask(zero, 3, zero, 3);
	is_int(v.verdict, VERDICT_SAME, "zeros: same");
	v = ask(zero, 3, same, 3);
	ok(isfinite(v.effect) && v.verdict == VERDICT_DIFFERENT, "from zero to five: %g", v.effect);
	v = ask((double[]){1.5e-16, -1e-16, 0}, 3, same, 3);
	ok(fabs(v.effect - 1) < 1e-6 && v.verdict == VERDICT_DIFFERENT, "from rounding dust to five is no larger: %g",
	   v.effect);
	v = ask((double[]){-40, -40.1, -39.9}, 3, (double[]){-35, -35.1, -34.9}, 3);
	ok(fabs(v.effect - .125) < 1e-9 && v.lo > 0, "a negative level that rises: %g", v.effect);
	v = ask(one, 1, same, 3);
	ok(v.verdict == VERDICT_MORE && v.more_boots == 1, "one boot: one more");
	v = ask(NULL, 0, NULL, 0);
	ok(v.verdict == VERDICT_MORE && v.more_boots == 2, "no boots: two more");
	v.p = 42;
	is_int(verdict_two(&c, inf, 2, same, 2, &v), -EINVAL, "infinity refused");
	ok(v.p == 42, "and the result left alone");
	c.alpha = 0;
	is_int(verdict_two(&c, same, 2, same, 2, &v), -EINVAL, "alpha 0 refused");
}

/* Looked at after every pair; *ret_boots a side when it ended. */
static enum verdict failing(struct rng *r, double alpha, double rate_a, double rate_b, size_t max, size_t *ret_boots)
{
	bool a[60], b[60];
	struct failure_result v = {0};
	size_t n = 0;

	while (v.verdict == VERDICT_MORE && n < ARRAY_SIZE(a)) {
		a[n] = rng_uniform(r) < rate_a;
		b[n] = rng_uniform(r) < rate_b;
		n++;
		verdict_fails(alpha, max, a, n, b, n, &v);
	}
	*ret_boots = n;
	return v.verdict;
}

static void failures(void)
{
	const double null[] = {0, 0.02, 0.1, 0.3, 0.5, 0.8, 1};
	const struct { double a, b, power; size_t boots; } real[] = {{0, 1, 1, 6}, {0, 0.7, 0.95, 20},
								     {0.1, 0.8, 0.85, 25}, {0, 0.5, 0.85, 30}};
	const bool none[9] = {0}, all[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, never[30] = {0};
	struct failure_result v;
	bool many[30];
	struct rng r;
	size_t n;

	memset(many, true, sizeof(many));
	rng_seed(&r, 11);
	verdict_fails(0.01, 40, none, 0, all, 0, &v);
	ok(v.verdict == VERDICT_MORE && v.more_boots == 2, "no boots: two more a side");
	verdict_fails(0.01, 40, none, 3, all, 3, &v);
	ok(v.verdict == VERDICT_MORE && v.more_boots == 1, "3 a side: one more");
	verdict_fails(0.01, 40, none, 4, all, 4, &v);
	ok(v.verdict == VERDICT_DIFFERENT && v.fails_a == 0 && v.fails_b == 4, "4 a side do at alpha .01, p = %.2g",
	   v.p);
	verdict_fails(0.001, 40, none, 5, all, 9, &v);
	is_int(v.verdict, VERDICT_MORE, "5 do not at .001");
	verdict_fails(0.001, 40, none, 6, all, 6, &v);
	is_int(v.verdict, VERDICT_DIFFERENT, "6 do, p = %.2g", v.p);
	verdict_fails(0.001, 40, all, 9, none, 9, &v);
	ok(v.verdict != VERDICT_DIFFERENT, "the other way round is no failure");
	ok(v.p == 1, "nor any evidence of one: p = %.2g", v.p);
	verdict_fails(0.001, 40, many, 30, never, 30, &v);
	ok(v.verdict == VERDICT_SAME && v.p == 1 && !v.more_boots, "30 the other way round: decided, p = %.2g", v.p);
	verdict_fails(0.001, 40, all, 5, all, 5, &v);
	is_int(v.verdict, VERDICT_MORE, "both fail 5 times: more");
	verdict_fails(0.001, 40, all, 6, all, 6, &v);
	is_int(v.verdict, VERDICT_SAME, "6 times: no difference");
	for (size_t i = 0; i < ARRAY_SIZE(null); i++) {
		size_t wrong = 0, trials = 4000;

		for (size_t k = 0; k < trials; k++)
			wrong += failing(&r, 0.05, null[i], null[i], 40, &n) == VERDICT_DIFFERENT;
		ok(wrong <= trials * 0.05 + 3 * sqrt(trials * 0.05 * 0.95),
		   "both fail at %g: %zu of %zu false alarms at .05, any look", null[i], wrong, trials);
	}
	for (size_t i = 0; i < ARRAY_SIZE(real); i++) {
		size_t right = 0, boots = 0, trials = 500;

		for (size_t k = 0; k < trials; k++, boots += n)
			right += failing(&r, 0.001, real[i].a, real[i].b, 40, &n) == VERDICT_DIFFERENT;
		ok(right >= trials * real[i].power && boots <= trials * real[i].boots,
		   "%g and %g: seen in %.3f with %.1f boots a side", real[i].a, real[i].b, (double)right / trials,
		   (double)boots / trials);
	}
}

int main(void)
{
	failures();
	against_scipy();
	error_rates();
	properties();
	unshown();
	degenerate();
	return tap_done();
}
