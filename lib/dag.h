/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dag.h - a graph as plain arrays. Nodes 0..n-1 in topological order: parents before children. Node 0 is the known
 * good base, node n-1 the head. O(n + edges) memory.
 */
#ifndef KPB_LIB_DAG_H
#define KPB_LIB_DAG_H
#include "lib/base.h"

struct dag {
	uint32_t n;
	uint32_t *first;        /* n + 1 offsets into parent[] */
	uint32_t *parent; /* parents of i: parent[first[i]] .. parent[first[i + 1] - 1]; the first one is git's first
			     parent */
};
/* A straight line of n nodes. */
int dag_line(uint32_t n, struct dag *ret);
/* Incremental: nodes must come in order. */
struct dag_builder { struct dag d; size_t cap_nodes, cap_edges; };
int dag_add(struct dag_builder *b, const uint32_t *parents,
	    size_t n_parents); /* -EINVAL for a parent >= the new node */
void dag_take(struct dag_builder *b, struct dag *ret);
void dag_release(struct dag *d);
/* Marks in seen[0..n-1] (caller's) all ancestors of node, itself included. */
void dag_ancestors(const struct dag *d, uint32_t node, bool *seen);

#endif
