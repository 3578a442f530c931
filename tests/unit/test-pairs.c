/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a build that is needed comes to, and two commits run in turns until a verdict; builds and runs are put by
 * hand. */
#include "bot/engine/needs.h"
#include "bot/engine/pairs.h"
#include "bot/engine/points.h"
#include "bot/engine/tasks.h"
#include "jobs/job.h"
#include "lib/fs.h"
#include "tests/tap.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define KPI "bench.rate"
#define FAILURE "crashed: oops"

static char dir[] = "/tmp/kperfbot-pairs-XXXXXX";

struct world { struct config cfg; struct engine e; struct scope s; };

static void write_file(const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);

	fs_write_atomic(path, text, strlen(text));
}

static void world_make(struct world *w)
{
	struct job_list jobs = {0};
	struct scope *s = &w->s;

	if (config_load(dir, &w->cfg) < 0 || store_open(":memory:", false, &w->e.store) < 0 ||
	    config_to_store(&w->cfg, w->e.store) < 0 || store_tree_get(w->e.store, "net", &s->tree) < 0 ||
	    store_machine_get(w->e.store, "qemu", &s->machine) < 0 || job_load("drop", dir, NULL, &jobs) < 0 ||
	    job_to_db(&jobs.v[0], &s->job) < 0 || store_job_put(w->e.store, &s->job) < 0)
		printf("Bail out! %s\n", err_msg());
	w->e.cfg = &w->cfg;
	s->cmp.kconfig = xstrdup("vm-min");
	s->cmp.epoch = xstrdup("e");
	job_list_release(&jobs);
}

static void world_release(struct world *w)
{
	scope_release(&w->s);
	engine_release(&w->e);
	store_close(w->e.store);
	config_release(&w->cfg);
}
#define WORLD _cleanup_(world_release) struct world

static void put_build(struct world *w, const char *commit, enum build_state state, const char *error)
{
	struct db_build b = {.tree = w->s.tree.id,
			     .commit = (char *)commit,
			     .kconfig = w->s.cmp.kconfig,
			     .state = state,
			     .error = (char *)error,
			     .image_hash = (char *)commit};

	if (store_build_put(w->e.store, &b, NULL) < 0)
		printf("Bail out! %s\n", err_msg());
}

static void put_run(struct world *w, const char *commit, int n, double value, enum run_verdict verdict)
{
	_cleanup_free_ char *boot = xasprintf("%.4s-%d", commit, n);
	struct metric_value v = {(char *)KPI, value, "ops/s", 1, false};
	struct db_build b = {0};
	struct db_run r = {.machine = w->s.machine.id, .replicate = n, .job = w->s.job.id, .boot = boot,
			   .verdict = verdict, .cause = verdict == RUN_OK ? NULL : (char *)"oops",
			   .started = now_usec()};
	const struct metric_set one = {.v = &v, .n = verdict == RUN_OK};

	if (store_build_get(w->e.store, w->s.tree.id, commit, w->s.cmp.kconfig, &b) < 0)
		printf("Bail out! %s\n", err_msg());
	r.build = b.id;
	if (store_run_put(w->e.store, &r, &one, NULL) < 0)
		printf("Bail out! %s\n", err_msg());
	db_build_release(&b);
}

/* Both as often as that: the second one slower by this share. */
static void put_pairs(struct world *w, int n, double slower)
{
	put_build(w, A, BUILD_OK, NULL);
	put_build(w, B, BUILD_OK, NULL);
	for (int i = 1; i <= n; i++) {
		put_run(w, A, i, 1000 + i % 2, RUN_OK);
		put_run(w, B, i, (1000 + i % 2) * (1 - slower), RUN_OK);
	}
}

/* The commits of the runs that wait, as letters. */
static void is_queue(struct world *w, const char *want, const char *what)
{
	struct db_task *t = NULL;
	_cleanup_buf_ struct buf got = {0};
	size_t n = 0;

	if (store_tasks_living(w->e.store, &t, &n) < 0)
		printf("Bail out! %s\n", err_msg());
	for (size_t i = 0; i < n; i++)
		if (t[i].kind == TASK_RUN)
			buf_addc(&got, strstr(t[i].key, A) ? 'a' : 'b');
	is_str(buf_str(&got), want, "%s", what);
	DB_LIST_RELEASE(t, n, db_task_release);
}

static void is_need(struct world *w, enum need_state state, bool queued, const char *why, const char *what)
{
	_cleanup_need_ struct need n = {0};

	is_int(need_build(&w->e, &w->s, A, PRIO_COMPARISON, 0, &n), 0, "%s", what);
	is_int(n.state, state, "its state");
	is_int(n.queued, queued, "%s", queued ? "asked for" : "not asked for again");
	if (why)
		is_str(n.why, why, "says why");
	else
		ok(!n.why && !n.reason, "nothing to say");
}

/* The task of the build ends. */
static void end_build(struct world *w, bool well, const char *result)
{
	struct db_task t = {0};

	if (store_task_claim(w->e.store, "build", "me", USEC_PER_SEC, &t) < 0 ||
	    store_task_end(w->e.store, t.id, well, 0, result) < 0)
		printf("Bail out! %s\n", err_msg());
	db_task_release(&t);
}

static void test_needs(void)
{
	WORLD w = {0};

	world_make(&w);
	is_need(&w, NEED_WAIT, true, NULL, "a commit that nobody has built");
	is_need(&w, NEED_WAIT, false, NULL, "it is queued");
	put_build(&w, A, BUILD_BROKEN, "net/core/filter.c:1: no");
	end_build(&w, true, "does not build");
	is_need(&w, NEED_BROKEN, false, "aaaaaaaaaaaa does not build: net/core/filter.c:1: no", "it is broken");
	free(w.s.cmp.epoch);
	w.s.cmp.epoch = xstrdup("another compiler");
	is_need(&w, NEED_WAIT, true, NULL, "which says nothing about another compiler");
	is_need(&w, NEED_WAIT, false, NULL, "it is queued again");
	put_build(&w, A, BUILD_OK, NULL);
	end_build(&w, true, "built");
	is_need(&w, NEED_BUILT, false, NULL, "it is built");
}

