/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hash.h - a hash table, over uthash: from keys, which are any bytes, to 0, 1, 2 ... in the order in which they came.
 * The caller keeps what belongs to them in an array. Zero-initialise; keys are copied.
 *
 *	struct hash names = {0};
 *	count[hash_add_text(&names, name)]++;                   count has room for names.n + 1
 *	for (size_t i = 0; i < names.n; i++)
 *		printf("%s %d\n", hash_key(&names, i), count[i]);
 */
#ifndef KPB_LIB_HASH_H
#define KPB_LIB_HASH_H
#include "lib/base.h"

struct hash { struct hash_entry *table, **entry; size_t n, cap; };
/* The number of a key, new (then it is n before the call) or known. */
size_t hash_add(struct hash *h, const void *key, size_t len);
static inline size_t hash_add_text(struct hash *h, const char *key) { return hash_add(h, key, strlen(key)); }
/* -1 where it is not there. */
ssize_t hash_find(const struct hash *h, const void *key, size_t len);
/* Key i of n, with a NUL behind it. Good until hash_release(). */
const char *hash_key(const struct hash *h, size_t i);
void hash_release(struct hash *h);
#define _cleanup_hash_ _cleanup_(hash_release)

#endif
