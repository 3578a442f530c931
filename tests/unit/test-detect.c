/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Change points: the segmentation against plain dynamic programming, the whole against annotated and made-up series. */
#include "bisect/detect-internal.h"
#include "lib/csv.h"
#include "lib/fs.h"
#include "tests/tap.h"

static uint64_t state = 1;

static double uniform(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((double)(state >> 11) + .5) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()); }

/* ---- the segmentation is exact ---- */

/* Cheapest level of one segment: it is the weighted mean of the commits within their caps, which are those around some
 * place; so trying the mean that belongs to the neighbourhood of every end of a cap is enough. */
static double segment_cost(const struct commit *c, size_t from, size_t to)
{
	double best = INFINITY;

	for (size_t i = from; i < to; i++)
		for (int side = 0; side < 4; side++) {  /* just left and right of both ends */
			double x =
				c[i].y + (side & 1 ? -1 : 1) * sqrt(c[i].cap / c[i].weight) + (side & 2 ? -1e-9 : 1e-9);

			for (int step = 0; step < 2; step++) { /* at the edge itself, then at the mean of who is near
								  it */
				double cost = 0, sum = 0, w = 0;

				for (size_t k = from; k < to; k++) {
					double d = c[k].weight * (c[k].y - x) * (c[k].y - x);

					cost += MIN(d, c[k].cap);
					if (d <= c[k].cap) {
						sum += c[k].weight * c[k].y;
						w += c[k].weight;
					}
				}
				best = MIN(best, cost);
				x = w > 0 ? sum / w : x;
			}
		}
	return best;
}

static double plain(const struct commit *c, size_t n, double penalty)
{
	_cleanup_free_ double *f = xcalloc(n + 1, sizeof(*f));

	f[0] = -penalty;
	for (size_t t = 1; t <= n; t++) {
		f[t] = INFINITY;
		for (size_t s = 0; s < t; s++)
			f[t] = MIN(f[t], f[s] + penalty + segment_cost(c, s, t));
	}
	return f[n];
}

static void exactness(void)
{
	size_t good = 0, trials = 60;

	for (size_t t = 0; t < trials; t++) {
		enum { N = 40 };
		struct commit c[N];
		uint32_t start[N + 1];
		double level = 0, cost = 0, penalty = 3 + 20 * uniform();
		size_t k;

		for (size_t i = 0; i < N; i++) {
			level += uniform() < .1 ? 6 * normal() : 0;
			c[i] = (struct commit){level + normal() + (uniform() < .1 ? 8 * normal() : 0), .5 + uniform(),
					       9, (int64_t)i, 1};
		}
		k = detect_segment(c, N, penalty, start);
		for (size_t i = 0; i < k; i++)
			cost += segment_cost(c, start[i], i + 1 < k ? start[i + 1] : N) + (i ? penalty : 0);
		good += fabs(cost - plain(c, N, penalty)) < 1e-6 * (1 + cost);
	}
	is_int(good, trials, "functional pruning finds what plain dynamic programming finds");
}

/* ---- series ---- */

static struct detect_result run(const double *v, const int64_t *index, size_t n)
{
	_cleanup_free_ int64_t *count = xcalloc(n + 1, sizeof(*count));
	struct detect_config c = {.min_effect = .002};
	struct detect_result r = {0};

	for (size_t i = 0; i < n; i++)
		count[i] = (int64_t)i;
	if (detect_run(&c, index ? index : count, v, n, &r) < 0)
		printf("# %s\n", err_msg());
	return r;
}

