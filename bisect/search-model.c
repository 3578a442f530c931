#define TW (getenv("TW")?atof(getenv("TW")):.5)
#define TN (getenv("TN")?atof(getenv("TN")):30)
/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search-model.c - likelihood of every class of candidates.
 *
 * A value measured at commit x is  y = level(x) + sigma * t_nu,  level(x) = good or bad. Under a class it is known which
 * of the two each measured commit has, so
 *
 *	L(class) = sum over sigma, nu of  p(sigma) p(nu) pi(delta | sigma) * [ integral over good of product over the good sites ]
 *	                                                                  * [ integral over bad of product over the bad sites ]
 *
 * with flat priors for the two levels, 1/sigma for sigma above the metric's resolution, and a Cauchy prior (scale
 * EFFECT_SCALE sigma) for the effect, as in the usual Bayes factor for a t test (Rouder et al. 2009). The integrals are sums
 * over grids that follow sigma, which is exact to many digits for such smooth functions (the trapezoid rule converges
 * geometrically). "No effect" has one level for all sites.
 *
 * A commit that lies clearly between the two levels (a second step, a lucky code layout) fits neither label. It may then
 * have a level of its own, which speaks for the nearer label: so of two steps the larger is found first, of two equal ones
 * the earlier, and never a commit between them.
 */
#include <Rmath.h>
#include "bisect/search-internal.h"

#define EFFECT_SCALE 2.0
#define MAX_SIGMAS 16
#define MAX_LEVELS 96
#define N_SHAPES 3
#define CORE_NU 31.0            /* of the boots that are no outliers, where outliers are modelled apart */
#define CORE_NORM 0.39573849    /* gamma(16) / (gamma(15.5) sqrt(31 pi)) */
#define OUTLIER_SCALE 5.0       /* of a Cauchy density for those that are, in sigma */
#define OWN_LEVEL_ODDS 0.02      /* prior of a level of its own */
#define OWN_LEVEL_SLOPE 2.0      /* nats for a label per standard error that the level is on its side of the turn */
#define OWN_LEVEL_TURN 0.45      /* where: a little below the middle, so that equal steps do not tie */

/* How boots scatter: Student's t, or (nu 0) a nearly normal core with a share of far outliers. Which of the three it is, is
 * learnt with the rest; t with three degrees of freedom alone would waste a quarter of the boots of a clean machine. */
struct shape { double nu, outliers, weight; };
static const struct shape shapes[N_SHAPES] = {{3, 0, 0.1}, {0, 0.001, 0.7}, {0, 0.05, 0.2}};
static const struct shape shapes_known[N_SHAPES] = {{3, 0, 0.01}, {0, 0.001, 0.95}, {0, 0.05, 0.04}};

/* One grid: for each (sigma, shape) row a run of levels. */
struct grid {
	size_t n_rows, n_levels;
	struct { double sigma, nu, norm, log_prior, center, step; size_t shapes; } row[MAX_SIGMAS * N_SHAPES];
};

struct row_sum { double log_sum, mean, var; };

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), cmp_double);
	return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

/* Location of a t_3 sample of known scale by iteratively reweighted means, from the median. */
static double location(const double *y, size_t n, double sigma)
{
	_cleanup_free_ double *v = xmalloc(n * sizeof(*v));
	double m;

	memcpy(v, y, n * sizeof(*v));
	m = median_of(v, n);
	for (int i = 0; i < 20 && sigma > 0; i++) {
		double sw = 0, swy = 0;

		for (size_t k = 0; k < n; k++) {
			double z = (y[k] - m) / sigma, w = 4 / (3 + z * z);

			sw += w;
			swy += w * (y[k] - m);
		}
		m += swy / sw;
	}
	return m;
}

/* Scale of t_3 residuals around each site's own location: does not depend on which commit is guilty. *ret_df: the
 * degrees of freedom behind it. Alternates between scale and locations. */
