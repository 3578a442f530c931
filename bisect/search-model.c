/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search-model.c - likelihood of every class of candidates.
 *
 * A value measured at commit x is  y = level(x) + sigma * noise,  level(x) = good or bad. Under a class it is known which
 * of the two each measured commit has, so
 *
 *	L(class) = sum over sigma, shape of  p(sigma) p(shape) * integral over good and bad of
 *		pi(bad - good | sigma) * product over the good sites of p(y | good) * product over the bad sites of p(y | bad)
 *
 * with flat priors for the two levels, 1/sigma for sigma above the metric's resolution, and a Cauchy prior (scale
 * EFFECT_SCALE sigma) for the effect, as in the usual Bayes factor for a t test (Rouder et al. 2009). The integrals are sums
 * over grids that follow sigma, which is exact to many digits for such smooth functions (the trapezoid rule converges
 * geometrically). "No effect" has one level for all sites. Shapes of the noise, grids and densities: search-noise.c.
 *
 * A commit that lies clearly between the two levels (a second step, a lucky code layout) fits neither label. It may then
 * have a level of its own, which speaks for the nearer label: so of two steps the larger is found first, of two equal ones
 * the earlier, and never a commit between them.
 *
 * Commits that do not descend from good: search-forks.c. Where all that is measured of a past has one label under a
 * class, that label's level and the own one are mixed cell by cell; where both labels occur the two are summed one
 * after the other.
 */
#include <Rmath.h>
#include "bisect/search-internal.h"

#define EFFECT_SCALE M_SQRT2    /* in sigma; twice sigma was too sure of small effects (stated .886, right .852), sigma too unsure */
#define NEGLIGIBLE_LEVEL (-11.0) /* nats below the best: summed up less than a ten-thousandth */
#define NEGLIGIBLE_ROW (-16.0)
#define OWN_LEVEL_ODDS 0.02      /* prior of a level of its own */
#define OWN_LEVEL_SLOPE 2.0      /* nats for a label per standard error that the level is on its side of the turn */
#define MAX_SPLITS 3             /* pasts with both labels whose levels are summed both ways; further ones: the own */
#define OWN_LEVEL_TURN 0.45      /* where: a little below the middle, so that equal steps do not tie */

struct row_sum { double log_sum, mean, var; };

/* What of a row matters: weights up to the largest, which is 1. */
struct levels { size_t from, to; double log_max, w[MAX_LEVELS]; };

static void row_levels(const double *l, size_t n, struct levels *ret)
{
	double max = -INFINITY;

	for (size_t j = 0; j < n; j++)
		max = MAX(max, l[j]);
	ret->log_max = max;
	for (ret->from = 0; ret->from < n && l[ret->from] - max < NEGLIGIBLE_LEVEL; ret->from++)
		;
	for (ret->to = n; ret->to > ret->from && l[ret->to - 1] - max < NEGLIGIBLE_LEVEL; ret->to--)
		;
	for (size_t j = ret->from; j < ret->to; j++)
		ret->w[j] = exp(l[j] - max);
}

static double log_step(const struct grid *g, size_t r)
{
	return g->n_levels > 1 ? log(g->row[r].step) : 0;
}

/* Integral over the levels of one row, with the level's mean and variance under it. */
static void integrate_row(const struct grid *g, size_t r, const double *ll, struct row_sum *ret)
{
	double sum = 0, m1 = 0, m2 = 0;
	struct levels l;

	row_levels(ll + r * g->n_levels, g->n_levels, &l);
	for (size_t j = l.from; j < l.to; j++) {
		double u = (double)j - 0.5 * (g->n_levels - 1);

		sum += l.w[j];
		m1 += l.w[j] * u;
		m2 += l.w[j] * u * u;
	}
	m1 /= sum;
	m2 = m2 / sum - m1 * m1;
	ret->log_sum = l.log_max + log(sum) + log_step(g, r);
	ret->mean = g->row[r].center + m1 * g->row[r].step;
	ret->var = MAX(m2, 0.0) * g->row[r].step * g->row[r].step;
}

double grid_integral(const struct grid *g, size_t r, const double *ll)
{
	struct row_sum sum;

	integrate_row(g, r, ll, &sum);
	return sum.log_sum;
}

