/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main job on this machine, start to finish: a tree with one planted slowdown, the daemon, the report. */
#include "bot/cli/ask.h"
#include "bot/daemon.h"
#include "bot/cli/demo-job.h"
#include "bot/work.h"
#include "kernels/box.h"
#include "lib/fs.h"
#include "lib/proc.h"

#include <fcntl.h>
#include <json-c/json.h>

extern const struct verb verb_demo;

#define LOCAL_COMMITS 64

struct demo {
	struct ctx *c;
	int64_t seed;
	bool local, terminal;
	const char *job, *machine;
	struct demo_job what;
	char *dir, *etc, *repo, *log;           /* folders and the daemon's log */
	char *base, *head, *culprit, *culprit_name;
	int64_t commits;
	FILE *out;                              /* progress; stdout, or stderr with --json */
	usec_t start, last_line;
	int64_t last_event;
	struct progress progress;
	struct db_case found;                   /* at the end */
};

static void demo_release(struct demo *d)
{
	char *texts[] = {d->dir, d->etc, d->repo, d->log, d->base, d->head, d->culprit, d->culprit_name};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	free(d->what.job);
	free(d->what.slows);
	db_case_release(&d->found);
	progress_release(&d->progress);
}

static void say(struct demo *d, const char *fmt, ...) _printf_(2, 3);
static void say(struct demo *d, const char *fmt, ...)
{
	_cleanup_free_ char *safe = NULL;
	unsigned s = (mono_usec() - d->start) / USEC_PER_SEC;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	safe = term_safe(text);
	fprintf(d->out, "%s[%2u:%02u] %s\n", d->terminal ? "\r\033[K" : "", s / 60, s % 60, safe);
	fflush(d->out);
	d->last_line = mono_usec();
}

/* ---- the tree ---- */

static char *text_at(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && v ? xstrdup(json_object_get_string(v)) : NULL;
}

static int read_tree_json(struct demo *d)
{
	_cleanup_free_ char *path = xasprintf("%s/demo.json", d->repo);
	_cleanup_buf_ struct buf b = {0};
	struct json_object *o, *v;
	int r = fs_read(path, 1 << 20, &b);

	if (r < 0)
		return r;
	o = json_tokener_parse(buf_str(&b));
	d->base = text_at(o, "base");
	d->head = text_at(o, "head");
	d->culprit = text_at(o, "culprit");
	d->culprit_name = text_at(o, "culprit_name");
	d->commits = json_object_object_get_ex(o, "commits", &v) ? json_object_get_int64(v) : 0;
	json_object_put(o);
	return d->base && d->head && d->culprit ? 0 : err_set(-EBADMSG, "'%s' names no base, head and culprit", path);
}

static int make_tree(struct demo *d)
{
	_cleanup_free_ char *script = xasprintf("%s/tests/demo/%s", fs_data_dir(), d->local ? "make-local-tree.sh" : "make-tree.sh");
	_cleanup_free_ char *seed = xasprintf("%" PRId64, d->seed), *n = xasprintf("%d", LOCAL_COMMITS);
	_cleanup_free_ char *cache = xasprintf("KPB_CACHE=%s", d->c->config.cache_dir), *line = NULL;
	_cleanup_free_ char *slows = xasprintf("KPB_DEMO_FOR=%s", d->local ? "" : d->what.slows);
	const char *argv[] = {script, seed, d->repo, d->local ? n : NULL, NULL};
	_cleanup_(proc_result_release) struct proc_result r = {0};
	int e;

	if (fs_is_dir(d->repo))
		return read_tree_json(d);
	if (!fs_exists(script))
		return err_set(-ENOENT, "'%s' is missing: the demo runs from the source tree", script);
	say(d, "making a git tree of %s with a planted slowdown (seed %" PRId64 ")",
	    d->local ? "a small program" : "Debian's linux-source-6.1", d->seed);
	e = proc_run(&(struct proc_spec){.argv = argv, .env_add = ARGV(cache, slows), .timeout_s = 900}, &r);
	if (e >= 0 && r.status) {
		line = last_line(buf_str(&r.err));
		e = err_set(-EIO, "the demo tree cannot be made: %s", line);
	}
	return e < 0 ? e : read_tree_json(d);
}

