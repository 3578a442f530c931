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

static void fill(const struct profile *const p[2], const double ops[2], struct profile_diff *d)
{
	size_t i[2] = {0, 0};

	while (i[0] < p[0]->n || i[1] < p[1]->n) {
		const struct profile_fn *f[2] = {i[0] < p[0]->n ? &p[0]->fn[i[0]] : NULL, i[1] < p[1]->n ? &p[1]->fn[i[1]] : NULL};
		int c = !f[0] ? 1 : !f[1] ? -1 : strcmp(f[0]->name, f[1]->name);
		struct profile_row *row = &d->row[d->n++];

		*row = (struct profile_row){.name = f[c > 0]->name};
		for (int k = 0; k < 2; k++)
			if (k ? c >= 0 : c <= 0) {
				set_side(row, k, f[k]->entries, f[k]->insns, ops[k]);
				i[k]++;
			}
		row->delta = row->insns[1] - row->insns[0];
	}
}

int profile_diff(const struct profile *base, const struct profile *head, struct profile_diff *ret)
{
	const struct profile *const p[2] = {base, head};
	struct profile_diff d = {.user.name = "user space", .total.name = "all"};
	double ops[2] = {base->operations, head->operations};

	if ((ops[0] > 0) != (ops[1] > 0))
		return err_set(-EINVAL, "only one of the two profiles knows its operations, so they cannot be compared");
	if (!(ops[0] > 0))
		ops[0] = ops[1] = 1;
	d.row = xcalloc(base->n + head->n + 1, sizeof(*d.row));
	fill(p, ops, &d);
	if (d.n)
		qsort(d.row, d.n, sizeof(*d.row), by_delta);
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
	*d = (struct profile_diff){0};
}