static void degenerate(void)
{
	static const double same[12] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5},
			    step[12] = {5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6},
			    spike[12] = {5, 5, 5, 5, 5, 1e300, 5, 5, 5, 5, 5, 5}, none[12] = {NAN, NAN, INFINITY, 1},
			    wild[12] = {1e-320, 1e308,	2e-320, -1e308, 1e-320, 3e-320,
					1e308,	1e-320, 2e-320, 1e-320, 3e-320, 2e-320},
			    huge[12] = {1e300,	 1e300,	  1e300,   1e300,   1e300,   1e300,
					1.5e300, 1.5e300, 1.5e300, 1.5e300, 1.5e300, 1.5e300};
	static const int64_t back[3] = {1, 3, 2}, one[12] = {0},
			     from[12] = {-9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2};
	struct detect_config c = {0};
	struct detect_result r = run(same, NULL, 12);

	is_int(r.n, 0, "a constant has no change points");
	detect_result_release(&r);
	r = run(step, from, 12);
	ok(r.n == 1 && r.v[0].index == -3 && r.v[0].before == 5 && r.v[0].after == 6 && !r.v[0].provisional,
	   "a clean step is found at its first new index, negative ones included");
	detect_result_release(&r);
	r = run(spike, NULL, 12);
	is_int(r.n, 0, "one spike is none");
	detect_result_release(&r);
	r = run(huge, NULL, 12);
	ok(r.n == 1 && r.v[0].index == 6, "1e300 does not overflow");
	detect_result_release(&r);
	r = run(none, NULL, 12);
	is_int(r.n, 0, "NaN and infinities are no values");
	detect_result_release(&r);
	r = run(step, one, 12);
	is_int(r.n, 0, "one commit alone has no change points");
	detect_result_release(&r);
	for (size_t n = 0; n < 3; n++) {
		r = run(step, NULL, n);
		is_int(r.n, 0, "%zu values have none", n);
		detect_result_release(&r);
	}
	r = run(wild, NULL, 12);
	ok(!r.n && isfinite(r.sigma), "the largest among the least values do not overflow");
	detect_result_release(&r);
	ok(detect_run(&c, back, step, 3, &r) == -EINVAL, "indexes that go back are refused");
}

/* Repeated measurements share an index; the step lies between commits. */
static void repeated(void)
{
	enum { COMMITS = 40, EACH = 5, N = COMMITS * EACH };
	double v[N];
	int64_t index[N];
	size_t good = 0;

	state = 3;
	for (int t = 0; t < 50; t++) {
		struct detect_result r;

		for (size_t i = 0; i < N; i++) {
			index[i] = (int64_t)(1000 + 7 * (i / EACH));
			v[i] = 1000 + 10 * normal() + (i / EACH >= 20 ? 15 : 0);
		}
		r = run(v, index, N);
		good += r.n == 1 && llabs((long long)r.v[0].index - (1000 + 7 * 20)) <= 14;
		detect_result_release(&r);
	}
	ok(good >= 48, "1.5 sigma of a single run is found with five runs a commit (%zu of 50)", good);
}

/* The last commits only: found, and marked as provisional. */
static void at_the_end(void)
{
	size_t found = 0, marked = 0;

	state = 4;
	for (int t = 0; t < 100; t++) {
		double v[60];
		struct detect_result r;

		for (size_t i = 0; i < 60; i++)
			v[i] = 1000 + 10 * normal() + (i >= 57 ? 80 : 0);
		r = run(v, NULL, 60);
		found += r.n == 1 && r.v[0].index == 57;
		marked += r.n == 1 && r.v[0].index == 57 && r.v[0].provisional;
		detect_result_release(&r);
	}
	ok(found >= 95, "three commits at 8 sigma are seen at once (%zu of 100)", found);
	is_int(marked, found, "and marked as provisional");
}

static void rates(void)
{
	enum { TRIALS = 200 };
	static const struct { const char *what; int n, step_at; double step, outliers; int at_least,
			     at_most_false; } kinds[] = {
		{"flat", 200, 0, 0, 0, 0, 2},
		{"flat with 5 % outliers at +-8 sigma", 500, 0, 0, .05, 0, 2},
		{"step of 4 sigma with 3 % outliers", 100, 50, 4, .03, 196, 4},
		{"step of 3 sigma", 100, 40, 3, 0, 190, 4},
	};

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		int hits = 0, wrong = 0;

		state = 5;
		for (int t = 0; t < TRIALS; t++) {
			double v[500];
			struct detect_result r;
			int mine = 0;

			for (int i = 0; i < kinds[k].n; i++) {
				v[i] = normal() + (kinds[k].step_at && i >= kinds[k].step_at ? kinds[k].step : 0);
				v[i] += uniform() < kinds[k].outliers ? (uniform() < .5 ? 8 : -8) : 0;
				v[i] = 1000 + 10 * v[i];
			}
			r = run(v, NULL, (size_t)kinds[k].n);
			for (size_t i = 0; i < r.n; i++)
				mine += kinds[k].step_at && llabs((long long)r.v[i].index - kinds[k].step_at) <= 2;
			hits += mine > 0;
			wrong += (int)r.n - (mine > 0);
			detect_result_release(&r);
		}
		ok(hits >= kinds[k].at_least && wrong <= kinds[k].at_most_false, "%s: %d of %d found, %d false",
		   kinds[k].what, hits, TRIALS, wrong);
	}
}

