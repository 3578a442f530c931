/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/ask.h"
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

static int run_run(int argc, char **argv, struct ctx *c)
{
	const char *commit = NULL, *tree = NULL, *machine = NULL, *kconfig = NULL;
	int64_t n = 1;
	bool queue_only = false;
	const struct opt opts[] = {
		OPT_TEXT('c', "commit", "REV", &commit, "commit to measure"),
		OPT_TEXT('t', "tree", "NAME", &tree, "tree (where there are several)"),
		OPT_TEXT('m', "machine", "NAME", &machine, "machine (default: the tree's)"),
		OPT_TEXT('k', "kconfig", "NAME", &kconfig, "kernel configuration (default: the tree's)"),
		OPT_INT('n', "boots", "N", &n, "boots (default 1)"),
		OPT_FLAG('q', "queue", &queue_only, "only queue the work"),
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
		r = place_for(&w.e, &a, oid, &job, machine ? machine : a.tcfg.machine, &w.s);
	if (r >= 0)
		r = engine_run_tasks(&w.e, &w.s, oid, n, 250, 0);
	if (r >= 0 && !queue_only) {
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
	.usage = "JOB --commit REV [--tree NAME] [--machine NAME] [-n BOOTS] [key=value ...]",
	.summary = "build a commit, boot it and run a job on it",
	.text = "key=value words narrow the job's matrix or change parameters. Uses the running daemon, or does the work itself.\n"
		"Exit 1 when a run failed.",
	.run = run_run,
};
