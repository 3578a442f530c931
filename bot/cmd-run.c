/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/ask.h"
#include "bot/profile.h"
#include "jobs/job.h"

extern const struct verb verb_run;

struct waiting { struct engine e; struct scope s; size_t runs_before; };

static int no_more_tasks(void *arg, struct ctx *c)
{
	struct waiting *w = arg;
	struct engine e = {.store = c->store, .cfg = &c->config};
	bool busy = false;

	if (store_tasks(c->store, "ready,running", &e.active, &e.n_active) >= 0)
		busy = engine_has_active(&e, w->s.cmp.id, 0);
	engine_release(&e);
	return !busy;
}

static int print_runs(struct ctx *c, const struct scope *s, const char *commit)
{
	struct query_filter f = {.tree = s->tree.name, .commit = commit, .job = s->job.name, .limit = 1000};
	_cleanup_table_ struct table t = {0};
	struct job j = {0};
	int r = job_from_canonical(s->job.name, s->job.canonical, &j);

	if (r >= 0) {
		f.metric_glob = job_kpis(&j)[0];
		r = store_query(c->store, f.metric_glob ? "series" : "runs", &f, &t);
	}
	if (r >= 0)
		r = table_print(&t, ctx_form(c), stdout);
	job_release(&j);
	return r;
}

static int by_insns(const void *a, const void *b)
{
	const struct profile_fn *x = *(struct profile_fn *const *)a, *y = *(struct profile_fn *const *)b;

	return x->insns < y->insns ? 1 : x->insns > y->insns ? -1 : strcmp(x->name, y->name);
}

/* The functions that took most instructions; all of them as CSV or JSON. */
static int print_top(struct ctx *c, const struct db_profile *row)
{
	static const char *const columns[] = {"function", "entries", "instructions", "percent"};
	_cleanup_profile_ struct profile p = {0};
	_cleanup_table_ struct table t = {0};
	_cleanup_free_ struct profile_fn **order = NULL;
	int r = profile_read(row->path, &p);

	if (r < 0)
		return r;
	order = xcalloc(p.n + 1, sizeof(*order));
	for (size_t i = 0; i < p.n; i++)
		order[i] = &p.fn[i];
	if (p.n)
		qsort(order, p.n, sizeof(*order), by_insns);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(&t, columns[i], i > 0);
	for (size_t i = 0; i < (ctx_form(c) == TABLE_TERM ? MIN(p.n, 20u) : p.n); i++) {
		table_row(&t);
		table_text(&t, 0, order[i]->name);
		table_int(&t, 1, (int64_t)order[i]->entries);
		table_int(&t, 2, (int64_t)order[i]->insns);
		table_numf(&t, 3, 100.0 * order[i]->insns / MAX(p.insns, 1u), 2);
	}
	if (ctx_form(c) == TABLE_TERM)
		printf("%" PRIu64 " instructions, %.1f%% in user space, %zu kernel functions, %.10g operations\n", p.insns,
		       100.0 * p.user / MAX(p.insns, 1u), p.n, p.operations);
	return table_print(&t, ctx_form(c), stdout);
}

/* A comparison of a commit with itself, ended: only a place for its tasks. */
static int place_for(struct engine *e, const struct asked *a, const char *commit, const struct db_job *job,
		     const char *machine, struct scope *ret)
{
	int64_t id;
	int r = engine_ask(e, &a->tree, &a->tcfg, "", commit, commit, job, machine, &id);

	if (r >= 0)
		r = store_comparison_end(e->store, id, "cancelled", "runs by hand");
	return r < 0 ? r : engine_scope(e, id, ret);
}

