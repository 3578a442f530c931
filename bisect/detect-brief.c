/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Levels that only a few commits have, and levels that come and go. */
#include "bisect/detect-int.h"

#define MAX_EXPECTED .01        /* chance excursions of that length in the history of a level */
#define MODE_STAY 12.0          /* commits: who stays longer on average is no mode of the noise */
#define MODE_SPREADS 4.0        /* levels that far apart are told apart commit by commit */

/* ---- runs ---- */

bool detect_is_news(const struct series *s, size_t from, size_t to, const struct run *r, size_t other, double level,
		    double off)
{
	double n = (double)(to - from), out = 1;
	size_t run = 0;

	for (size_t i = from; i < to; i++) {
		if (i >= r->at && i < r->at + r->k)
			continue;
		run = r->side * (s->c[i].y - level) < off ? 0 : run + 1;
		if (run > other)
			return false;
		out += run > 0;
	}
	return n * pow(out / (n + 1), (double)r->k) < MAX_EXPECTED;
}

/* ---- modes ---- */

/* Stays at a level: commits in a row that lie there; those that lie at neither level do not count. */
struct mode { double level; size_t from, to, now, inside, longest, n, total; };

static void end_stay(struct mode *m)
{
	m->n += m->now > 0;
	m->total += m->now;
	m->longest = MAX(m->longest, m->inside);
	m->now = m->inside = 0;
}

/* Expected number of stays at least as long as that of the segment, were they of random (geometric) length like the others. */
static double expected(const struct mode *m, double *ret_mean)
{
	double others = (double)m->n - 1;

	*ret_mean = others > 0 ? (double)(m->total - m->longest) / others : INFINITY;
	return others * pow(1 - 1 / *ret_mean, (double)m->longest - 1);
}

bool detect_is_mode(const struct series *s, const struct cut *cut, size_t n, size_t i)
{
	size_t prev = i ? cut[i - 1].at : 0, next = i + 1 < n ? cut[i + 1].at : s->n;
	struct mode m[2] = {{.level = cut[i].before, .from = prev, .to = cut[i].at},
			    {.level = cut[i].after, .from = cut[i].at, .to = next}};
	double jump = fabs(m[1].level - m[0].level), stay[2], many[2];

	if (jump < MODE_SPREADS * MAX(detect_spread(s, prev, cut[i].at, m[0].level), detect_spread(s, cut[i].at, next, m[1].level)))
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
	return m[0].n > 2 && m[1].n > 2 && MIN(stay[0], stay[1]) < MODE_STAY && MIN(many[0], many[1]) > MAX_EXPECTED;
}
