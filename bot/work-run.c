/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stages "boot+run", "parse" and "store": a build is booted with a job, what it printed becomes values, a row keeps
 * them.
 */
#include "bot/work-internal.h"
#include "db/setup.h"
#include "lib/fs.h"

#include <time.h>

#define MACHINE_SICK 5          /* infrastructure failures in a row that take a machine out */

static char *result_folder(const struct work *w)
{
	time_t now = time(NULL);
	char month[16];
	struct tm tm;

	strftime(month, sizeof(month), "%Y-%m", gmtime_r(&now, &tm));
	return xasprintf("%s/runs/%s/%" PRId64 "-%" PRId64, w->c->config.state_dir, month, w->task.id,
			 w->task.attempts);
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
	_cleanup_free_ char *cause = xasprintf("%s: %s", tree, why ? why : "");
	size_t k = strlen(tree) + 1;
	bool same = m->note && !strncmp(m->note, cause, k);
	int64_t failures = infra ? m->failures + 1 : 0;
	enum machine_state state;

	if (failures >= MACHINE_SICK && same && others_use(w, m->name, tree))
		failures = MACHINE_SICK - 1;
	state = failures >= MACHINE_SICK ? MACHINE_OFFLINE : failures ? MACHINE_SUSPECT : MACHINE_HEALTHY;
	if (failures == m->failures || m->state == MACHINE_DRAINED)
		return;
	(void)store_machine_state(w->c->store, m->id, state, failures, infra ? cause : NULL);
	if (state == MACHINE_OFFLINE)
		store_event(w->c->store, 0, 0, w->task.id,
			    "machine '%s' taken out after %d failures of ours: %s; "
			    "'kperfbot machine resume %s' brings it back", m->name, MACHINE_SICK, cause, m->name);
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
		work_say(w, "not known what measures: %s", err_msg());
	for (char *save = NULL, *line = files.len ? strtok_r(files.s, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		_cleanup_free_ char *name = xasprintf(SETUP_FILE "%.*s", (int)strcspn(line, "\t"), line);

		setup_add(&lines, name, strchr(line, '\t') ? strchr(line, '\t') + 1 : NULL);
	}
	return setup_text(&lines);
}

void boot_release(struct measured_boot *x)
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
	boot_result_release(&x->res);
	free(x->dir);
	free(x->cause);
	free(x->setup);
	free(x->counts);
}

int boot_no_machine(const struct measured_boot *x)
{
	return err_set(-ENOENT, "machine '%s' is not in the configuration any more", x->dbm.name);
}

static int boot_and_parse(struct work *w, struct measured_boot *x)
{
	const struct machine *m = config_machine(&w->c->config, x->dbm.name);
	const struct machine_ops *ops = m ? machine_driver(m->driver) : NULL;
	_cleanup_free_ char *res = xasprintf("%s/result", x->dir);
	_cleanup_free_ char *art = xasprintf("KPB_ARTEFACT=%s", x->build.image_path);
	const char *env[] = {art, NULL};
	struct run_facts facts = {0};
	struct boot_request q = {.machine = m, .image = x->build.image_path, .script = x->dbjob.script,
				 .script_timeout_s = x->job.time_limit_s, .env = env, .perturb = w->p.replicate,
				 .out_dir = x->dir, .trusted = x->tcfg.trusted, .profile_path = x->counts,
				 .cancel = w->cancel};
	int r;

	if (!ops)
		return boot_no_machine(x);
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
		r = machine_boot(&q, &x->res);
	if (r < 0)
		return r;
	x->verdict = x->res.verdict;
	x->cause = xstrdup(x->res.cause);
	if (x->res.verdict != RUN_OK)
		return 0;
	facts = (struct run_facts){.exit_status = x->res.exit_status, .ns_per_insn = x->res.ns_per_insn,
				   .nr_cpu = m->cpus};
	free(x->cause);
	x->cause = NULL;
	return job_parse_checked(&x->job, res, &facts, &x->values, &x->checks, &x->verdict, &x->cause);
}

/* Finished builds make room when the disk is full: what is needed again is made again. */
static int image_back(struct work *w, struct measured_boot *x, usec_t *retry)
{
	int r;

	if (!x->build.image_path || fs_exists(x->build.image_path))
		return 0;
	r = work_build(w, retry);
	if (r < 0)
		return err_prefix(r, "its image was gone");
	db_build_release(&x->build);
	return store_build_get(w->c->store, x->tree.id, w->p.commit, w->p.kconfig, &x->build);
}