static void same_twice_and_scaled(void)
{
	double v[300], w[300];
	struct detect_result a, b;
	bool equal;

	state = 6;
	for (int i = 0; i < 300; i++) {
		v[i] = 500 + normal() + (i >= 90 ? 5 : 0) - (i >= 200 ? 9 : 0);
		w[i] = 1024 * v[i];
	}
	a = run(v, NULL, 300);
	b = run(v, NULL, 300);
	ok(a.n == 2 && a.n == b.n && !memcmp(a.v, b.v, a.n * sizeof(*a.v)), "the same series gives the same bytes");
	detect_result_release(&b);
	b = run(w, NULL, 300);
	equal = a.n == b.n;
	for (size_t i = 0; equal && i < a.n; i++)
		equal = a.v[i].index == b.v[i].index && fabs(b.v[i].after / a.v[i].after / 1024 - 1) < 1e-12;
	ok(equal, "units do not matter");
	detect_result_release(&a);
	detect_result_release(&b);
}

/* ---- levels that few commits have ---- */

/* k commits that are up by `size` sigmas, and back. */
static size_t excursions_found(size_t n, size_t at, size_t k, double size, double outliers)
{
	size_t found = 0;

	for (int t = 0; t < 50; t++) {
		_cleanup_free_ double *v = xcalloc(n, sizeof(*v));
		struct detect_result r;

		for (size_t i = 0; i < n; i++) {
			v[i] = 1000 + 4 * normal() + (i >= at && i < at + k ? 4 * size : 0);
			v[i] += uniform() < outliers && (i < at - 1 || i > at + k) ? 30 : 0;
		}
		r = run(v, NULL, n);
		found += r.n == 2 && r.v[0].index == (int64_t)at && r.v[1].index == (int64_t)(at + k) &&
			!r.v[0].provisional &&
			 !r.v[1].provisional && fabs(r.v[0].after - r.v[1].before) < 1e-6;
		detect_result_release(&r);
	}
	return found;
}

static void excursions(void)
{
	static const struct { size_t n, at, k; double size, outliers; size_t least; } kinds[] = {
		{46, 20, 6, 24, 0, 48}, {46, 20, 5, 24, 0, 48}, {46, 20, 4, 24, 0, 48}, {46, 20, 3, 24, 0, 40},
		{400, 200, 6, 24, 0, 48},
		{400, 30, 11, 10, 0, 46}, {46, 38, 5, 24, 0, 44}, {200, 50, 6, -24, .03, 44},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t found;

		state = 20 + i;
		found = excursions_found(kinds[i].n, kinds[i].at, kinds[i].k, kinds[i].size, kinds[i].outliers);
		ok(found >= kinds[i].least,
		   "%zu commits by %g sigma and back, in %zu, %g %% outliers: both ends right in %zu of 50", kinds[i].k,
		   kinds[i].size, kinds[i].n, 100 * kinds[i].outliers, found);
	}
}

/* A level of a few commits before another one, and one that the series begins with. */
static void brief_neighbours(void)
{
	size_t stairs = 0, first = 0;

	state = 40;
	for (int t = 0; t < 50; t++) {
		double v[80], w[80];
		struct detect_result r;

		for (int i = 0; i < 80; i++) {
			v[i] = 1000 + 4 * normal() + (i >= 40 ? i < 44 ? 100 : 40 : 0);
			w[i] = 1000 + 4 * normal() + (i < 4 ? 100 : 0);
		}
		r = run(v, NULL, 80);
		stairs += r.n == 2 && r.v[0].index == 40 && r.v[1].index == 44;
		detect_result_release(&r);
		r = run(w, NULL, 80);
		first += r.n == 1 && r.v[0].index == 4;
		detect_result_release(&r);
	}
	ok(stairs >= 46, "up for four commits, then half down: both in %zu of 50", stairs);
	ok(first >= 46, "another level of the first four commits only: %zu of 50", first);
}

enum burst { SCATTERED, TWICE, PAIR, FREQUENT };