static void yaml_text(struct buf *b, const char *key, const char *value)
{
	struct json_object *s = json_text(value);
	_cleanup_free_ char *quoted = json_line(s); /* JSON's quoting is YAML's */

	buf_addf(b, "%s: %s\n", key, quoted);
	json_object_put(s);
}

static int write_config(struct demo *d)
{
	_cleanup_buf_ struct buf b = {0};
	_cleanup_free_ char *path = xasprintf("%s/kperfbot.yaml", d->etc), *state = xasprintf("%s/state", d->dir);
	_cleanup_free_ char *mbox = xasprintf("%s/reports.mbox", d->dir);
	int r = fs_mkdir_p(d->etc);

	if (r < 0)
		return r;
	buf_adds(&b, "# written by 'kperfbot demo'\n");
	yaml_text(&b, "state_dir", state);
	yaml_text(&b, "cache_dir", d->c->config.cache_dir);
	buf_addf(&b, "build_jobs: %d\nmail:\n", d->c->config.build_jobs);
	yaml_text(&b, "  robot_name", "kernel performance bot");
	yaml_text(&b, "  robot_address", "kperfbot@example.org");
	yaml_text(&b, "  mbox", mbox);
	if (d->local)
		buf_adds(&b, "judge:\n  min_effect: 0.01\n");
	buf_adds(&b, "trees:\n  demo:\n");
	yaml_text(&b, "    url", d->repo);
	buf_adds(&b, "    branches: [main]\n    interval: 3s\n");
	if (d->local)
		buf_adds(&b, "    program: true\n    build_command: make\n    artefact: bench\n    machine: local\n"
			     "    jobs: [local-bench]\n");
	else
		buf_addf(&b, "    kconfig: %s\n    machine: %s\n    jobs: [%s]\n", d->what.kconfig, d->machine, d->what.job);
	r = fs_write_atomic(path, b.s, b.len);
	if (r >= 0 && d->local) {
		_cleanup_free_ char *from = xasprintf("%s/tests/demo/local-bench.yaml", fs_data_dir());
		_cleanup_free_ char *to = xasprintf("%s/local-bench.yaml", d->etc);

		r = fs_copy(from, to);
	}
	return r;
}

/* The branch stands at base when the tree is first seen; then a day's commits arrive. */
static int arrive(struct demo *d)
{
	struct engine e = {.store = d->c->store, .cfg = &d->c->config};
	struct db_tree t = {0};
	struct db_branch *b = NULL;
	size_t n = 0;
	bool fresh;
	int r = config_to_store(&d->c->config, d->c->store);

	if (r >= 0)
		r = store_tree_get(d->c->store, "demo", &t);
	if (r >= 0)
		r = store_branches(d->c->store, t.id, &b, &n);
	fresh = r >= 0 && (!n || !b[0].tested);
	if (fresh)
		r = proc_ok(ARGV("git", "--git-dir", d->repo, "update-ref", "refs/heads/main", d->base), NULL, NULL);
	if (r >= 0 && fresh)
		r = work_fetch(d->c, "demo", false);
	if (r >= 0 && fresh)
		r = engine_plan(&e);
	if (r >= 0)
		r = proc_ok(ARGV("git", "--git-dir", d->repo, "update-ref", "refs/heads/main", d->head), NULL, NULL);
	if (r >= 0)
		r = store_tree_polled(d->c->store, t.id, now_usec(), now_usec(), NULL);
	if (r >= 0 && fresh)
		say(d, "%" PRId64 " new commits arrive on branch main: %.12s..%.12s", d->commits, d->base, d->head);
	else if (r >= 0)
		say(d, "going on with the demo of seed %" PRId64, d->seed);
	engine_release(&e);
	DB_LIST_RELEASE(b, n, db_branch_release);
	db_tree_release(&t);
	return MIN(r, 0);
}

/* ---- progress ---- */

/* The comparison of the planted head with its base, as soon as there is one. */
static bool find_question(struct demo *d)
{
	struct db_comparison *cmp = NULL;
	size_t n = 0;

	if (d->progress.n || store_comparisons(d->c->store, &cmp, &n) < 0)
		return d->progress.n > 0;
	for (size_t i = 0; i < n && !d->progress.n; i++)
		if (streq(cmp[i].head, d->head) && streq(cmp[i].base, d->base))
			progress_begin(&d->progress, d->c, &cmp[i].id, 1, true);
	d->progress.search = d->progress.sure = true;
	d->progress.commits = (double)d->commits;
	DB_LIST_RELEASE(cmp, n, db_comparison_release);
	return d->progress.n > 0;
}

