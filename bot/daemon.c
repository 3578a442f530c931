/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/asking.h"
#include "bot/daemon.h"
#include "bot/engine/trouble.h"
#include "bot/watch.h"
#include "kernels/build.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"

#include <signal.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#define TICK (USEC_PER_SEC)
#define LEASE (600 * USEC_PER_SEC)
#define HEARTBEAT (60 * USEC_PER_SEC)
#define FETCHES 16
#define STOP_GRACE (20 * USEC_PER_SEC)

struct child {
	struct child *next;
	struct daemon *d;
	sd_event_source *src;
	pid_t pid;
	int64_t task;           /* 0: a fetch */
	char *resource, *tree;
	char *host;             /* that a fetch talks to */
};

struct daemon {
	struct ctx *c;
	const struct daemon_options *o;
	sd_event *ev;
	struct child *children;
	char *owner, *self;
	char *config_dir;       /* what workers read: a copy, or the folder itself; NULL: built in */
	int64_t n_copies;
	usec_t last_beat;
	bool stopping, replan, disk_full, reload;
	int idle;               /* rounds in a row with nothing to do */
	int64_t idle_event;     /* the last event then */
	int64_t last_event;
	struct strv waiting;    /* trees, see struct engine */
	struct troubles troubles;
	char *last_plan_error, *last_error;
	int64_t *orphan; size_t n_orphans, cap_orphans; /* tasks whose worker died, not yet given back */
};

static size_t count_children(const struct daemon *d, const char *resource)
{
	size_t n = 0;

	for (const struct child *k = d->children; k; k = k->next)
		n += streq(k->resource, resource);
	return n;
}

static void child_free(struct child *k)
{
	free(k->resource);
	free(k->tree);
	free(k->host);
	free(k);
}

static void unlink_child(struct daemon *d, struct child *k)
{
	struct child **p = &d->children;

	while (*p != k)
		p = &(*p)->next;
	*p = k->next;
	sd_event_source_unref(k->src);
	child_free(k);
}

static void wake(struct daemon *d);

/* A worker ends its task in the database itself, unless it died or the disk is full: then the task is given back here,
 * as soon as that can be written. */
static int on_child(sd_event_source *s _unused_, const siginfo_t *si, void *arg)
{
	struct child *k = arg;
	struct daemon *d = k->d;
	bool died = si->si_code != CLD_EXITED || si->si_status != 0;

	if (k->task && died && !d->stopping) {
		log_debug("the worker of task %" PRId64 " ended by %s %d", k->task,
			  si->si_code == CLD_EXITED ? "status" : "signal", si->si_status);
		GROW(d->orphan, d->n_orphans, d->cap_orphans);
		d->orphan[d->n_orphans++] = k->task;
	}
	unlink_child(d, k);
	if (!died)
		wake(d);
	return 0;
}

static int give_back_orphans(struct daemon *d)
{
	int r = 0;

	while (r >= 0 && d->n_orphans) {
		int64_t id = d->orphan[d->n_orphans - 1];
		struct db_task t = {0};

		r = store_task_by_id(d->c->store, id, &t);
		if (r >= 0 && t.state == TASK_RUNNING) {
			log_warn("task %" PRId64 " (%s): its worker died", id, t.key);
			r = store_task_end(d->c->store, id, false, 5 * USEC_PER_SEC, "the worker died");
		}
		if (r >= 0 || r == -ENOENT) {
			d->n_orphans--;
			r = 0;
		}
		db_task_release(&t);
	}
	return r;
}

