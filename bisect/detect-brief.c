/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Levels that only a few commits have, and levels that come and go. */
#include "bisect/detect-internal.h"

#define MAX_CHANCE .001         /* chance excursions of that length in the history of a level */
#define BRIEF_STRENGTH 12.0     /* least z of an excursion that ended */
#define AGREE 4.0               /* its commits lie within so many spreads .. */
#define AGREE_JUMP .4           /* .. and within that share of the jump */
#define MOST_BRIEF 12           /* commits: longer excursions are levels like others */
#define MODE_EXPECTED .01       /* as long stays at a level: it is a mode if more are to be expected */
#define MODE_STAY 12.0          /* commits: who stays longer on average is no mode of the noise */
#define MODE_SPREADS 4.0        /* levels that far apart are told apart commit by commit */

/* ---- excursions ---- */

double detect_chance(const struct signal *s, size_t from, size_t to, const struct excursion *r, size_t other,
		     double level, double off)
{
	double n = (double)(to - from), out = 1;
	size_t run = 0;

	for (size_t i = from; i < to; i++) {
		if (i >= r->at && i < r->at + r->k)
			continue;
		run = r->side * (s->c[i].y - level) < off ? 0 : run + 1;
		if (run > other)
			return INFINITY;
		out += run > 0;
	}
	return n * pow(out / (n + 1), (double)r->k);
}

/* An excursion that ended is judged in hindsight, where there are many to choose from. */
static bool is_news(const struct signal *s, size_t from, size_t to, const struct excursion *r, double level,
		    double spread)
{
	return detect_chance(s, from, to, r, MAX(1, r->k / 3), level, DETECT_OUT * spread) < MAX_CHANCE;
}

/* Do the commits of a run agree with one another, but for one of each five? */
static bool agrees(const struct signal *s, const struct excursion *r, double level, double spread, double *ret_top)
{
	size_t skip = r->k / 5;
	double most;

	for (size_t i = 0; i < r->k; i++)
		s->work[i] = s->c[r->at + i].y;
	qsort(s->work, r->k, sizeof(*s->work), stat_cmp_double);
	*ret_top = s->work[r->k / 2];
	most = MIN(AGREE * spread, AGREE_JUMP * fabs(*ret_top - level));
	for (size_t i = 0; i <= skip; i++)
		if (s->work[r->k - 1 - skip + i] - s->work[i] <= most)
			return true;
	return false;
}

static bool is_excursion(const struct signal *s, size_t from, size_t to, const struct excursion *r, double level,
			 double spread)
{
	double top, n = (double)(to - from - r->k), z;

	if (2 * r->k >= to - from || !agrees(s, r, level, spread, &top))
		return false;
	z = fabs(top - level) / spread /
	    sqrt(detect_inflation(s, r->k) / (double)r->k + detect_inflation(s, to - from - r->k) / n);
	return z >= BRIEF_STRENGTH && is_news(s, from, to, r, level, spread);
}

/* The cut at that commit, a new one if there is none. */
static struct cut *cut_at(struct cut *cut, size_t *n, size_t at)
{
	size_t i = *n;

	while (i && cut[i - 1].at > at)
		i--;
	if (i && cut[i - 1].at == at)
		return &cut[i - 1];
	memmove(cut + i + 1, cut + i, ((*n)++ - i) * sizeof(*cut));
	cut[i] = (struct cut){.at = at};
	return &cut[i];
}

static size_t next_run(const struct signal *s, size_t i, size_t to, double level, double off, struct excursion *ret)
{
	while (i < to && !(fabs(s->c[i].y - level) >= off))
		i++;
	*ret = (struct excursion){.at = i, .side = i < to ? copysign(1, s->c[i].y - level) : 1};
	while (i < to && ret->side * (s->c[i].y - level) >= off)
		i++;
	ret->k = i - ret->at;
	return i;
}

