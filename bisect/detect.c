/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Change points of a series: noise from differences, exact segmentation with a bounded loss, then points that are modes
 * of the noise or too weak for what their neighbourhood shows are taken away again, short excursions are added, each
 * point is moved to where the commits near it say, and the end is looked at. */
#include "bisect/detect-internal.h"

#define PENALTY 8.0             /* times ln(commits) */
#define MIN_STRENGTH 4.5        /* least z of a point against the spread of its own two segments */
#define WEAK 6.0                /* what is below may go away with other commits: provisional */
#define SURE .95                /* of the range of commits in which a point lies */
#define END_STRENGTH 6.0        /* least z of a level that too few commits have yet */
#define END_CHANCE .1           /* as long runs at the end by chance, from single commits that are off */
#define SMALL .01               /* a relative change below this must be .. */
#define SMALL_SIGMAS 3.0        /* .. that large against the noise of one commit: tiny and blurred convinces nobody */
#define WINDOW 30               /* commits on each side that a point is judged by */

/* ---- points ---- */

static double weight_of(const struct signal *s, size_t from, size_t to)
{
	double w = 0;

	for (size_t i = from; i < to; i++)
		w += s->c[i].weight;
	return w;
}

/* Scale of the commits around both levels. Where a side mixes modes of the noise the median of the distances does not
 * see it, so their mean square counts, too, with each distance at most the jump. */
static double local_spread(const struct signal *s, size_t from, size_t at, size_t to, double before, double after)
{
	double jump = fabs(after - before), ss = 0;

	for (size_t i = from; i < to; i++) {
		double d = fabs(s->c[i].y - (i < at ? before : after));

		s->work[i - from] = d;
		ss += MIN(d, jump) * MIN(d, jump);
	}
	return MAX(MAX(1, sqrt(ss / (double)(to - from))), detect_quantile(s->work, to - from, .5) / .67449);
}

static void measure_cut(const struct signal *s, size_t prev, size_t next, struct cut *cut)
{
	size_t from = cut->at > prev + WINDOW ? cut->at - WINDOW : prev, to = MIN(next, cut->at + WINDOW);
	double a = detect_level(s->c, from, cut->at, s->work), b = detect_level(s->c, cut->at, to, s->work);
	double variance = detect_inflation(s, cut->at - from) / weight_of(s, from, cut->at) +
			  detect_inflation(s, to - cut->at) / weight_of(s, cut->at, to);

	cut->before = detect_level(s->c, prev, cut->at, s->work);
	cut->after = detect_level(s->c, cut->at, next, s->work);
	cut->strength = fabs(b - a) / local_spread(s, from, cut->at, to, a, b) / sqrt(variance);
}

/* In units. */
static double raw(const struct signal *s, double y) { return s->centre + y * s->sigma; }

static bool too_small(const struct signal *s, const struct cut *c, double min_effect)
{
	double change = fabs(c->after - c->before), level = fabs(raw(s, c->before));

	return change * s->sigma < min_effect * level || (change * s->sigma < SMALL * level && change < SMALL_SIGMAS);
}

static size_t boundary(const struct cut *cut, size_t n, size_t i, size_t end, int step)
{
	if (step < 0)
		return i ? cut[i - 1].at : 0;
	return i + 1 < n ? cut[i + 1].at : end;
}

static void measure_all(const struct signal *s, struct cut *cut, size_t from, size_t to, size_t n)
{
	for (size_t i = from; i < MIN(to, n); i++)
		measure_cut(s, boundary(cut, n, i, s->n, -1), boundary(cut, n, i, s->n, 1), &cut[i]);
}

static bool is_weak(const struct signal *s, const struct detect_config *c, const struct cut *cut, size_t n, size_t i)
{
	size_t before = cut[i].at - boundary(cut, n, i, s->n, -1), after = boundary(cut, n, i, s->n, 1) - cut[i].at;

	return (MIN(before, after) < c->min_segment && !cut[i].brief) ||
	       cut[i].strength < MIN_STRENGTH || too_small(s, &cut[i], c->min_effect);
}

/* The weakest point goes, its neighbours are measured again, until all that is left is strong enough. */
static size_t drop_weak(const struct signal *s, const struct detect_config *c, struct cut *cut, size_t n)
{
	measure_all(s, cut, 0, n, n);
	for (;;) {
		size_t worst = n;

		for (size_t i = 0; i < n; i++)
			if (is_weak(s, c, cut, n, i) && (worst == n || cut[i].strength < cut[worst].strength))
				worst = i;
		if (worst == n)
			return n;
		n--;
		memmove(cut + worst, cut + worst + 1, (n - worst) * sizeof(*cut));
		measure_all(s, cut, worst ? worst - 1 : 0, worst + 1, n);
	}
}