double log_add(double a, double b)
{
	double hi = MAX(a, b), lo = MIN(a, b);

	return lo == -INFINITY ? hi : hi + log1p(exp(lo - hi));
}

struct pair_sum { double log_sum, good, bad, delta2, good_var, bad_var; };

struct model {
	size_t cells, n_sites;          /* cells of good and bad each */
	const double **good, **bad;     /* each site's tables */
	double **own;                   /* of those with a level of their own */
	double *sum_good, *sum_bad;     /* scratch */
	struct pair_sum *rows;
	bool *skip;                     /* rows that do not matter */
	struct shifts shifts;
};

static void model_release(struct model *m)
{
	for (size_t i = 0; i < m->n_sites; i++)
		free(m->own[i]);
	free(m->own);
	free(m->good);
	free(m->bad);
	free(m->sum_good);
	free(m->sum_bad);
	free(m->rows);
	free(m->skip);
	shifts_release(&m->shifts);
}

/* Lets a site between the levels have its own: both labels get that alternative. */
static void own_level(const struct search *s, struct model *m, size_t i)
{
	const struct site *t = &s->site[i], *base = search_site(s, 0), *head = search_site(s, s->dag->n - 1);
	const struct noise *w = &s->noise;
	double at = noise_location(t->y, t->n, w->sigma), share = (at - w->good.row[0].center) / w->delta, se, tilt;
	struct grid own = w->good;
	_cleanup_free_ double *ll = NULL;

	if (t == base || t == head || !(share > 0.1 && share < 0.9))
		return;
	se = w->sigma * sqrt(1.0 / t->n + 0.25 / base->n + 0.25 / head->n);
	if (MIN(share, 1 - share) * fabs(w->delta) < 4 * se)
		return;
	tilt = OWN_LEVEL_SLOPE * (share - OWN_LEVEL_TURN) * fabs(w->delta) / se;
	tilt = MAX(-30.0, MIN(30.0, tilt));
	grid_levels(&own, at, t->n, t->n);
	ll = xcalloc(own.n_rows * own.n_levels, sizeof(*ll));
	grid_loglik(&own, t->y, t->n, ll);
	m->own[i] = xmalloc(2 * m->cells * sizeof(double));
	memcpy(m->own[i], m->good[i], m->cells * sizeof(double));
	memcpy(m->own[i] + m->cells, m->bad[i], m->cells * sizeof(double));
	m->good[i] = m->own[i];
	m->bad[i] = m->own[i] + m->cells;
	for (size_t r = 0; r < own.n_rows; r++) {
		struct row_sum sum;
		double odds;

		integrate_row(&own, r, ll, &sum);
		odds = sum.log_sum - log(fabs(w->delta)) + log(OWN_LEVEL_ODDS);
		for (size_t j = 0; j < w->good.n_levels; j++) {
			double *good = m->own[i] + r * w->good.n_levels + j, *bad = good + m->cells;

			*good = log_add(*good, odds - log1p(exp(tilt)));
			*bad = log_add(*bad, odds - log1p(exp(-tilt)));
		}
	}
}

static void model_prepare(struct search *s, struct model *m)
{
	noise_update(s);
	m->cells = s->noise.good.n_rows * s->noise.good.n_levels;
	m->n_sites = s->n_sites;
	m->good = xcalloc(s->n_sites, sizeof(*m->good));
	m->bad = xcalloc(s->n_sites, sizeof(*m->bad));
	m->own = xcalloc(s->n_sites, sizeof(*m->own));
	m->sum_good = xcalloc(m->cells, sizeof(double));
	m->sum_bad = xcalloc(m->cells, sizeof(double));
	m->rows = xcalloc(s->noise.good.n_rows, sizeof(*m->rows));
	m->skip = xcalloc(s->noise.good.n_rows, sizeof(*m->skip));
	for (size_t i = 0; i < s->n_sites; i++) {
		m->good[i] = s->site[i].ll[TABLE_GOOD];
		m->bad[i] = s->site[i].ll[TABLE_BAD];
		if (!s->c.means_known && !site_past(s, i))
			own_level(s, m, i);
	}
	shifts_find(s, &m->shifts);
}