static void in_segment(const struct signal *s, size_t from, size_t to, size_t least, struct cut *cut, size_t *n)
{
	double level = detect_level(s->c, from, to, s->work), spread = detect_spread(s, from, to, level, 1);
	struct excursion r;

	for (size_t i = from; i < to;) {
		i = next_run(s, i, to, level, DETECT_OUT * spread, &r);
		if (r.k < least || i == s->n || !is_excursion(s, from, to, &r, level, spread))
			continue;
		if (r.at)
			cut_at(cut, n, r.at)->brief = true;
		cut_at(cut, n, i)->brief = true;
	}
}

size_t detect_excursions(const struct signal *s, size_t min_segment, struct cut *cut, size_t n)
{
	size_t least = MAX((size_t)3, (min_segment + 1) / 2), from = 0;

	for (size_t i = 0; from < s->n; i++) {
		size_t to = i < n ? cut[i].at : s->n, old = n;

		in_segment(s, from, to, least, cut, &n);
		i += n - old;
		from = to;
	}
	return n;
}

bool detect_is_burst(const struct signal *s, const struct cut *cut, size_t n, size_t i)
{
	size_t prev = i ? cut[i - 1].at : 0, next = i + 2 < n ? cut[i + 2].at : s->n;
	struct excursion r = {cut[i].at, i + 1 < n ? cut[i + 1].at - cut[i].at : s->n,
			copysign(1, cut[i].after - cut[i].before)};
	double level, spread;

	if (r.k > MOST_BRIEF || 2 * r.k >= next - prev || r.side * (cut[i + 1].after - cut[i + 1].before) > 0)
		return false;
	level = detect_level(s->c, prev, next, s->work);
	spread = detect_spread(s, prev, next, level, 1);
	return !is_news(s, prev, next, &r, level, spread);
}

/* ---- modes ---- */

/* Stays at a level: commits in a row that lie there; those that lie at neither level do not count. own: the longest
 * inside the segment. */
struct mode { double level; size_t from, to, now, inside, own, longest, second, n, total; };

static void end_stay(struct mode *m)
{
	m->n += m->now > 0;
	m->total += m->now;
	m->own = MAX(m->own, m->inside);
	m->second = MAX(m->second, MIN(m->longest, m->now));
	m->longest = MAX(m->longest, m->now);
	m->now = m->inside = 0;
}

/* Expected number of stays at least as long as the segment's own, were they of random (geometric) length like the
 * others. The two longest tell nothing of the others' mean: they may be levels. */
static double expected(const struct mode *m, double *ret_mean)
{
	*ret_mean = m->n > 2 ? (double)(m->total - m->longest - m->second) / (double)(m->n - 2) : INFINITY;
	return ((double)m->n - 1) * pow(1 - 1 / *ret_mean, (double)m->own - 1);
}

bool detect_is_mode(const struct signal *s, const struct cut *cut, size_t n, size_t i)
{
	size_t prev = i ? cut[i - 1].at : 0, next = i + 1 < n ? cut[i + 1].at : s->n;
	struct mode m[2] = {{.level = cut[i].before, .from = prev, .to = cut[i].at},
			    {.level = cut[i].after, .from = cut[i].at, .to = next}};
	double jump = fabs(m[1].level - m[0].level), stay[2], many[2];

	if (jump < MODE_SPREADS * MAX(detect_spread(s, prev, cut[i].at, m[0].level, 1),
				      detect_spread(s, cut[i].at, next, m[1].level, 1)))
		return false;
	for (size_t k = 0; k < s->n; k++)
		for (int j = 0; j < 2; j++)
			if (fabs(s->c[k].y - m[j].level) < jump / 3) {
				end_stay(&m[!j]);
				m[j].now++;
				m[j].inside += k >= m[j].from && k < m[j].to;
			}
	end_stay(&m[0]);
	end_stay(&m[1]);
	for (int j = 0; j < 2; j++)
		many[j] = expected(&m[j], &stay[j]);
	return m[0].n > 3 && m[1].n > 3 && MIN(stay[0], stay[1]) < MODE_STAY && MIN(many[0], many[1]) > MODE_EXPECTED;
}
