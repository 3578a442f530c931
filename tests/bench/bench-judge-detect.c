/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What detect reaches, by simulation with fixed seeds: false alarms on flat series of several kinds of noise, F1 with
 * steps, short excursions, how stable points are while a series grows, and how long it takes. One line a figure: what |
 * target | measured.
 */
#include "bisect/detect.h"
#include "tests/bench/bench.h"

/* ---- series ---- */

enum { MAX_N = 10000, MARGIN = 5 };

/* ar: correlation of neighbours. gap: distance of a second mode, entered and left with the probabilities to and from.
 * tail: degrees of freedom of Student's t, 0: normal. outliers: share that is up by 3 to 9. week: what two of each
 * seven commits add. lattice: distance of the values. widen: factor of the middle third. All in standard deviations. */
struct noise { const char *name; double ar, gap, to, from, tail, outliers, week, lattice, widen, wander; };
static const struct noise noises[] = {
	{.name = "independent"}, {.name = "AR(1) .3", .ar = .3}, {.name = "AR(1) .6", .ar = .6},
	{.name = "AR(1) .85", .ar = .85},
	{.name = "AR(1) .97 and white", .wander = .97}, {.name = "t with 2 degrees", .tail = 2},
	{.name = "5 % outliers", .outliers = .05},
	{.name = "20 % outliers", .outliers = .2}, {.name = "two modes 50:50", .gap = 8, .to = .5, .from = .5},
	{.name = "two modes 80:20", .gap = 8, .to = .2, .from = .8},
	{.name = "mode of 4 commits in 12", .gap = 7, .to = .12, .from = .25},
	{.name = "modes, AR(1) .5", .gap = 4, .to = .35, .from = .65, .ar = .5},
	{.name = "two days of seven", .week = 1.5},
	{.name = "few values", .lattice = 1.7}, {.name = "three times as wide in the middle", .widen = 3},
};

static void draw(const struct noise *k, double *v, int n)
{
	double ar = 0, slow = normal();
	bool mode = false;

	for (int i = 0; i < n; i++) {
		double x = k->tail > 0 ? .8 * normal() / sqrt(-log(uniform())) : normal();

		ar = i ? k->ar * ar + sqrt(1 - k->ar * k->ar) * x : x;
		slow = k->wander * slow + sqrt(1 - k->wander * k->wander) * normal();
		if (uniform() < (mode ? k->from : k->to))
			mode = !mode;
		v[i] = ar * (k->widen > 0 && i > n / 3 && i < 2 * n / 3 ? k->widen : 1) + (mode ? k->gap : 0) +
		       (k->wander > 0 ? 2 * slow : 0) + (i % 7 >= 5 ? k->week : 0) +
		       (uniform() < k->outliers ? 3 + 6 * uniform() : 0);
		if (k->lattice > 0)
			v[i] = k->lattice * floor(v[i] / k->lattice + .5);
	}
	for (int i = 0; i < n; i++)
		v[i] = 1000 + 10 * v[i];
}

static int draw_length(void) { return (int)exp(log(50) + log(20) * uniform()); }

static struct detect_result run(const double *v, int n)
{
	static int64_t index[MAX_N];
	struct detect_config c = {.min_effect = .002};
	struct detect_result r = {0};

	for (int i = 0; i < n; i++)
		index[i] = i;
	if (detect_run(&c, index, v, (size_t)n, &r) < 0) {
		fprintf(stderr, "%s\n", err_msg());
		exit(1);
	}
	return r;
}

static bool near(int64_t a, int64_t b) { return llabs((long long)(a - b)) <= MARGIN; }

/* ---- false alarms and F1 ---- */

static double spread_of(double *v, int n)
{
	double sum = 0, ss = 0;

	for (int i = 0; i < n; i++)
		sum += MIN(v[i], 1100) / n;
	for (int i = 0; i < n; i++)
		ss += (MIN(v[i], 1100) - sum) * (MIN(v[i], 1100) - sum) / n;
	return sqrt(ss);
}