/* Integral over both levels of one row: likelihood times the effect's prior. */
static void integrate_pair(const struct search *s, size_t r, struct model *m, struct pair_sum *ret)
{
	const struct grid *gg = &s->noise.good, *gb = &s->noise.bad;
	double sigma = gg->row[r].sigma, scale = s->c.means_known ? 0 : 1 / (EFFECT_SCALE * sigma);
	double sum = 0, sg = 0, sb = 0, sd2 = 0, sg2 = 0, sb2 = 0;
	double from_g = gg->row[r].center, from_b = gb->row[r].center; /* squares around what is near */
	double bad[MAX_LEVELS];
	struct levels g, b;

	row_levels(m->sum_good + r * gg->n_levels, gg->n_levels, &g);
	row_levels(m->sum_bad + r * gb->n_levels, gb->n_levels, &b);
	for (size_t k = b.from; k < b.to; k++)
		bad[k] = level_at(gb, r, k);
	for (size_t j = g.from; j < g.to; j++) {
		double good = level_at(gg, r, j), one = 0, first = 0, second = 0;

		for (size_t k = b.from; k < b.to; k++) {
			double d = bad[k] - good, z = d * scale, w = b.w[k] / (1 + z * z);

			one += w;
			first += w * d;
			second += w * d * d;
		}
		sum += g.w[j] * one;
		sg += g.w[j] * one * (good - from_g);
		sg2 += g.w[j] * one * (good - from_g) * (good - from_g);
		sb += g.w[j] * (first + one * (good - from_b));
		sb2 += g.w[j] * (second + 2 * first * (good - from_b) + one * (good - from_b) * (good - from_b));
		sd2 += g.w[j] * second;
	}
	sg /= sum;
	sb /= sum;
	ret->log_sum = g.log_max + b.log_max + log(sum) + log_step(gg, r) + log_step(gb, r) + gg->row[r].log_prior +
		       (scale > 0 ? log(scale * M_1_PI) : 0);
	ret->good = from_g + sg;
	ret->bad = from_b + sb;
	ret->delta2 = sd2 / sum;
	ret->good_var = MAX(sg2 / sum - sg * sg, 0.0);
	ret->bad_var = MAX(sb2 / sum - sb * sb, 0.0);
}

static void add_cells(const struct grid *g, const bool *skip, const double *from, double *to)
{
	for (size_t r = 0; r < g->n_rows; r++)
		for (size_t j = r * g->n_levels; j < (r + 1) * g->n_levels && !skip[r]; j++)
			to[j] += from[j];
}

static void add_site(const struct search *s, struct model *m, uint32_t k, size_t i)
{
	bool bad = site_is_bad(s, k, i);

	add_cells(&s->noise.good, m->skip, bad ? m->bad[i] : m->good[i], bad ? m->sum_bad : m->sum_good);
}

static size_t bad_sites(const struct search *s, uint32_t k, const struct shift *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += site_is_bad(s, k, t->site[i]);
	return n;
}

/* Both levels of what was summed are integrated out; row[r] (may be NULL) is added to each row. */
static double sum_rows(const struct search *s, struct model *m, const double *row, struct estimate *ret)
{
	const struct grid *g = &s->noise.good;
	double total = -INFINITY, w = 0, d2 = 0;
	struct estimate e = {0};

	for (size_t r = 0; r < g->n_rows; r++) {
		m->rows[r].log_sum = -INFINITY;
		if (!m->skip[r])
			integrate_pair(s, r, m, &m->rows[r]);
		m->rows[r].log_sum += row ? row[r] : 0;
		total = log_add(total, m->rows[r].log_sum);
	}
	for (size_t r = 0; r < g->n_rows; r++) {
		double p = m->skip[r] ? 0 : exp(m->rows[r].log_sum - total);

		w += p;
		e.good += p * m->rows[r].good;
		e.bad += p * m->rows[r].bad;
		e.sigma += p * g->row[r].sigma;
		d2 += p * m->rows[r].delta2;
		e.good_var += p * m->rows[r].good_var;
		e.bad_var += p * m->rows[r].bad_var;
	}
	e.delta = (e.bad - e.good) / w;
	*ret = (struct estimate){e.good / w, e.bad / w, e.sigma / w, e.delta,
				 sqrt(MAX(d2 / w - e.delta * e.delta, 0.0)), e.good_var / w, e.bad_var / w};
	return total;
}

