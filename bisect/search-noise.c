/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search-noise.c - how boots scatter, and the log density of every site's values over grids of spread, shape and level.
 *
 * The grids lie on lattices fixed by the first boot, and move only when the data have moved by a good part of their
 * step. So most boots change no grid, and only the densities of the new value are computed. What a table holds depends
 * on the values alone, never on the way there: a search that is fed again is bit for bit the same.
 */
#include <Rmath.h>
#include "bisect/search-internal.h"
#include "bisect/stats.h"

#define LEVEL_BLOCK 8           /* levels are a multiple, so that the compiler can do some at once */
#define ROUND_BOOTS 8           /* factors that share one log() */
#define SIGMA_BELOW 3           /* spreads of the grid below what the sites show ... */
#define SIGMA_COUNT 8           /* ... and in all, 1.4 posterior standard deviations apart */
#define SIGMA_STEP 1.4
#define CORE_NU 31.0            /* of the boots that are no outliers, where outliers are modelled apart */
#define CORE_VAR 29.0           /* CORE_NU - 2: sigma is their standard deviation */
#define CORE_NORM 0.40915715    /* gamma(16) / (gamma(15.5) sqrt(29 pi)) */
#define OUTLIER_SCALE 5.0       /* of a Cauchy density for those that are, in sigma */

/* How boots scatter: Student's t, or (nu 0) a nearly normal core with a share of far outliers. Which of the three it
 * is, is learnt with the rest; t with three degrees of freedom alone would waste a quarter of the boots of a clean
 * machine, and even as one of three at 10 % a twentieth of those of a machine with outliers, which it resembles for
 * long. */
struct shape { double nu, outliers, weight; };
static const struct shape shapes[N_SHAPES] = {{3, 0, 0.02}, {0, 0.001, 0.58}, {0, 0.05, 0.4}};
static const struct shape shapes_known[N_SHAPES] = {{3, 0, 0.01}, {0, 0.001, 0.95}, {0, 0.05, 0.04}};

/* One step of iteratively reweighted means, weights of Student's t_3. */
static double reweighted(const double *y, size_t n, double m, double sigma)
{
	double sw = 0, swy = 0;

	for (size_t k = 0; k < n; k++) {
		double z = (y[k] - m) / sigma, w = 4 / (3 + z * z);

		sw += w;
		swy += w * (y[k] - m);
	}
	return m + swy / sw;
}

static double median(const double *y, size_t n)
{
	_cleanup_free_ double *v = xmalloc(n * sizeof(*v));

	memcpy(v, y, n * sizeof(*v));
	return stat_median(v, n);
}

/* It only places grids, so a thousandth of sigma is plenty. */
double noise_location(const double *y, size_t n, double sigma)
{
	double m = median(y, n);

	for (int i = 0; i < 20 && sigma > 0; i++) {
		double before = m;

		m = reweighted(y, n, m, sigma);
		if (fabs(m - before) <= 1e-3 * sigma)
			break;
	}
	return m;
}

/* Sum of weighted squares around each site's own location, which follows; while sigma is 0, medians and weights of
 * 1. */