/* One to three steps of 1.5 to 12 standard deviations, 12 commits apart at least. */
static int add_steps(double *v, int n, int64_t *at)
{
	double spread = spread_of(v, n);
	int wanted = 1 + (int)(3 * uniform()), steps = 0;

	for (int i = 8, left = 0; i < n - 8 && steps < wanted; i++)
		if (i >= left && uniform() < 3. / n) {
			double jump = spread * 1.5 * exp(log(8) * uniform()) * (uniform() < .5 ? -1 : 1);

			for (int k = i; k < n; k++)
				v[k] += jump;
			at[steps++] = i;
			left = i + 12;
		}
	return steps;
}

/* As van den Burg and Williams 2020 count: the first commit is a change point of both sides. */
static double f1(const struct detect_result *r, const int64_t *at, int steps)
{
	double right = 1, found = 1, precision, recall;

	for (size_t i = 0; i < r->n; i++)
		for (int k = 0; k < steps; k++)
			if (near(r->v[i].index, at[k])) {
				right++;
				break;
			}
	for (int k = 0; k < steps; k++)
		for (size_t i = 0; i < r->n; i++)
			if (near(r->v[i].index, at[k])) {
				found++;
				break;
			}
	precision = right / (1 + (double)r->n);
	recall = found / (1 + steps);
	return 2 * precision * recall / (precision + recall);
}

static void quality(void)
{
	enum { SERIES = 200 };
	double mean_rate = 0, mean_f1 = 0;

	for (size_t k = 0; k < ARRAY_SIZE(noises); k++) {
		_cleanup_free_ char *what = xasprintf("%s: points per 1,000 flat values; F1 with steps",
						      noises[k].name);
		double v[1000], points = 0, values = 0, sum = 0;

		state = 500 + k;
		for (int i = 0; i < SERIES; i++) {
			int n = draw_length();
			int64_t at[3];
			struct detect_result r;

			draw(&noises[k], v, n);
			r = run(v, n);
			points += (double)r.n;
			values += n;
			detect_result_release(&r);
			draw(&noises[k], v, n);
			int steps = add_steps(v, n, at);
			r = run(v, n);
			sum += f1(&r, at, steps);
			detect_result_release(&r);
		}
		line(what, "", "%.2f; %.3f", 1e3 * points / values, sum / SERIES);
		mean_rate += 1e3 * points / values / (double)ARRAY_SIZE(noises);
		mean_f1 += sum / SERIES / (double)ARRAY_SIZE(noises);
	}
	line("all of these: points per 1,000 flat values; F1 with steps", "<= .1; >= .93", "%.2f; %.3f", mean_rate,
	     mean_f1);
}

/* ---- excursions, growth ---- */

static void excursions(void)
{
	static const int lengths[] = {2, 3, 4, 5, 6, 8, 11};
	enum { SERIES = 400 };

	for (size_t k = 0; k < ARRAY_SIZE(lengths); k++) {
		_cleanup_free_ char *what = xasprintf("%d commits by 8 to 24 sigma and back: both ends exactly right",
						      lengths[k]);
		int right = 0;

		state = 600 + k;
		for (int i = 0; i < SERIES; i++) {
			double v[400], jump;
			int n = 46 + (int)(350 * uniform()), at = 10 + (int)((n - 30) * uniform());
			struct detect_result r;

			draw(&noises[i % 4 == 3 ? 6 : i % 4], v, n);    /* independent, AR(1) .3 and .6, outliers */
			jump = 10 * (8 + 16 * uniform()) * (uniform() < .5 ? -1 : 1);
			for (int j = at; j < at + lengths[k]; j++)
				v[j] += jump;
			r = run(v, n);
			right += r.n == 2 && r.v[0].index == at && r.v[1].index == at + lengths[k];
			detect_result_release(&r);
		}
		line(what, lengths[k] >= 6 ? ">= 90 %" : "", "%.0f %%", 100. * right / SERIES);
	}
}