/* run --profile: an extra boot, no run among the measured ones. A count that failed is tried anew. */
static int count(struct ctx *c, struct waiting *w, const char *oid, const char *machine, bool queue_only, size_t *ret_good)
{
	const struct machine *m = config_machine(&c->config, machine);
	struct db_build b = {0};
	struct db_profile p = {0};
	struct db_task t = {0};
	_cleanup_free_ char *key = engine_profile_key(&w->s, oid);
	int r = m ? machine_profile_check(m) : err_set(-ENOENT, "there is no machine '%s'", machine ? machine : "");

	if (r >= 0)
		r = engine_profile_task(&w->e, &w->s, oid, 250, 0);
	if (r == 1) {
		r = store_task_by_key(c->store, key, &t);
		if (r >= 0 && (streq(t.state, "failed") || streq(t.state, "cancelled")))
			r = store_task_retry(c->store, t.id);
		db_task_release(&t);
	}
	if (r < 0 || queue_only)
		return MIN(r, 0);
	r = ask_wait(c, no_more_tasks, w);
	if (r >= 0)
		r = store_task_by_key(c->store, key, &t);
	if (r >= 0)
		r = store_build_get(c->store, w->s.tree.id, oid, w->s.cmp.kconfig, &b);
	if (r >= 0)
		r = store_profile_get(c->store, b.id, w->s.job.id, w->s.machine.tbox_group, &p);
	*ret_good = r >= 0;
	if (r == -ENOENT)
		r = err_set(-EIO, "%s", t.result ? t.result : "the count came to no end");
	if (r >= 0)
		r = print_top(c, &p);
	db_profile_release(&p);
	db_build_release(&b);
	db_task_release(&t);
	return r;
}

static int run_run(int argc, char **argv, struct ctx *c)
{
	const char *commit = NULL, *tree = NULL, *machine = NULL, *kconfig = NULL;
	int64_t n = 1;
	bool queue_only = false, profile = false;
	const struct opt opts[] = {
		OPT_TEXT('c', "commit", "REV", &commit, "commit to measure"),
		OPT_TEXT('t', "tree", "NAME", &tree, "tree (where there are several)"),
		OPT_TEXT('m', "machine", "NAME", &machine, "machine (default: the tree's)"),
		OPT_TEXT('k', "kconfig", "NAME", &kconfig, "kernel configuration (default: the tree's)"),
		OPT_INT('n', "boots", "N", &n, "boots (default 1)"),
		OPT_FLAG('q', "queue", &queue_only, "only queue the work"),
		OPT_FLAG('p', "profile", &profile, "instead count once what the kernel executes, for 'compare --profile'"),
		OPT_END,
	};
	struct asked a = {0};
	struct db_job job = {0};
	struct waiting w = {0};
	_cleanup_free_ char *oid = NULL;
	size_t bad = 0, good = 0;
	int r = verb_options(&verb_run, &argc, &argv, opts, c);

	if (r >= 0)
		return r;
	if (argc < 1 || !commit || n < 1 || n > 10000)
		return verb_usage(c, "run wants a job, --commit REV and -n from 1 to 10000; --help tells more");
	w.e = (struct engine){.cfg = &c->config};
	r = ctx_store(c, false);
	if (r >= 0)
		r = ask_tree(c, tree, &a);
	if (r >= 0 && kconfig) {
		free(a.tcfg.kconfig);
		a.tcfg.kconfig = xstrdup(kconfig);
	}
	if (r >= 0)
		r = ask_commit(c, &a, commit, &oid);
	if (r >= 0)
		r = ask_job(c, argv[0], (const char *const *)argv + 1, &job);
	w.e.store = c->store;
	if (r >= 0)
		r = ask_machine(c, machine ? machine : a.tcfg.machine);
	if (r >= 0)
		r = place_for(&w.e, &a, oid, &job, machine ? machine : a.tcfg.machine, &w.s);
	if (r >= 0 && profile)
		r = count(c, &w, oid, machine ? machine : a.tcfg.machine, queue_only, &good);
	else if (r >= 0)
		r = engine_run_tasks(&w.e, &w.s, oid, n, 250, 0);
	if (r >= 0 && !queue_only && !profile) {
		r = ask_wait(c, no_more_tasks, &w);
		if (r >= 0)
			r = print_runs(c, &w.s, oid);
		if (r >= 0)
			r = engine_bad_runs(&w.e, &w.s, oid, &bad, &good, NULL);
	}
	scope_release(&w.s);
	db_job_release(&job);
	asked_release(&a);
	if (r < 0)
		return verb_fail(c, r);
	return queue_only || (good && !bad) ? EXIT_DONE : EXIT_NO;
}

const struct verb verb_run = {
	.name = "run",
	.usage = "JOB --commit REV [--tree NAME] [--machine NAME] [-n BOOTS] [--profile] [key=value ...]",
	.summary = "build a commit, boot it and run a job on it",
	.text = "key=value words narrow the job's matrix or change parameters. Uses the running daemon, or does the work itself.\n"
		"--profile boots once more and counts every executed instruction by function (docs/PROFILE.md): on a machine of the\n"
		"driver qemu-icount the same ones each time, on one of the driver qemu to see what is reached. Exit 1 when a run failed.",
	.run = run_run,
};