static double squares(const struct search *s, double sigma, double *m)
{
	double sum = 0;

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct site *t = &s->site[i];

		if (t->n < 2)
			continue;
		m[i] = sigma > 0 ? reweighted(t->y, t->n, m[i], sigma) : median(t->y, t->n);
		for (size_t k = 0; k < t->n; k++) {
			double r = t->y[k] - m[i], z = sigma > 0 ? r / sigma : 0;

			sum += (sigma > 0 ? 4 / (3 + z * z) : 1) * r * r;
		}
	}
	return sum;
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
	for (int round = 0; round < 12 && df >= 1; round++) {
		double before = sigma;

		sigma = sqrt(squares(s, sigma, m) / df);
		if (!(sigma > 0))
			return 0;
		if (fabs(sigma - before) <= 1e-3 * sigma)
			break;
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

/* The next of 1, 1.4, 2, 2.8, 4 ... above or below x. */
static double half_octave(double x, bool up)
{
	double k = 2 * log2(x);

	return exp2((up ? ceil(k - 1e-9) : floor(k + 1e-9)) / 2);
}

/* Rows for sigma around what the sites themselves show, in steps of their posterior standard deviation. */
static void grid_rows(const struct search *s, struct grid *g, double at, double width, double low)
{
	const struct shape given = {s->c.nu, 0, 1}, *shape = s->c.nu > 0	? &given
							     : s->c.means_known ? shapes_known
										: shapes;
	size_t n_shapes = s->c.nu > 0 ? 1 : N_SHAPES, n = s->c.means_known ? 1 : SIGMA_COUNT;

	g->n_rows = 0;
	g->shapes = n_shapes;
	for (size_t k = 0; k < n; k++) {
		double sigma = n == 1 ? at : at * exp(width * ((double)k - SIGMA_BELOW));

		if (n > 1 && sigma < low * 0.999)
			continue;
		for (size_t v = 0; v < n_shapes; v++)
			g->row[g->n_rows++] = (struct grid_row){
				.sigma = sigma, .nu = shape[v].nu, .log_prior = log(shape[v].weight),
				.norm = shape[v].nu > 0 ? t_norm(shape[v].nu, sigma) : -log(sigma),
			};
	}
}

static void grid_steps(struct grid *g)
{
	for (size_t r = 0; r < g->n_rows; r++)
		g->row[r].step = 2 * g->half * g->row[r].sigma / (g->n_levels - 1);
}

void grid_levels(struct grid *g, double center, size_t n0, size_t n)
{
	double few = half_octave(n0, false), half = (6.5 + 6.0 / few) / sqrt(few),
	       step = 1.3 / sqrt(half_octave(n, true));
	size_t levels = 2 * (size_t)ceil(half / step) + 1;

	g->half = half;
	g->n_levels = MIN((levels + LEVEL_BLOCK - 1) / LEVEL_BLOCK * LEVEL_BLOCK, (size_t)MAX_LEVELS);
	for (size_t r = 0; r < g->n_rows; r++)
		g->row[r].center = center;
	grid_steps(g);
}

/* Student's t of one row, without its constant; few degrees of freedom, so eight factors cannot overflow. */
static void rows_t(const struct grid *g, size_t r, const double *y, size_t n, double *ll)
{
	double scale = 1 / (g->row[r].sigma * sqrt(g->row[r].nu));

	for (size_t j = 0; j < g->n_levels; j++) {
		double mu = level_at(g, r, j), product = 1;

		for (size_t k = 0; k < n; k++) {
			double z = (y[k] - mu) * scale;

			product *= MIN(1 + z * z, 1e35);
		}
		ll[j] += n * g->row[r].norm - 0.5 * (g->row[r].nu + 1) * log(product);
	}
}

struct level_block { double mu[LEVEL_BLOCK], t[LEVEL_BLOCK], few[LEVEL_BLOCK], many[LEVEL_BLOCK]; };

/* One value's three densities at eight levels: t_3, and (1 - e) t_31(z) + e Cauchy(z / OUTLIER_SCALE) / OUTLIER_SCALE
 * twice. One division serves both of its parts. */
static void block_value(struct level_block *b, double y, double scale)
{
	const double wide_norm = M_1_PI / OUTLIER_SCALE, wide_z = 1 / (OUTLIER_SCALE * OUTLIER_SCALE);
	const double few = shapes[1].outliers, many = shapes[2].outliers;

	for (size_t j = 0; j < LEVEL_BLOCK; j++) {
		double z = (y - b->mu[j]) * scale, z2 = MIN(z * z, 1e16);
		double q = 1 + z2 * (1 / CORE_VAR), q2 = q * q, q4 = q2 * q2, q8 = q4 * q4, q16 = q8 * q8;
		double c = 1 + z2 * wide_z, both = 1 / (q16 * c);
		double core = CORE_NORM * c * both, wide = wide_norm * q16 * both;

		b->t[j] *= 1 + z2 * (1 / 3.0);
		b->few[j] *= core + few * (wide - core);
		b->many[j] *= core + many * (wide - core);
	}
}

static void rows_shapes(const struct grid *g, size_t r, const double *y, size_t n, double *ll)
{
	size_t m = g->n_levels;
	double scale = 1 / g->row[r].sigma;

	for (size_t from = 0; from < m; from += LEVEL_BLOCK) {
		size_t levels = MIN(m - from, (size_t)LEVEL_BLOCK);
		struct level_block b;

		for (size_t j = 0; j < LEVEL_BLOCK; j++) {
			b.mu[j] = level_at(g, r, from + j);
			b.t[j] = b.few[j] = b.many[j] = 1;
		}
		for (size_t k = 0; k < n; k++)
			block_value(&b, y[k], scale);
		for (size_t j = 0; j < levels; j++) {
			ll[from + j] += n * g->row[r].norm - 2 * log(b.t[j]);
			ll[m + from + j] += n * g->row[r + 1].norm + log(b.few[j]);
			ll[2 * m + from + j] += n * g->row[r + 2].norm + log(b.many[j]);
		}
	}
}

/* Adds the log density of n values at every cell. */
void grid_loglik(const struct grid *g, const double *y, size_t n, double *ll)
{
	for (size_t k = 0; k < n; k += ROUND_BOOTS) {
		size_t some = MIN(n - k, (size_t)ROUND_BOOTS);

		for (size_t r = 0; r < g->n_rows; r += g->shapes) {
			if (g->shapes > 1)
				rows_shapes(g, r, y + k, some, ll + r * g->n_levels);
			else
				rows_t(g, r, y + k, some, ll + r * g->n_levels);
		}
	}
}

/* To a multiple of unit from the first boot: units, signs and constants added change nothing. */
static double on_lattice(double x, double origin, double unit)
{
	return origin + unit * round((x - origin) / unit);
}

static void levels_unknown(const struct search *s, struct noise *w, double sigma)
{
	const struct site *base = search_site(s, 0), *head = search_site(s, s->dag->n - 1);
	_cleanup_free_ double *all = xmalloc(s->n_obs * sizeof(*all));
	double origin = base->y[0], unit[2] = {sigma / sqrt(half_octave(base->n, false)),
					       sigma / sqrt(half_octave(head->n, false))};
	double good = noise_location(base->y, base->n, sigma), bad = noise_location(head->y, head->n, sigma);
	size_t n = 0;

	for (size_t i = 0; i < s->n_sites; i++)
		if (!site_past(s, i)) {
			memcpy(all + n, s->site[i].y, s->site[i].n * sizeof(*all));
			n += s->site[i].n;
		}
	w->delta = bad - good;
	grid_levels(&w->good, on_lattice(good, origin, unit[0]), base->n, s->n_obs);
	grid_levels(&w->bad, on_lattice(bad, origin, unit[1]), head->n, s->n_obs);
	w->bad.n_levels = w->good.n_levels = MAX(w->good.n_levels, w->bad.n_levels); /* the wider grid is only finer */
	grid_levels(&w->one, on_lattice(noise_location(all, n, sigma), origin, MAX(unit[0], unit[1])),
		    MIN(base->n, head->n), s->n_obs);
	grid_steps(&w->good);
	grid_steps(&w->bad);
}

static void levels_known(const struct search *s, struct noise *w)
{
	w->good.n_levels = w->bad.n_levels = w->one.n_levels = 1;
	for (size_t r = 0; r < w->good.n_rows; r++) {
		w->good.row[r].center = ldexp(s->c.mean_good, -s->exponent);
		w->bad.row[r].center = ldexp(s->c.mean_bad, -s->exponent);
	}
	w->delta = w->bad.row[0].center - w->good.row[0].center;
}

static void noise_grids(const struct search *s, struct noise *w)
{
	double df, low = scale_floor(s), sigma, width, origin;

	if (s->c.means_known) {
		w->sigma = ldexp(s->c.sigma, -s->exponent);
		grid_rows(s, &w->good, w->sigma, 0, 0);
		w->bad = w->one = w->good;
		levels_known(s, w);
		return;
	}
	sigma = MAX(pooled_scale(s, &df), low);
	width = SIGMA_STEP / sqrt(half_octave(MAX(df, 1.0), false));
	origin = fabs(search_site(s, s->dag->n - 1)->y[0] - search_site(s, 0)->y[0]);
	origin = MAX(origin, low);
	w->sigma = origin * exp(width * round(log(sigma / origin) / width));
	grid_rows(s, &w->good, w->sigma, width, low);
	w->bad = w->one = w->good;
	levels_unknown(s, w, w->sigma);
}

static bool grid_same(const struct grid *a, const struct grid *b)
{
	return a->n_rows == b->n_rows && a->n_levels == b->n_levels &&
	       !memcmp(a->row, b->row, a->n_rows * sizeof(a->row[0]));
}

void site_forget(struct site *t)
{
	for (int k = 0; k < N_TABLES; k++) {
		free(t->ll[k]);
		t->ll[k] = NULL;
	}
	t->rounds = t->done = 0;
}

/* The values since t->done; whole rounds of eight stay as they are, so that it does not matter when they came. */
static void site_extend(const struct noise *w, struct site *t)
{
	const struct grid *grid[N_TABLES] = {&w->good, &w->bad, &w->one};
	size_t whole = t->n / ROUND_BOOTS * ROUND_BOOTS;

	if (t->done == t->n)
		return;
	for (int k = 0; k < N_TABLES; k++) {
		size_t cells = grid[k]->n_rows * grid[k]->n_levels;
		double *rounds;

		if (!t->ll[k])
			t->ll[k] = xcalloc(2 * cells, sizeof(double));
		rounds = t->ll[k] + cells;
		if (whole > t->rounds)
			grid_loglik(grid[k], t->y + t->rounds, whole - t->rounds, rounds);
		memcpy(t->ll[k], rounds, cells * sizeof(double));
		grid_loglik(grid[k], t->y + whole, t->n - whole, t->ll[k]);
	}
	t->rounds = whole;
	t->done = t->n;
}

void noise_update(struct search *s)
{
	struct noise w = {0};
	bool same;

	noise_grids(s, &w);
	same = grid_same(&w.good, &s->noise.good) && grid_same(&w.bad, &s->noise.bad) &&
	       grid_same(&w.one, &s->noise.one);
	s->noise = w;
	for (size_t i = 0; i < s->n_sites; i++) {
		if (!same)
			site_forget(&s->site[i]);
		site_extend(&s->noise, &s->site[i]);
	}
}
