/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The block of a report that tells what was executed: how often the functions that the commit changes ran, and by how
 * many instructions each function grew or shrank. Only where both commits have a profile.
 */
#include "kernels/touched.h"
#include "reporters/facts.h"

#define MAX_FUNCTIONS 10
#define MAX_ROWS 5
#define LEAST_CHANGE 0.5        /* instructions per operation: starting and ending the test gives that much */

static int look_up(void *arg, const char *name, uint64_t *ret_entries)
{
	const struct profile_fn *f = profile_get(arg, name);

	if (f)
		*ret_entries = f->entries;
	return f != NULL;
}

static const char *kind_of(const struct touched_fn *f)
{
	return f->is_inline ? ", inline" : f->is_static ? ", static" : "";
}

static void add_functions(const struct touched *t, const struct symbols *sym, struct profile *p, struct buf *out)
{
	if (!t->n)
		return;
	buf_adds(out, "functions this commit touches:\n");
	for (size_t i = 0; i < t->n && i < MAX_FUNCTIONS; i++) {
		struct reach r = {0};

		touched_reach(&t->v[i], sym, p, look_up, p, &r);
		buf_adds(out, "  ");
		buf_add_shown(out, t->v[i].name);
		buf_adds(out, " (");
		buf_add_shown(out, t->v[i].file);
		buf_addf(out, "%s): ", kind_of(&t->v[i]));
		reach_text(&r, p->operations, out);
		buf_addc(out, '\n');
		reach_release(&r);
	}
	if (t->n > MAX_FUNCTIONS)
		buf_addf(out, "  and %zu more\n", t->n - MAX_FUNCTIONS);
	buf_addc(out, '\n');
}

static void add_executed(const struct profile_row *r, struct buf *out)
{
	buf_addf(out, "%14.1f %14.1f %+14.1f  ", r->insns[0], r->insns[1], r->delta);
	buf_add_shown(out, r->name);
	buf_addc(out, '\n');
}

static void add_function_change(const struct profile_diff *d, bool per_operation, struct buf *out)
{
	struct profile_row rest;
	size_t n = 0;

	buf_addf(out, "instructions %s:\n%14s %14s %14s\n", per_operation ? "per operation" : "in all", "parent",
		 "commit", "change");
	for (; n < d->n && n < MAX_ROWS && fabs(d->row[n].delta) >= LEAST_CHANGE; n++)
		add_executed(&d->row[n], out);
	profile_diff_rest(d, n, &rest);
	add_executed(&rest, out);
	add_executed(&d->user, out);
	add_executed(&d->total, out);
}

static int load_profile(struct store *s, const struct facts *f, const struct db_build *b, struct profile *ret)
{
	struct db_profile row = {0};
	int r = b->id ? store_profile_get(s, b->id, f->cmp.job, f->machine.tbox_group, &row)
		      : err_set(-ENOENT, "there is no build");

	if (r >= 0)
		r = row.path ? profile_read(row.path, ret) : err_set(-ENOENT, "it was watched, not counted");
	db_profile_release(&row);
	return r;
}

int report_executed(struct store *s, const struct facts *f, const char *git_dir, struct buf *out)
{
	_cleanup_profile_ struct profile good = {0}, bad = {0};
	_cleanup_(profile_diff_release) struct profile_diff d = {0};
	_cleanup_(symbols_release) struct symbols sym = {0};
	_cleanup_free_ char *map = f->bad_build.image_path ? symbols_path(f->bad_build.image_path) : NULL;
	_cleanup_touched_ struct touched t = {0};
	int r = load_profile(s, f, &f->good_build, &good);

	if (r >= 0)
		r = load_profile(s, f, &f->bad_build, &bad);
	if (r >= 0)
		r = profile_diff(&good, &bad, &d);
	if (r < 0)
		return r;
	buf_adds(
		out,
		"Each executed instruction was counted in one more boot of both commits, from outside of the guest:\n\n");
	if (f->single && git_dir && map && symbols_read(map, &sym) >= 0 && touched_functions(git_dir, f->bad, &t) >= 0)
		add_functions(&t, &sym, &bad, out);
	add_function_change(&d, good.operations > 0, out);
	return 0;
}
