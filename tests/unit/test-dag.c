/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graphs as arrays: ancestors agree with a search by hand on random graphs. */
#include "lib/dag.h"
#include "tests/tap.h"

static bool reaches(const struct dag *d, uint32_t from, uint32_t to)
{
	bool yes = from == to;

	for (uint32_t e = d->first[from]; !yes && e < d->first[from + 1]; e++)
		yes = reaches(d, d->parent[e], to);
	return yes;
}

static void test_random(unsigned seed)
{
	struct dag_builder b = {0};
	struct dag d = {0};
	bool seen[40], right = true;

	srand(seed);
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t p[3], n = i ? (uint32_t)rand() % 3 : 0;

		for (uint32_t k = 0; k < n; k++)
			p[k] = i - 1 - (uint32_t)rand() % MIN(i, 5u);
		if (dag_add(&b, p, n) < 0)
			right = false;
	}
	dag_take(&b, &d);
	right = right && d.n == 40 && !b.d.first;
	for (uint32_t v = 0; v < d.n; v++) {
		dag_ancestors(&d, v, seen);
		for (uint32_t u = 0; u < d.n; u++)
			right = right && seen[u] == reaches(&d, v, u);
	}
	ok(right, "ancestors in graph %u", seed);
	dag_release(&d);
}

int main(void)
{
	struct dag_builder b = {0};
	struct dag d = {0};
	bool seen[5];

	is_int(dag_add(&b, (const uint32_t[]){0}, 1), -EINVAL, "%s", err_msg());
	is_int(b.d.n, 0, "a node that is refused is not there");
	is_int(dag_add(&b, NULL, 0), 0, "a first one");
	is_int(dag_add(&b, (const uint32_t[]){0, 1}, 2), -EINVAL, "%s", err_msg());
	dag_release(&b.d);
	is_int(dag_line(5, &d), 0, "a line");
	ok(d.n == 5 && d.first[5] == 4 && d.parent[3] == 3, "of five nodes and four edges");
	dag_ancestors(&d, 2, seen);
	ok(seen[0] && seen[1] && seen[2] && !seen[3] && !seen[4], "ancestors, itself included");
	dag_ancestors(&d, 99, seen);
	ok(!seen[0] && !seen[4], "a node that is not there has none");
	dag_release(&d);
	ok(!d.n && !d.first, "released");
	dag_release(&d);
	for (unsigned seed = 1; seed <= 20; seed++)
		test_random(seed);
	return tap_done();
}