/* The same with every past of split[n] at good's level or at its own: own is a set of bits. */
static double sum_split(const struct search *s, struct model *m, uint32_t k, struct shift *const *split, size_t n,
			size_t own, struct estimate *ret)
{
	const struct shifts *h = &m->shifts;
	size_t rows = s->noise.good.n_rows;
	_cleanup_free_ double *row = xcalloc(rows, sizeof(*row));

	for (size_t f = 0; f < n; f++) {
		bool alone = f >= MAX_SPLITS || own >> f & 1;
		const double *level = alone ? shift_split(s, split[f], s->cl.pattern + (size_t)k * s->cl.words) : NULL;

		for (size_t r = 0; r < rows; r++)
			row[r] += alone ? level[r] + h->log_own : h->log_not;
		for (size_t i = 0; i < split[f]->n && !alone; i++)
			add_site(s, m, k, split[f]->site[i]);
	}
	return sum_rows(s, m, row, ret);
}

static double split_loglik(const struct search *s, struct model *m, uint32_t k, struct shift *const *split, size_t n,
			   struct estimate *ret)
{
	size_t bytes = m->cells * sizeof(double), rows = s->noise.good.n_rows;
	_cleanup_free_ double *good = xmalloc(bytes), *bad = xmalloc(bytes), *row = xcalloc(rows, sizeof(*row));
	double total = -INFINITY;

	memcpy(good, m->sum_good, bytes);
	memcpy(bad, m->sum_bad, bytes);
	for (size_t r = 0; r < rows; r++)
		row[r] = -INFINITY;
	for (size_t own = 0; own < (size_t)1 << MIN(n, (size_t)MAX_SPLITS); own++) {
		struct estimate e;
		double one;

		memcpy(m->sum_good, good, bytes);
		memcpy(m->sum_bad, bad, bytes);
		one = sum_split(s, m, k, split, n, own, &e);
		total = log_add(total, one);
		if (!own)
			*ret = e;
		else if (isfinite(total))
			estimate_merge(ret, &e, exp(one - total));
		for (size_t r = 0; r < rows; r++)
			row[r] = log_add(row[r], m->rows[r].log_sum);
	}
	for (size_t r = 0; r < rows; r++)
		m->rows[r].log_sum = row[r];
	return total;
}

/* Likelihood of "the sites with a set bit are bad", and the effect under it. */
static double class_loglik(const struct search *s, struct model *m, uint32_t k, struct estimate *ret)
{
	_cleanup_free_ struct shift **split = xcalloc(m->shifts.n + 1, sizeof(*split));
	size_t n = 0;

	memset(m->sum_good, 0, m->cells * sizeof(double));
	memset(m->sum_bad, 0, m->cells * sizeof(double));
	for (size_t i = 0; i < s->n_sites; i++)
		if (!site_past(s, i))
			add_site(s, m, k, i);
	for (size_t f = 0; f < m->shifts.n; f++) {
		struct shift *t = &m->shifts.shift[f];
		size_t bad = bad_sites(s, k, t);

		if (bad && bad < t->n)
			split[n++] = t;
		else
			add_cells(&s->noise.good, m->skip, bad ? t->bad : t->good, bad ? m->sum_bad : m->sum_good);
	}
	return n ? split_loglik(s, m, k, split, n, ret) : sum_rows(s, m, NULL, ret);
}

/* Log density of a past's sites under class k at one cell. */
static double shift_at(const struct search *s, const struct model *m, uint32_t k, struct shift *t, size_t cell)
{
	size_t bad = bad_sites(s, k, t);
	double sum = 0;

	if (!bad || bad == t->n)
		return (bad ? t->bad : t->good)[cell];
	for (size_t i = 0; i < t->n; i++)
		sum += (site_is_bad(s, k, t->site[i]) ? m->bad : m->good)[t->site[i]][cell];
	return log_add(sum + m->shifts.log_not, shift_split(s, t, s->cl.pattern + (size_t)k * s->cl.words)
						[cell / s->noise.good.n_levels] + m->shifts.log_own);
}

