/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/dag.h"

int dag_add(struct dag_builder *b, const uint32_t *parents, size_t n_parents)
{
	struct dag *d = &b->d;
	uint32_t edges = d->first ? d->first[d->n] : 0;

	for (size_t i = 0; i < n_parents; i++)
		if (parents[i] >= d->n)
			return err_set(-EINVAL, "commit %u has parent %u, which does not come before it", d->n,
				       parents[i]);
	if (d->n + 2 > b->cap_nodes) {
		b->cap_nodes = MAX(2 * b->cap_nodes, (size_t)64);
		d->first = xrealloc_array(d->first, b->cap_nodes, sizeof(*d->first));
	}
	if (edges + n_parents > b->cap_edges) {
		b->cap_edges = MAX(2 * b->cap_edges, edges + n_parents + 64);
		d->parent = xrealloc_array(d->parent, b->cap_edges, sizeof(*d->parent));
	}
	d->first[d->n] = edges;
	if (n_parents)
		memcpy(d->parent + edges, parents, n_parents * sizeof(*parents));
	d->first[++d->n] = edges + n_parents;
	return 0;
}

void dag_take(struct dag_builder *b, struct dag *ret)
{
	*ret = b->d;
	*b = (struct dag_builder){0};
}

int dag_line(uint32_t n, struct dag *ret)
{
	struct dag_builder b = {0};

	for (uint32_t i = 0; i < n; i++) {
		uint32_t parent = i - 1;

		dag_add(&b, &parent, i > 0);
	}
	dag_take(&b, ret);
	return 0;
}

void dag_release(struct dag *d)
{
	free(d->first);
	free(d->parent);
	*d = (struct dag){0};
}

void dag_ancestors(const struct dag *d, uint32_t node, bool *seen)
{
	memset(seen, 0, d->n * sizeof(*seen));
	if (node >= d->n)
		return;
	seen[node] = true;
	for (uint32_t i = node + 1; i-- > 0;) /* children come after parents: one pass downwards */
		if (seen[i])
			for (uint32_t e = d->first[i]; e < d->first[i + 1]; e++)
				seen[d->parent[e]] = true;
}
