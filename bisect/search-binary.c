/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search-binary.c - the search for the first commit that fails: values are 1 (the boot failed) and 0 (it worked).
 *
 * A commit without the culprit fails at the rate a, one with it at b; both are integrated out with Beta priors, so that
 * a class's likelihood is a ratio of Beta functions of four counts (Gelman et al., Bayesian Data Analysis, 3rd ed.,
 * 2.4):
 *
 *	B(fails + a0, works + a1) / B(a0, a1) of the good sites	times the same of the bad sites
 *
 * A branch that forked before good (search-forks.c) shares these rates, or fails at one of its own. "No effect": one
 * rate for all others. A failure that is seen at good commits, too, makes a larger, and one boot tell less.
 */
#include <Rmath.h>
#include "bisect/search-internal.h"

static const double good_prior[2] = {0.5, 5}, bad_prior[2] = {2, 0.5}, one_prior[2] = {1, 1};     /* fails, works */
#define SIGMA_FLOOR 0.1
#define OWN_PRIOR 0.2           /* of a side branch with a failure rate of its own */

struct outcome_tally { double fails, works; };

static void add(struct outcome_tally *t, const struct site *x)
{
	for (size_t k = 0; k < x->n; k++) {
		bool failed = x->y[k] > 0;

		t->fails += failed;
		t->works += !failed;
	}
}

static double evidence(const struct outcome_tally *t, const double prior[2])
{
	return lbeta(t->fails + prior[0], t->works + prior[1]) - lbeta(prior[0], prior[1]);
}

static double rate(const struct outcome_tally *t, const double prior[2])
{
	return (t->fails + prior[0]) / (t->fails + t->works + prior[0] + prior[1]);
}

static double rate_var(const struct outcome_tally *t, const double prior[2])
{
	double p = rate(t, prior);

	return p * (1 - p) / (t->fails + t->works + prior[0] + prior[1] + 1);
}

static struct outcome_tally sum(const struct outcome_tally *a, const struct outcome_tally *b)
{
	return (struct outcome_tally){a->fails + b->fails, a->works + b->works};
}

/* How much more is told by more of it, given what is known. */
static double further(const struct outcome_tally *known, const struct outcome_tally *more, const double prior[2])
{
	const struct outcome_tally all = sum(known, more);

	return evidence(&all, prior) - evidence(known, prior);
}

/* What one past of search-forks.c says, beside what is known of both sides: it shares their rates or has one of its
 * own, as a branch that still has a bug that good is rid of. What shares them is known from then on. Returns the log
 * likelihood. */
static double take_past(const struct outcome_tally part[2], struct outcome_tally known[2], const double *const prior[2],
			double *ret_own)
{
	const struct outcome_tally all = sum(&part[0], &part[1]);
	double shares = log1p(-OWN_PRIOR) + further(&known[0], &part[0], prior[0]) +
	       further(&known[1], &part[1], prior[1]);
	double own = log(OWN_PRIOR) + evidence(&all, one_prior), both = log_add(shares, own);

	*ret_own = exp(own - both);
	for (int side = 0; side < 2 && *ret_own < 0.5; side++)
		known[side] = sum(&known[side], &part[side]);
	return both;
}

/* Sites by past, those that good has first. of[]: the place of each site's past in past[]. */
struct by_past { uint32_t n, *past, *of; };

static struct by_past find_pasts(const struct search *s)
{
	struct by_past p = {.n = 1, .past = xcalloc(s->n_sites + 1, sizeof(uint32_t)),
			    .of = xcalloc(s->n_sites + 1, sizeof(uint32_t))};

	for (size_t i = 0; i < s->n_sites; i++) {
		uint32_t f = 0;

		while (f < p.n && p.past[f] != site_past(s, i))
			f++;
		if (f == p.n)
			p.past[p.n++] = site_past(s, i);
		p.of[i] = f;
	}
	return p;
}

/* Tallies of good and bad sites of each past under a class; pattern NULL: all good. */
static void tally_sites(const struct search *s, const struct by_past *p, const uint64_t *pattern,
			struct outcome_tally (*ret)[2])
{
	memset(ret, 0, p->n * sizeof(*ret));
	for (size_t i = 0; i < s->n_sites; i++)
		add(&ret[p->of[i]][pattern && site_bit(pattern, i)], &s->site[i]);
}

/* Of all pasts; known: what is left of both sides. own: per past, or NULL. */
static double all_pasts(const struct by_past *p, struct outcome_tally (*part)[2], const double *const prior[2],
			struct outcome_tally known[2], double *own)
{
	double total = 0, none;

	known[0] = part[0][0];
	known[1] = part[0][1];
	total = evidence(&known[0], prior[0]) + evidence(&known[1], prior[1]);
	for (uint32_t f = 1; f < p->n; f++)
		total += take_past(part[f], known, prior, own ? &own[f] : &none);
	return total;
}

static void keep_levels(struct search *s, const struct by_past *p, uint32_t k, struct outcome_tally (*part)[2],
			const double *own, const struct estimate *e)
{
	for (uint32_t f = 1; f < p->n; f++) {
		const struct outcome_tally all = sum(&part[f][0], &part[f][1]);
		double (*level)[2] = &s->forks.level[(f - 1) * s->cl.n + k], alone = rate(&all, one_prior);

		(*level)[0] = own[f] * alone + (1 - own[f]) * e->good;
		(*level)[1] = own[f] * alone + (1 - own[f]) * e->bad;
	}
}

static void make_levels(struct search *s, const struct by_past *p)
{
	struct fork_levels *l = &s->forks;

	fork_levels_release(l);
	l->n = p->n - 1;
	l->past = xcalloc(l->n + 1, sizeof(*l->past));
	l->level = xcalloc(l->n * s->cl.n + 1, sizeof(*l->level));
	memcpy(l->past, p->past + 1, l->n * sizeof(*l->past));
}

void binary_loglik(struct search *s, struct likelihood *ret)
{
	const struct classes *cl = &s->cl;
	const double *const both[2] = {good_prior, bad_prior}, *const one[2] = {one_prior, one_prior};
	struct by_past p = find_pasts(s);
	struct outcome_tally known[2];
	_cleanup_free_ struct outcome_tally (*part)[2] = xcalloc(p.n, sizeof(*part));
	_cleanup_free_ double *own = xcalloc(p.n, sizeof(*own));

	tally_sites(s, &p, NULL, part);
	ret->none = all_pasts(&p, part, one, known, NULL);
	ret->all_bad = 0;
	make_levels(s, &p);
	for (uint32_t k = 0; k < cl->n; k++) {
		double a, b;

		tally_sites(s, &p, cl->pattern + (size_t)k * cl->words, part);
		ret->of_class[k] = all_pasts(&p, part, both, known, own);
		a = rate(&known[0], good_prior);
		b = rate(&known[1], bad_prior);
		ret->est[k] = (struct estimate){
			.good = a, .bad = b, .sigma = MAX(sqrt((a * (1 - a) + b * (1 - b)) / 2), SIGMA_FLOOR),
			.delta = b - a,
			.delta_sd = sqrt(rate_var(&known[0], good_prior) + rate_var(&known[1], bad_prior))};
		keep_levels(s, &p, k, part, own, &ret->est[k]);
	}
	free(p.past);
	free(p.of);
}
