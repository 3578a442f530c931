/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/hash.h"
#include "tests/tap.h"

#define MANY 200000

static void test_text(void)
{
	_cleanup_hash_ struct hash h = {0};

	is_int(hash_find(&h, "a", 1), -1, "nothing in an empty one");
	ok(hash_add_text(&h, "b") == 0 && hash_add_text(&h, "a") == 1 && hash_add_text(&h, "b") == 0 && h.n == 2,
	   "numbers in the order of first use");
	ok(hash_find(&h, "a", 1) == 1 && hash_find(&h, "aa", 2) == -1 && h.n == 2, "asking adds nothing");
	ok(hash_add_text(&h, "") == 2 && hash_find(&h, "", 0) == 2, "an empty key is one");
	is_str(hash_key(&h, 1), "a", "keys come back");
}

static void test_bytes(void)
{
	static const char key[2][5] = {"a\0b\0", "a\0c\0"};
	_cleanup_hash_ struct hash h = {0};

	ok(hash_add(&h, key[0], 4) == 0 && hash_add(&h, key[1], 4) == 1 && hash_add(&h, "a", 1) == 2,
	   "NUL bytes count");
	ok(!memcmp(hash_key(&h, 1), key[1], 5), "and come back, with a NUL behind them");
}

static void test_many(void)
{
	struct hash h = {0};
	char name[32];
	size_t wrong = 0;

	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < MANY; i++) {
			snprintf(name, sizeof(name), "CPU%zu.count", i);
			wrong += hash_add_text(&h, name) != i;
		}
	ok(!wrong && h.n == MANY, "%d keys, twice: each has its number", MANY);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "CPU%zu.count", i);
		wrong += strcmp(hash_key(&h, i), name) != 0;
	}
	ok(!wrong, "and its name");
	hash_release(&h);
	ok(!h.n && hash_find(&h, "CPU0.count", 10) == -1, "released it is empty, and may be used again");
	is_int(hash_add_text(&h, "x"), 0, "from 0");
	hash_release(&h);
}

int main(void)
{
	test_text();
	test_bytes();
	test_many();
	return tap_done();
}
