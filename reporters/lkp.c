/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LKP's comparison table, as lkp-tests prints it (its lib/compare.rb) and as 0-day mails show it. */
#include "bisect/compare-class.h"
#include "reporters/report.h"

enum { BASE_WIDTH = 16, OTHER_WIDTH = 27, OID_DIGITS = 10 };

struct line { const struct cmp_row *row; size_t order; long count; };

/* ---- numbers ---- */

void lkp_value(struct buf *out, double v)
{
	if (isnan(v))
		v = 0;
	if (fabs(v) < 1000)
		buf_addf(out, "%10.2f", v);
	else if (fabs(v) > 1e8)
		buf_addf(out, "%10.4g", v);
	else
		buf_addf(out, "%10d", (int)v);  /* cut, not rounded */
}

void lkp_stddev(struct buf *out, double pct)
{
	if (pct > 2)
		buf_addf(out, " ±%3.0f%%", trunc(pct));
	else
		buf_adds(out, "      ");
}

void lkp_change(struct buf *out, double change, bool points)
{
	if (isfinite(change))
		buf_addf(out, fabs(change) < 100000 ? "%+10.1f" : "%+10.2g", change);
	else
		buf_addf(out, "%10s", isinf(change) ? "from 0" : "");
	buf_adds(out, points || !isfinite(change) ? "  " : "% ");
}

static void fails_of_runs(struct buf *out, const struct cmp_side *s)
{
	double fails = isnan(s->mean) ? 0 : rint(s->mean * (double)s->runs);

	if (fails > 0)
		buf_addf(out, "%11.0f:%-4zu", fails, s->runs);
	else
		buf_addf(out, "%11s:%-4zu", "", s->runs);
}

static void add_row(struct buf *out, const struct cmp_row *r, size_t n)
{
	for (size_t b = 0; b < n; b++) {
		if (r->fail) {
			if (b)
				buf_addf(out, "%10.0f%% ", r->delta[b].change);
			fails_of_runs(out, &r->side[b]);
			continue;
		}
		if (b)
			lkp_change(out, r->delta[b].change, r->delta[b].points);
		lkp_value(out, r->side[b].mean);
		lkp_stddev(out, r->side[b].stddev_pct);
	}
	buf_adds(out, "  ");
	buf_add_shown(out, r->name);
	buf_addc(out, '\n');
}

/* ---- order ---- */

static size_t prefix(const char *name, int dots)
{
	size_t n = strcspn(name, ".");

	while (--dots > 0 && name[n])
		n += 1 + strcspn(name + n + 1, ".");
	return n;
}

static bool same_prefix(const char *a, const char *b, int dots)
{
	size_t n = prefix(a, dots);

	return n == prefix(b, dots) && !memcmp(a, b, n);
}

static int cmp_prefix(const char *a, const char *b, int dots)
{
	size_t na = prefix(a, dots), nb = prefix(b, dots);
	int c = memcmp(a, b, MIN(na, nb));

	return c ? c : (na > nb) - (na < nb);
}

/* Groups (by the name's first part) with few lines come first; inside a group by name, but perf-profile by its first
 * two parts and then by change. */
static int cmp_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	bool profile = startswith(x->row->name, "perf-profile.") && startswith(y->row->name, "perf-profile.");
	double cx = x->row->delta[1].change, cy = y->row->delta[1].change;
	int c;

	if (x->count != y->count)
		return (x->count > y->count) - (x->count < y->count);
	c = profile ? cmp_prefix(x->row->name, y->row->name, 2) : strcmp(x->row->name, y->row->name);
	if (c)
		return c;
	if (cx != cy)
		return (cx > cy) - (cx < cy);
	return (x->order > y->order) - (x->order < y->order);
}

static int cmp_line_name(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return cmp_prefix(x->row->name, y->row->name, 1);
}

static void count_groups(struct line *l, size_t n)
{
	qsort(l, n, sizeof(*l), cmp_line_name);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && same_prefix(l[j].row->name, l[i].row->name, 1); j++)
			;
		for (size_t k = i; k < j; k++)
			l[k].count = (long)(j - i) - (l[k].row->fail ? 10000 : 0);
	}
}