/* The class that looks best at the middle of both grids, for every shape of noise. */
static uint32_t likely_class(const struct search *s, const struct model *m)
{
	const struct grid *g = &s->noise.good;
	double most = -INFINITY;
	uint32_t best = 0;

	for (uint32_t k = 0; k < s->cl.n; k++)
		for (size_t r = 0; r < g->n_rows; r++) {
			size_t cell = r * g->n_levels + g->n_levels / 2;
			double sum = g->row[r].log_prior;

			for (size_t i = 0; i < s->n_sites; i++)
				if (!site_past(s, i))
					sum += (site_is_bad(s, k, i) ? m->bad : m->good)[i][cell];
			for (size_t f = 0; f < m->shifts.n; f++)
				sum += shift_at(s, m, k, &m->shifts.shift[f], cell);
			if (sum > most) {
				most = sum;
				best = k;
			}
		}
	return best;
}

/* Spreads and shapes that are out of the race under the class that explains the data best need not be summed for others. */
static void skip_rows(const struct search *s, struct model *m)
{
	struct estimate e;
	double total = s->cl.n ? class_loglik(s, m, likely_class(s, m), &e) : 0;

	for (size_t r = 0; r < s->noise.good.n_rows && s->cl.n; r++)
		m->skip[r] = m->rows[r].log_sum - total < NEGLIGIBLE_ROW;
}

/* Adds a row to the running mean of the level, of which it makes up the share p. */
static void mix_level(struct estimate *e, const struct grid *g, size_t r, const struct row_sum *row, double p)
{
	double d = row->mean - e->good;

	e->good_var += p * (row->var - e->good_var) + p * (1 - p) * d * d;
	e->good += p * d;
	e->sigma += p * (g->row[r].sigma - e->sigma);
}

/* Likelihood of "no effect"; *ret_bad: the share of it in which every commit has the bad level (levels known). */
static double none_loglik(const struct search *s, struct model *m, double *ret_bad, struct estimate *ret_level)
{
	const struct grid *g = &s->noise.one;
	double total = -INFINITY, all_good = -INFINITY, all_bad = -INFINITY;
	size_t cells = g->n_rows * g->n_levels;
	_cleanup_free_ double *one = xcalloc(cells, sizeof(*one));
	struct row_sum sum;

	*ret_bad = 0;
	*ret_level = (struct estimate){0};
	for (size_t i = 0; i < s->n_sites; i++)
		for (size_t k = 0; k < cells && !site_past(s, i); k++)
			one[k] += s->site[i].ll[TABLE_ONE][k];
	for (size_t f = 0; f < m->shifts.n; f++) {
		_cleanup_free_ double *more = shift_mixed(s, &m->shifts.shift[f], TABLE_ONE);

		for (size_t k = 0; k < cells; k++)
			one[k] += more[k];
	}
	for (size_t r = 0; r < g->n_rows && !s->c.means_known; r++) {
		integrate_row(g, r, one, &sum);
		sum.log_sum += g->row[r].log_prior;
		total = log_add(total, sum.log_sum);
		mix_level(ret_level, g, r, &sum, exp(sum.log_sum - total));
	}
	if (!s->c.means_known)
		return total;
	/* with given levels: nothing bad although the head was, or nothing good */
	for (size_t r = 0; r < g->n_rows; r++) {
		double good = g->row[r].log_prior, bad = good;

		for (size_t i = 0; i < s->n_sites; i++) {
			good += site_past(s, i) ? 0 : m->good[i][r];
			bad += site_past(s, i) ? 0 : m->bad[i][r];
		}
		for (size_t f = 0; f < m->shifts.n; f++) {
			good += m->shifts.shift[f].good[r];
			bad += m->shifts.shift[f].bad[r];
		}
		all_good = log_add(all_good, good);
		all_bad = log_add(all_bad, bad);
	}
	total = log_add(all_good, all_bad);
	*ret_bad = exp(all_bad - total);
	return total - M_LN2;
}

