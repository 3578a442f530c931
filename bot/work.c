/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/work.h"
#include "bot/engine/engine.h"
#include "bot/engine/profile.h"
#include "db/setup.h"
#include "jobs/job.h"
#include "kernels/build.h"
#include "kernels/touched.h"
#include "kernels/tree.h"
#include "kernels/traced.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "reporters/reporter.h"

#include <time.h>

#define BUILD_LIMIT_TIMES 20    /* as long as the usual clean build of the tree: the time limit, but never under ... */
#define BUILD_LIMIT_LEAST_S 900
#define RETRY_S 30
#define MACHINE_SICK 5          /* infrastructure failures in a row that take a machine out */
#define FETCH_TIMEOUT_S 1800
#define BACKOFF_MAX_S 3600
#define TELL_AGAIN 24           /* failed fetches in a row */

struct work {
	struct ctx *c;
	struct db_task task;
	struct task_payload p;
	volatile const int *cancel;
	char result[600];       /* what happened, for the task row */
};

static void say(struct work *w, const char *fmt, ...) _printf_(2, 3);
static void say(struct work *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->result, sizeof(w->result), fmt, ap);
	va_end(ap);
}

static int load_tree(struct work *w, struct db_tree *t, struct tree_config *tc)
{
	int r = store_tree_get(w->c->store, w->p.tree, t);

	if (r >= 0)
		r = tree_config_from_db(t, tc);
	return r;
}

/* Trouble of ours: again later, a little longer each time. */
static usec_t backoff(const struct work *w)
{
	double s = RETRY_S * pow(2, MIN(w->task.attempts, 7));

	return (usec_t)(MIN(s, BACKOFF_MAX_S) * USEC_PER_SEC);
}

/* ---- build ---- */

/* Seconds that a build may take: what the configuration says, and less where it is known what is usual. */
static double build_limit(struct work *w, const struct db_tree *t, const char *kconfig)
{
	struct build_costs c = {0};
	double most = w->c->config.build_timeout_s;

	if (store_build_costs(w->c->store, t->id, kconfig, &c) < 0 || !c.n_clean)
		return most;
	return MIN(most, MAX(BUILD_LIMIT_TIMES * c.clean, BUILD_LIMIT_LEAST_S));
}

/* Again at once where a limit was met: the machine may have been busy; the second time it is the commit's own fault. */
static int build_fairly(const struct build_request *q, struct build_result *ret)
{
	int r = build_commit(q, ret);

	if (r >= 0 && ret->limit) {
		build_result_release(ret);
		r = build_commit(q, ret);
	}
	if (r >= 0 && ret->limit) {
		_cleanup_free_ char *why = ret->error;

		ret->error = xasprintf("%s, twice", why ? why : "it met a limit");
		ret->state = BUILD_BROKEN;
	}
	return r;
}

