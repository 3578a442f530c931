/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/ask.h"
#include "bot/cli/profile-compare.h"
#include "bot/engine/measured.h"
#include "bot/engine/points.h"
#include "bot/engine/profile.h"
#include "bot/engine/tasks.h"
#include "lib/log.h"

extern const struct verb verb_run;

struct waiting { struct engine e; struct scope *s; size_t n; struct asking asking; struct progress progress; };

struct run_options {
	const char *commit, *tree, *machine, *kconfig;
	struct strv patches;
	int64_t n;
	bool queue_only, profile, matrix, quiet;
};

static void waiting_release(struct waiting *w)
{
	for (size_t i = 0; i < w->n; i++)
		scope_release(&w->s[i]);
	free(w->s);
	asking_end(&w->asking);
	progress_release(&w->progress);
}

static int no_more_tasks(void *arg, struct ctx *c)
{
	struct waiting *w = arg;
	struct engine e = {.store = c->store, .cfg = &c->config};
	bool busy = false;

	if (store_tasks_living(c->store, &e.active, &e.n_active) >= 0)
		for (size_t i = 0; i < w->n; i++)
			busy |= engine_has_active(&e, w->s[i].cmp.id, 0);
	engine_release(&e);
	return !busy;
}

/* Not all could be queued: then nothing of it stays. */
static int take_back(struct ctx *c, struct waiting *w, int error)
{
	_cleanup_free_ int64_t *id = xcalloc(w->n + 1, sizeof(*id));
	_cleanup_free_ char *why = xstrdup(err_msg());
	struct asking_left left;

	for (size_t i = 0; i < w->n; i++)
		id[i] = w->s[i].cmp.id;
	if (asking_tasks(c, &w->asking, id, w->n) >= 0)
		(void)asking_withdraw(c, &w->asking, &left);
	return err_set(error, "%s", why);
}

/* Waits for what was queued, which is ours from here on. */
static int wait_for_tasks(struct ctx *c, struct waiting *w, bool quiet)
{
	_cleanup_free_ int64_t *id = xcalloc(w->n + 1, sizeof(*id));
	int r;

	for (size_t i = 0; i < w->n; i++)
		id[i] = w->s[i].cmp.id;
	r = asking_tasks(c, &w->asking, id, w->n);
	if (r < 0)
		return r;
	progress_release(&w->progress);
	progress_begin(&w->progress, c, id, w->n, quiet);
	return ask_wait(c, &w->asking, &w->progress, no_more_tasks, w);
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
	if (r >= 0 && !t.n_rows && ctx_form(c) == TABLE_TERM) { /* no boot gave a value: then how they ended */
		table_release(&t);
		t = (struct table){0};
		f.metric_glob = NULL;
		r = store_query(c->store, "runs", &f, &t);
	}
	if (r >= 0 && (t.n_rows || ctx_form(c) != TABLE_TERM))
		r = table_print(&t, ctx_form(c), stdout);
	job_release(&j);
	return r;
}

/* ---- how it went ---- */

struct ending { char *text; size_t n; };
struct run_tally { size_t ok, bad; struct ending *v; size_t n, cap; char *files; };

static void tally_release(struct run_tally *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].text);
	free(t->v);
	free(t->files);
}

static void tally_add(struct run_tally *t, const struct db_run *r)
{
	_cleanup_free_ char *text =
		xasprintf("%s%s%s", run_verdict_word(r->verdict), r->cause ? ": " : "", r->cause ? r->cause : "");
	size_t i = 0;

	if (r->verdict == RUN_OK) {
		t->ok++;
		return;
	}
	t->bad++;
	free(t->files);
	t->files = xstrdup(r->result_dir);
	while (i < t->n && strcmp(t->v[i].text, text))
		i++;
	if (i == t->n) {
		GROW(t->v, t->n, t->cap);
		t->v[t->n++] = (struct ending){TAKE_PTR(text), 0};
	}
	t->v[i].n++;
}