static void mix_estimates(struct search *s, const struct estimate *e)
{
	const struct classes *cl = &s->cl;
	double w = 0, d1 = 0, d2 = 0;
	struct estimate m = {0};

	for (uint32_t k = 0; k < cl->n; k++) {
		double p = cl->post[k];

		w += p;
		m.good += p * e[k].good;
		m.bad += p * e[k].bad;
		m.sigma += p * e[k].sigma;
		d1 += p * e[k].delta;
		d2 += p * (e[k].delta * e[k].delta + e[k].delta_sd * e[k].delta_sd);
	}
	if (!(w > 0))
		return;
	s->est = (struct estimate){.good = m.good / w, .bad = m.bad / w, .sigma = m.sigma / w, .delta = d1 / w,
				   .delta_sd = sqrt(MAX(d2 / w - d1 / w * d1 / w, 0.0))};
}

/* The cell of a row that lies nearest to a level. */
static size_t cell_at(const struct grid *g, size_t r, double level)
{
	double j = (level - g->row[r].center) / MAX(g->row[r].step, 1e-300) + 0.5 * (g->n_levels - 1);

	return r * g->n_levels + (size_t)MAX(0.0, MIN(round(j), g->n_levels - 1.0));
}

/* Where a past's good and bad sites lie if the past has a level of its own: each by its boots and by those of the other
 * label, a step away. */
static void own_levels(const struct search *s, const struct shift *t, uint32_t k, double ret[2])
{
	double sum[2] = {0, 0}, n[2] = {0, 0}, delta = s->noise.delta, var = s->noise.sigma * s->noise.sigma, apart;

	for (size_t i = 0; i < t->n; i++) {
		const struct site *at = &s->site[t->site[i]];
		bool bad = site_is_bad(s, k, t->site[i]);

		sum[bad] += at->n * noise_location(at->y, at->n, s->noise.sigma);
		n[bad] += at->n;
	}
	apart = shift_spread(s) * shift_spread(s);
	for (int bad = 0; bad < 2; bad++) {
		double w = n[!bad] > 0 ? 1 / (var / n[!bad] + apart) : 0, own = n[bad] / var;
		double other = n[!bad] > 0 ? sum[!bad] / n[!bad] + (bad ? delta : -delta) : 0;

		ret[bad] = (w * other + (n[bad] > 0 ? own * sum[bad] / n[bad] : 0)) / (w + own);
	}
}

/* The same for one class, mixed by how likely its own level is: seen from the likeliest spread, row, and effect e. */
static void fork_level(struct search *s, struct model *m, uint32_t k, struct shift *t, size_t row,
		       const struct estimate *e, double ret[2])
{
	const struct noise *w = &s->noise;
	size_t bad = bad_sites(s, k, t);
	const double *own = !bad || bad == t->n ? t->own : shift_split(s, t, s->cl.pattern + (size_t)k * s->cl.words);
	double as_label = m->shifts.log_not, p, level[2];

	for (size_t i = 0; i < t->n; i++)
		as_label += site_is_bad(s, k, t->site[i]) ? m->bad[t->site[i]][cell_at(&w->bad, row, e->bad)]
							  : m->good[t->site[i]][cell_at(&w->good, row, e->good)];
	p = 1 / (1 + exp(as_label - own[row] - m->shifts.log_own));
	own_levels(s, t, k, level);
	ret[0] = p * level[0] + (1 - p) * e->good;
	ret[1] = p * level[1] + (1 - p) * e->bad;
}

/* Expected level of every past that was measured, under every class. */
static void fork_levels_find(struct search *s, struct model *m, const struct likelihood *l)
{
	struct fork_levels *out = &s->forks;
	struct estimate e;
	uint32_t best = 0;
	size_t row = 0;

	fork_levels_release(out);
	for (uint32_t k = 1; k < s->cl.n; k++)
		if (l->of_class[k] + log(s->cl.weight[k]) > l->of_class[best] + log(s->cl.weight[best]))
			best = k;
	class_loglik(s, m, best, &e);
	for (size_t r = 1; r < s->noise.good.n_rows; r++)
		if (m->rows[r].log_sum > m->rows[row].log_sum)
			row = r;
	out->n = m->shifts.n;
	out->past = xcalloc(out->n, sizeof(*out->past));
	out->level = xcalloc(out->n * s->cl.n, sizeof(*out->level));
	for (size_t f = 0; f < out->n; f++) {
		out->past[f] = m->shifts.shift[f].past;
		for (uint32_t k = 0; k < s->cl.n; k++)
			fork_level(s, m, k, &m->shifts.shift[f], row, &e, out->level[f * s->cl.n + k]);
	}
}