/* Noise that comes and goes. */
static size_t drop_modes(const struct signal *s, struct cut *cut, size_t n)
{
	_cleanup_free_ bool *noise = xcalloc(n + 2, sizeof(*noise));
	size_t k = 0;

	measure_all(s, cut, 0, n, n);
	for (size_t i = 0; i < n; i++) {
		noise[i] |= detect_is_mode(s, cut, n, i);
		if (detect_is_burst(s, cut, n, i))
			noise[i] = noise[i + 1] = true;
	}
	for (size_t i = 0; i < n; i++)
		if (!noise[i])
			cut[k++] = cut[i];
	return k;
}

/* What goes raises the autocorrelation of what is left over, which may make others too weak. */
static size_t drop_chance(struct signal *s, const struct detect_config *c, struct cut *cut, size_t n)
{
	size_t old;

	do {
		old = n;
		detect_correlate(s, cut, n);
		n = drop_weak(s, c, cut, n);
	} while (n < old);
	return n;
}

/* ---- where exactly ---- */

/* Commits from..to-1 around a cut; cost[t - from]: how much larger their loss is when the new level begins at t,
 * from < t < to, than when it begins at from. */
struct step_place { size_t from, to; double cost[2 * WINDOW]; };

static double loss(const struct commit *c, double level, double spread)
{
	double d = (c->y - level) / spread;

	return MIN(c->weight * d * d, c->cap);
}

static double median_level(const struct signal *s, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		s->work[i - from] = s->c[i].y;
	return detect_quantile(s->work, to - from, .5);
}

/* Levels and spread from the window alone, whatever the noise of the whole series is. */
static void find_costs(const struct signal *s, const struct cut *cut, struct step_place *p)
{
	double a = median_level(s, p->from, cut->at), b = median_level(s, cut->at, p->to), sum = 0;
	double spread = MAX(detect_spread(s, p->from, cut->at, a, .5), detect_spread(s, cut->at, p->to, b, .5));

	for (size_t t = p->from; t < p->to; t++) {
		p->cost[t - p->from] = sum;
		sum += loss(&s->c[t], a, spread) - loss(&s->c[t], b, spread);
	}
}

/* Posterior of the first commit at the new level, every one of the window as likely before: exp(-cost / 2), for noise
 * that is correlated a flatter one. The range grows from the cut to the likelier side until it holds SURE. */
static void find_range(const struct signal *s, const struct step_place *p, struct cut *cut)
{
	double f = 2 * detect_inflation(s, WINDOW), least = INFINITY, all = 0, sum, w[2 * WINDOW] = {0};

	for (size_t t = p->from + 1; t < p->to; t++)
		least = MIN(least, p->cost[t - p->from]);
	for (size_t t = p->from + 1; t < p->to; t++)
		all += w[t - p->from] = exp((least - p->cost[t - p->from]) / f);
	cut->first = cut->last = cut->at;
	for (sum = w[cut->at - p->from]; sum < SURE * all;) {
		double down = cut->first > p->from + 1 ? w[cut->first - 1 - p->from] : -1;
		double up = cut->last + 1 < p->to ? w[cut->last + 1 - p->from] : -1;

		if (down < 0 && up < 0)
			break;
		sum += MAX(down, up);
		if (down >= up)
			cut->first--;
		else
			cut->last++;
	}
}

/* By the commits near it alone: what is added to the series far from it does not move it. */
static void locate(const struct signal *s, const struct detect_config *c, struct cut *cut, size_t n, size_t i)
{
	size_t prev = boundary(cut, n, i, s->n, -1), next = boundary(cut, n, i, s->n, 1), best = cut[i].at;
	struct step_place p = {.from = best > prev + WINDOW ? best - WINDOW : prev, .to = MIN(next, best + WINDOW)};

	find_costs(s, &cut[i], &p);
	for (size_t t = MAX(p.from + 1, prev + c->min_segment); t < p.to && t + c->min_segment <= next; t++)
		if (p.cost[t - p.from] < p.cost[best - p.from])
			best = t;
	if (!cut[i].brief && !cut[i].end)
		cut[i].at = best;
	find_range(s, &p, &cut[i]);
}

/* ---- all of it ---- */

/* A level that only the last commits have: too few for the segmentation to pay for, or fewer than a segment needs. Each
 * of them must lie beyond the noise, on the same side, all together far beyond, as it never was before. */
