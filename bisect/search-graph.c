/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bisect/search-internal.h"

void classes_release(struct classes *cl)
{
	free(cl->of);
	free(cl->pattern);
	free(cl->weight);
	free(cl->loglik);
	free(cl->post);
	free(cl->est);
	*cl = (struct classes){0};
}

/* Splits every class by the bit "is an ancestor of site i". New classes are numbered in node order, so that the result
 * does not depend on the order of the observations. */
static void refine_by(struct search *s, uint32_t **parent_class, size_t i)
{
	struct classes *cl = &s->cl;
	_cleanup_free_ uint32_t *to = xmalloc((size_t)cl->n * 2 * sizeof(*to));
	_cleanup_free_ uint64_t *old = TAKE_PTR(cl->pattern);
	uint32_t n = 0;

	memset(to, 0xff, (size_t)cl->n * 2 * sizeof(*to));
	dag_ancestors(s->dag, s->site[i].node, s->seen);
	*parent_class = xrealloc_array(*parent_class, (size_t)cl->n * 2, sizeof(**parent_class));
	for (uint32_t x = 0; x < s->dag->n; x++) {
		uint32_t from = cl->of[x], key;

		if (from == UINT32_MAX)
			continue;
		key = 2 * from + s->seen[x];
		if (to[key] == UINT32_MAX) {
			(*parent_class)[n] = key;
			to[key] = n++;
		}
		cl->of[x] = to[key];
	}
	cl->pattern = xcalloc(MAX((size_t)n * cl->words, (size_t)1), sizeof(*cl->pattern));
	for (uint32_t k = 0; k < n; k++) {
		uint32_t key = (*parent_class)[k];

		memcpy(cl->pattern + (size_t)k * cl->words, old + (size_t)(key / 2) * cl->words,
		       cl->words * sizeof(*old));
		if (key & 1)
			cl->pattern[(size_t)k * cl->words + i / 64] |= UINT64_C(1) << (i % 64);
	}
	cl->n = n;
}

void classes_refine(struct search *s)
{
	struct classes *cl = &s->cl;
	_cleanup_free_ uint32_t *scratch = NULL;

	classes_release(cl);
	cl->of = xmalloc(MAX(s->dag->n, 1u) * sizeof(*cl->of));
	for (uint32_t x = 0; x < s->dag->n; x++)
		cl->of[x] = s->weight[x] > 0 ? 0 : UINT32_MAX;
	cl->n = 1;
	cl->words = MAX((s->n_sites + 63) / 64, (size_t)1);
	cl->pattern = xcalloc(cl->words, sizeof(*cl->pattern));
	for (size_t i = 0; i < s->n_sites; i++)
		refine_by(s, &scratch, i);
	cl->weight = xcalloc(MAX(cl->n, 1u), sizeof(*cl->weight));
	cl->loglik = xcalloc(MAX(cl->n, 1u), sizeof(*cl->loglik));
	cl->post = xcalloc(MAX(cl->n, 1u), sizeof(*cl->post));
	cl->est = xcalloc(MAX(cl->n, 1u), sizeof(*cl->est));
	for (uint32_t x = 0; x < s->dag->n; x++)
		if (cl->of[x] != UINT32_MAX)
			cl->weight[cl->of[x]] += s->weight[x];
}

void chains_release(struct chains *ch)
{
	free(ch->of);
	*ch = (struct chains){0};
}

void chains_find(struct search *s)
{
	const struct dag *d = s->dag;
	struct chains *ch = &s->ch;
	_cleanup_free_ uint32_t *children = xcalloc(MAX(d->n, 1u), sizeof(*children));

	chains_release(ch);
	ch->of = xmalloc(MAX(d->n, 1u) * sizeof(*ch->of));
	for (uint32_t e = 0; e < d->first[d->n]; e++)
		children[d->parent[e]]++;
	for (uint32_t x = 0; x < d->n; x++) {
		bool single = d->first[x + 1] - d->first[x] == 1;
		uint32_t p = single ? d->parent[d->first[x]] : 0;

		ch->of[x] = single && children[p] == 1 ? ch->of[p] : ch->n++;
	}
}

/* total[b][v]: sum of the values of 8 chains chosen by the bits of v. */
static void byte_sums(const double *value, uint32_t from, uint32_t n, double total[8][256])
{
	for (unsigned b = 0; b < 8; b++) {
		total[b][0] = 0;
		for (unsigned v = 1; v < 256; v++) {
			uint32_t chain = from + 8 * b + (unsigned)__builtin_ctz(v);

			total[b][v] = total[b][v & (v - 1)] + (chain < n ? value[chain] : 0);
		}
	}
}

/*
 * On a line this is a running sum. With merges an ancestor must count once however many paths lead to it, which needs
 * its identity: 64 chains at a time are carried down the graph as the bits of one word a chain.
 */
void ancestor_mass(const struct search *s, const double *value, double *mass)
{
	const struct dag *d = s->dag;
	const struct chains *ch = &s->ch;
	_cleanup_free_ double *whole = xcalloc(MAX(ch->n, 1u), sizeof(*whole)),
			      *below = xcalloc(MAX(ch->n, 1u), sizeof(*below));
	_cleanup_free_ uint64_t *reach = xmalloc(MAX(ch->n, 1u) * sizeof(*reach));
	_cleanup_free_ uint32_t *head = xmalloc(MAX(ch->n, 1u) * sizeof(*head));
	static _Thread_local double total[8][256];
	double negligible = 0;

	for (uint32_t x = d->n; x-- > 0;) {
		whole[ch->of[x]] += value[x];
		head[ch->of[x]] = x;
		negligible += value[x];
	}
	negligible *= 1e-15; /* below rounding: most of the graph is out of the race after a few boots */
	for (uint32_t from = 0; from < ch->n; from += 64) {
		bool any = false;

		for (uint32_t k = from; k < MIN(ch->n, from + 64); k++)
			any |= whole[k] > negligible;
		if (!any)
			continue;
		byte_sums(whole, from, ch->n, total);
		for (uint32_t k = from; k < ch->n; k++) { /* chains are numbered in topological order of their heads */
			uint64_t r = 0;

			for (uint32_t e = d->first[head[k]]; e < d->first[head[k] + 1]; e++) {
				uint32_t p = ch->of[d->parent[e]];

				if (p >= from)
					r |= reach[p];
			}
			for (unsigned b = 0; b < 8 && r >> (8 * b); b++)
				below[k] += total[b][(r >> (8 * b)) & 255];
			reach[k] = r | (k < from + 64 ? UINT64_C(1) << (k - from) : 0);
		}
	}
	for (uint32_t x = 0; x < d->n; x++) {
		uint32_t k = ch->of[x];

		mass[x] = value[x] + (x == head[k] ? below[k] : mass[d->parent[d->first[x]]]);
	}
}