static double pooled_scale(const struct search *s, double *ret_df)
{
	double sigma = 0, df = 0;
	_cleanup_free_ double *m = xcalloc(s->n_sites, sizeof(*m));

	for (size_t i = 0; i < s->n_sites; i++)
		df += s->site[i].n - 1.0;
	*ret_df = df;
	if (df < 1)
		return 0;
	for (size_t i = 0; i < s->n_sites; i++)
		m[i] = location(s->site[i].y, s->site[i].n, 0);
	for (int round = 0; round < 12; round++) {
		double sum = 0;

		for (size_t i = 0; i < s->n_sites; i++) {
			const struct site *t = &s->site[i];

			if (t->n < 2)
				continue;
			if (round)
				m[i] = location(t->y, t->n, sigma);
			for (size_t k = 0; k < t->n; k++) {
				double r = t->y[k] - m[i], z = sigma > 0 ? r / sigma : 0;

				sum += (sigma > 0 ? 4 / (3 + z * z) : 1) * r * r;
			}
		}
		sigma = sqrt(sum / df);
		if (!(sigma > 0))
			return 0;
	}
	return sigma;
}

static double scale_floor(const struct search *s)
{
	double level = fabs(s->site[0].y[0]);

	for (size_t i = 1; i < s->n_sites; i++)
		level = MAX(level, fabs(s->site[i].y[0]));
	/* equal values must not mean infinite precision; nobody prints more than nine digits */
	return MAX(MAX(s->c.sigma_floor, 1e-9) * level, 1e-290);
}

static double t_norm(double nu, double sigma)
{
	return lgammafn((nu + 1) / 2) - lgammafn(nu / 2) - 0.5 * log(nu * M_PI) - log(sigma);
}

/* Rows for sigma around what the sites themselves show, in steps of one posterior standard deviation. */
static void grid_rows(const struct search *s, struct grid *g, double sigma, double df)
{
	double low = scale_floor(s), width = 1 / sqrt(MAX(df, 1.0)), at = MAX(sigma, low);
	const struct shape given = {s->c.nu, 0, 1}, *shape = s->c.nu > 0 ? &given : s->c.means_known ? shapes_known : shapes;
	size_t n_shapes = s->c.nu > 0 ? 1 : N_SHAPES, n = s->c.means_known ? 1 : 10;

	g->n_rows = 0;
	if (s->c.means_known)
		at = ldexp(s->c.sigma, -s->exponent);
	for (size_t k = 0; k < n; k++) {
		double sig = n == 1 ? at : at * exp(width * ((double)k - 4));

		if (n > 1 && sig < low * 0.999)
			continue;
		for (size_t v = 0; v < n_shapes; v++) {
			g->row[g->n_rows].sigma = sig;
			g->row[g->n_rows].nu = shape[v].nu;
			g->row[g->n_rows].log_prior = log(shape[v].weight);
			g->row[g->n_rows].shapes = n_shapes;
			g->row[g->n_rows++].norm = shape[v].nu > 0 ? t_norm(shape[v].nu, sig) : -log(sig);
		}
	}
}

/* Levels around center, wide enough for n0 values alone, fine enough for all n. */
static void grid_levels(struct grid *g, double center, size_t n0, size_t n)
{
	double half = (6 + 6.0 / n0) / sqrt(n0), step = 1.3 / sqrt(n);
	size_t levels = 2 * (size_t)ceil(half / step) + 1;

	g->n_levels = MIN(MAX(levels, (size_t)9), (size_t)MAX_LEVELS - 1);
	for (size_t r = 0; r < g->n_rows; r++) {
		g->row[r].center = center;
		g->row[r].step = 2 * half * g->row[r].sigma / (g->n_levels - 1);
	}
}

static double level_at(const struct grid *g, size_t row, size_t j)
{
	return g->row[row].center + ((double)j - 0.5 * (g->n_levels - 1)) * g->row[row].step;
}

/* Log density, without its constant, of n values at one level under Student's t. Eight factors share one log(). */
static double loglik_t(double mu, double sigma, double nu, const double *y, size_t n)
{
	double sum = 0, scale = 1 / (sigma * sqrt(nu));

	for (size_t k = 0; k < n;) {
		double product = 1;

		for (size_t end = MIN(n, k + 8); k < end; k++) {
			double z = (y[k] - mu) * scale;

			product *= MIN(1 + z * z, 1e35);
		}
		sum += log(product);
	}
	return -0.5 * (nu + 1) * sum;
}

