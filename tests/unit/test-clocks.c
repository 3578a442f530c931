/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dates of commits are what their makers say: no answer about a history may depend on them. */
#include "kernels/tree.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/tap.h"

#define MAX_N 120

struct graph { int n; int parent[MAX_N][2]; bool reach[MAX_N][MAX_N]; char *oid[MAX_N]; char *dir; };

static char *top;
static uint64_t state = 1;

static unsigned rnd(unsigned below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(state >> 33) % below;
}

/* A quarter of the commits has a date of 1970 or of 2100. */
static int64_t odd_date(int i)
{
	switch (rnd(8)) {
	case 0: return 86400 + rnd(1000);
	case 1: return 4100000000 + rnd(1000);
	default: return 1700000000 + 3600 * i;
	}
}

static void close_reach(struct graph *g)
{
	for (int i = 0; i < g->n; i++) {
		g->reach[i][i] = true;
		for (int k = 0; k < 2; k++)
			for (int j = 0; g->parent[i][k] >= 0 && j < g->n; j++)
				g->reach[i][j] |= g->reach[g->parent[i][k]][j];
	}
}

static void make(struct graph *g, const char *name)
{
	_cleanup_buf_ struct buf in = {0}, marks = {0};
	_cleanup_(proc_result_release) struct proc_result res = {0};
	_cleanup_free_ char *path = xasprintf("%s/%s.marks", top, name), *arg = xasprintf("--export-marks=%s", path);

	g->dir = xasprintf("%s/%s.git", top, name);
	for (int i = 0; i < g->n; i++) {
		buf_addf(&in,
			 "commit refs/heads/b%d\nmark :%d\ncommitter A <a@example.org> %" PRId64 " +0000\ndata 1\nx\n",
			 i, i + 1, odd_date(i));
		if (g->parent[i][0] >= 0)
			buf_addf(&in, "from :%d\n", g->parent[i][0] + 1);
		if (g->parent[i][1] >= 0)
			buf_addf(&in, "merge :%d\n", g->parent[i][1] + 1);
		buf_addf(&in, "M 644 inline f%d\ndata 3\n%03d\n", i, i);
	}
	if (proc_ok(ARGV("git", "init", "-q", "--bare", g->dir), NULL, NULL) < 0 ||
	    proc_run(&(struct proc_spec){.argv = ARGV("git", "fast-import", "--quiet", arg),
					 .cwd = g->dir,
					 .input = in.s},
		     &res) < 0 ||
	    res.status || fs_read(path, 0, &marks) < 0)
		printf("Bail out! cannot make a repository: %s\n", buf_str(&res.err));
	for (char *save = NULL, *line = strtok_r(marks.s, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		g->oid[atoi(line + 1) - 1] = xstrdup(strchr(line, ' ') + 1);
	close_reach(g);
}

static void drop(struct graph *g)
{
	for (int i = 0; i < g->n; i++)
		free(g->oid[i]);
	free(g->dir);
}

static void line_of(struct graph *g, int n)
{
	g->n = n;
	for (int i = 0; i < n; i++) {
		g->parent[i][0] = i - 1;
		g->parent[i][1] = -1;
	}
}

static void random_graph(struct graph *g, int n)
{
	line_of(g, n);
	for (int i = 1; i < n; i++) {
		g->parent[i][0] = i - 1 - (int)rnd((unsigned)MIN(i, 6));
		if (i > 2 && rnd(4) == 0 && (g->parent[i][1] = (int)rnd((unsigned)i)) == g->parent[i][0])
			g->parent[i][1] = -1;
	}
}

static void test_line(void)
{
	struct graph g = {0};
	int64_t pos[MAX_N];
	char *some[4];

	line_of(&g, 60);
	make(&g, "line");
	is_int(tree_line(g.dir, g.oid[59], g.oid, 60, 1000, pos), 60, "all of a line are on it, whatever their dates");
	for (int i = 0; i < 4; i++)
		some[i] = g.oid[i];
	is_int(tree_line(g.dir, g.oid[59], some, 4, 1000, pos), 4, "so are its four oldest alone");
	ok(pos[0] == 59 && pos[3] == 56, "in the order of the graph");
	drop(&g);
}

static int wrong_ranges(const struct graph *g)
{
	int wrong = 0;

	for (int k = 0; k < 40; k++) {
		int a = (int)rnd((unsigned)g->n), b = (int)rnd((unsigned)g->n), n = 0, missing = 0;
		struct tree_range r = {0};

		if (tree_range(g->dir, g->oid[a], g->oid[b], 1000, &r) < 0) {
			wrong++;
			continue;
		}
		for (int i = 0; i < g->n; i++) {
			bool want = g->reach[b][i] && !g->reach[a][i], have = false;

			for (uint32_t j = 1; j < r.dag.n; j++)
				if (streq(r.oid[j], g->oid[i]) && j > r.n_forks)
					have = true;
				else if (streq(r.oid[j], g->oid[i])) /* where a branch forked: in the past of a */
					missing += !g->reach[a][i];
			n += want;
			missing += want != have;
		}
		for (uint32_t i = 1; i < r.dag.n; i++)
			for (uint32_t e = r.dag.first[i]; e < r.dag.first[i + 1]; e++)
				missing += r.dag.parent[e] >= i;
		wrong += missing || r.dag.n != r.n_forks + n + 1;
		tree_range_release(&r);
	}
	return wrong;
}

static int wrong_ancestors(const struct graph *g)
{
	int wrong = 0;

	for (int k = 0; k < 40; k++) {
		int a = (int)rnd((unsigned)g->n), b = (int)rnd((unsigned)g->n);

		wrong += tree_is_ancestor(g->dir, g->oid[a], g->oid[b]) != g->reach[b][a];
	}
	return wrong;
}

/* A merge base is a common ancestor from which no other one descends. */
static int wrong_bases(const struct graph *g)
{
	int wrong = 0;

	for (int k = 0; k < 20; k++) {
		int a = (int)rnd((unsigned)g->n), b = (int)rnd((unsigned)g->n), m = -1;
		_cleanup_free_ char *base = NULL;

		if (tree_merge_base(g->dir, g->oid[a], g->oid[b], &base) < 0) {
			wrong++;
			continue;
		}
		for (int i = 0; i < g->n; i++)
			m = streq(g->oid[i], base) ? i : m;
		if (m < 0 || !g->reach[a][m] || !g->reach[b][m]) {
			wrong++;
			continue;
		}
		for (int i = 0; i < g->n; i++)
			if (i != m && g->reach[a][i] && g->reach[b][i] && g->reach[i][m]) {
				wrong++;
				break;
			}
	}
	return wrong;
}

static void test_random(void)
{
	int ranges = 0, ancestors = 0, bases = 0;

	for (int i = 0; i < 12; i++) {
		struct graph g = {0};
		_cleanup_free_ char *name = xasprintf("r%d", i);

		random_graph(&g, 40 + (int)rnd(60));
		make(&g, name);
		ranges += wrong_ranges(&g);
		ancestors += wrong_ancestors(&g);
		bases += wrong_bases(&g);
		drop(&g);
	}
	is_int(ranges, 0, "480 ranges of 12 graphs with odd dates");
	is_int(ancestors, 0, "480 questions who is an ancestor");
	is_int(bases, 0, "240 merge bases");
}

int main(void)
{
	char tmp[] = "/tmp/kperfbot-clocks-XXXXXX";

	top = mkdtemp(tmp);
	if (!top)
		return 1;
	test_line();
	test_random();
	fs_rm_rf(top);
	return tap_done();
}