static void show_events(struct demo *d)
{
	_cleanup_table_ struct table t = {0};

	if (store_events_after(d->c->store, d->last_event, &t) < 0)
		return;
	for (size_t i = 0; i < t.n_rows; i++) {
		(void)parse_i64(t.cell[i * t.n_cols].text, &d->last_event);
		say(d, "%s", t.cell[i * t.n_cols + 1].text);
	}
}

static void show_progress(struct demo *d)
{
	_cleanup_(progress_view_release) struct progress_view v = {0};
	_cleanup_free_ char *line = NULL, *safe = NULL;
	unsigned gone = (mono_usec() - d->start) / USEC_PER_SEC;
	size_t all;

	if (!find_question(d) || progress_look(&d->progress, d->c, &v) < 0)
		return;
	all = v.done + (size_t)ceil((v.steps.lo + v.steps.hi) / 2);
	line = xasprintf("step %zu of about %zu, %s%s%s%s: %s", MIN(v.done + 1, MAX(all, 1u)), MAX(all, 1u), v.left,
			 v.raised ? " (" : "", v.raised ? v.raised : "", v.raised ? ")" : "", v.text);
	safe = term_safe(line);
	if (d->terminal) {
		fprintf(d->out, "\r\033[K[%2u:%02u] %s", gone / 60, gone % 60, safe);
		fflush(d->out);
	} else if ((v.changed && !d->local) || mono_usec() - d->last_line > 30 * USEC_PER_SEC) {
		say(d, "%s", line);
	}
}