static void test_never(void)
{
	WORLD w = {0};

	world_make(&w);
	is_need(&w, NEED_WAIT, true, NULL, "one that is tried");
	end_build(&w, false, "the disk is full");
	is_need(&w, NEED_NEVER, false, "aaaaaaaaaaaa cannot be built: the disk is full", "it could not be tried");
}

/* A tree that is erased takes its work with it: of its name there may be another one. */
static void test_tree_again(void)
{
	WORLD w = {0};

	world_make(&w);
	is_need(&w, NEED_WAIT, true, NULL, "a commit of a tree");
	end_build(&w, true, "built");
	put_build(&w, A, BUILD_OK, NULL);
	is_need(&w, NEED_BUILT, false, NULL, "it is built");
	db_tree_release(&w.s.tree);
	if (store_tree_remove(w.e.store, "net") < 0 || config_to_store(&w.cfg, w.e.store) < 0 ||
	    store_tree_get(w.e.store, "net", &w.s.tree) < 0)
		printf("Bail out! %s\n", err_msg());
	is_need(&w, NEED_WAIT, true, NULL, "the tree was erased and added again");
}

static void test_turns(void)
{
	WORLD w = {0};
	const struct pairs p = {.s = &w.s, .a = A, .b = B, .metric = KPI, .priority = PRIO_COMPARISON};

	world_make(&w);
	is_int(pairs_more(&w.e, &p, 3), 6, "three pairs");
	is_queue(&w, "abbaab", "forth and back");
	put_pairs(&w, 3, 0);
	is_int(pairs_more(&w.e, &p, 2), 4, "two more");
	is_queue(&w, "abbaabbaab", "they go on where those stopped");
}

static void step(struct world *w, const struct pairs *p, int want, enum verdict verdict, struct pairs_result *x,
		 const char *what)
{
	is_int(pairs_step(&w->e, p, x), want, "%s", what);
	is_int(x->v.verdict, verdict, "the verdict so far");
}

static void test_step(void)
{
	WORLD w = {0};
	_cleanup_pairs_ struct pairs_result none = {0}, same = {0}, more = {0}, slower = {0};
	struct pairs p = {.s = &w.s, .a = A, .b = B, .metric = KPI, .priority = PRIO_PROOF, .min_boots = 4};

	world_make(&w);
	step(&w, &p, 0, VERDICT_MORE, &none, "no run at all");
	is_int(none.queued, 8, "as many as are asked for at least");
	put_pairs(&w, 3, 0);
	step(&w, &p, 0, VERDICT_MORE, &more, "three of four");
	is_int(more.queued, 2, "one more of each");
	put_run(&w, A, 4, 1000, RUN_OK);
	put_run(&w, B, 4, 1000, RUN_OK);
	step(&w, &p, 1, VERDICT_SAME, &same, "as many as asked for, all alike");
	is_int(same.n_a + same.n_b, 8, "the boots");
	is_int(same.queued, 0, "nothing more is queued");
}

static void test_different(void)
{
	WORLD w = {0};
	_cleanup_pairs_ struct pairs_result x = {0};
	struct pairs p = {.s = &w.s, .a = A, .b = B, .metric = KPI, .priority = PRIO_PROOF};

	world_make(&w);
	put_pairs(&w, 8, 0.05);
	step(&w, &p, 1, VERDICT_DIFFERENT, &x, "all of one side are slower");
	is_near(x.v.effect, -0.05, 1e-6, "by that much");
	p.after_run = 1000;
	p.optional = true;
	pairs_result_release(&x);
	is_int(pairs_look(&w.e, &p, &x), 0, "later runs");
	is_int(x.n_a + x.n_b, 0, "there are none");
}

static void test_failure(void)
{
	WORLD w = {0};
	_cleanup_pairs_ struct pairs_result x = {0};
	const struct pairs p = {
		.s = &w.s, .a = A, .b = B, .failure = FAILURE, .alpha = 0.01, .priority = PRIO_COMPARISON};

	world_make(&w);
	put_pairs(&w, 4, 0);
	step(&w, &p, 0, VERDICT_MORE, &x, "four that do not fail are too few");
	pairs_result_release(&x);
	for (int i = 5; i <= 40; i++) {
		put_run(&w, A, i, 1000, RUN_OK);
		put_run(&w, B, i, 0, RUN_CRASHED);
	}
	step(&w, &p, 1, VERDICT_DIFFERENT, &x, "one of them fails from there on");
	is_str(x.text, "bbbbbbbbbbbb fails in 36 of 40 boots, aaaaaaaaaaaa in 0 of 40", "in words");
	is_near(x.v.effect, 0.9, 1e-9, "the rates' difference");
	ok(isnan(x.v.lo) && isnan(x.v.hi), "without an interval");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	write_file("trees.yaml",
		   "trees:\n  net:\n    url: https://git.example.org/net.git\n    machine: qemu\n    jobs: [drop]\n");
	write_file("drop.yaml",
		   "suite: xdp-bench\ntestcase: xdp-bench\ncategory: benchmark\nruntime: 3s\nmonitors: []\n"
		   "xdp-bench:\n  mode: drop\n");
	test_needs();
	test_never();
	test_tree_again();
	test_turns();
	test_step();
	test_different();
	test_failure();
	fs_rm_rf(dir);
	return tap_done();
}