/* The same for all three shapes at once: t_3, and (1 - e) t_31(z) + e Cauchy(z / OUTLIER_SCALE) / OUTLIER_SCALE twice. */
static void loglik_shapes(double mu, double sigma, const double *y, size_t n, double ret[N_SHAPES])
{
	const double core_norm = CORE_NORM, wide_norm = M_1_PI / OUTLIER_SCALE, scale = 1 / sigma;
	const double few = shapes[1].outliers, many = shapes[2].outliers;
	double sum[N_SHAPES] = {0};

	for (size_t k = 0; k < n;) {
		double product[N_SHAPES] = {1, 1, 1};

		for (size_t end = MIN(n, k + 8); k < end; k++) {
			double z = (y[k] - mu) * scale, z2 = MIN(z * z, 1e32);
			double q = 1 + z2 / CORE_NU, q2 = q * q, q4 = q2 * q2, q8 = q4 * q4;
			double core = core_norm / (q8 * q8), wide = wide_norm / (1 + z2 / (OUTLIER_SCALE * OUTLIER_SCALE));

			product[0] *= 1 + z2 / 3;
			product[1] *= core + few * (wide - core);
			product[2] *= core + many * (wide - core);
		}
		for (size_t v = 0; v < N_SHAPES; v++)
			sum[v] += log(product[v]);
	}
	ret[0] = -2 * sum[0];
	ret[1] = sum[1];
	ret[2] = sum[2];
}

/* Adds the log density of n values at every cell. */
static void grid_loglik(const struct grid *g, const double *y, size_t n, double *ll)
{
	size_t step = g->row[0].shapes;

	for (size_t r = 0; r < g->n_rows; r += step)
		for (size_t j = 0; j < g->n_levels; j++) {
			double at[N_SHAPES], mu = level_at(g, r, j), sigma = g->row[r].sigma;

			if (step == 1)
				at[0] = loglik_t(mu, sigma, g->row[r].nu, y, n);
			else
				loglik_shapes(mu, sigma, y, n, at);
			for (size_t v = 0; v < step; v++)
				ll[(r + v) * g->n_levels + j] += n * g->row[r + v].norm + at[v];
		}
}

/* Integral over the levels of one row, with the level's mean and variance under it. */
static void integrate_row(const struct grid *g, size_t r, const double *ll, struct row_sum *ret)
{
	const double *l = ll + r * g->n_levels;
	double max = -INFINITY, sum = 0, m1 = 0, m2 = 0;

	for (size_t j = 0; j < g->n_levels; j++)
		max = MAX(max, l[j]);
	for (size_t j = 0; j < g->n_levels; j++) {
		double w = l[j] - max, u = (double)j - 0.5 * (g->n_levels - 1);

		if (w < -36)
			continue;
		w = exp(w);
		sum += w;
		m1 += w * u;
		m2 += w * u * u;
	}
	m1 /= sum;
	m2 = m2 / sum - m1 * m1;
	ret->log_sum = max + log(sum) + (g->n_levels > 1 ? log(g->row[r].step) : 0);
	ret->mean = g->row[r].center + m1 * g->row[r].step;
	ret->var = MAX(m2, 0.0) * g->row[r].step * g->row[r].step;
}

static double log_add(double a, double b)
{
	double hi = MAX(a, b), lo = MIN(a, b);

	return lo == -INFINITY ? hi : hi + log1p(exp(lo - hi));
}

struct model {
	struct grid good, bad, one;
	size_t cells;           /* of good and bad each */
	double *ll_good, *ll_bad;       /* n_sites x cells */
	double *ll_one;
	double delta;           /* first guess of the effect, for its prior */
	struct row_sum *rows_good, *rows_bad;   /* scratch */
};

static void model_release(struct model *m)
{
	free(m->ll_good);
	free(m->ll_bad);
	free(m->ll_one);
	free(m->rows_good);
	free(m->rows_bad);
}