static int do_build(struct work *w, usec_t *retry)
{
	struct config *cfg = &w->c->config;
	struct db_tree t = {0};
	struct tree_config tc = {0};
	struct build_result b = {0};
	struct db_build row = {0};
	const char *kconfig = w->p.kconfig;
	bool aligned = kconfig && endswith(kconfig, KCONFIG_ALIGNED);
	_cleanup_free_ char *plain = aligned ? xstrndup(kconfig, strlen(kconfig) - strlen(KCONFIG_ALIGNED)) : xstrdup(kconfig);
	_cleanup_free_ char *git_dir = NULL, *log = xasprintf("%s/logs/build-%" PRId64 ".log", cfg->state_dir, w->task.id);
	struct build_request q = {.commit = w->p.commit, .kconfig = plain, .align_functions = aligned, .state_dir = cfg->state_dir,
				  .cache_dir = cfg->cache_dir, .log_path = log, .jobs = cfg->build_jobs,
				  .max_memory = (uint64_t)cfg->build_memory_mb << 20,
				  .max_disk = cfg->build_disk_mb << 20, .max_files = cfg->build_files,
				  .cancel = w->cancel};
	int r = load_tree(w, &t, &tc);

	if (r >= 0)
		r = fs_mkdir_parent(log);
	if (r >= 0) {
		git_dir = engine_git_dir(cfg, t.name);
		q.git_dir = git_dir;
		q.tree = t.name;
		q.kind = tc.program ? BUILD_PROGRAM : BUILD_KERNEL;
		q.command = tc.build_command;
		q.artefact = tc.artefact;
		q.timeout_s = build_limit(w, &t, kconfig);
		r = build_fairly(&q, &b);
	}
	if (r >= 0 && b.state == BUILD_INFRA) {
		*retry = backoff(w);
		say(w, "build of %.12s failed on our side: %s", q.commit, b.error ? b.error : "no reason known");
		r = err_set(-EIO, "%s", w->result);
	} else if (r >= 0) {
		row = (struct db_build){.tree = t.id, .commit = (char *)q.commit, .kconfig = (char *)kconfig,
					.state = b.state, .image_path = b.image_path, .image_hash = b.image_hash,
					.config_hash = b.config_hash, .source_hash = b.source_hash, .toolchain = b.toolchain,
					.error = b.error, .warnings = b.warnings, .log_path = b.log_path, .seconds = b.seconds,
					.cached = b.cached, .clean = b.clean, .exposed = !b.isolated,
					.time = now_usec()};
		r = store_build_put(w->c->store, &row, NULL);
		say(w, "%.12s %s%s in %.1f s%s%s", q.commit, b.state == BUILD_OK ? "built" : "does not build",
		    b.cached ? " (kept from before)" : "", b.seconds, b.error ? ": " : "", b.error ? b.error : "");
	}
	if (r < 0 && !*retry && r != -EINVAL && r != -ENOENT) /* ours, and it may go: no boxes here yet, no memory for a fork ... */
		*retry = backoff(w);
	build_result_release(&b);
	tree_config_release(&tc);
	db_tree_release(&t);
	return MIN(r, 0);
}

/* ---- run ---- */

static char *result_folder(const struct work *w)
{
	time_t now = time(NULL);
	char month[16];
	struct tm tm;

	strftime(month, sizeof(month), "%Y-%m", gmtime_r(&now, &tm));
	return xasprintf("%s/runs/%s/%" PRId64 "-%" PRId64, w->c->config.state_dir, month, w->task.id, w->task.attempts);
}

/* Does another tree use the machine? */
static bool others_use(struct work *w, const char *machine, const char *tree)
{
	struct db_tree *t = NULL;
	size_t n = 0;
	bool yes = false;

	if (store_trees(w->c->store, &t, &n) < 0)
		return false;
	for (size_t i = 0; i < n && !yes; i++) {
		struct tree_config c = {0};

		yes = t[i].enabled && strcmp(t[i].name, tree) && tree_config_from_db(&t[i], &c) >= 0 &&
		      streq(c.machine, machine);
		tree_config_release(&c);
	}
	DB_LIST_RELEASE(t, n, db_tree_release);
	return yes;
}

/* Counts infrastructure failures in a row; the machine that has too many of them is taken out. One tree alone takes no
 * machine from the others: the last failure must be another tree's than the one before. */
static void note_health(struct work *w, const struct db_machine *m, bool infra, const char *why)
{
	const char *tree = w->p.tree;
	_cleanup_free_ char *cause = xasprintf("%s: %s", tree ? tree : "", why ? why : "");
	size_t k = strlen(tree ? tree : "") + 1;
	bool same = m->note && !strncmp(m->note, cause, k);
	int64_t failures = infra ? m->failures + 1 : 0;
	const char *state;

	if (failures >= MACHINE_SICK && same && tree && others_use(w, m->name, tree))
		failures = MACHINE_SICK - 1;
	state = failures >= MACHINE_SICK ? "offline" : failures ? "suspect" : "healthy";
	if (failures == m->failures || streq(m->state, "drained"))
		return;
	(void)store_machine_state(w->c->store, m->id, state, failures, infra ? cause : NULL);
	if (streq(state, "offline"))
		store_event(w->c->store, 0, 0, w->task.id, "machine '%s' taken out after %d failures of ours: %s; 'kperfbot machine "
			    "resume %s' brings it back", m->name, MACHINE_SICK, cause, m->name);
}