/* Over when the comparison of the new head has ended and no case of it is alive. */
static int demo_over(struct demo *d)
{
	struct db_comparison *cmp = NULL;
	struct db_case *cases = NULL;
	size_t n = 0, n_cases = 0;
	int over = 0;
	bool open = false;

	if (store_comparisons(d->c->store, &cmp, &n) < 0 || store_cases(d->c->store, &cases, &n_cases) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (streq(cmp[i].head, d->head) && streq(cmp[i].base, d->base)) {
			over = 1;
			open |= cmp[i].state == COMPARISON_OPEN;
		}
	over = over && !open;
	for (size_t i = 0; i < n_cases; i++) {
		if (db_case_lives(&cases[i]))
			over = 0;
		if (cases[i].part == 0 && !d->found.id && over) {
			d->found = cases[i];
			cases[i] = (struct db_case){0};
		}
	}
	if (!over)
		db_case_release(&d->found);
	DB_LIST_RELEASE(cmp, n, db_comparison_release);
	DB_LIST_RELEASE(cases, n_cases, db_case_release);
	return over;
}

static int tick(void *arg, struct ctx *c _unused_)
{
	struct demo *d = arg;

	show_events(d);
	show_progress(d);
	return demo_over(d);
}

/* ---- the end ---- */

static void first_screen(struct demo *d)
{
	struct db_report rep = {0};
	const char *p, *end;

	if (store_report_by_case(d->c->store, d->found.id, &rep) < 0)
		return;
	fputs("\n---------------- the report's first screen ----------------\n", d->out);
	term_printf(d->out, "Subject: %s\n", rep.subject);
	p = strstr(rep.text, "\n\n");
	end = p ? strstr(p, "Details are as below") : NULL;
	for (; p && *p && p != end;) {
		const char *nl = strchr(p, '\n');
		_cleanup_free_ char *line = xstrndup(p, nl ? (size_t)(nl - p) : strlen(p)), *safe = term_safe(line);

		fprintf(d->out, "%s\n", safe);
		p = nl ? nl + 1 : p + strlen(p);
	}
	fputs("------------------------------------------------------------\n", d->out);
	db_report_release(&rep);
}

static void last_json(const struct demo *d, double seconds)
{
	struct json_object *o = json_object_new_object();
	_cleanup_free_ char *db = xasprintf("%s/kperfbot.db", d->c->config.state_dir);

	json_object_object_add(o, "true_culprit", json_text(d->culprit));
	json_object_object_add(o, "found", json_text(d->found.culprit));
	json_object_object_add(o, "posterior", isfinite(d->found.posterior) && d->found.id
						       ? json_object_new_double(d->found.posterior) : NULL);
	json_object_object_add(o, "boots", json_object_new_int64(d->found.boots));
	json_object_object_add(o, "builds", json_object_new_int64(d->found.builds));
	json_object_object_add(o, "seconds", json_object_new_double(round(seconds * 10) / 10));
	json_object_object_add(o, "effect", d->found.id ? json_object_new_double(d->found.effect) : NULL);
	json_object_object_add(o, "mbox", json_text(d->c->config.mbox));
	json_object_object_add(o, "database", json_text(db));
	json_print(stdout, o, false);
	json_object_put(o);
}

static int finish(struct demo *d)
{
	double seconds = (mono_usec() - d->start) / 1e6;
	bool right = d->found.culprit && streq(d->found.culprit, d->culprit);
	const char *self = fs_exists("build/kperfbot") ? "build/kperfbot" : "kperfbot";

	if (d->terminal)
		fputs("\r\033[K", d->out);
	first_screen(d);
	term_printf(d->out, "\nplanted: %s (%s)\nfound:   %s\n         %s; %" PRId64 " boots, %" PRId64 " builds, "
		    "%.0f s\n", d->culprit, d->culprit_name ? d->culprit_name : "",
		    d->found.culprit ? d->found.culprit : "nobody",
		    right ? "the right one" : "NOT the planted one", d->found.boots, d->found.builds, seconds);
	term_printf(d->out, "mbox:    %s\n\nLook further:\n", d->c->config.mbox);
	if (d->found.id)
		term_printf(d->out, "  %s --config %s case show %" PRId64 "\n", self, d->etc, d->found.id);
	term_printf(d->out, "  %s --config %s query series --metric '%s'\n", self, d->etc,
		    d->found.metric ? d->found.metric : "*per_sec");
	term_printf(d->out, "  %s --config %s compare %.12s %.12s\n", self, d->etc, d->base, d->head);
	fflush(d->out);
	if (d->c->json)
		last_json(d, seconds);
	return right ? EXIT_DONE : EXIT_NO;
}

/* ---- */

static bool finished_before(struct demo *d)
{
	_cleanup_free_ char *mark = xasprintf("%s/finished", d->dir);

	return fs_exists(mark);
}

static int wipe(struct demo *d, bool all)
{
	static const char *const cached[] = {"builds", "objects", "root", "demo", "demo-base.git"};
	int r = box_folder_remove(d->dir);

	for (size_t i = 0; r >= 0 && all && i < ARRAY_SIZE(cached); i++) {
		_cleanup_free_ char *p = xasprintf("%s/%s", d->c->config.cache_dir, cached[i]);

		r = box_folder_remove(p); /* some of it belongs to the builder */
	}
	return r;
}

/* All seeds build in one worktree: a demo with another seed finds most objects already made. */
static int share_worktrees(struct demo *d)
{
	_cleanup_free_ char *shared = xasprintf("%s/demo/worktrees", d->c->config.cache_dir);
	_cleanup_free_ char *own = xasprintf("%s/worktrees", d->c->config.state_dir);
	int r = fs_mkdir_p(shared);

	if (r >= 0 && symlink(shared, own) < 0 && errno != EEXIST)
		r = err_set(-errno, "cannot link '%s': %s", own, strerror(errno));
	return r;
}

static int open_demo(struct demo *d)
{
	int r = write_config(d), fd;
	struct config fresh;

	if (r >= 0)
		r = config_load(d->etc, &fresh);
	if (r < 0)
		return r;
	config_release(&d->c->config);
	d->c->config = fresh;
	r = fs_mkdir_p(d->c->config.state_dir);
	if (r >= 0)
		r = share_worktrees(d);
	if (r >= 0)
		r = ctx_store(d->c, false);
	if (r < 0)
		return r;
	d->log = xasprintf("%s/daemon.log", d->dir);
	fd = open(d->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd >= 0) { /* the daemon and its workers log there */
		dup2(fd, 2);
		close(fd);
	}
	d->last_event = store_last_event(d->c->store);
	return 0;
}

static void say_left(struct demo *d)
{
	struct db_task *t = NULL;
	size_t n = 0;

	(void)store_tasks(d->c->store, "ready,running", &t, &n);
	say(d, "stopped; %zu step%s left in the demo's own queue; the same command, and no other, goes on from here", n,
	    n == 1 ? "" : "s");
	DB_LIST_RELEASE(t, n, db_task_release);
}

static int demo(struct demo *d, bool fresh)
{
	struct daemon_options o = {.tick = tick, .arg = d, .by_hand = true};
	_cleanup_free_ char *mark = xasprintf("%s/finished", d->dir);
	int r = 0;

	if (fresh || finished_before(d))
		r = wipe(d, fresh);
	if (r >= 0)
		r = fs_mkdir_p(d->dir);
	if (r >= 0)
		r = make_tree(d);
	if (r >= 0)
		r = open_demo(d);
	if (r >= 0)
		r = arrive(d);
	if (r >= 0)
		r = daemon_run(d->c, &o);
	if (r >= 0 && !demo_over(d)) {
		say_left(d);
		return EXIT_STOPPED;
	}
	if (r >= 0)
		r = fs_write_atomic(mark, "", 0);
	return r < 0 ? r : finish(d);
}

static int choose_job(struct demo *d)
{
	const struct machine *m = config_machine(&d->c->config, d->machine);

	if (!m || (strcmp(d->machine, "qemu") && strcmp(d->machine, "qemu-icount")))
		return err_set(-ENOENT, "--machine '%s': the demo runs on qemu-icount or on qemu", d->machine);
	return demo_job(d->job, m, d->c->config.dir, &d->what);
}

static int run_demo(int argc, char **argv, struct ctx *c)
{
	struct demo d = {.c = c, .seed = 1, .job = "stress-ng-sockfd", .machine = "qemu-icount", .start = mono_usec()};
	bool fresh = false;
	const struct opt opts[] = {
		OPT_INT('s', "seed", "N", &d.seed, "which slowdown is planted, and where (default 1)"),
		OPT_FLAG('l', "local", &d.local, "a small user-space program instead of a kernel: under a minute"),
		OPT_TEXT('j', "job", "JOB", &d.job, "job that measures it, which decides what is slowed (default stress-ng-sockfd)"),
		OPT_TEXT('m', "machine", "NAME", &d.machine, "machine that runs it (default qemu-icount)"),
		OPT_FLAG(0, "fresh", &fresh, "forget finished builds and start over"),
		OPT_END,
	};
	int r = verb_options(&verb_demo, &argc, &argv, opts, c), err;

	if (r >= 0)
		return r;
	if (argc)
		return verb_usage(c, "'%s': demo takes no operands", argv[0]);
	r = d.local ? 0 : choose_job(&d);
	if (r < 0)
		return verb_fail(c, r);
	if (d.seed < 0 || d.seed > 999999999)
		return verb_usage(c, "--seed must lie between 0 and 999999999");
	err = dup(2);
	d.out = c->json ? fdopen(err, "w") : stdout;
	d.terminal = isatty(fileno(d.out)) && !getenv("NO_COLOR");
	d.dir = d.local ? xasprintf("%s/demo/local-%" PRId64, c->config.cache_dir, d.seed)
			: xasprintf("%s/demo/%s-%s-%" PRId64, c->config.cache_dir, d.what.job, d.machine, d.seed);
	d.etc = xasprintf("%s/etc", d.dir);
	d.repo = xasprintf("%s/tree.git", d.dir);
	r = demo(&d, fresh);
	if (r < 0) {
		dup2(err, 2);
		r = verb_fail(c, r);
	}
	demo_release(&d);
	return r;
}

const struct verb verb_demo = {
	.name = "demo",
	.usage = "[--seed N] [--local] [--job JOB] [--machine NAME] [--fresh] [--json]",
	.summary = "the main job on this machine, start to finish",
	.text = "Makes a git tree from Debian's linux-source-6.1 with a day of commits on top, one of which slows what the job\n"
		"measures: passing file descriptors over unix sockets (stress-ng-sockfd), XDP (xdp-bench-*), receive packet\n"
		"steering (udp-sink-rps) or TCP (neper-tcp_*). Then watches, builds, boots, measures, bisects, proves and writes\n"
		"the report to an mbox file. It takes the short form of the job, JOB-quick, where there is one. On the machine\n"
		"qemu, whose runs differ by several per cent, something far slower is planted.\n\n"
		"Ctrl-C at any moment, then the same command again, goes on where it was. Everything lies below the cache\n"
		"folder. Exit 1 when the planted commit was not the one found, 130 when stopped before the end.",
	.run = run_demo,
};
