/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact segmentation by functional pruning: Maidstone, Hocking, Rigaill and Fearnhead 2017 (Stat. Comput. 27:519), with
 * the bounded loss of Fearnhead and Rigaill 2019 (J. Am. Stat. Assoc. 114:169).
 *
 * Q_t(level) = cheapest way to segment the commits up to t whose last segment has that level. It is piecewise
 * quadratic; a piece a (x - mu)^2 + m remembers where its last segment began. Adding a commit adds its loss to every
 * piece; starting a segment costs F + penalty, where F is the least of Q, so no piece ever needs to be above that. Kept
 * in the form with mu and m, nothing cancels however far the levels are apart. */
#include "bisect/detect-internal.h"

struct piece { double lo, a, mu, m; uint32_t start; };  /* from lo to the next piece's lo */
struct pieces { struct piece *v; size_t n, cap; };

static inline void emit(struct pieces *p, double lo, double a, double mu, double m, uint32_t start)
{
	if (p->n) {
		const struct piece *last = &p->v[p->n - 1];

		if (a == 0 && last->a == 0 && last->m == m && last->start == start)
			return;
	}
	p->v[p->n++] = (struct piece){lo, a, mu, m, start};
}

static void make_room(struct pieces *p, size_t n)
{
	if (n > p->cap) {
		p->cap = 2 * n;
		p->v = xrealloc_array(p->v, p->cap, sizeof(*p->v));
	}
}

static inline double at(const struct piece *p, double x) { return p->m + p->a * (x - p->mu) * (x - p->mu); }

/* min(from, top): pieces above top become a new segment beginning at start. */
static void bound(const struct pieces *from, double top, uint32_t start, struct pieces *to)
{
	make_room(to, 3 * from->n);
	to->n = 0;
	for (size_t i = 0; i < from->n; i++) {
		const struct piece *p = &from->v[i];
		double hi = i + 1 < from->n ? from->v[i + 1].lo : INFINITY, half, left, right;

		if (p->m >= top) {
			emit(to, p->lo, 0, 0, top, start);
			continue;
		}
		if (p->a == 0 || (at(p, p->lo) <= top && at(p, hi) <= top)) {
			emit(to, p->lo, p->a, p->mu, p->m, p->start);
			continue;
		}
		half = sqrt((top - p->m) / p->a);
		left = p->mu - half;
		right = p->mu + half;
		if (left > p->lo)
			emit(to, p->lo, 0, 0, top, start);
		if (MAX(left, p->lo) < MIN(right, hi))
			emit(to, MAX(left, p->lo), p->a, p->mu, p->m, p->start);
		if (right < hi)
			emit(to, MAX(right, p->lo), 0, 0, top, start);
	}
}

static inline void add_near(struct pieces *to, const struct piece *p, double lo, const struct commit *c)
{
	double a = p->a + c->weight, d = p->mu - c->y;

	if (p->a == 0)
		emit(to, lo, a, c->y, p->m, p->start);
	else
		emit(to, lo, a, (p->a * p->mu + c->weight * c->y) / a, p->m + p->a * c->weight / a * d * d, p->start);
}

/* Adds the loss of one commit: quadratic between y - h and y + h, its cap outside. */
static void add_commit(const struct pieces *from, const struct commit *c, struct pieces *to)
{
	double h = sqrt(c->cap / c->weight), l = c->y - h, r = c->y + h;

	make_room(to, from->n + 2);
	to->n = 0;
	for (size_t i = 0; i < from->n; i++) {
		const struct piece *p = &from->v[i];
		double hi = i + 1 < from->n ? from->v[i + 1].lo : INFINITY;

		if (p->lo < l)
			emit(to, p->lo, p->a, p->mu, p->m + c->cap, p->start);
		if (p->lo < r && hi > l)
			add_near(to, p, MAX(p->lo, l), c);
		if (hi > r)
			emit(to, MAX(p->lo, r), p->a, p->mu, p->m + c->cap, p->start);
	}
}

static double least(const struct pieces *q, uint32_t *ret_start)
{
	double best = INFINITY;

	for (size_t i = 0; i < q->n; i++) {
		const struct piece *p = &q->v[i];
		double hi = i + 1 < q->n ? q->v[i + 1].lo : INFINITY, v;

		if (p->m >= best)
			continue;
		v = p->a == 0 ? p->m : at(p, p->mu < p->lo ? p->lo : p->mu > hi ? hi : p->mu);
		if (v < best) {
			best = v;
			*ret_start = p->start;
		}
	}
	return best;
}

size_t detect_segment(const struct commit *c, size_t n, double penalty, uint32_t *ret_start)
{
	struct pieces q = {0}, tmp = {0};
	_cleanup_free_ uint32_t *start = xcalloc(n + 1, sizeof(*start));
	size_t k = 0;
	double f = 0;

	if (!n)
		return 0;
	make_room(&q, 1);
	emit(&q, -INFINITY, 0, 0, 0, 0);
	for (size_t t = 0; t < n; t++) {
		if (t) {
			bound(&q, f + penalty, (uint32_t)t, &tmp);
			add_commit(&tmp, &c[t], &q);
		} else {
			tmp.n = 0;
			add_commit(&q, &c[t], &tmp);
			struct pieces swap = q;
			q = tmp;
			tmp = swap;
		}
		f = least(&q, &start[t]);
	}
	for (size_t t = n; t > 0; t = start[t - 1])
		ret_start[k++] = start[t - 1];
	for (size_t i = 0; i < k / 2; i++) {
		uint32_t swap = ret_start[i];

		ret_start[i] = ret_start[k - 1 - i];
		ret_start[k - 1 - i] = swap;
	}
	free(q.v);
	free(tmp.v);
	return k;
}
