/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every test and estimate against scipy and an independent implementation (stats_reference.py). */
#include "bisect/stats.h"
#include "lib/proc.h"
#include "tests/tap.h"

struct question { char *what; double tol; size_t n; double got[300]; };
static struct question *asked;
static size_t n_asked, cap_asked;
static struct buf questions;
static uint64_t state = 12345;

static double uniform(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((double)(state >> 11) + .5) / 9007199254740992.0;
}

static double chi2(int df)      /* sum of squares of normals */
{
	double s = 0;

	for (int i = 0; i < df; i++)
		s += -2 * log(uniform()) * pow(cos(2 * M_PI * uniform()), 2);
	return s;
}

/* Keeps our answer and puts the question to the other side. */
static void ask(const char *name, const double *arg, size_t n_args, const double *got, size_t n, double tol)
{
	struct question *q;

	GROW(asked, n_asked, cap_asked);
	q = &asked[n_asked++];
	*q = (struct question){xasprintf("%s %.6g ...", name, arg[0]), tol, n};
	memcpy(q->got, got, n * sizeof(*got));
	buf_adds(&questions, name);
	for (size_t i = 0; i < n_args; i++)
		buf_addf(&questions, " %.17g", arg[i]);
	buf_addc(&questions, '\n');
}

static void ask_distributions(void)
{
	static const double t[] = {0, .1, 1, -2.5, 6, 40}, df[] = {1, 2.5, 10, 300, INFINITY}, conf[] = {.5, .95, .999};

	for (size_t k = 0; k < ARRAY_SIZE(df); k++) {
		for (size_t i = 0; i < ARRAY_SIZE(t); i++)
			ask("t_p", (double[]){t[i], df[k]}, 2, (double[]){stat_t_p(t[i], df[k])}, 1, 1e-9);
		for (size_t i = 0; i < ARRAY_SIZE(conf); i++)
			ask("t_crit", (double[]){conf[i], df[k]}, 2, (double[]){stat_t_crit(conf[i], df[k])}, 1, 1e-8);
	}
}

/* values: how many different ones; few make ties. */
static void ask_rank(size_t na, size_t nb, int values)
{
	double v[202];

	v[0] = (double)na;
	for (size_t i = 0; i < na + nb; i++)
		v[1 + i] = floor(uniform() * values) + (i >= na ? values / 3 : 0);
	ask("rank", v, 1 + na + nb, (double[]){stat_rank_p(v + 1, na, v + 1 + na, nb)}, 1, 1e-9);
}

static void ask_prior(size_t n, int df, double df0, bool outliers)
{
	double s2[301], own[300], all[302];
	struct stat_prior p;

	s2[0] = df;
	for (size_t i = 0; i < n; i++) {
		double scale = isinf(df0) ? 1 : (double)df0 / chi2((int)df0);

		s2[1 + i] = 4e-4 * scale * chi2(df) / df * (outliers && i < 6 ? 400 : 1);
	}
	p = stat_prior_fit(s2 + 1, n, df, own);
	all[0] = p.s0sq;
	all[1] = p.df0;
	memcpy(all + 2, own, n * sizeof(*own));
	ask("prior", s2, n + 1, all, n + 2, 2e-3);
}

static void ask_all(void)
{
	static const double tables[][4] = {{0, 6, 6, 6}, {1, 6, 5, 6},	    {3, 10, 3, 10},
					   {0, 3, 0, 3}, {7, 200, 35, 210}, {5, 5, 0, 8}};
	double p[50], q[50];

	ask_distributions();
	for (int i = 0; i < 12; i++)
		ask_rank(3 + i % 5, 4 + i % 4, 2 + 3 * (i % 4));
	ask_rank(9, 9, 1000);
	ask_rank(60, 80, 12);
	ask_rank(100, 100, 100000);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const double *t = tables[i];

		ask("fisher", t, 4, (double[]){stat_fisher_p((size_t)t[0], (size_t)t[1], (size_t)t[2], (size_t)t[3])},
		    1, 1e-9);
	}
	for (int i = 0; i < 50; i++)
		p[i] = i < 10 ? uniform() * .01 : uniform();
	stat_bh(p, q, 50);
	ask("bh", p, 50, q, 50, 1e-12);
	ask_prior(250, 10, 8, false);
	ask_prior(250, 4, INFINITY, false);
	ask_prior(280, 10, 30, true);
	ask_prior(280, 5, 3, true);
}

static bool same(double got, double want, double tol)
{
	/* from some thousand on all df0 mean the same */
	if (got > 3000 && want > 3000)
		return true;
	return isinf(want) ? got == want : fabs(got - want) <= tol * fabs(want) + 1e-300;
}

static void check_answers(char *answers)
{
	char *save = NULL, *line = strtok_r(answers, "\n", &save);

	for (size_t i = 0; i < n_asked; i++, line = strtok_r(NULL, "\n", &save)) {
		struct question *q = &asked[i];
		size_t good = 0;
		char *p = line;

		for (size_t k = 0; p && k < q->n; k++) {
			double want = strtod(p, &p);

			if (same(q->got[k], want, q->tol))
				good++;
			else
				printf("# number %zu: got %.12g, wanted %.12g\n", k, q->got[k], want);
		}
		ok(good == q->n, "%s", q->what);
		free(q->what);
	}
}

static void edges(void)
{
	double s2[3] = {1, 1, 0}, own[3], p[3] = {.01, NAN, .02}, q[3];

	ok(isnan(stat_t_p(NAN, 3)) && isnan(stat_t_p(1, 0)), "no p-value without t or degrees of freedom");
	ok(stat_rank_p(s2, 0, s2, 3) == 1 && stat_rank_p(s2, 2, s2, 2) == 1,
	   "an empty side and equal values have p = 1");
	ok(stat_fisher_p(0, 0, 3, 3) == 1, "no runs, no evidence");
	ok(stat_prior_fit(s2, 3, 4, own).df0 == 0 && own[0] == 0, "two variances make no prior");
	stat_bh(p, q, 3);
	ok(q[0] == .02 && isnan(q[1]) && q[2] == .02, "what was not tested is not in the family");
	ok(isnan(stat_median(s2, 0)), "no median of nothing");
}

int main(void)
{
	struct proc_spec p = {.argv = ARGV("/usr/bin/python3", "tests/unit/stats_reference.py"), .timeout_s = 300};
	_cleanup_(proc_result_release) struct proc_result r = {0};

	ask_all();
	p.input = buf_str(&questions);
	is_int(proc_run(&p, &r), 0, "the reference runs");
	is_int(r.status, 0, "and ends well");
	if (r.status)
		printf("# %s\n", buf_str(&r.err));
	check_answers(r.out.s ? r.out.s : (char[1]){0});
	edges();
	free(asked);
	buf_release(&questions);
	return tap_done();
}
