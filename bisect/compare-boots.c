/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of one boot share its memory layout, its timing, its luck: they are averaged to one value before any test. */
#include "bisect/compare-internal.h"

struct run_id { uint32_t boot, run; };

static int cmp_run_id(const void *a, const void *b)
{
	const struct run_id *x = a, *y = b;

	return x->boot != y->boot ? (x->boot > y->boot) - (x->boot < y->boot) : (x->run > y->run) - (x->run < y->run);
}

static void slots_set(struct slots *s, const uint32_t *id, size_t n)
{
	_cleanup_free_ struct run_id *r = NULL;

	if (s->fresh && s->id == id && s->n == n)
		return;
	free(s->slot);
	free(s->sum);
	free(s->count);
	*s = (struct slots){id, n, n, xcalloc(n + 1, sizeof(*s->slot)), xcalloc(n + 1, sizeof(*s->sum)),
			    xcalloc(n + 1, sizeof(*s->count)), true};
	for (size_t i = 0; i < n; i++)
		s->slot[i] = (uint32_t)i;
	if (!id || !n)
		return;
	r = xcalloc(n, sizeof(*r));
	for (size_t i = 0; i < n; i++)
		r[i] = (struct run_id){id[i], (uint32_t)i};
	qsort(r, n, sizeof(*r), cmp_run_id);
	s->n_slots = 0;
	for (size_t i = 0; i < n; i++) {
		s->n_slots += i && r[i].boot != r[i - 1].boot;
		s->slot[r[i].run] = (uint32_t)s->n_slots;
	}
	s->n_slots++;
}

void cmp_slots_release(struct slots *s, size_t n_builds)
{
	for (size_t b = 0; b < n_builds; b++) {
		free(s[b].slot);
		free(s[b].sum);
		free(s[b].count);
	}
	free(s);
}

static double scale_of(const struct cmp_metric *m, size_t n_builds)
{
	double top = 0;

	for (size_t b = 0; b < n_builds; b++)
		for (size_t i = 0; i < m->n[b]; i++)
			if (isfinite(m->value[b][i]))
				top = MAX(top, fabs(m->value[b][i]));
	/* a power of two: dividing by it is exact */
	return top > 0 ? ldexp(1, MAX(ilogb(top), -1021)) : 1;
}

/* The value of run i: failures and lkp's averages count an absent one as 0. */
static double value_at(const struct cmp_metric *m, size_t b, size_t i, bool zeros)
{
	double v = m->value[b][i];

	return isfinite(v) ? v : zeros ? 0 : NAN;
}

static void spread_of_runs(const struct cmp_metric *m, size_t b, double scale, bool zeros, struct boot_means *ret)
{
	double sum = 0, ss = 0;
	size_t n = 0;

	for (size_t i = 0; i < m->n[b]; i++) {
		double v = value_at(m, b, i, zeros) / scale;

		if (isnan(v))
			continue;
		n++;
		sum += v;
	}
	ret->run_mean = n ? sum / (double)n : NAN;
	for (size_t i = 0; i < m->n[b]; i++) {
		double v = value_at(m, b, i, zeros) / scale;

		if (!isnan(v))
			ss += (v - ret->run_mean) * (v - ret->run_mean);
	}
	ret->run_sd = n > 1 ? sqrt(ss / (double)n) : NAN;
}

static void reduce_build(const struct cmp_metric *m, size_t b, struct slots *s, double scale, bool zeros, double *v,
			 struct boot_means *ret)
{
	*ret = (struct boot_means){.v = v, .all = s->n_slots, .runs = m->n[b], .constant = true, .mean = NAN};
	for (size_t k = 0; k < s->n_slots; k++)
		s->sum[k] = s->count[k] = 0;
	for (size_t i = 0; i < m->n[b]; i++) {
		double x = value_at(m, b, i, zeros);

		if (isnan(x))
			continue;
		s->sum[s->slot[i]] += x / scale;
		s->count[s->slot[i]]++;
	}
	for (size_t i = 0; i < m->n[b]; i++) {
		double x = value_at(m, b, i, zeros) / scale, d = x - s->sum[s->slot[i]] / s->count[s->slot[i]];

		ret->within_ss += isnan(x) ? 0 : d * d;
		ret->within_df += !isnan(x);
	}
	for (size_t k = 0; k < s->n_slots; k++) {
		if (!s->count[k])
			continue;
		ret->hits += s->sum[k] > 0;
		v[ret->n++] = s->sum[k] / s->count[k];
	}
	ret->within_df -= ret->n;
	if (ret->n) {
		double sum = 0;

		for (size_t k = 0; k < ret->n; k++)
			sum += v[k];
		ret->mean = sum / (double)ret->n;
	}
	for (size_t k = 0; k < ret->n; k++) {
		ret->ss += (v[k] - ret->mean) * (v[k] - ret->mean);
		ret->constant = ret->constant && v[k] == v[0];
	}
	if (ret->constant && ret->n) {  /* summing must not invent a spread */
		ret->mean = v[0];
		ret->ss = 0;
	}
}

void cmp_reduce(const struct cmp_config *c, const struct cmp_metric *m, struct slots *slots, bool fail,
		struct reduced *ret)
{
	bool zeros = fail || c->rule == CMP_LKP;
	size_t total = 0, at = 0;

	for (size_t b = 0; b < c->n_builds; b++)
		total += m->n[b];
	*ret = (struct reduced){scale_of(m, c->n_builds), xcalloc(c->n_builds, sizeof(*ret->b)), c->n_builds,
				xcalloc(total + 1, sizeof(double))};
	for (size_t b = 0; b < c->n_builds; b++) {
		slots_set(&slots[b], m->boot ? m->boot[b] : NULL, m->n[b]);
		reduce_build(m, b, &slots[b], ret->scale, zeros, ret->mem + at, &ret->b[b]);
		spread_of_runs(m, b, ret->scale, zeros, &ret->b[b]);
		at += m->n[b];
	}
}

void cmp_reduced_release(struct reduced *r)
{
	free(r->b);
	free(r->mem);
}

double cmp_between_share(const struct reduced *r)
{
	double ss_b = 0, ss_w = 0, n = 0, between, within;
	size_t df_b = 0, df_w = 0;

	for (size_t b = 0; b < r->n_builds; b++) {
		const struct boot_means *x = &r->b[b];

		if (x->n < 2 || !x->within_df)
			continue;
		n = (double)(x->within_df + x->n) / (double)x->n;       /* runs per boot; equal ones are usual */
		ss_b += x->ss * n;
		df_b += x->n - 1;
		ss_w += x->within_ss;
		df_w += x->within_df;
	}
	if (!df_b || !df_w)
		return NAN;
	within = ss_w / (double)df_w;
	between = MAX(0, (ss_b / (double)df_b - within) / n);
	return between + within > 0 ? between / (between + within) : NAN;
}