/* What the root image of this machine must hold: the needs of every job of the tree, so that one image serves all. */
static int root_for(struct work *w, const struct job *j, struct root_image *ret)
{
	struct strv packages = {0}, programs = {0};
	int r = job_needs(j, &packages, &programs);

	if (r >= 0)
		r = root_image_make(w->c->config.cache_dir, (const char *const *)programs.v, ret);
	strv_release(&packages);
	strv_release(&programs);
	return r;
}

/* Everything besides the commit that has a say in what is measured: db/setup.h. */
static char *setup_of(struct work *w, const struct machine *m, const struct machine_ops *ops, const struct db_build *b,
		      const struct job *j, const struct root_image *root)
{
	_cleanup_free_ char *what = ops->describe ? ops->describe(m) : NULL;
	_cleanup_strv_ struct strv lines = {0}, packages = {0}, programs = {0};
	_cleanup_buf_ struct buf files = {0};

	setup_add(&lines, SETUP_COMPILER, b->toolchain);
	setup_add(&lines, "machine", what);
	setup_add(&lines, "root image", root->hash);
	if (root->files)
		buf_adds(&files, root->files);
	else if (job_needs(j, &packages, &programs) >= 0)
		host_program_files((const char *const *)programs.v, &files);
	else
		say(w, "not known what measures: %s", err_msg());
	for (char *save = NULL, *line = files.len ? strtok_r(files.s, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		_cleanup_free_ char *name = xasprintf(SETUP_FILE "%.*s", (int)strcspn(line, "\t"), line);

		setup_add(&lines, name, strchr(line, '\t') ? strchr(line, '\t') + 1 : NULL);
	}
	return setup_text(&lines);
}

struct run_parts {
	struct db_tree tree; struct tree_config tcfg; struct db_build build; struct db_job dbjob; struct db_machine dbm;
	struct job job; struct root_image root; struct metric_set values; struct check_set checks; struct boot_result boot;
	char *dir, *cause, *setup; enum run_verdict verdict;
	struct strv watch;      /* symbols that the kernel watches itself, where it cannot be counted from outside */
};

static void run_parts_release(struct run_parts *x)
{
	db_tree_release(&x->tree);
	tree_config_release(&x->tcfg);
	db_build_release(&x->build);
	db_job_release(&x->dbjob);
	db_machine_release(&x->dbm);
	job_release(&x->job);
	root_image_release(&x->root);
	metric_set_release(&x->values);
	check_set_release(&x->checks);
	boot_result_release(&x->boot);
	strv_release(&x->watch);
	free(x->dir);
	free(x->cause);
	free(x->setup);
}

/* Where nobody can count from outside, the kernel watches the functions that changed since the base. */
static int choose_watched(struct work *w, struct run_parts *x)
{
	_cleanup_free_ char *why = xstrdup(err_msg()), *map = symbols_path(x->build.image_path),
			    *git_dir = engine_git_dir(&w->c->config, x->tree.name);
	_cleanup_(symbols_release) struct symbols sym = {0};
	_cleanup_touched_ struct touched t = {0};
	_cleanup_strv_ struct strv all = {0};
	int r = symbols_read(map, &sym);

	if (r >= 0)
		r = touched_between(git_dir, w->p.base, x->build.commit, &t);
	if (r < 0)
		return r;
	touched_symbols(&t, &sym, &all);
	for (size_t i = 0; i < all.n; i++)
		if (traced_name_ok(all.v[i]))
			strv_add(&x->watch, all.v[i]);
	return x->watch.n ? 0 : err_set(-ENODATA, "%s; and this kernel has none of the changed functions to watch", why);
}

/* The job as it renders today: scripts stored long ago have no marks. */
static int prepare_profile(struct work *w, struct run_parts *x)
{
	const struct machine *m = config_machine(&w->c->config, x->dbm.name);
	const struct machine_ops *ops = m ? machine_driver(m->driver) : NULL;
	_cleanup_buf_ struct buf script = {0};
	int r = ops ? machine_profile_check(m) : err_set(-ENOENT, "machine '%s' is not in the configuration any more", x->dbm.name);

	if (r < 0 && ops && (ops->flags & MACHINE_BOOTS) && x->build.image_path)
		r = choose_watched(w, x);
	if (r >= 0)
		r = job_render_watching(&x->job, x->watch.n ? &x->watch : NULL, &script);
	if (r < 0)
		return r;
	free(x->dbjob.script);
	x->dbjob.script = buf_take(&script);
	return 0;
}

static int keep_watched(struct work *w, struct run_parts *x)
{
	_cleanup_free_ char *path = xasprintf("%s/result/reach", x->dir), *map = symbols_path(x->build.image_path);
	_cleanup_(symbols_release) struct symbols sym = {0};
	_cleanup_(traced_release) struct traced seen = {0};
	double operations = profile_operations(&x->values);
	int r = traced_read(path, &seen);

	if (r >= 0)
		r = symbols_read(map, &sym);
	if (r < 0)
		return r;
	traced_merge(&seen, &sym);
	r = traced_store(w->c->store, x->build.id, x->dbjob.id, x->dbm.tbox_group, operations, &seen);
	if (r >= 0)
		say(w, "%.12s: %zu functions watched by %s, %.10g operations", x->build.commit, seen.n, seen.means, operations);
	return r;
}

/* A run that is watched may well fail a check: it is slower, and its values are not kept. */
static int keep_profile(struct work *w, struct run_parts *x)
{
	_cleanup_profile_ struct profile p = {0};
	const char *commit = w->p.commit;
	bool ran = run_measured(x->verdict);
	int r;

	if (ran && x->watch.n) {
		r = keep_watched(w, x);
		if (r < 0)
			say(w, "%.12s: %s", commit, err_msg());
		return r;
	}
	if (!ran)
		r = err_set(-ENODATA, "%s%s%s", run_verdict_word(x->verdict), x->cause ? ": " : "", x->cause ? x->cause : "");
	else
		r = profile_of_boot(x->dir, x->build.image_path, &x->values, &p);
	if (r >= 0)
		r = profile_store(w->c->store, x->build.id, x->dbjob.id, x->dbm.tbox_group, x->dir, &p);
	if (r < 0)
		say(w, "no profile of %.12s: %s", commit, err_msg());
	else
		say(w, "%.12s profile: %zu functions, %" PRIu64 " instructions, %.10g operations", commit, p.n, p.insns,
		    p.operations);
	return r;
}

static int boot_and_parse(struct work *w, struct run_parts *x)
{
	const struct machine *m = config_machine(&w->c->config, x->dbm.name);
	const struct machine_ops *ops = m ? machine_driver(m->driver) : NULL;
	_cleanup_free_ char *res = xasprintf("%s/result", x->dir), *art = xasprintf("KPB_ARTEFACT=%s", x->build.image_path);
	_cleanup_free_ char *counts = w->task.kind == TASK_PROFILE && !x->watch.n ? xasprintf("%s/" PROFILE_COUNTS, x->dir) : NULL;
	const char *env[] = {art, NULL};
	struct run_facts facts = {0};
	struct boot_request q = {.machine = m, .image = x->build.image_path, .script = x->dbjob.script,
				 .script_timeout_s = x->job.time_limit_s, .env = env, .perturb = w->p.replicate,
				 .out_dir = x->dir, .trusted = x->tcfg.trusted, .profile_path = counts,
				 .cancel = w->cancel};
	int r;

	if (!ops)
		return err_set(-ENOENT, "machine '%s' is not in the configuration any more", x->dbm.name);
	if (ops->flags & MACHINE_NEEDS_ROOT) {
		r = root_for(w, &x->job, &x->root);
		if (r < 0)
			return r;
		q.root_image = x->root.path;
		env[0] = NULL;
	}
	x->setup = setup_of(w, m, ops, &x->build, &x->job, &x->root);
	r = fs_mkdir_p(x->dir);
	if (r >= 0)
		r = machine_boot(&q, &x->boot);
	if (r < 0)
		return r;
	x->verdict = x->boot.verdict;
	x->cause = xstrdup(x->boot.cause);
	if (x->boot.verdict != RUN_OK)
		return 0;
	facts = (struct run_facts){.exit_status = x->boot.exit_status, .icount_ns_per_insn = x->boot.ns_per_insn,
				   .nr_cpu = m->cpus};
	free(x->cause);
	x->cause = NULL;
	return job_parse_checked(&x->job, res, &facts, &x->values, &x->checks, &x->verdict, &x->cause);
}

static int store_result(struct work *w, struct run_parts *x, usec_t started, usec_t mono)
{
	struct metric_set none = {0};
	_cleanup_free_ char *boot = xasprintf("%" PRId64 ".%" PRId64, w->task.id, w->task.attempts);
	struct db_run row = {.build = x->build.id, .machine = x->dbm.id, .replicate = w->p.replicate,
			     .task = w->task.id, .job = x->dbjob.id, .boot = boot, .verdict = x->verdict,
			     .cause = x->cause, .result_dir = x->dir, .root_image = x->root.hash, .started = started,
			     .seconds = (mono_usec() - mono) / 1e6, .boot_seconds = x->boot.boot_seconds,
			     .exposed = !x->boot.isolated};

	bool ran = run_measured(x->verdict);
	int64_t id;
	int r = store_begin(w->c->store);

	if (r < 0)
		return r;
	r = store_run_put(w->c->store, &row, ran ? &x->values : &none, &id);
	if (r >= 0)
		r = store_checks_put(w->c->store, id, &x->checks);
	if (r >= 0)
		r = store_setup_put(w->c->store, id, x->setup);
	if (r >= 0)
		return store_commit(w->c->store);
	store_rollback(w->c->store);
	return r;
}

/* Finished builds make room when the disk is full: what is needed again is made again. */
static int image_back(struct work *w, struct run_parts *x, usec_t *retry)
{
	int r;

	if (!x->build.image_path || fs_exists(x->build.image_path))
		return 0;
	r = do_build(w, retry);
	if (r < 0)
		return err_prefix(r, "its image was gone");
	db_build_release(&x->build);
	return store_build_get(w->c->store, x->tree.id, w->p.commit, w->p.kconfig, &x->build);
}

static int do_run(struct work *w, usec_t *retry)
{
	struct run_parts x = {.verdict = RUN_INFRA};
	usec_t started = now_usec(), mono = mono_usec();
	struct store *s = w->c->store;
	const char *commit = w->p.commit;
	bool infra;
	int r = load_tree(w, &x.tree, &x.tcfg);

	if (r >= 0)
		r = store_build_get(s, x.tree.id, commit, w->p.kconfig, &x.build);
	if (r >= 0 && x.build.state == BUILD_OK)
		r = image_back(w, &x, retry);
	if (r >= 0 && x.build.state != BUILD_OK)
		r = err_set(-ENOEXEC, "%.12s does not build, so there is nothing to run", commit);
	if (r >= 0)
		r = store_job_get(s, w->p.job, &x.dbjob);
	if (r >= 0)
		r = store_machine_get(s, w->p.machine, &x.dbm);
	if (r >= 0)
		r = job_from_canonical(x.dbjob.name, x.dbjob.canonical, &x.job);
	if (r >= 0 && w->task.kind == TASK_PROFILE)
		r = prepare_profile(w, &x);
	if (r < 0) {
		say(w, "%s", err_msg());
		run_parts_release(&x);
		return r;
	}
	x.dir = result_folder(w);
	r = boot_and_parse(w, &x);
	infra = r < 0 || x.verdict == RUN_INFRA;
	if (w->cancel && *w->cancel) {
		r = -ECANCELED;
	} else if (infra) {
		say(w, "run of %.12s failed on our side: %s", commit, r < 0 ? err_msg() : x.cause ? x.cause : "no cause known");
		*retry = backoff(w);
		note_health(w, &x.dbm, true, w->result);
		if (w->task.attempts + 1 >= w->task.max_attempts && w->task.kind != TASK_PROFILE) {
			free(x.cause);
			x.cause = xstrdup(w->result);
			x.verdict = RUN_INFRA;
			(void)store_result(w, &x, started, mono);
		}
		r = -EIO;
	} else if (w->task.kind == TASK_PROFILE) {
		r = keep_profile(w, &x);
	} else {
		const struct metric_value *kpi = metric_set_get(&x.values, job_kpis(&x.job)[0]);

		r = store_result(w, &x, started, mono);
		if (r < 0) { /* a full disk, say: the files stay, the run is done again later */
			say(w, "cannot store the run: %s", err_msg());
			*retry = backoff(w);
		} else {
			note_health(w, &x.dbm, false, NULL);
			say(w, "%.12s boot %" PRId64 ": %s%s%s", commit, w->p.replicate, run_verdict_word(x.verdict),
			    x.cause ? ": " : "", x.cause ? x.cause : "");
			if (kpi && !x.cause)
				say(w, "%.12s boot %" PRId64 ": %s %.6g", commit, w->p.replicate, kpi->name,
				    kpi->value);
		}
	}
	run_parts_release(&x);
	return MIN(r, 0);
}

/* ---- report, send ---- */

static int do_report(struct work *w, usec_t *retry)
{
	struct engine e = {.store = w->c->store, .cfg = &w->c->config};
	struct report_config rc;
	struct db_case c = {0};
	struct scope s = {0};
	_cleanup_free_ char *dir = xasprintf("%s/cases", w->c->config.state_dir);
	int64_t id;
	int r = store_case_by_id(e.store, w->p.case_id, &c);

	config_report(&w->c->config, &rc);
	rc.reproduce_dir = dir;
	if (r >= 0)
		r = engine_scope(&e, c.comparison, &s);
	if (r >= 0)
		r = report_compose(e.store, c.id, s.git_dir, &rc, &id);
	if (r == -EEXIST)
		r = 0;
	if (r < 0) {
		say(w, "cannot write the report: %s", err_msg());
		*retry = backoff(w);
	} else {
		say(w, "report of case %" PRId64 " written", c.id);
	}
	scope_release(&s);
	db_case_release(&c);
	return MIN(r, 0);
}

/* The delivery keeps its own back-off. */
static usec_t next_try(struct work *w, const char *way)
{
	struct report_standing st = {0};
	usec_t now = now_usec();

	if (report_standing(w->c->store, w->p.case_id, way, &st) < 0 || st.next_try <= now)
		return backoff(w);
	return st.next_try - now + USEC_PER_SEC / 10;
}

static void say_delivered(struct work *w, const char *way)
{
	struct report_standing st = {0};

	if (report_standing(w->c->store, w->p.case_id, way, &st) >= 0 && st.sent < st.n)
		say(w, "report of case %" PRId64 " delivered by %s to %zu of %zu recipients", w->p.case_id, way,
		    st.sent, st.n);
	else
		say(w, "report of case %" PRId64 " delivered by %s", w->p.case_id, way);
}

static int do_send(struct work *w, usec_t *retry)
{
	struct engine e = {.store = w->c->store, .cfg = &w->c->config};
	struct report_config rc;
	struct db_case c = {0};
	const char *way = w->p.way ? w->p.way : reporters()[0]->name;
	_cleanup_free_ char *dir = xasprintf("%s/cases", w->c->config.state_dir);
	int r;

	config_report(&w->c->config, &rc);
	rc.reproduce_dir = dir;
	r = report_deliver(w->c->store, w->p.case_id, way, &rc);
	if (r < 0)
		say(w, "%s", err_msg());
	else
		say_delivered(w, way);
	if (r == -EAGAIN) /* all else is final: refused for good, nobody allowed, or not known whether it arrived */
		*retry = next_try(w, way);
	if (store_case_by_id(e.store, w->p.case_id, &c) >= 0 && !db_case_lives(&c)) /* else the engine does it */
		(void)engine_settle(&e, &c);
	db_case_release(&c);
	return MIN(r, 0);
}

/* ---- */

int work_task(struct ctx *c, int64_t task_id, volatile const int *cancel)
{
	static int (*const kinds[])(struct work *, usec_t *) = {
		[TASK_BUILD] = do_build, [TASK_RUN] = do_run, [TASK_PROFILE] = do_run, [TASK_REPORT] = do_report,
		[TASK_SEND] = do_send};
	struct work w = {.c = c, .cancel = cancel};
	usec_t retry = 0;
	int r = store_task_by_id(c->store, task_id, &w.task), done;

	if (r < 0)
		return r;
	done = task_payload_read(w.task.kind, w.task.payload, &w.p);
	if (done >= 0)
		done = kinds[w.task.kind](&w, &retry);
	if (!w.result[0])
		say(&w, "%s", done < 0 ? err_msg() : "done");
	if (!cancel || !*cancel) { /* else the daemon takes it back */
		r = store_task_end(c->store, task_id, done >= 0, retry, w.result);
		if (done < 0)
			log_warn("%s", w.result);
		else
			log_info("%s", w.result);
	}
	task_payload_release(&w.p);
	db_task_release(&w.task);
	return MIN(r, 0);
}

/* ---- fetch ---- */

static const char *known_head(const struct db_branch *b, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (streq(b[i].name, name))
			return b[i].head;
	return NULL;
}

/* Writes the new heads, and notices deleted branches. */
static int store_heads(struct ctx *c, const struct db_tree *t, const char *git_dir, const struct tree_refs *refs,
		       const struct db_branch *known, size_t n)
{
	int moved = 0, r = 0;

	for (size_t i = 0; r >= 0 && i < refs->n; i++) {
		const char *old = known_head(known, n, refs->v[i].branch);
		bool forced = old && !streq(old, refs->v[i].oid) && tree_is_ancestor(git_dir, old, refs->v[i].oid) == 0;

		r = store_branch_head(c->store, t->id, refs->v[i].branch, refs->v[i].oid, forced, NULL);
		moved += r == 1;
		if (r == 1)
			store_event(c->store, 0, 0, 0, "%s/%s moved to %.12s%s", t->name, refs->v[i].branch, refs->v[i].oid,
				    forced ? " (forced)" : "");
	}
	for (size_t i = 0; r >= 0 && i < n; i++) {
		bool there = !known[i].head;

		for (size_t k = 0; k < refs->n && !there; k++)
			there = streq(refs->v[k].branch, known[i].name);
		if (!there) {
			r = store_branch_head(c->store, t->id, known[i].name, NULL, false, NULL);
			store_event(c->store, 0, 0, 0, "%s/%s is gone from the remote; its commits are kept", t->name, known[i].name);
		}
	}
	return r < 0 ? r : moved;
}

double work_poll_wait(double interval_s, int64_t failures)
{
	double s = failures ? MIN(interval_s * pow(2, MIN(failures - 1, 6)), (double)BACKOFF_MAX_S) : interval_s;

	return MAX(s, 1.0);
}

/* Says once where a shallow history ends, and when it has become whole. */
static void tell_depth(struct ctx *c, const char *tree, const char *git_dir, const char *before)
{
	_cleanup_free_ char *now = tree_shallow_words(git_dir);

	if (now && !streq(now, before))
		store_event(c->store, 0, 0, 0, "tree '%s': %s", tree, now);
	else if (!now && before)
		store_event(c->store, 0, 0, 0, "tree '%s': its history is whole now", tree);
}

/* Heads that are not known, and all where the mirror is not there or the remote may have more of its history by now. */
static void heads_to_fetch(const struct tree_refs *refs, const struct db_branch *known, size_t n, bool all,
			   struct tree_refs *ret)
{
	for (size_t i = 0; i < refs->n; i++)
		if (all || !streq(known_head(known, n, refs->v[i].branch), refs->v[i].oid)) {
			GROW(ret->v, ret->n, ret->cap);
			ret->v[ret->n++] = refs->v[i]; /* borrowed */
		}
}

int work_fetch(struct ctx *c, const char *tree, bool repair)
{
	_cleanup_free_ char *git_dir = engine_git_dir(&c->config, tree), *why = NULL;
	struct db_tree t = {0};
	struct tree_config tc = {0};
	_cleanup_free_ char *depth = tree_shallow_words(git_dir);
	struct tree_refs refs = {0}, changed = {0};
	struct db_branch *known = NULL;
	size_t n = 0;
	double wait;
	int r = config_tree_get(&c->config, c->store, tree, &t), repaired = 0;

	if (r < 0)
		return r;
	r = tree_config_from_db(&t, &tc);
	if (r >= 0)
		r = tree_remote_heads(t.url, tc.credentials_file, (const char *const *)tc.branches.v, 60, &refs);
	if (r >= 0)
		r = store_branches(c->store, t.id, &known, &n);
	if (r >= 0)
		heads_to_fetch(&refs, known, n, repair || depth || !fs_is_dir(git_dir), &changed);
	if (r >= 0 && repair)
		r = repaired = tree_repair(t.url, tc.credentials_file, git_dir, &changed, FETCH_TIMEOUT_S);
	if (r >= 0 && changed.n)
		r = tree_fetch(t.url, tc.credentials_file, git_dir, &changed, FETCH_TIMEOUT_S);
	if (r >= 0 && !refs.n && !t.last_poll)
		store_event(c->store, 0, 0, 0, "tree '%s': no branch of the remote matches its 'branches'", tree);
	if (r >= 0)
		tell_depth(c, tree, git_dir, depth);
	if (repaired > 0)
		store_event(c->store, 0, 0, 0, "tree '%s': what was missing in its mirror was fetched anew", tree);
	if (r >= 0)
		r = store_heads(c, &t, git_dir, &refs, known, n);
	if (r < 0)
		why = xstrdup(err_msg());
	wait = work_poll_wait(tc.interval_s, r < 0 ? t.poll_failures + 1 : 0);
	if (r < 0 && !t.poll_failures) /* say so once, and then about once a day */
		store_event(c->store, 0, 0, 0, "tree '%s' cannot be reached: %s", tree, why);
	else if (r < 0 && t.poll_failures % TELL_AGAIN == 0)
		store_event(c->store, 0, 0, 0, "tree '%s' still cannot be reached, after %" PRId64 " failed tries: %s",
			    tree, t.poll_failures + 1, why);
	if (r >= 0 && t.poll_failures)
		store_event(c->store, 0, 0, 0, "tree '%s' is back after %" PRId64 " failed %s", tree, t.poll_failures,
			    t.poll_failures == 1 ? "try" : "tries");
	(void)store_tree_polled(c->store, t.id, now_usec(), now_usec() + (usec_t)(wait * USEC_PER_SEC), why);
	free(changed.v);
	tree_refs_release(&refs);
	DB_LIST_RELEASE(known, n, db_branch_release);
	tree_config_release(&tc);
	db_tree_release(&t);
	return why ? err_set(r, "%s", why) : r;
}