/* The runs since then, whoever asked for them. */
static int tally_runs(struct ctx *c, const struct scope *s, int64_t build, usec_t since, struct run_tally *ret)
{
	struct db_run *runs = NULL;
	size_t n = 0;
	int r = store_runs(c->store, build, s->job.id, s->machine.tbox_group, false, &runs, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (runs[i].started >= since)
			tally_add(ret, &runs[i]);
	DB_LIST_RELEASE(runs, n, db_run_release);
	return r;
}

static void say_bad_runs(const char *commit, const struct run_tally *t)
{
	_cleanup_buf_ struct buf b = {0};

	buf_addf(&b, "%zu of %zu boots of %.12s gave no value: ", t->bad, t->bad + t->ok, commit);
	for (size_t i = 0; i < t->n; i++) {
		buf_adds(&b, i ? "; " : "");
		buf_add_shown(&b, t->v[i].text);
		if (t->n > 1)
			buf_addf(&b, " (%zu)", t->v[i].n);
	}
	term_printf(stderr, "kperfbot: %s%s%s\n", buf_str(&b), t->files ? "; files of the last one: " : "",
		    t->files ? t->files : "");
}

/* No runs: the build's fault, or that of what should have built it. */
static void say_not_run(struct ctx *c, const struct scope *s, const char *commit, const struct db_build *b)
{
	_cleanup_free_ char *key = xasprintf("build:%s:%s:%s:%s", s->tree.name, commit, s->cmp.kconfig, s->cmp.epoch);
	struct db_task t = {0};

	if (b->state == BUILD_BROKEN)
		term_printf(stderr, "kperfbot: %.12s does not build: %s%s%s%s\n", commit,
			    b->error ? b->error : "no error line", b->log_path ? "\nkperfbot: its log: " : "",
			    b->log_path && endswith(b->log_path, ".zst") ? "zstdcat " : "",
			    b->log_path ? b->log_path : "");
	else if (store_task_by_key(c->store, key, &t) >= 0 && task_gave_up(t.state))
		term_printf(stderr,
			    "kperfbot: %.12s was not built: %s; 'kperfbot queue retry %" PRId64 "' tries again\n",
			    commit, t.result ? t.result : task_state_word(t.state), t.id);
	else
		term_printf(stderr, "kperfbot: %.12s was not measured; 'kperfbot queue list --all' tells more\n",
			    commit);
	db_task_release(&t);
}

/* Says what went wrong with the boots asked for since then; what went well is in the table. */
static int say_ending(struct ctx *c, const struct scope *s, const char *commit, usec_t since, bool stopped, size_t *bad,
		      size_t *good)
{
	_cleanup_(tally_release) struct run_tally t = {0};
	_cleanup_(db_build_release) struct db_build b = {0};
	int r = store_build_get(c->store, s->tree.id, commit, s->cmp.kconfig, &b);

	if (r >= 0)
		r = tally_runs(c, s, b.id, since, &t);
	if (r < 0 && r != -ENOENT)
		return r;
	*bad += t.bad + !t.ok;
	*good += t.ok;
	if (t.bad)
		say_bad_runs(commit, &t);
	else if (!t.ok && !stopped)
		say_not_run(c, s, commit, &b);
	return 0;
}

/* ---- what was measured ---- */

static int by_insns(const void *a, const void *b)
{
	const struct profile_fn *x = *(struct profile_fn *const *)a, *y = *(struct profile_fn *const *)b;

	return x->insns < y->insns ? 1 : x->insns > y->insns ? -1 : strcmp(x->name, y->name);
}

/* What the kernel watched where nobody can count. */
static int print_watched(struct ctx *c, const struct db_profile *row)
{
	static const char *const columns[] = {"function", "entries", "means"};
	_cleanup_table_ struct table t = {0};
	struct db_reach *list = NULL;
	size_t n = 0;
	int r = store_reaches(c->store, row->id, &list, &n);

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(&t, columns[i], i == 1);
	for (size_t i = 0; i < n; i++) {
		table_row(&t);
		table_text(&t, 0, list[i].function);
		table_int(&t, 1, list[i].entries);
		table_text(&t, 2, row->means);
	}
	DB_LIST_RELEASE(list, n, db_reach_release);
	return r < 0 ? r : table_print(&t, ctx_form(c), stdout);
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
		term_printf(stdout, "%" PRIu64 " instructions, %.1f%% in user space, %zu kernel functions, "
			    "%.10g operations\n", p.insns, 100.0 * p.user / MAX(p.insns, 1u), p.n, p.operations);
	return table_print(&t, ctx_form(c), stdout);
}

/* One line for each point. */
static int print_matrix(struct ctx *c, struct waiting *w, const struct points *p)
{
	static const char *const columns[] = {"point", "commit", "metric", "boots", "failed", "mean", "stddev_pct",
					      "cause"};
	_cleanup_table_ struct table t = {0};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(&t, columns[i], i > 2 && i < 7);
	for (size_t i = 0; r >= 0 && i < p->n; i++) {
		struct boots x = {0};
		struct job j = {0};
		struct engine_runs k = {0};
		_cleanup_free_ char *oid = NULL;
		double mean = 0, ss = 0;
		const char *kpi = NULL;

		r = job_from_canonical(p->v[i].job.name, p->v[i].job.canonical, &j);
		if (r >= 0 && (kpi = job_kpis(&j)[0]))
			r = engine_boots(&w->e, &w->s[i], p->v[i].commit, kpi, 0, &x);
		if (r >= 0)
			r = engine_runs(&w->e, &w->s[i], p->v[i].commit, 0, &k);
		for (size_t v = 0; v < x.n; v++)
			mean += x.value[v] / x.n;
		for (size_t v = 0; v < x.n; v++)
			ss += (x.value[v] - mean) * (x.value[v] - mean);
		table_row(&t);
		table_text(&t, 0, p->v[i].name);
		oid = xasprintf("%.*s", ctx_form(c) == TABLE_TERM ? 12 : INT_MAX, p->v[i].commit);
		table_text(&t, 1, oid);
		table_text(&t, 2, kpi);
		table_int(&t, 3, x.n);
		table_int(&t, 4, k.bad);
		table_num(&t, 5, x.n ? mean : NAN);
		table_numf(&t, 6, x.n > 1 && mean != 0 ? 100 * sqrt(ss / x.n) / fabs(mean) : NAN, 3);
		table_text(&t, 7, k.cause);
		engine_runs_release(&k);
		boots_release(&x);
		job_release(&j);
	}
	return r < 0 ? r : table_print(&t, ctx_form(c), stdout);
}

/* A comparison of a commit with itself, ended: only a place for its tasks. */
static int place_for(struct engine *e, const struct asked *a, const char *commit, const struct db_job *job,
		     const char *machine, struct scope *ret)
{
	int64_t id;
	int r = engine_ask(e, &a->tree, &a->tcfg, "", commit, commit, job, machine, &id);

	if (r >= 0)
		r = store_comparison_end(e->store, id, COMPARISON_CANCELLED, FAULT_NONE, "runs by hand");
	return r < 0 ? r : engine_scope(e, id, ret);
}

/* run --profile: an extra boot, no run among the measured ones. A count that failed is tried anew. */
static int count(struct ctx *c, struct waiting *w, const struct scope *s, const char *oid, const char *machine,
		 const struct run_options *o, size_t *ret_good, bool *ret_stopped)
{
	const struct machine *m = config_machine(&c->config, machine);
	struct db_build b = {0};
	struct db_profile p = {0};
	struct db_task t = {0};
	_cleanup_free_ char *key = engine_profile_key(s, oid);
	const struct machine_ops *ops = m ? machine_driver(m->driver) : NULL;
	int r = o->queue_only ? 0 : asking_begin(c, &w->asking);

	if (r < 0)
		return r;
	r = ops ? machine_profile_check(m) : err_set(-ENOENT, "there is no machine '%s'", machine ? machine : "");
	if (r >= 0 || (ops && (ops->flags & MACHINE_BOOTS)))     /* else the kernel watches what the commit changes */
		r = engine_profile_task(&w->e, s, NULL, oid, NULL, PRIO_HAND, 0);
	if (r == 1) {
		r = store_task_by_key(c->store, key, &t);
		if (r >= 0 && task_gave_up(t.state))
			r = store_task_retry(c->store, t.id);
		db_task_release(&t);
	}
	if (r < 0 || o->queue_only)
		return MIN(r, 0);
	r = wait_for_tasks(c, w, o->quiet);
	if (r > 0) {
		*ret_stopped = true;
		return 0;
	}
	if (r >= 0)
		r = store_task_by_key(c->store, key, &t);
	if (r >= 0)
		r = store_build_get(c->store, s->tree.id, oid, s->cmp.kconfig, &b);
	if (r >= 0)
		r = store_profile_get(c->store, b.id, s->job.id, s->machine.tbox_group, &p);
	*ret_good = r >= 0;
	if (r == -ENOENT)
		r = err_set(-EIO, "%s", t.result ? t.result : "the count did not finish");
	if (r >= 0)
		r = p.path ? print_top(c, &p) : print_watched(c, &p);
	db_profile_release(&p);
	db_build_release(&b);
	db_task_release(&t);
	return r;
}

static int queue(struct waiting *w, const struct points *p, const struct run_options *o)
{
	_cleanup_free_ struct engine_point *point = xcalloc(p->n, sizeof(*point));

	if (p->n == 1)
		return engine_run_tasks(&w->e, &w->s[0], p->v[0].commit, (int)o->n, PRIO_HAND, 0);
	for (size_t i = 0; i < p->n; i++)
		point[i] = (struct engine_point){&w->s[i], p->v[i].commit};
	return engine_matrix_tasks(&w->e, point, p->n, (int)o->n, PRIO_HAND);
}

/* 1: stopped before the end. */
static int measure(struct ctx *c, struct waiting *w, const struct points *p, const struct run_options *o, size_t *bad,
		   size_t *good)
{
	usec_t since = now_usec();
	int r = o->queue_only ? 0 : asking_begin(c, &w->asking);
	bool stopped;

	if (r >= 0 && (r = queue(w, p, o)) < 0 && !o->queue_only)
		return take_back(c, w, r);
	if (r < 0 || o->queue_only)
		return MIN(r, 0);
	r = wait_for_tasks(c, w, o->quiet);
	stopped = r > 0;
	if (r >= 0)
		r = p->n == 1 ? print_runs(c, &w->s[0], p->v[0].commit) : print_matrix(c, w, p);
	fflush(stdout);
	for (size_t i = 0; r >= 0 && i < p->n; i++)
		r = say_ending(c, &w->s[i], p->v[i].commit, since, stopped, bad, good);
	return r < 0 ? r : stopped;
}

/* The points of the job; one only, unless all were asked for. */
static int find_points(struct ctx *c, const struct asked *a, char **argv, const struct run_options *o,
		       struct points *ret)
{
	_cleanup_(job_list_release) struct job_list l = {0};
	_cleanup_free_ char *oid = NULL;
	const struct strv none = {0};
	int r = ask_commit(c, a, o->commit, &oid);

	if (r >= 0)
		r = points_jobs(argv[0], c->config.dir, (const char *const *)argv + 1, &o->patches,
				o->matrix ? &a->tcfg.patches : &none, &l);
	if (r >= 0 && l.n != 1 && !o->matrix)
		r = err_set(
			-EINVAL,
			"job '%s' has %zu points; choose one: 'kperfbot job expand %s' lists them, key=value narrows; --matrix "
			"runs all",
			argv[0], l.n, argv[0]);
	return r < 0 ? r : points_make(c->store, &a->tree, a->git_dir, &l, oid, ret);
}

static int run_asked(struct ctx *c, struct asked *a, char **argv, const struct run_options *o, size_t *bad,
		     size_t *good)
{
	_cleanup_(waiting_release) struct waiting w = {.e = {.cfg = &c->config, .store = c->store},
						       .asking = ASKING_INIT};
	_cleanup_(points_release) struct points p = {0};
	const char *machine = o->machine ? o->machine : a->tcfg.machine;
	bool stopped = false;
	int r = find_points(c, a, argv, o, &p);

	if (r >= 0)
		r = ask_machine(c, machine);
	w.s = xcalloc(p.n + 1, sizeof(*w.s));
	for (size_t i = 0; r >= 0 && i < p.n; i++) {
		r = place_for(&w.e, a, p.v[i].commit, &p.v[i].job, machine, &w.s[i]);
		w.n += r >= 0;
	}
	for (size_t i = 0; r >= 0 && o->profile && !stopped && i < p.n; i++) {
		size_t g = 0;

		if (p.n > 1 && ctx_form(c) == TABLE_TERM && !o->queue_only)
			term_printf(stdout, "%s%s, %.12s:\n", i ? "\n" : "", p.v[i].name, p.v[i].commit);
		r = count(c, &w, &w.s[i], p.v[i].commit, machine, o, &g, &stopped);
		*good += g;
	}
	return r < 0 || o->profile ? r < 0 ? r : stopped : measure(c, &w, &p, o, bad, good);
}

static int run_run(int argc, char **argv, struct ctx *c)
{
	struct run_options o = {.n = 1};
	const struct opt opts[] = {
		OPT_TEXT('c', "commit", "REV", &o.commit, "commit to measure"),
		OPT_LIST(0, "patches", "FILE", &o.patches,
			 "apply this patch series first: an mbox, a mail, a folder or list of patches"),
		OPT_FLAG(0, "matrix", &o.matrix, "all points of the job's matrix, in turns"),
		OPT_TEXT('t', "tree", "NAME", &o.tree, "tree (where there are several)"),
		OPT_TEXT('m', "machine", "NAME", &o.machine, "machine (default: the tree's)"),
		OPT_TEXT('k', "kconfig", "NAME", &o.kconfig, "kernel configuration (default: the tree's)"),
		OPT_INT('n', "boots", "N", &o.n, "boots (default 1) of each point"),
		OPT_FLAG('q', "queue", &o.queue_only, "only queue the work"),
		OPT_FLAG(0, "quiet", &o.quiet, "say nothing but the result and what goes wrong"),
		OPT_FLAG('p', "profile", &o.profile,
			 "instead count once what the kernel executes, for 'compare --profile'"),
		OPT_END,
	};
	struct asked a = {0};
	size_t bad = 0, good = 0;
	int r = verb_options(&verb_run, &argc, &argv, opts, c);

	if (r < 0 && (argc < 1 || !o.commit))
		r = verb_usage(c, "run needs a job and --commit REV; see --help");
	else if (r < 0 && (o.n < 1 || o.n > 10000))
		r = verb_usage(c, "-n is a number of boots from 1 to 10000, not %" PRId64, o.n);
	if (r >= 0) {
		strv_release(&o.patches);
		return r;
	}
	if (o.quiet)
		log_max_level = LOG_WARN_;
	r = ctx_store(c, false);
	if (r >= 0)
		r = ask_tree(c, o.tree, &a);
	if (r >= 0 && o.kconfig)
		r = ask_kconfig(&a, o.kconfig);
	if (r >= 0)
		r = run_asked(c, &a, argv, &o, &bad, &good);
	strv_release(&o.patches);
	asked_release(&a);
	if (r < 0)
		return verb_fail(c, r);
	return r > 0 ? EXIT_STOPPED : o.queue_only || (good && !bad) ? EXIT_DONE : EXIT_NO;
}

const struct verb verb_run = {
	.name = "run",
	.usage =
		"JOB --commit REV [--patches FILE ...] [--matrix] [--tree NAME] [--machine NAME] [-n BOOTS] [--profile] [--queue] [--quiet] [key=value ...]",
	.summary = "build a commit, boot it and run a job on it",
	.text = "key=value words narrow the job's matrix or change parameters. Uses the running daemon, or does the\n"
		"work itself.\n\n"
		"--patches measures REV with a patch series on top, applied as git am does; given several times, with\n"
		"'none' for the plain commit, it is an axis of the matrix, like 'patches: [none, FILE]' in a job\n"
		"file. --matrix builds what all points need and then boots them in turns; 'kperfbot compare --matrix\n"
		"JOB REV' puts them side by side. The patched commit is REV+NAME from then on, NAME being the file's\n"
		"name without suffix.\n\n"
		"--profile boots once more and counts every executed instruction by function (docs/PROFILE.md): the\n"
		"same counts each time on a machine of the driver qemu-icount; on one of the driver qemu they show\n"
		"what is reached. Where QEMU cannot count, the kernel itself watches the functions that the commit\n"
		"changes (ftrace, kprobes, perf).\n\n"
		ASK_STOP_TEXT "\n\n"
		"Exit status: 0 all boots gave values; 1 it does not build, or a boot failed; 2 wrong use; 3 no such\n"
		"tree, commit, job or machine; 130 stopped before the end. With --queue: 0 once it is queued.",
	.run = run_run,
};