static void add_burst(double *v, size_t n, enum burst kind)
{
	size_t at = 10 + (size_t)(uniform() * (double)(n / 2 - 30)), k = kind == PAIR ? 2 : kind == FREQUENT ? 0 : 6;

	for (int times = kind == TWICE ? 2 : 1; times-- > 0; at += n / 2)
		for (size_t i = at; i < at + k; i++)
			v[i] += kind == SCATTERED ? 20 + 200 * uniform() : 100;
	for (size_t i = 0; kind == FREQUENT && i < n; i++)
		v[i] += uniform() < .33 ? 100 : 0;
}

static void bursts(void)
{
	static const char *what[] = {"a burst of six scattered outliers", "six commits up, twice in one history",
		"two commits up",
				     "each third commit up"};

	for (enum burst kind = SCATTERED; kind <= FREQUENT; kind++) {
		size_t points = 0;

		state = 50 + kind;
		for (int t = 0; t < 100; t++) {
			double v[160];
			struct detect_result r;

			for (size_t i = 0; i < 160; i++)
				v[i] = 1000 + 4 * normal();
			add_burst(v, 160, kind);
			r = run(v, NULL, 160);
			points += r.n;
			detect_result_release(&r);
		}
		ok(points <= 4, "%s: no change points (%zu in 100 series)", what[kind], points);
	}
}

/* ---- noise that is not independent ---- */

struct noise { double ar, gap, to, from; int lattice; double mode, last; };

static double next_noise(struct noise *s)
{
	double x;

	s->last = s->ar * s->last + sqrt(1 - s->ar * s->ar) * normal();
	if (uniform() < (s->mode > 0 ? s->from : s->to))
		s->mode = s->mode > 0 ? 0 : s->gap;
	x = s->last + s->mode;
	return s->lattice ? floor(x / s->lattice + .5) * s->lattice : x;
}

/* Flat series: change points per 1,000 values. */
static void flat(void)
{
	static const struct { const char *what; struct noise noise; double at_most; } kinds[] = {
		{"autocorrelation .3", {.ar = .3}, .1}, {"autocorrelation .6", {.ar = .6}, .3},
		{"autocorrelation .85", {.ar = .85}, .9},
		{"a mode that lasts for 4 commits of 12", {.gap = 7, .to = .12, .from = .25}, 1.6},
		{"a mode, correlated", {.gap = 4, .to = .3, .from = .3, .ar = .5}, .2},
		{"two modes, 60 to 40", {.gap = 8, .to = .4, .from = .6}, .1},
		{"few distinct values", {.ar = .3, .lattice = 2}, .1},
	};
	enum { N = 500, SERIES = 60 };

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		size_t points = 0;

		state = 60 + k;
		for (int t = 0; t < SERIES; t++) {
			struct noise s = kinds[k].noise;
			double v[N];
			struct detect_result r;

			for (int i = 0; i < N; i++)
				v[i] = 1000 + 20 * next_noise(&s);
			r = run(v, NULL, N);
			points += r.n;
			detect_result_release(&r);
		}
		ok(1e3 * (double)points / (N * SERIES) <= kinds[k].at_most,
		   "flat, %s: %.2f change points per 1,000 values", kinds[k].what,
		   1e3 * (double)points / (N * SERIES));
	}
}

/* ---- how sure ---- */

/* The range holds the true first commit as often as it says, given the point is the step. */
static void ranges(void)
{
	static const double sizes[] = {1.5, 2.5, 5};
	double width[3];

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		int points = 0, inside = 0, wide = 0;

		state = 80 + k;
		for (int t = 0; t < 400; t++) {
			double v[120];
			struct detect_result r;

			for (int i = 0; i < 120; i++)
				v[i] = 1000 + 10 * normal() + (i >= 60 ? 10 * sizes[k] : 0);
			r = run(v, NULL, 120);
			for (size_t i = 0; i < r.n; i++)
				if (llabs((long long)r.v[i].index - 60) <= 10) {
					points++;
					inside += r.v[i].first <= 60 && r.v[i].last >= 60;
					wide += (int)(r.v[i].last - r.v[i].first);
					if (r.v[i].first > r.v[i].index || r.v[i].last < r.v[i].index)
						inside = -1000;
				}
			detect_result_release(&r);
		}
		width[k] = (double)wide / MAX(points, 1);
		ok(points > 100 && inside >= .93 * points,
		   "step of %.1f sigma: in the 95 %% range in %d of %d, %.1f commits wide", sizes[k], inside,
		   points, width[k]);
	}
	ok(width[0] > width[1] && width[1] > width[2], "the larger the step the narrower");
}