void model_loglik(struct search *s, struct likelihood *ret)
{
	_cleanup_(model_release) struct model m = {0};

	model_prepare(s, &m);
	ret->none = none_loglik(s, &m, &ret->all_bad, &ret->level);
	skip_rows(s, &m);
	for (uint32_t k = 0; k < s->cl.n; k++)
		ret->of_class[k] = class_loglik(s, &m, k, &ret->est[k]);
	if (m.shifts.n && s->cl.n && !s->flat)
		fork_levels_find(s, &m, ret);
}

void model_evaluate(struct search *s)
{
	struct classes *cl = &s->cl;
	struct likelihood l = {.of_class = cl->loglik, .est = cl->est};
	double max, sum;

	if (s->c.binary)
		binary_loglik(s, &l);
	else
		model_loglik(s, &l);
	if (!s->c.means_known && !s->c.binary)
		drift_average(s, &l);
	max = l.none += log(s->none_prior);
	for (uint32_t k = 0; k < cl->n; k++) {
		cl->post[k] = cl->loglik[k] + log(cl->weight[k]) + log1p(-s->none_prior);
		max = MAX(max, cl->post[k]);
	}
	s->none = sum = exp(l.none - max);
	for (uint32_t k = 0; k < cl->n; k++)
		sum += cl->post[k] = exp(cl->post[k] - max);
	s->none /= sum;
	s->none_bad = s->none * l.all_bad;
	for (uint32_t k = 0; k < cl->n; k++)
		cl->post[k] /= sum;
	s->level = l.level;
	mix_estimates(s, cl->est);
}

double model_end_odds(struct search *s, uint32_t k, uint32_t *ret_end)
{
	const uint32_t end[] = {0, s->dag->n - 1};
	size_t words = s->cl.words, bytes = words * sizeof(uint64_t);
	struct search one = *s;
	struct estimate e[3];
	double of_class[3], weight[3] = {1, 1, 1};
	struct likelihood l = {.of_class = of_class, .est = e};

	one.flat = true;
	one.cl = (struct classes){.n = 3, .words = s->cl.words, .pattern = xmalloc(3 * bytes), .weight = weight,
				  .est = e};
	for (size_t f = 0; f < 3; f++)
		memcpy(one.cl.pattern + f * words, s->cl.pattern + k * words, bytes);
	for (size_t f = 0; f < 2; f++) {
		size_t i = (size_t)(search_site(s, end[f]) - s->site);

		one.cl.pattern[(f + 1) * words + i / 64] ^= UINT64_C(1) << (i % 64);
	}
	model_loglik(&one, &l);
	drift_average(&one, &l);
	free(one.cl.pattern);
	*ret_end = of_class[1] > of_class[2] ? end[0] : end[1];
	return exp(MAX(of_class[1], of_class[2]) - of_class[0]);
}

/* Mutual information of a binary question and one Gaussian measurement of it, by quadrature. */
double split_information(double p, double snr)
{
	double h = 0, q = 1 - p;

	if (!(p > 0) || !(q > 0))
		return 0;
	if (snr > 12)
		return -(p * log2(p) + q * log2(q));
	for (int i = -32; i <= 32; i++) { /* y ~ N(0,1) given "good"; relative entropies of each side to the mixture */
		double z = i * 0.2, phi = exp(-0.5 * z * z) * 0.2 * M_1_SQRT_2PI;

		h -= phi * q * log2(q + p * exp(snr * z - 0.5 * snr * snr));
		h -= phi * p * log2(p + q * exp(-snr * z - 0.5 * snr * snr));
	}
	return MAX(h, 0.0);
}
