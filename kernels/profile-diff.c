/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The difference of two profiles: both lists are in the order of names, so one walk finds what belongs together. */
#include "kernels/profile.h"

static int by_delta(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;

	if (fabs(x->delta) != fabs(y->delta))
		return fabs(x->delta) > fabs(y->delta) ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void set_side(struct profile_row *row, int side, double entries, double insns, double operations)
{
	row->entries[side] = entries / operations;
	row->insns[side] = insns / operations;
	row->delta = row->insns[1] - row->insns[0];
}

struct fns { const struct profile_fn *v; size_t n; };

/* Rows of all functions of either side. */
static struct profile_row *rows_of(const struct fns f[2], const double ops[2], size_t *ret_n)
{
	struct profile_row *rows = xcalloc(f[0].n + f[1].n + 1, sizeof(*rows));
	size_t i[2] = {0, 0}, n = 0;

	while (i[0] < f[0].n || i[1] < f[1].n) {
		const struct profile_fn *at[2] = {i[0] < f[0].n ? &f[0].v[i[0]] : NULL,
						  i[1] < f[1].n ? &f[1].v[i[1]] : NULL};
		int c = !at[0] ? 1 : !at[1] ? -1 : strcmp(at[0]->name, at[1]->name);
		struct profile_row *row = &rows[n++];

		*row = (struct profile_row){.name = at[c > 0]->name};
		for (int k = 0; k < 2; k++)
			if (k ? c >= 0 : c <= 0) {
				set_side(row, k, at[k]->entries, at[k]->insns, ops[k]);
				i[k]++;
			}
		row->delta = row->insns[1] - row->insns[0];
	}
	if (n)
		qsort(rows, n, sizeof(*rows), by_delta);
	*ret_n = n;
	return rows;
}

int profile_diff(const struct profile *base, const struct profile *head, struct profile_diff *ret)
{
	const struct profile *const p[2] = {base, head};
	const struct fns fn[2] = {{base->fn, base->n}, {head->fn, head->n}},
			 inlined[2] = {{base->inlined, base->n_inlined}, {head->inlined, head->n_inlined}};
	struct profile_diff d = {.user.name = "user space", .total.name = "all"};
	double ops[2] = {base->operations, head->operations};

	if ((ops[0] > 0) != (ops[1] > 0))
		return err_set(-EINVAL,
			       "only one of the two profiles knows its operations, so they cannot be compared");
	if (!(ops[0] > 0))
		ops[0] = ops[1] = 1;
	d.row = rows_of(fn, ops, &d.n);
	if (base->n_lines && head->n_lines)
		d.inlined = rows_of(inlined, ops, &d.n_inlined);
	for (int k = 0; k < 2; k++) {
		set_side(&d.user, k, 0, p[k]->user, ops[k]);
		set_side(&d.total, k, 0, p[k]->insns, ops[k]);
	}
	*ret = d;
	return 0;
}

void profile_diff_rest(const struct profile_diff *d, size_t first, struct profile_row *ret)
{
	struct profile_row rest = {.name = "everything else"};

	for (size_t i = first; i < d->n; i++)
		for (int k = 0; k < 2; k++)
			rest.insns[k] += d->row[i].insns[k];
	rest.delta = rest.insns[1] - rest.insns[0];
	*ret = rest;
}

void profile_diff_release(struct profile_diff *d)
{
	free(d->row);
	free(d->inlined);
	*d = (struct profile_diff){0};
}