static void levels_unknown(const struct search *s, struct model *m, double sigma)
{
	const struct site *base = search_site(s, 0), *head = search_site(s, s->dag->n - 1);
	_cleanup_free_ double *all = xmalloc(s->n_obs * sizeof(*all));
	double good = location(base->y, base->n, sigma), bad = location(head->y, head->n, sigma);
	size_t n = 0;

	for (size_t i = 0; i < s->n_sites; i++) {
		memcpy(all + n, s->site[i].y, s->site[i].n * sizeof(*all));
		n += s->site[i].n;
	}
	m->delta = bad - good;
	grid_levels(&m->good, good, base->n, s->n_obs);
	grid_levels(&m->bad, bad, head->n, s->n_obs);
	m->bad.n_levels = m->good.n_levels = MAX(m->good.n_levels, m->bad.n_levels);
	grid_levels(&m->one, location(all, n, sigma), MIN(base->n, head->n), s->n_obs);
	for (size_t r = 0; r < m->good.n_rows; r++) { /* same number of levels: the wider grid is only finer */
		double half_g = (6 + 6.0 / base->n) / sqrt(base->n), half_b = (6 + 6.0 / head->n) / sqrt(head->n);

		m->good.row[r].step = 2 * half_g * m->good.row[r].sigma / (m->good.n_levels - 1);
		m->bad.row[r].step = 2 * half_b * m->bad.row[r].sigma / (m->bad.n_levels - 1);
	}
}

/* Lets a site between the levels have its own: both labels get that alternative. */
static void own_level(const struct search *s, struct model *m, size_t i, double sigma)
{
	const struct site *t = &s->site[i], *base = search_site(s, 0), *head = search_site(s, s->dag->n - 1);
	double at = location(t->y, t->n, sigma), share = (at - m->good.row[0].center) / m->delta, se, tilt;
	struct grid own = m->good;
	_cleanup_free_ double *ll = NULL;

	if (t == base || t == head || !(share > 0.1 && share < 0.9))
		return;
	se = sigma * sqrt(1.0 / t->n + 0.25 / base->n + 0.25 / head->n);
	if (MIN(share, 1 - share) * fabs(m->delta) < 4 * se)
		return;
	tilt = OWN_LEVEL_SLOPE * (share - OWN_LEVEL_TURN) * fabs(m->delta) / se;
	tilt = MAX(-30.0, MIN(30.0, tilt));
	grid_levels(&own, at, t->n, t->n);
	ll = xcalloc(own.n_rows * own.n_levels, sizeof(*ll));
	grid_loglik(&own, t->y, t->n, ll);
	for (size_t r = 0; r < own.n_rows; r++) {
		struct row_sum sum;
		double odds;

		integrate_row(&own, r, ll, &sum);
		odds = sum.log_sum - log(fabs(m->delta)) + log(OWN_LEVEL_ODDS);
		for (size_t j = 0; j < m->good.n_levels; j++) {
			size_t cell = i * m->cells + r * m->good.n_levels + j;

			m->ll_good[cell] = log_add(m->ll_good[cell], odds - log1p(exp(tilt)));
			m->ll_bad[cell] = log_add(m->ll_bad[cell], odds - log1p(exp(-tilt)));
		}
	}
}

static void model_prepare(struct search *s, struct model *m)
{
	double df, sigma = pooled_scale(s, &df);

	grid_rows(s, &m->good, sigma, df);
	m->bad = m->one = m->good;
	if (s->c.means_known) {
		m->good.n_levels = m->bad.n_levels = m->one.n_levels = 1;
		for (size_t r = 0; r < m->good.n_rows; r++) {
			m->good.row[r].center = ldexp(s->c.mean_good, -s->exponent);
			m->bad.row[r].center = ldexp(s->c.mean_bad, -s->exponent);
		}
		m->delta = m->bad.row[0].center - m->good.row[0].center;
	} else {
		levels_unknown(s, m, MAX(sigma, scale_floor(s)));
	}
	m->cells = m->good.n_rows * m->good.n_levels;
	m->ll_good = xcalloc(s->n_sites * m->cells, sizeof(double));
	m->ll_bad = xcalloc(s->n_sites * m->cells, sizeof(double));
	m->ll_one = xcalloc(m->one.n_rows * m->one.n_levels, sizeof(double));
	m->rows_good = xcalloc(m->good.n_rows, sizeof(*m->rows_good));
	m->rows_bad = xcalloc(m->good.n_rows, sizeof(*m->rows_bad));
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct site *t = &s->site[i];

		grid_loglik(&m->good, t->y, t->n, m->ll_good + i * m->cells);
		grid_loglik(&m->bad, t->y, t->n, m->ll_bad + i * m->cells);
		if (s->c.means_known)
			continue;
		grid_loglik(&m->one, t->y, t->n, m->ll_one);
		own_level(s, m, i, MAX(sigma, scale_floor(s)));
	}
}

static double log_effect_prior(const struct search *s, double delta, double sigma)
{
	return s->c.means_known ? 0 : dcauchy(delta, 0, EFFECT_SCALE * sigma, 1);
}

