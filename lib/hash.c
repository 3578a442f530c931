/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/hash.h"

#define uthash_malloc(size) xmalloc(size)
#include <uthash.h>

struct hash_entry { UT_hash_handle hh; size_t number; char key[]; };

static struct hash_entry *find(const struct hash *h, const void *key, size_t len)
{
	struct hash_entry *e;

	HASH_FIND(hh, h->table, key, len, e);
	return e;
}

ssize_t hash_find(const struct hash *h, const void *key, size_t len)
{
	const struct hash_entry *e = find(h, key, len);

	return e ? (ssize_t)e->number : -1;
}

size_t hash_add(struct hash *h, const void *key, size_t len)
{
	struct hash_entry *e = find(h, key, len);

	if (e)
		return e->number;
	e = xcalloc(1, sizeof(*e) + len + 1);
	memcpy(e->key, key, len);
	e->number = h->n;
	HASH_ADD_KEYPTR(hh, h->table, e->key, len, e);
	GROW(h->entry, h->n, h->cap);
	h->entry[h->n++] = e;
	return e->number;
}

const char *hash_key(const struct hash *h, size_t i) { return h->entry[i]->key; }

void hash_release(struct hash *h)
{
	HASH_CLEAR(hh, h->table);
	for (size_t i = 0; i < h->n; i++)
		free(h->entry[i]);
	free(h->entry);
	*h = (struct hash){0};
}