static int start_child(struct daemon *d, const char *verb, const char *arg, int64_t task, const char *resource,
		       const struct db_tree *tree)
{
	const char *argv[12];
	struct child *k = xcalloc(1, sizeof(*k));
	size_t n = 0;
	int r;

	argv[n++] = d->self;
	if (log_max_level >= LOG_DBG_)
		argv[n++] = "--verbose";
	if (log_max_level < LOG_NOTE_)
		argv[n++] = "--quiet";
	argv[n++] = "--state";
	argv[n++] = d->c->config.state_dir;
	if (d->config_dir) {
		argv[n++] = "--config";
		argv[n++] = d->config_dir;
	}
	argv[n++] = "work";
	argv[n++] = verb;
	argv[n++] = arg;
	argv[n] = NULL;
	k->d = d;
	k->task = task;
	k->resource = xstrdup(resource);
	k->tree = tree ? xstrdup(tree->name) : NULL;
	k->host = tree ? url_host(tree->url) : NULL;
	r = proc_start(&(struct proc_spec){.argv = argv}, &k->pid);
	if (r >= 0)
		r = sd_event_add_child(d->ev, &k->src, k->pid, WEXITED, on_child, k);
	if (r < 0) {
		child_free(k);
		return r;
	}
	k->next = d->children;
	d->children = k;
	return 0;
}

/* ---- the workers' configuration ---- */

static int copy_yaml(const char *from, const char *to)
{
	_cleanup_strv_ struct strv names = {0};
	int r = fs_mkdir_p(to);

	if (r >= 0)
		r = fs_list(from, &names);
	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		_cleanup_free_ char *a = xasprintf("%s/%s", from, names.v[i]), *b = xasprintf("%s/%s", to, names.v[i]);

		if (endswith(names.v[i], ".yaml") && !fs_is_dir(a))
			r = fs_copy(a, b);
	}
	return r;
}

/* Workers read a snapshot of the configuration, so edits in progress cannot reach them. A copy that has mistakes by
 * itself, because it needs a file beside it, is not used: then they read the folder. */
static void give_config(struct daemon *d)
{
	_cleanup_free_ char *top = xasprintf("%s/daemon-config", d->c->config.state_dir);
	_cleanup_free_ char *copy = xasprintf("%s/%" PRId64, top, ++d->n_copies),
			    *old = xasprintf("%s/%" PRId64, top, d->n_copies - 2);
	struct config check;

	free(d->config_dir);
	d->config_dir = xstrdup(d->c->config.dir);
	(void)fs_rm_rf(d->n_copies == 1 ? top : old);   /* the last one may just be read */
	if (!d->c->config.dir)
		return;
	if (copy_yaml(d->c->config.dir, copy) < 0 || config_load(copy, &check) < 0) {
		log_debug("workers read '%s' itself: %s", d->config_dir, err_msg());
		return;
	}
	config_release(&check);
	free(d->config_dir);
	d->config_dir = TAKE_PTR(copy);
}

/* ---- claiming ---- */

static bool disk_is_full(struct daemon *d)
{
	int64_t left = fs_free_bytes(d->c->config.state_dir);
	int64_t need = (int64_t)d->c->config.min_free_mb << 20;
	bool full = left >= 0 && left < need;

	if (full && !d->disk_full) { /* what can be made again goes before work stops */
		build_make_room(d->c->config.state_dir, d->c->config.cache_dir, need);
		left = fs_free_bytes(d->c->config.state_dir);
		full = left >= 0 && left < need;
	}
	if (full != d->disk_full)
		log_warn("'%s': %s (limit %d MiB, min_free_mb)", d->c->config.state_dir,
			 full ? "the disk is nearly full, no new work until there is room" : "room again, going on",
			 d->c->config.min_free_mb);
	d->disk_full = full;
	return full;
}

static int claim(struct daemon *d, enum task_kind kind, const char *machine, size_t slots)
{
	_cleanup_free_ char *resource = task_resource(kind, machine);

	while (count_children(d, resource) < slots) {
		struct db_task t = {0};
		char id[24];
		int r = store_task_claim(d->c->store, resource, d->owner, LEASE, &t);

		if (r == -ENOENT)
			return 0;
		if (r < 0)
			return r;
		snprintf(id, sizeof(id), "%" PRId64, t.id);
		log_debug("task %s: %s", id, t.key);
		r = start_child(d, "task", id, t.id, resource, NULL);
		if (r < 0)
			(void)store_task_end(d->c->store, t.id, false, 30 * USEC_PER_SEC, err_msg());
		db_task_release(&t);
		if (r < 0)
			return r;
	}
	return 0;
}