static bool has(const struct detect_result *r, int64_t index)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].index == index)
			return true;
	return false;
}

/* One more value at a time: points that are not provisional stay where they are. */
static void stable(void)
{
	static const struct { const char *what; struct noise noise; double outliers; } kinds[] = {
		{"independent noise", {.ar = 0}, 0}, {"autocorrelation .6", {.ar = .6}, 0},
		{"10 % outliers", {.ar = 0}, .1},
	};
	enum { N = 200, SERIES = 25 };

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		int points = 0, lost = 0;

		state = 90 + k;
		for (int t = 0; t < SERIES; t++) {
			struct noise s = kinds[k].noise;
			double v[N], level = 1000, step = 20 + 60 * uniform();
			struct detect_result old = {0}, r;

			for (int i = 0; i < N; i++) {
				level += i == 35 || i == 90 ? step : i == 140 ? -step : 0;
				v[i] = level + 10 * next_noise(&s) +
				       (uniform() < kinds[k].outliers ? 80 * uniform() : 0);
			}
			for (size_t n = 50; n <= N; n++) {
				r = run(v, NULL, n);
				for (size_t i = 0; i < old.n; i++)
					if (!old.v[i].provisional) {
						points++;
						lost += !has(&r, old.v[i].index);
					}
				detect_result_release(&old);
				old = r;
			}
			detect_result_release(&old);
		}
		ok(points > 1000 && lost <= .008 * points,
		   "%s: of %d points %d move or go when a value is added (%.2f %%)", kinds[k].what, points,
		   lost, 100. * lost / points);
	}
}

/* ---- numbers ---- */

struct line { double a, b, noise; size_t n, at; double min_effect; };

/* A step from a to b at `at`; what is found of it. */
static struct detect_result step_of(const struct line *l)
{
	_cleanup_free_ double *v = xcalloc(l->n, sizeof(*v));
	_cleanup_free_ int64_t *index = xcalloc(l->n, sizeof(*index));
	struct detect_config c = {.min_effect = l->min_effect};
	struct detect_result r = {0};

	state = 70;
	for (size_t i = 0; i < l->n; i++) {
		index[i] = (int64_t)i;
		v[i] = (i < l->at ? l->a : l->b) + (l->noise > 0 ? l->noise * normal() : 0);
	}
	if (detect_run(&c, index, v, l->n, &r) < 0)
		printf("# %s\n", err_msg());
	return r;
}

static bool near(double a, double b, double by) { return fabs(a - b) <= by; }