int boot_load(struct work *w, struct measured_boot *x, usec_t *retry)
{
	struct store *s = w->c->store;
	int r = work_load_tree(w, &x->tree, &x->tcfg);

	x->started = now_usec();
	x->mono = mono_usec();
	x->verdict = RUN_INFRA;
	if (r >= 0)
		r = store_build_get(s, x->tree.id, w->p.commit, w->p.kconfig, &x->build);
	if (r >= 0 && x->build.state == BUILD_OK)
		r = image_back(w, x, retry);
	if (r >= 0 && x->build.state != BUILD_OK)
		r = err_set(-ENOEXEC, "%.12s does not build, so there is nothing to run", w->p.commit);
	if (r >= 0)
		r = store_job_get(s, w->p.job, &x->dbjob);
	if (r >= 0)
		r = store_machine_get(s, w->p.machine, &x->dbm);
	if (r >= 0)
		r = job_from_canonical(x->dbjob.name, x->dbjob.canonical, &x->job);
	if (r < 0)
		work_say(w, "%s", err_msg());
	else
		x->dir = result_folder(w);
	return MIN(r, 0);
}

int boot_measure(struct work *w, struct measured_boot *x, usec_t *retry)
{
	int r = boot_and_parse(w, x);

	if (w->cancel && *w->cancel)
		return -ECANCELED;
	if (r >= 0 && x->verdict != RUN_INFRA)
		return 1;
	work_say(w, "run of %.12s failed on our side: %s", w->p.commit,
		 r < 0 ? err_msg() : x->cause ? x->cause : "no cause known");
	x->verdict = RUN_INFRA;
	*retry = work_backoff(w);
	note_health(w, &x->dbm, true, w->result);
	return 0;
}

/* ---- a run ---- */

static int store_result(struct work *w, struct measured_boot *x)
{
	struct metric_set none = {0};
	_cleanup_free_ char *boot = xasprintf("%" PRId64 ".%" PRId64, w->task.id, w->task.attempts);
	struct db_run row = {.build = x->build.id, .machine = x->dbm.id, .replicate = w->p.replicate,
			     .task = w->task.id, .job = x->dbjob.id, .boot = boot, .verdict = x->verdict,
			     .cause = x->cause, .result_dir = x->dir, .root_image = x->root.hash, .started = x->started,
			     .seconds = (mono_usec() - x->mono) / 1e6, .boot_seconds = x->res.boot_seconds,
			     .exposed = !x->res.isolated};
	int64_t id;
	int r = store_begin(w->c->store);

	if (r < 0)
		return r;
	r = store_run_put(w->c->store, &row, run_measured(x->verdict) ? &x->values : &none, &id);
	if (r >= 0)
		r = store_checks_put(w->c->store, id, &x->checks);
	if (r >= 0)
		r = store_setup_put(w->c->store, id, x->setup);
	if (r >= 0)
		return store_commit(w->c->store);
	store_rollback(w->c->store);
	return r;
}

static int keep_run(struct work *w, struct measured_boot *x, usec_t *retry)
{
	const struct metric_value *kpi = metric_set_get(&x->values, job_kpis(&x->job)[0]);
	int r = store_result(w, x);

	if (r < 0) { /* a full disk, say: the files stay, the run is done again later */
		work_say(w, "cannot store the run: %s", err_msg());
		*retry = work_backoff(w);
		return r;
	}
	note_health(w, &x->dbm, false, NULL);
	work_say(w, "%.12s boot %" PRId64 ": %s%s%s", w->p.commit, w->p.replicate, run_verdict_word(x->verdict),
		 x->cause ? ": " : "", x->cause ? x->cause : "");
	if (kpi && !x->cause)
		work_say(w, "%.12s boot %" PRId64 ": %s %.6g", w->p.commit, w->p.replicate, kpi->name, kpi->value);
	return 0;
}

/* The last try's failure is kept, too. */
static int keep_failure(struct work *w, struct measured_boot *x)
{
	if (w->task.attempts + 1 >= w->task.max_attempts) {
		free(x->cause);
		x->cause = xstrdup(w->result);
		(void)store_result(w, x);
	}
	return -EIO;
}

int work_run(struct work *w, usec_t *retry)
{
	_cleanup_(boot_release) struct measured_boot x = {0};
	int r = boot_load(w, &x, retry);

	if (r >= 0)
		r = boot_measure(w, &x, retry);
	if (r < 0)
		return r;
	return r > 0 ? keep_run(w, &x, retry) : keep_failure(w, &x);
}
