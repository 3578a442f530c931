/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search-binary.c - the search for the first commit that fails: values are 1 (the boot failed) and 0 (it worked).
 *
 * A commit without the culprit fails at the rate a, one with it at b; both are integrated out with Beta priors, so that a
 * class's likelihood is a ratio of Beta functions of four counts (Gelman et al., Bayesian Data Analysis, 3rd ed., 2.4):
 *
 *	B(fails + a0, works + a1) / B(a0, a1) of the good sites	times the same of the bad sites
 *
 * "No effect": one rate for all. A failure that is seen at good commits, too, makes a larger, and one boot tell less.
 */
#include <Rmath.h>
#include "bisect/search-internal.h"

static const double good_prior[2] = {0.5, 5}, bad_prior[2] = {2, 0.5}, one_prior[2] = {1, 1};     /* fails, works */
#define SIGMA_FLOOR 0.1

struct tally { double fails, works; };

static void add(struct tally *t, const struct site *x)
{
	for (size_t k = 0; k < x->n; k++) {
		bool failed = x->y[k] > 0;

		t->fails += failed;
		t->works += !failed;
	}
}

static double evidence(const struct tally *t, const double prior[2])
{
	return lbeta(t->fails + prior[0], t->works + prior[1]) - lbeta(prior[0], prior[1]);
}

static double rate(const struct tally *t, const double prior[2])
{
	return (t->fails + prior[0]) / (t->fails + t->works + prior[0] + prior[1]);
}

static double rate_var(const struct tally *t, const double prior[2])
{
	double p = rate(t, prior);

	return p * (1 - p) / (t->fails + t->works + prior[0] + prior[1] + 1);
}

void binary_loglik(struct search *s, struct likelihood *ret)
{
	const struct classes *cl = &s->cl;
	struct tally all = {0};

	for (size_t i = 0; i < s->n_sites; i++)
		add(&all, &s->site[i]);
	ret->none = evidence(&all, one_prior);
	ret->all_bad = 0;
	for (uint32_t k = 0; k < cl->n; k++) {
		struct tally good = {0}, bad = {0};
		double a, b;

		for (size_t i = 0; i < s->n_sites; i++)
			add(cl->pattern[(size_t)k * cl->words + i / 64] >> (i % 64) & 1 ? &bad : &good, &s->site[i]);
		a = rate(&good, good_prior);
		b = rate(&bad, bad_prior);
		ret->of_class[k] = evidence(&good, good_prior) + evidence(&bad, bad_prior);
		ret->est[k] = (struct estimate){
			.good = a, .bad = b, .sigma = MAX(sqrt((a * (1 - a) + b * (1 - b)) / 2), SIGMA_FLOOR), .delta = b - a,
			.delta_sd = sqrt(rate_var(&good, good_prior) + rate_var(&bad, bad_prior))};
	}
}