static void numbers(void)
{
	static const struct { const char *what; struct line l; bool found; } kinds[] = {
		{"exact, 10 values", {5, 6, 0, 10, 5, .002}, true}, {"exact, 11 values", {5, 6, 0, 11, 6, .002}, true},
		{"exact, 6 values: too few", {5, 6, 0, 6, 3, .002}, false},
		{"exact, the last two: provisional", {5, 6, 0, 40, 38, .002}, true},
		{"exact, the last one", {5, 6, 0, 40, 39, .002}, false},
		{"exact, from the second on", {5, 6, 0, 40, 1, .002}, false},
		{"exact, from the fourth on", {5, 6, 0, 40, 3, .002}, true},
		{"1e15 and noise of 1, step of 10", {1e15, 1e15 + 10, 1, 40, 20, 0}, true},
		{"1e15, step of 10", {1e15, 1e15 + 10, 0, 40, 20, 0}, true},
		{"-1e15 and noise of 1, step of 10", {-1e15, -1e15 + 10, 1, 40, 20, 0}, true},
		{"100, step of 1e-10", {100, 100 + 1e-10, 0, 40, 20, 0}, true},
		{"100, step of 0.15 %, of interest are 0.2 %", {100, 100.15, 0, 40, 20, .002}, false},
		{"100, step of 0.15 %, of interest is 0.1 %", {100, 100.15, 0, 40, 20, .001}, true},
		{"denormals", {5e-323, 1e-322, 0, 40, 20, .002}, true}, {"from 0", {0, 1, 0, 40, 20, .002}, true},
		{"negative", {-100, -110, 1, 40, 20, .002}, true}, {"around 0", {-5, 5, 1, 40, 20, .002}, true},
		{"from the least to the largest", {-1.7e308, 1.7e308, 0, 40, 20, .002}, true},
		{"from tiny to huge", {1e-300, 1e300, 0, 40, 20, .002}, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct line *l = &kinds[i].l;
		struct detect_result r = step_of(l);
		double off = l->noise + 1e-13 * MAX(fabs(l->a), fabs(l->b));
		bool right = r.n == 1 && r.v[0].index == (int64_t)l->at && near(r.v[0].before, l->a, off) &&
			     near(r.v[0].after, l->b, off) && (l->noise > 0 || r.v[0].first == r.v[0].last);

		ok(kinds[i].found ? right : !r.n, "%s: %s", kinds[i].what, kinds[i].found ? "found" : "none");
		detect_result_release(&r);
	}
}

/* Values that are none are left out, wherever they are. */
static void left_out(void)
{
	double v[120], w[60];
	int64_t index[120], fewer[60];
	struct detect_config c = {.min_effect = .002};
	struct detect_result a = {0}, b = {0};

	state = 71;
	for (int i = 0; i < 60; i++) {
		index[2 * i] = index[2 * i + 1] = fewer[i] = i;
		v[2 * i] = w[i] = 100 + normal() + (i >= 30 ? 10 : 0);
		v[2 * i + 1] = i % 3 ? NAN : i % 2 ? INFINITY : -INFINITY;
	}
	ok(!detect_run(&c, index, v, 120, &a) && !detect_run(&c, fewer, w, 60, &b) && a.n == 1 && b.n == 1 &&
		   !memcmp(a.v, b.v, sizeof(*a.v)), "NaN and infinities are left out");
	detect_result_release(&a);
	detect_result_release(&b);
}

/* ---- annotated series of SAP HANA (tests/fixtures/sap-small-2021, CC BY 4.0) ---- */

static size_t read_series(const char *name, double *v, int64_t *index, size_t max)
{
	_cleanup_free_ char *path = xasprintf("tests/fixtures/sap-small-2021/data/%s", name);
	_cleanup_buf_ struct buf text = {0};
	struct csv c;
	size_t n = 0;

	if (fs_read(path, 0, &text) < 0)
		return 0;
	csv_init(&c, path, text.s, text.len);
	for (csv_next(&c); csv_next(&c) > 0 && n < max; n++) {
		index[n] = strtoll(c.field[0], NULL, 10);
		v[n] = strtod(c.field[2], NULL);
	}
	csv_release(&c);
	return n;
}

static void annotated(void)
{
	enum { MAX = 3000, MARGIN = 5 };
	_cleanup_free_ double *v = xcalloc(MAX, sizeof(*v));
	_cleanup_free_ int64_t *index = xcalloc(MAX, sizeof(*index));
	_cleanup_buf_ struct buf text = {0};
	int series = 0, steps = 0, found = 0, wrong = 0;
	double f1 = 0;

	is_int(fs_read("tests/fixtures/sap-small-2021/metadata/dataset_details.csv", 0, &text), 0,
	       "the annotations are there");
	strtok(text.s, "\n");
	for (char *type; (type = strtok(NULL, ";")) != NULL;) {
		char *name = strtok(NULL, ";"), *last = strtok(NULL, "\n");
		struct detect_result r;
		int64_t want;
		int hits = 0;
		size_t n;

		if (!name || !last)
			break;
		want = strtoll(last, NULL, 10);
		n = read_series(name, v, index, MAX);
		r = run(v, index, n);
		for (size_t i = 0; i < r.n; i++)
			hits += want > 0 && llabs((long long)(r.v[i].index - want - 1)) <= MARGIN;
		series += n > 0;
		steps += want > 0;
		found += hits > 0;
		wrong += (int)r.n - (hits > 0);
		/* as van den Burg and Williams count: the first index is a change point of both sides */
		double precision = (1. + (hits > 0)) / (1. + (double)r.n),
		       recall = (1. + (hits > 0)) / (1 + (want > 0));

		f1 += 2 * precision * recall / (precision + recall);
		detect_result_release(&r);
	}
	is_int(series, 25, "25 series");
	is_int(found, steps, "all %d annotated regressions are found", steps);
	is_int(wrong, 0, "nothing else");
	is_near(f1 / series, 1, 1e-9, "F1 with margin %d: %.3f", MARGIN, f1 / series);
}

int main(void)
{
	exactness();
	degenerate();
	repeated();
	at_the_end();
	rates();
	same_twice_and_scaled();
	excursions();
	brief_neighbours();
	bursts();
	flat();
	ranges();
	stable();
	numbers();
	left_out();
	annotated();
	return tap_done();
}