static bool has(const struct detect_result *r, int64_t index)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].index == index)
			return true;
	return false;
}

static void growth(void)
{
	double points[2] = {0}, lost[2] = {0};

	for (size_t k = 0; k < ARRAY_SIZE(noises); k++) {
		state = 700 + k;
		for (int i = 0; i < 10; i++) {
			double v[250];
			int64_t at[3];
			struct detect_result old = {0}, r;

			draw(&noises[k], v, 250);
			add_steps(v, 250, at);
			for (int n = 40; n <= 250; n++) {
				r = run(v, n);
				for (size_t j = 0; j < old.n; j++) {
					points[old.v[j].provisional]++;
					lost[old.v[j].provisional] += !has(&r, old.v[j].index);
				}
				detect_result_release(&old);
				old = r;
			}
			detect_result_release(&old);
		}
	}
	line("one commit more: points that move or go; provisional ones", "<= 1 %", "%.2f %%; %.1f %%",
	     100 * lost[0] / points[0], 100 * lost[1] / points[1]);
}

/* ---- speed ---- */

static void draw_steps(double *v, int n, int every, double sigmas, double outliers)
{
	for (int i = 0; i < n; i++)
		v[i] = 1000 + 10 * (normal() + (uniform() < outliers ? 6 : 0) + (every && i / every % 2 ? sigmas : 0));
}

static void speed(void)
{
	static const struct { const char *what; int every; double sigmas, outliers; } kinds[] = {
		{"flat", 0, 0, 0}, {"flat, 5 % outliers", 0, 0, .05}, {"4 steps of 3 sigma, 2 % outliers", 200, 3, .02},
		{"19 steps of 5 sigma", 50, 5, 0},
	};

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		_cleanup_free_ char *what = xasprintf("100,000 series x 1,000 points, s (%s)", kinds[k].what);
		enum { SERIES = 200 };
		double v[1000], t = 0, found = 0;

		state = 77;
		for (int i = 0; i < SERIES; i++) {
			draw_steps(v, 1000, kinds[k].every, kinds[k].sigmas, kinds[k].outliers);
			t -= cpu_seconds();
			struct detect_result r = run(v, 1000);
			t += cpu_seconds();
			found += (double)r.n / SERIES;
			detect_result_release(&r);
		}
		line(what, "<= 60", "%.1f (%.2f points a series)", t / SERIES * 100000, found);
	}
}

static void size(void)
{
	static const int sizes[] = {1000, 3000, 10000};

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		_cleanup_free_ char *what = xasprintf("one series of %d points, ms: slowest kind of noise, mean; "
						      "a step each 50", sizes[k]);
		_cleanup_free_ double *v = xcalloc((size_t)sizes[k], sizeof(*v));
		double worst = 0, sum = 0, steps = 0;

		state = 88;
		for (size_t i = 0; i <= ARRAY_SIZE(noises); i++) {
			double t;

			if (i < ARRAY_SIZE(noises))
				draw(&noises[i], v, sizes[k]);
			else
				draw_steps(v, sizes[k], 50, 5, 0);
			t = cpu_seconds();
			struct detect_result r = run(v, sizes[k]);
			t = 1e3 * (cpu_seconds() - t);
			detect_result_release(&r);
			if (i < ARRAY_SIZE(noises)) {
				worst = MAX(worst, t);
				sum += t / (double)ARRAY_SIZE(noises);
			} else {
				steps = t;
			}
		}
		line(what, sizes[k] == 10000 ? "<= 100" : "", "%.1f, %.1f; %.1f", worst, sum, steps);
	}
}

int main(void)
{
	line("detect: what", "target", "measured");
	quality();
	excursions();
	growth();
	speed();
	size();
	return 0;
}
