/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Did a benchmark execute what a change touches? All changed functions together, as one verdict with its evidence. */
#include "kernels/touched.h"
#include "kernels/traced.h"

#define NAMED 5                 /* functions named in the evidence */

/* What one function says. With debug information a function that ran, and none of its changed lines, says nothing:
 * those
 * lines may have no code, or lie on a path that was not taken. */
enum ran_part { P_RAN, P_NOT, P_OPEN, P_ABSENT };

static enum ran_part part_of(const struct reach *r)
{
	switch (r->kind) {
	case REACH_RAN:
		return r->lines_ran ? P_RAN : r->namesakes > 1 || r->lines ? P_OPEN : P_RAN;
	case REACH_INLINED: return P_RAN;
	case REACH_NOT:
	case REACH_NOT_CALLED: return P_NOT;
	case REACH_ABSENT: return P_ABSENT;
	default: return P_OPEN;
	}
}

struct reach_sum { size_t n[4]; struct reach *r; };

static bool seen(const struct touched *t, const struct reach_sum *s, size_t i, enum ran_part part)
{
	for (size_t k = 0; k < i; k++)
		if (part_of(&s->r[k]) == part && streq(t->v[k].name, t->v[i].name))
			return true;
	return false;
}

/* "a, b and 3 more", with how often each ran where asked for. */
static void add_names(const struct touched *t, const struct reach_sum *s, enum ran_part part, bool with_text,
		      double operations, struct buf *out)
{
	size_t named = 0, more = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (part_of(&s->r[i]) != part || seen(t, s, i, part))
			continue;
		if (named == NAMED) {
			more++;
			continue;
		}
		buf_adds(out, named++ ? ", " : "");
		buf_add_term(out, t->v[i].name);
		if (with_text) {
			buf_adds(out, " (");
			reach_text(&s->r[i], operations, out);
			buf_adds(out, ")");
		}
	}
	if (more)
		buf_addf(out, " and %zu more", more);
}

static void add_files(const struct strv *files, const char *what, struct buf *out)
{
	for (size_t i = 0; i < files->n && i < 2; i++) {
		buf_adds(out, i ? ", " : "; also changed: ");
		buf_add_term(out, files->v[i]);
	}
	if (files->n > 2)
		buf_addf(out, " and %zu more", files->n - 2);
	if (files->n)
		buf_adds(out, what);
}

static void add_open(const struct touched *t, const struct reach_sum *s, double operations, struct buf *out)
{
	size_t here = t->n - s->n[P_ABSENT];

	if (!t->n)
		buf_adds(out, "no function is changed");
	else if (!here)
		buf_addf(out, "none of the %zu changed functions is part of this kernel", t->n);
	else
		buf_addf(out, "none of the %zu changed functions is known to have run", here);
	if (s->n[P_OPEN]) {
		buf_adds(out, "; cannot be told: ");
		add_names(t, s, P_OPEN, true, operations, out);
	}
	if (s->n[P_NOT]) {
		buf_adds(out, "; never executed: ");
		add_names(t, s, P_NOT, false, operations, out);
	}
	add_files(&t->data, " outside of functions", out);
	add_files(&t->other, "", out);
	if (t->cut)
		buf_adds(out, "; the change is larger, and the rest of it was not looked at");
}

static void add_yes(const struct touched *t, const struct reach_sum *s, double operations, struct buf *out)
{
	size_t here = t->n - s->n[P_ABSENT];

	buf_addf(out, "%zu of %zu changed function%s executed: ", s->n[P_RAN], here, here == 1 ? "" : "s");
	add_names(t, s, P_RAN, true, operations, out);
	if (s->n[P_NOT]) {
		buf_adds(out, "; never executed: ");
		add_names(t, s, P_NOT, false, operations, out);
	}
	if (s->n[P_OPEN]) {
		buf_adds(out, "; cannot be told: ");
		add_names(t, s, P_OPEN, true, operations, out);
	}
	if (t->cut)
		buf_addf(out, "; of a larger change, the rest of which was not looked at");
}

enum reach_verdict touched_reached(const struct touched *t, const struct symbols *s, const struct profile *p,
				   reach_lookup lookup, void *arg, double operations, struct buf *evidence)
{
	struct reach_sum sum = {.r = xcalloc(t->n + 1, sizeof(*sum.r))};
	enum reach_verdict v;

	for (size_t i = 0; i < t->n; i++) {
		touched_reach(&t->v[i], s, p, lookup, arg, &sum.r[i]);
		sum.n[part_of(&sum.r[i])]++;
	}
	if (sum.n[P_RAN]) {
		v = REACH_YES;
		add_yes(t, &sum, operations, evidence);
	} else if (!t->n || sum.n[P_OPEN] || t->data.n || t->other.n || t->cut) {
		v = REACH_OPEN;
		add_open(t, &sum, operations, evidence);
	} else {
		v = REACH_NO;
		if (sum.n[P_NOT]) {
			buf_adds(evidence, "this benchmark never executes ");
			add_names(t, &sum, P_NOT, false, operations, evidence);
		} else {
			buf_addf(evidence, "none of the %zu changed functions is part of this kernel", t->n);
		}
		buf_adds(evidence, ": its numbers say nothing about this change");
	}
	for (size_t i = 0; i < t->n; i++)
		reach_release(&sum.r[i]);
	free(sum.r);
	return v;
}

static void add_symbols(const struct symbols *s, const char *name, struct strv *ret)
{
	_cleanup_strv_ struct strv found = {0};

	(void)symbols_of(s, name, &found);
	for (size_t i = 0; i < found.n && ret->n < TRACED_MAX; i++)
		if (!strv_has(ret, found.v[i]))
			strv_add(ret, found.v[i]);
}

/* The callers of an inlined function; of those that are inlined too, theirs. */
static void add_callers(const struct touched_file *in, const struct strv *callers, const struct symbols *s, int depth,
			struct strv *ret)
{
	for (size_t i = 0; i < callers->n; i++) {
		if (symbols_counted_as(s, callers->v[i])) {
			add_symbols(s, callers->v[i], ret);
			continue;
		}
		for (size_t k = 0; depth > 1 && k < in->functions.n; k++)
			if (streq(in->functions.v[k], callers->v[i]))
				add_callers(in, &in->callers[k], s, depth - 1, ret);
	}
}

void touched_symbols(const struct touched *t, const struct symbols *s, struct strv *ret)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct touched_fn *f = &t->v[i];

		if (startswith(f->name, "__do_sys_")) {
			_cleanup_free_ char *entry = xasprintf("__x64_sys_%s", f->name + strlen("__do_sys_"));

			add_symbols(s, entry, ret);
		}
		add_symbols(s, f->name, ret);
		if (!symbols_of(s, f->name, NULL))
			add_callers(f->in, &f->callers, s, INLINE_DEPTH, ret);
	}
}
