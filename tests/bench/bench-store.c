/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast values get into the database (runs of 300 metrics, a transaction each, 200 builds of history), and how long
 * it takes to read what a comparison of two builds needs: 3,000 metrics of 6 runs each. Prints "NAME VALUE" lines.
 */
#include "db/store.h"
#include "lib/fs.h"

#define BUILDS 200
#define RUNS 6
#define METRICS 300
#define BIG 3000

static int must(int r)
{
	if (r < 0) {
		fprintf(stderr, "bench-store: %s\n", err_msg());
		exit(1);
	}
	return r;
}

/* Names that come in no useful order, as from a profile. */
static void make_set(struct metric_set *m, const char *prefix, int n)
{
	for (int i = 0; i < n; i++) {
		GROW(m->v, m->n, m->cap);
		m->v[m->n++] = (struct metric_value){
			xasprintf("%s.%08x.cycles-pp.some_function_%d", prefix, i * 2654435761u, i), 1000.0 / (i + 1),
			"%", -1, false};
	}
}

static int64_t put_build(struct store *s, int n)
{
	char oid[41];
	struct db_build b = {.tree = 1, .commit = oid, .kconfig = (char *)"vm-net", .state = BUILD_OK};
	int64_t id;

	snprintf(oid, sizeof(oid), "%040x", n);
	must(store_build_put(s, &b, &id));
	return id;
}

static void put_runs(struct store *s, int64_t build, int n, struct metric_set *m)
{
	for (int i = 0; i < n; i++) {
		char boot[32];
		struct db_run run = {.build = build, .machine = 1, .job = (char *)"0123456789abcdef", .boot = boot,
				     .verdict = RUN_OK, .seconds = 60, .started = 1000000ULL * (build * 100 + i)};

		snprintf(boot, sizeof(boot), "boot-%" PRId64 "-%d", build, i);
		for (size_t k = 0; k < m->n; k++)
			m->v[k].value += 0.1;
		must(store_run_put(s, &run, m, NULL));
	}
}

static void basics(struct store *s)
{
	struct db_tree t = {.name = (char *)"net-next", .url = (char *)"u", .enabled = true};
	struct db_machine m = {.name = (char *)"vm", .driver = (char *)"qemu", .tbox_group = (char *)"vm"};
	struct db_job j = {
		(char *)"0123456789abcdef", (char *)"j", (char *)"p", (char *)"{}", (char *)"{}", (char *)""};

	must(store_tree_put(s, &t, NULL));
	must(store_machine_put(s, &m, NULL));
	must(store_job_put(s, &j));
}

static void read_two(const char *path, int64_t a, int64_t b)
{
	usec_t best = UINT64_MAX, first = 0;

	for (int i = 0; i < 7; i++) {
		usec_t t = mono_usec();
		struct store *s;
		struct matrix m[2];

		must(store_open(path, true, &s));
		must(store_matrix(s, a, "0123456789abcdef", "vm", &m[0]));
		must(store_matrix(s, b, "0123456789abcdef", "vm", &m[1]));
		if (m[0].n_metrics != BIG || m[1].n_runs != RUNS)
			exit(1);
		matrix_release(&m[0]);
		matrix_release(&m[1]);
		store_close(s);
		t = mono_usec() - t;
		best = MIN(best, t);
		first = first ?: t;
	}
	printf("store.open_and_read_two_builds_ms %.2f\nstore.open_and_read_two_builds_first_ms %.2f\n", best / 1e3,
	       first / 1e3);
}

int main(void)
{
	char dir[] = "/tmp/kperfbot-bench-XXXXXX";
	_cleanup_free_ char *path = NULL;
	struct metric_set m = {0}, big = {0};
	int64_t a, b;
	struct store *s;
	usec_t t;

	if (!mkdtemp(dir))
		return 1;
	path = xasprintf("%s/bench.db", dir);
	must(store_open(path, false, &s));
	basics(s);
	make_set(&m, "m", METRICS);
	make_set(&big, "perf-profile.self", BIG);
	a = put_build(s, 0);
	b = put_build(s, 1);
	put_runs(s, a, RUNS, &big);
	t = mono_usec();
	for (int i = 0; i < BUILDS; i++)
		put_runs(s, put_build(s, i + 2), RUNS, &m);
	t = mono_usec() - t;
	put_runs(s, b, RUNS, &big);
	store_close(s);
	printf("store.values_per_second %.0f\n", (double)BUILDS * RUNS * METRICS / (t / 1e6));
	printf("store.bytes_per_value %.1f\n", (double)fs_size(path) / (BUILDS * RUNS * METRICS + 2 * RUNS * BIG));
	read_two(path, a, b);
	metric_set_release(&m);
	metric_set_release(&big);
	fs_rm_rf(dir);
	return 0;
}