static bool find_end(const struct signal *s, const struct detect_config *c, size_t from, struct cut *ret)
{
	struct cut best = {0};

	for (size_t k = 1; k <= 8 && s->n >= from + k + 5; k++) {
		struct cut cut = {.at = s->n - k, .end = true};
		struct excursion r = {cut.at, k, 1};
		uint32_t runs = 0;

		measure_cut(s, from, s->n, &cut);
		r.side = copysign(1, s->c[cut.at].y - cut.before);
		for (size_t i = cut.at; i < s->n; i++) {
			runs += s->c[i].n;
			if (r.side * (s->c[i].y - cut.before) < DETECT_OUT)
				cut.strength = 0;
		}
		if (cut.strength >= END_STRENGTH && (k > 1 || runs > 2) && cut.strength > best.strength &&
		    !too_small(s, &cut, c->min_effect) &&
		    detect_chance(s, from, cut.at, &r, k - 1, cut.before, DETECT_OUT) < END_CHANCE)
			best = cut;
	}
	*ret = best;
	return best.at > 0;
}

static size_t find_cuts(struct signal *s, const struct detect_config *c, struct cut *cut)
{
	_cleanup_free_ uint32_t *start = xcalloc(s->n + 1, sizeof(*start));
	double penalty = (c->penalty > 0 ? c->penalty : PENALTY) * log((double)MAX(s->n, (size_t)20)) * s->inflate;
	size_t n = detect_segment(s->c, s->n, penalty, start), k = 0;

	for (size_t i = 1; i < n; i++)
		cut[k++].at = start[i];
	k = drop_chance(s, c, cut, drop_modes(s, cut, k));
	k = drop_chance(s, c, cut, detect_excursions(s, c->min_segment, cut, k));
	for (size_t i = 0; i < k; i++)
		locate(s, c, cut, k, i);
	k = drop_weak(s, c, cut, k);
	if (find_end(s, c, k ? cut[k - 1].at : 0, &cut[k])) {
		k++;
		detect_correlate(s, cut, k);
		measure_all(s, cut, k > 1 ? k - 2 : 0, k, k);
		locate(s, c, cut, k, k - 1);
	}
	return k;
}

static void report(const struct signal *s, const struct detect_config *c, const struct cut *cut, size_t n,
		   struct detect_result *ret)
{
	*ret = (struct detect_result){xcalloc(n + 1, sizeof(*ret->v)), n, s->unit * s->sigma};
	for (size_t i = 0; i < n; i++) {
		size_t after = s->n - cut[i].at;

		ret->v[i] = (struct detect_point){
			.index = s->c[cut[i].at].index, .before = s->unit * raw(s, cut[i].before),
			.after = s->unit * raw(s, cut[i].after),
			.provisional = cut[i].end || cut[i].strength < WEAK ||
				       (i + 1 == n && after < 2 * c->min_segment && cut[i].strength < 2 * END_STRENGTH),
			.strength = cut[i].strength,
			.first = s->c[cut[i].first].index,
			.last = s->c[cut[i].last].index,
		};
	}
}

static int check(const int64_t *index, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (index[i] < index[i - 1])
			return err_set(-EINVAL, "index %" PRId64 " comes after %" PRId64 "; sort the series first",
				       index[i], index[i - 1]);
	return n > UINT32_MAX ? err_set(-E2BIG, "a series of %zu values is too long", n) : 0;
}

int detect_run(const struct detect_config *cfg, const int64_t *index, const double *value, size_t n,
	       struct detect_result *ret)
{
	struct detect_config c = *cfg;
	_cleanup_free_ struct commit *commit = NULL;
	_cleanup_free_ double *work = NULL;
	_cleanup_free_ struct cut *cut = NULL;
	struct signal s;
	int r = check(index, n);

	if (r < 0)
		return r;
	c.min_segment = c.min_segment ? c.min_segment : 5;
	commit = xcalloc(n + 1, sizeof(*commit));
	work = xcalloc(n + 1, sizeof(*work));
	cut = xcalloc(n + 1, sizeof(*cut));
	s = (struct signal){.c = commit, .work = work, .inflate = 1};
	detect_prepare(&s, c.min_effect, index, value, n);
	if (s.n < 3) {
		*ret = (struct detect_result){xcalloc(1, sizeof(*ret->v)), 0, 0};
		return 0;
	}
	report(&s, &c, cut, find_cuts(&s, &c, cut), ret);
	return 0;
}

void detect_result_release(struct detect_result *r)
{
	free(r->v);
	*r = (struct detect_result){0};
}