static bool row_changed(const struct cmp_row *r, size_t n)
{
	for (size_t b = 1; b < n; b++)
		if (cmp_is_change(r->delta[b].verdict))
			return true;
	return false;
}

/* ---- the block ---- */

static void add_axes(const struct lkp_axis *axis, size_t n, struct buf *out)
{
	for (size_t i = 0; i < 89; i++)
		buf_addc(out, '=');
	buf_addc(out, '\n');
	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "%s%s", axis[i].key, i + 1 < n ? "/" : ":\n  ");
	for (size_t i = 0; i < n; i++) {
		buf_add_shown(out, axis[i].value);
		buf_adds(out, i + 1 < n ? "/" : "\n\n");
	}
}

static int cmp_axis(const void *a, const void *b)
{
	return strcmp(((const struct lkp_axis *)a)->key, ((const struct lkp_axis *)b)->key);
}

static void add_columns(const struct lkp_column *col, size_t n, struct buf *out)
{
	buf_adds(out, "commit: \n");
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *oid = term_safe(col[i].oid);
		const char *lead = col[i].label ? " " : "  ";

		if (col[i].label) {
			buf_adds(out, "  ");
			buf_add_shown(out, col[i].label);
			buf_adds(out, ":");
		}
		if (col[i].subject) {
			buf_addf(out, "%s%.*s (\"", lead, OID_DIGITS, oid);
			buf_add_shown(out, col[i].subject);
			buf_adds(out, "\")\n");
		} else {
			buf_addf(out, "%s%s\n", lead, oid);
		}
	}
	buf_addc(out, '\n');
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *oid = term_safe(col[i].head ? col[i].head : col[i].oid);
		int width = i ? OTHER_WIDTH : BASE_WIDTH;

		buf_addf(out, "%*.*s ", width, width, oid);
	}
	buf_addc(out, '\n');
	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < (i ? OTHER_WIDTH : BASE_WIDTH); k++)
			buf_addc(out, '-');
		buf_addc(out, ' ');
	}
	buf_addc(out, '\n');
}

static const struct heads { const char *base, *other, *bar, *other_bar; } heads[] = {
	{"         %stddev", "     %change         %stddev", "             \\  ", "        |                \\  "},
	{"       fail:runs", "  %reproduction    fail:runs", "           |    ", "         |             |    "},
};

static void add_heads(bool fail, size_t n, struct buf *out)
{
	const struct heads *h = &heads[fail];

	for (size_t i = 0; i < n; i++)
		buf_adds(out, i ? h->other : h->base);
	buf_addc(out, '\n');
	for (size_t i = 0; i < n; i++)
		buf_adds(out, i ? h->other_bar : h->bar);
	buf_addc(out, '\n');
}

int lkp_table(const struct cmp_result *r, const struct lkp_column *col, size_t n_cols, const struct lkp_axis *axis,
	      size_t n_axes, bool all, struct buf *out)
{
	_cleanup_free_ struct line *l = xcalloc(r->n_rows + 1, sizeof(*l));
	_cleanup_free_ struct lkp_axis *sorted = xcalloc(n_axes + 1, sizeof(*sorted));
	size_t n = 0;
	bool headed[2] = {false, false};

	if (n_cols != r->n_builds || n_cols < 2)
		return err_set(-EINVAL, "a table of %zu columns needs as many builds, not %zu", n_cols, r->n_builds);
	if (n_axes)
		memcpy(sorted, axis, n_axes * sizeof(*sorted));
	qsort(sorted, n_axes, sizeof(*sorted), cmp_axis);
	for (size_t i = 0; i < r->n_rows; i++)
		if (all || row_changed(&r->row[i], n_cols))
			l[n++] = (struct line){&r->row[i], i, 0};
	count_groups(l, n);
	qsort(l, n, sizeof(*l), cmp_line);
	add_axes(sorted, n_axes, out);
	add_columns(col, n_cols, out);
	for (size_t i = 0; i < n; i++) {
		bool fail = l[i].row->fail;

		if (!headed[fail])
			add_heads(fail, n_cols, out);
		headed[fail] = true;
		add_row(out, l[i].row, n_cols);
	}
	buf_addc(out, '\n');
	return 0;
}