static int claim_machines(struct daemon *d)
{
	struct db_machine *m = NULL;
	size_t n = 0;
	int r = store_machines(d->c->store, &m, &n);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct machine *own = config_machine(&d->c->config, m[i].name);
		const struct machine_ops *ops = own ? machine_driver(own->driver) : NULL;

		if (ops && machine_state_works(m[i].state))
			r = claim(d, TASK_RUN, m[i].name, MAX(ops->at_once, (size_t)1));
	}
	DB_LIST_RELEASE(m, n, db_machine_release);
	return MIN(r, 0);
}

/* A server that keeps us waiting holds up its own trees only. */
static bool may_fetch(const struct daemon *d, const struct db_tree *t)
{
	_cleanup_free_ char *host = url_host(t->url);
	size_t fetches = 0;

	for (const struct child *k = d->children; k; k = k->next) {
		if (k->tree && (streq(k->tree, t->name) || streq(k->host, host)))
			return false;
		fetches += !!k->tree;
	}
	return fetches < FETCHES;
}

static int fetch_trees(struct daemon *d)
{
	struct db_tree *t = NULL;
	size_t n = 0;
	int r = watch_due(d->c->store, d->o->only_tree, &t, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (may_fetch(d, &t[i]))
			r = start_child(d, "fetch", t[i].name, 0, NULL, &t[i]);
	DB_LIST_RELEASE(t, n, db_tree_release);
	return MIN(r, 0);
}

static void heartbeat(struct daemon *d)
{
	if (mono_usec() - d->last_beat < HEARTBEAT)
		return;
	d->last_beat = mono_usec();
	for (struct child *k = d->children; k; k = k->next)
		if (k->task)
			(void)store_task_heartbeat(d->c->store, k->task, LEASE);
}

/* A cancelled task's worker is stopped. */
static void stop_cancelled(struct daemon *d)
{
	for (struct child *k = d->children; k; k = k->next) {
		struct db_task t = {0};

		if (k->task && store_task_by_id(d->c->store, k->task, &t) >= 0 && t.state == TASK_CANCELLED)
			kill(k->pid, SIGTERM);
		db_task_release(&t);
	}
}

/* New lines of the event table go to the log. */
static void log_events(struct daemon *d)
{
	struct table t = {0};

	if (store_events_after(d->c->store, d->last_event, &t) >= 0)
		for (size_t i = 0; i < t.n_rows; i++) {
			int64_t id = d->last_event;

			(void)parse_i64(t.cell[i * t.n_cols].text, &id);
			d->last_event = MAX(d->last_event, id);
			log_note("%s", t.cell[i * t.n_cols + 1].text);
		}
	table_release(&t);
}

static void plan(struct daemon *d)
{
	struct engine e = {.store = d->c->store, .cfg = &d->c->config, .waiting = d->waiting,
			    .troubles = &d->troubles};

	if (engine_plan(&e) < 0) {
		if (!streq(d->last_plan_error, err_msg())) { /* say so once */
			free(d->last_plan_error);
			d->last_plan_error = xstrdup(err_msg());
			log_error("planning: %s", d->last_plan_error);
		}
	} else {
		free(d->last_plan_error);
		d->last_plan_error = NULL;
	}
	for (size_t i = 0; i < d->troubles.n; i++) {
		struct trouble *t = &d->troubles.v[i];

		if (t->unheard && t->text)
			log_warn("planning: %s; it is tried again", t->text);
		t->unheard = false;
	}
	d->waiting = e.waiting;
	e.waiting = (struct strv){0};
	engine_release(&e);
}

/* A plan may have made a question or moved a case whose tasks come with the next plan: only the second round in which
 * nothing happens counts. */
static bool is_idle(struct daemon *d)
{
	int64_t event = store_last_event(d->c->store);
	bool work = d->children || d->n_orphans || d->waiting.n || store_task_next_time(d->c->store) ||
		    troubles_pending(&d->troubles);

	d->idle = work || event != d->idle_event ? 0 : d->idle + 1;
	d->idle_event = event;
	d->replan |= !work && d->idle <= 1;
	return d->idle > 1;
}

/* The database and the lock are in the state folder. */
static int load_again(const struct daemon *d, struct config *ret)
{
	struct config fresh;
	int r = config_load(d->c->config.dir, &fresh);

	if (r >= 0 && !streq(fresh.state_dir, d->c->config.state_dir)) {
		r = err_set(-EINVAL, "'state_dir' is '%s' now and was '%s': that takes a new start", fresh.state_dir,
			    d->c->config.state_dir);
		config_release(&fresh);
	}
	if (r >= 0)
		*ret = fresh;
	return r;
}

/* Who only works for a question by hand changes nothing of what is watched. */
static int take_config(struct daemon *d)
{
	int r = config_to_store(&d->c->config, d->c->store);

	return r < 0 || d->o->only_tree ? r : config_drop_trees(&d->c->config, d->c->store);
}

static void one_round(struct daemon *d)
{
	int r = 0;

	if (d->reload) {
		struct config fresh;

		d->reload = false;
		if (load_again(d, &fresh) < 0) {
			log_error("the configuration is not taken: %s", err_msg());
		} else {
			config_release(&d->c->config);
			d->c->config = fresh;
			if (take_config(d) < 0)
				log_error("%s", err_msg());
			give_config(d);
			troubles_try_now(&d->troubles);
			log_note("configuration read again");
		}
	}
	heartbeat(d);
	stop_cancelled(d);
	(void)store_task_reap(d->c->store, NULL, d->owner);
	asking_sweep(d->c);
	r = give_back_orphans(d);
	if (r >= 0 && !disk_is_full(d)) {
		r = fetch_trees(d);
		plan(d);
		if (r >= 0)
			r = claim(d, TASK_BUILD, NULL, d->c->config.build_slots);
		if (r >= 0)
			r = claim_machines(d);
	}
	if (r >= 0)
		r = claim(d, TASK_SEND, NULL, 1);
	if (r < 0 && !streq(d->last_error, err_msg()))
		log_error("%s", err_msg());
	free(d->last_error); /* the same trouble is said once */
	d->last_error = r < 0 ? xstrdup(err_msg()) : NULL;
	log_events(d);
	if ((d->o->tick && d->o->tick(d->o->arg, d->c)) || (d->o->once_idle && is_idle(d)))
		sd_event_exit(d->ev, 0);
}

static int on_timer(sd_event_source *s, uint64_t now _unused_, void *arg)
{
	struct daemon *d = arg;

	d->replan = false;
	if (!d->stopping)
		one_round(d);
	sd_event_source_set_time_relative(s, d->replan ? 1000 : TICK);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static sd_event_source *timer_source;

/* A child ended: the next round at once, not at the next tick. */
static void wake(struct daemon *d)
{
	d->replan = true;
	if (timer_source)
		sd_event_source_set_time_relative(timer_source, 1000);
}

static int on_signal(sd_event_source *s _unused_, const struct signalfd_siginfo *si, void *arg)
{
	struct daemon *d = arg;

	if (si->ssi_signo == SIGHUP && !d->o->by_hand) {
		d->reload = true;
		wake(d);
		return 0;
	}
	log_note(d->o->by_hand ? "stopping; once more ends at once" : "stopping");
	return sd_event_exit(d->ev, 0);
}

/* ---- start and stop ---- */

static int take_over(struct daemon *d)
{
	struct db_task *t = NULL;
	size_t n = 0;
	int r = store_tasks_in(d->c->store, TASK_RUNNING, &t, &n);

	for (size_t i = 0; r >= 0 && i < n; i++) /* whoever ran these is dead: we hold the lock */
		r = store_task_reap(d->c->store, t[i].owner, NULL);
	if (n)
		log_note("%zu task%s given back by an earlier daemon", n, n == 1 ? "" : "s");
	DB_LIST_RELEASE(t, n, db_task_release);
	machine_clean_stale(d->c->config.state_dir);
	return MIN(r, 0);
}

/* All of them are blocked here. */
static bool signal_waits(void)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	return sigtimedwait(&stop, NULL, &(struct timespec){0}) > 0;
}

static void stop_children(struct daemon *d)
{
	usec_t end = mono_usec() + STOP_GRACE;

	d->stopping = true;
	for (struct child *k = d->children; k; k = k->next)
		kill(k->pid, SIGTERM);
	while (d->children && mono_usec() < end && !signal_waits()) { /* the event loop has ended: no callbacks any
									 more */
		for (struct child *k = d->children, *next; k; k = next) {
			next = k->next;
			if (waitpid(k->pid, NULL, WNOHANG) != 0)
				unlink_child(d, k);
		}
		usleep(20000);
	}
	for (struct child *k = d->children; k; k = k->next)
		kill(-k->pid, SIGKILL);
	while (d->children) {
		waitpid(d->children->pid, NULL, 0);
		unlink_child(d, d->children);
	}
	(void)store_task_reap(d->c->store, d->owner, NULL);
}

static int set_up(struct daemon *d)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	sigset_t mask;
	int r;

	if (n < 0)
		return err_set(-errno, "cannot tell where the program is: %s", strerror(errno));
	d->self = xstrndup(exe, n);
	d->owner = xasprintf("daemon:%d:%" PRIu64, getpid(), now_usec());
	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&mask, signals[i]);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	r = sd_event_new(&d->ev);
	for (size_t i = 0; r >= 0 && i < 3; i++)
		r = sd_event_add_signal(d->ev, NULL, signals[i], on_signal, d);
	if (r >= 0)
		r = sd_event_add_time_relative(d->ev, &timer_source, CLOCK_MONOTONIC, 0, 10000, on_timer, d);
	if (r >= 0)
		r = sd_event_set_watchdog(d->ev, true);
	if (r < 0)
		return err_set(r, "cannot set up the event loop: %s", strerror(-r));
	d->last_event = store_last_event(d->c->store);
	r = store_branch_troubles_over(d->c->store); /* what is left of it is met again */
	if (r >= 0)
		r = take_config(d);
	give_config(d);
	return r < 0 ? r : take_over(d);
}

int daemon_run(struct ctx *c, const struct daemon_options *o)
{
	struct daemon d = {.c = c, .o = o};
	_cleanup_free_ char *path = daemon_lock_path(&c->config);
	_cleanup_close_ int lock = -1;
	int r = fs_mkdir_p(c->config.state_dir);

	if (r >= 0)
		r = ctx_store(c, false);
	if (r < 0)
		return r;
	lock = fs_lock(path, false);
	if (lock < 0)
		return lock == -EWOULDBLOCK ? err_set(lock, "another daemon runs on '%s'", c->config.state_dir) : lock;
	r = set_up(&d);
	if (r >= 0) {
		sd_notify(0, "READY=1");
		r = sd_event_loop(d.ev);
		sd_notify(0, "STOPPING=1");
		stop_children(&d);
		log_events(&d);
	}
	timer_source = sd_event_source_unref(timer_source);
	sd_event_unref(d.ev);
	free(d.owner);
	free(d.config_dir);
	free(d.self);
	strv_release(&d.waiting);
	troubles_release(&d.troubles);
	free(d.last_plan_error);
	free(d.last_error);
	free(d.orphan);
	return MIN(r, 0);
}