/* Likelihood of "the sites with a set bit are bad", and the effect under it. */
static double class_loglik(const struct search *s, struct model *m, const uint64_t *pattern, struct estimate *ret)
{
	_cleanup_free_ double *good = xcalloc(m->cells, sizeof(*good)), *bad = xcalloc(m->cells, sizeof(*bad));
	double total = -INFINITY, w = 0, d1 = 0, d2 = 0;
	struct estimate e = {0};

	for (size_t i = 0; i < s->n_sites; i++) {
		bool is_bad = pattern[i / 64] >> (i % 64) & 1;
		const double *from = (is_bad ? m->ll_bad : m->ll_good) + i * m->cells;
		double *to = is_bad ? bad : good;

		for (size_t k = 0; k < m->cells; k++)
			to[k] += from[k];
	}
	for (size_t r = 0; r < m->good.n_rows; r++) {
		integrate_row(&m->good, r, good, &m->rows_good[r]);
		integrate_row(&m->bad, r, bad, &m->rows_bad[r]);
		m->rows_good[r].log_sum += m->rows_bad[r].log_sum + m->good.row[r].log_prior +
					   log_effect_prior(s, m->delta, m->good.row[r].sigma);
		total = log_add(total, m->rows_good[r].log_sum);
	}
	for (size_t r = 0; r < m->good.n_rows; r++) {
		const struct row_sum *g = &m->rows_good[r], *b = &m->rows_bad[r];
		double p = exp(g->log_sum - total), d = b->mean - g->mean;

		w += p;
		e.good += p * g->mean;
		e.bad += p * b->mean;
		e.sigma += p * m->good.row[r].sigma;
		d1 += p * d;
		d2 += p * (d * d + g->var + b->var);
	}
	*ret = (struct estimate){e.good / w, e.bad / w, e.sigma / w, d1 / w, sqrt(MAX(d2 / w - d1 / w * d1 / w, 0.0))};
	return total;
}

/* Likelihood of "no effect"; *ret_bad: the share of it in which every commit has the bad level (levels known). */
static double none_loglik(const struct search *s, struct model *m, double *ret_bad)
{
	double total = -INFINITY, all_good = -INFINITY, all_bad = -INFINITY;
	struct row_sum sum;

	*ret_bad = 0;
	if (!s->c.means_known) {
		for (size_t r = 0; r < m->one.n_rows; r++) {
			integrate_row(&m->one, r, m->ll_one, &sum);
			total = log_add(total, sum.log_sum + m->one.row[r].log_prior);
		}
		return total;
	}
	/* with given levels: nothing bad although the head was, or nothing good */
	for (size_t r = 0; r < m->good.n_rows; r++) {
		double good = m->good.row[r].log_prior, bad = good;

		for (size_t i = 0; i < s->n_sites; i++) {
			good += m->ll_good[i * m->cells + r];
			bad += m->ll_bad[i * m->cells + r];
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
	s->est = (struct estimate){m.good / w, m.bad / w, m.sigma / w, d1 / w, sqrt(MAX(d2 / w - d1 / w * d1 / w, 0.0))};
}

void model_evaluate(struct search *s)
{
	struct classes *cl = &s->cl;
	_cleanup_(model_release) struct model m = {0};
	_cleanup_free_ struct estimate *e = xcalloc(MAX(cl->n, 1u), sizeof(*e));
	double none, max, sum, all_bad;

	model_prepare(s, &m);
	none = none_loglik(s, &m, &all_bad) + log(s->none_prior);
	s->guess = m.delta;
	max = none;
	for (uint32_t k = 0; k < cl->n; k++) {
		cl->loglik[k] = class_loglik(s, &m, cl->pattern + (size_t)k * cl->words, &e[k]);
		cl->post[k] = cl->loglik[k] + log(cl->weight[k]) + log1p(-s->none_prior);
		max = MAX(max, cl->post[k]);
	}
	s->none = sum = exp(none - max);
	for (uint32_t k = 0; k < cl->n; k++)
		sum += cl->post[k] = exp(cl->post[k] - max);
	s->none /= sum;
	s->none_bad = s->none * all_bad;
	for (uint32_t k = 0; k < cl->n; k++)
		cl->post[k] /= sum;
	mix_estimates(s, e);
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
