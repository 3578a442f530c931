/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/asking.h"
#include "lib/fs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LIST_MAX (1u << 20)     /* bytes of such a file */

static char *folder(const struct ctx *c) { return xasprintf("%s/asking", c->config.state_dir); }

static bool has_id(const int64_t *v, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == id)
			return true;
	return false;
}

/* Locked, and still the file of that name: between the two somebody may have swept it. */
static int make_file(const char *path)
{
	for (;;) {
		int fd = fs_lock(path, true);
		struct stat mine, there;

		if (fd < 0 || (fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino))
			return fd;
		close(fd);
	}
}

int asking_begin(struct ctx *c, struct asking *a)
{
	_cleanup_free_ char *dir = folder(c);
	struct db_task *t = NULL;
	size_t n = 0;
	int r = store_tasks_living(c->store, &t, &n);

	*a = ASKING_INIT;
	if (r >= 0)
		r = fs_mkdir_p(dir);
	if (r >= 0) {
		a->path = xasprintf("%s/%d-%" PRIu64, dir, getpid(), now_usec());
		r = a->fd = make_file(a->path);
	}
	a->before = xcalloc(n + 1, sizeof(*a->before));
	for (size_t i = 0; i < n; i++)
		a->before[a->n_before++] = t[i].id;
	DB_LIST_RELEASE(t, n, db_task_release);
	return MIN(r, 0);
}

static int add_line(struct asking *a, const char *kind, int64_t id)
{
	_cleanup_free_ char *line = xasprintf("%s %" PRId64, kind, id);

	strv_add(&a->lines, line);
	return dprintf(a->fd, "%s\n", line) < 0 ? err_set(-errno, "cannot write '%s': %s", a->path, strerror(errno))
						: 0;
}

int asking_comparison(struct ctx *c _unused_, struct asking *a, int64_t id) { return add_line(a, "comparison", id); }

int asking_tasks(struct ctx *c, struct asking *a, const int64_t *comparison, size_t n)
{
	struct db_task *t = NULL;
	size_t n_tasks = 0;
	int r = store_tasks_living(c->store, &t, &n_tasks);

	for (size_t i = 0; r >= 0 && i < n_tasks; i++)
		if (has_id(comparison, n, t[i].comparison) && !has_id(a->before, a->n_before, t[i].id))
			r = add_line(a, "task", t[i].id);
	DB_LIST_RELEASE(t, n_tasks, db_task_release);
	return MIN(r, 0);
}

static void release(struct asking *a)
{
	if (a->fd >= 0)
		close(a->fd);
	free(a->path);
	free(a->before);
	strv_release(&a->lines);
	*a = ASKING_INIT;
}

void asking_end(struct asking *a)
{
	if (a->path)
		(void)unlink(a->path);
	release(a);
}

/* ---- who asks for what ---- */

static void read_lines(const char *path, struct strv *ret)
{
	_cleanup_buf_ struct buf b = {0};
	char *save = NULL;

	if (fs_read(path, LIST_MAX, &b) < 0 || !b.len)
		return;
	for (char *l = strtok_r(b.s, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		strv_add(ret, l);
}

/* All files but own: the lines of those who live, and of the dead with their files. */
struct around { struct strv alive, dead, dead_files; };

static void around_release(struct around *a)
{
	strv_release(&a->alive);
	strv_release(&a->dead);
	strv_release(&a->dead_files);
}

static void look_around(struct ctx *c, const char *own, struct around *ret)
{
	_cleanup_free_ char *dir = folder(c);
	_cleanup_strv_ struct strv names = {0};

	if (!fs_is_dir(dir) || fs_list(dir, &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, names.v[i]);
		_cleanup_close_ int fd = streq(path, own) ? -1 : open(path, O_RDWR | O_CLOEXEC);
		bool dead = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;

		if (fd < 0)
			continue;
		read_lines(path, dead ? &ret->dead : &ret->alive);
		if (dead)
			strv_add(&ret->dead_files, path);
	}
}

static int64_t id_in(const char *line, const char *kind)
{
	int64_t id;

	return startswith(line, kind) && parse_i64(line + strlen(kind), &id) >= 0 ? id : 0;
}

static bool wants_comparison(const struct strv *alive, int64_t id)
{
	_cleanup_free_ char *line = xasprintf("comparison %" PRId64, id);

	return strv_has(alive, line);
}

bool asking_lives(struct ctx *c, int64_t comparison)
{
	_cleanup_(around_release) struct around a = {0};

	look_around(c, NULL, &a);
	return wants_comparison(&a.alive, comparison);
}

/* ---- taking back ---- */

static bool by_hand(enum asked_by asked) { return asked != ASKED_DAEMON; }

static int stop_case(struct ctx *c, struct db_case *k)
{
	free(k->note);
	k->state = CASE_IGNORED;
	k->stopped = STOPPED_BY_ASKER;
	k->note = xasprintf("stopped before the end; the same 'bisect' or 'kperfbot case reopen %" PRId64 "' goes on",
			    k->id);
	k->changed = now_usec();
	store_event(c->store, k->id, k->comparison, 0, "case %" PRId64 ": %s", k->id, k->note);
	return store_case_put(c->store, k, NULL);
}

/* A case whose culprit is proven has its report written all the same. Returns how many were stopped. */
static int stop_cases(struct ctx *c, int64_t comparison)
{
	struct db_case *k = NULL;
	size_t n = 0;
	int r = store_cases(c->store, &k, &n), stopped = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (k[i].comparison == comparison && db_case_measures(&k[i]) && by_hand(k[i].asked)) {
			r = stop_case(c, &k[i]);
			stopped++;
		}
	DB_LIST_RELEASE(k, n, db_case_release);
	return r < 0 ? r : stopped;
}

/* 1: its tasks go, too; 0: it is not ours alone. */
static int stop_question(struct ctx *c, int64_t id, struct asking_left *left)
{
	struct db_comparison q = {0};
	int r = store_comparison_by_id(c->store, id, &q), cases = 0;
	bool mine = r >= 0 && by_hand(q.asked);

	if (r >= 0 && mine && q.state == COMPARISON_OPEN) {
		r = store_comparison_end(c->store, id, COMPARISON_CANCELLED, FAULT_NONE,
					 "stopped before the end; the same 'bisect' goes on");
		left->questions++;
	}
	if (r >= 0 && mine)
		r = cases = stop_cases(c, id);
	left->questions += MAX(cases, 0);
	db_comparison_release(&q);
	return r < 0 ? r : mine;
}

/* Is this task one of those lines'? */
static bool is_asked(const struct db_task *t, const struct strv *lines, const int64_t *stopped, size_t n_stopped)
{
	_cleanup_free_ char *line = xasprintf("task %" PRId64, t->id);

	bool work = t->kind == TASK_BUILD || task_takes_machine(t->kind);

	return strv_has(lines, line) || (work && has_id(stopped, n_stopped, t->comparison));
}

static int take_back_tasks(struct ctx *c, const struct strv *lines, const struct strv *alive, const int64_t *stopped,
			   size_t n_stopped, struct asking_left *left)
{
	_cleanup_free_ int64_t *id = NULL;
	struct db_task *t = NULL;
	size_t n = 0, mine = 0;
	int r = store_tasks_living(c->store, &t, &n);

	id = xcalloc(n + 1, sizeof(*id));
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (is_asked(&t[i], lines, stopped, n_stopped) && !is_asked(&t[i], alive, NULL, 0))
			id[mine++] = t[i].id;
	if (r >= 0 && mine)
		r = store_tasks_withdraw(c->store, id, mine, "taken back: who asked for it has stopped");
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct db_task now = {0};

		if (store_task_by_id(c->store, t[i].id, &now) >= 0 && now.state == TASK_CANCELLED)
			*(t[i].kind == TASK_BUILD ? &left->builds : &left->boots) += 1;
		db_task_release(&now);
	}
	DB_LIST_RELEASE(t, n, db_task_release);
	return MIN(r, 0);
}

static int take_back(struct ctx *c, const struct strv *lines, const struct strv *alive, struct asking_left *ret)
{
	_cleanup_free_ int64_t *stopped = xcalloc(lines->n + 1, sizeof(*stopped));
	struct asking_left left = {.kept = !lines->n};
	size_t n = 0;
	int r = store_begin(c->store);

	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < lines->n; i++) {
		int64_t id = id_in(lines->v[i], "comparison ");

		if (!id)
			continue;
		r = wants_comparison(alive, id) ? 0 : stop_question(c, id, &left);
		left.kept |= r == 0;
		if (r > 0)
			stopped[n++] = id;
		r = r == -ENOENT ? 0 : r;
	}
	if (r >= 0)
		r = take_back_tasks(c, lines, alive, stopped, n, &left);
	if (r >= 0)
		r = store_commit(c->store);
	else
		store_rollback(c->store);
	if (r >= 0)
		*ret = left;
	return MIN(r, 0);
}

int asking_withdraw(struct ctx *c, struct asking *a, struct asking_left *ret)
{
	_cleanup_(around_release) struct around others = {0};
	int r;

	look_around(c, a->path, &others);
	r = take_back(c, &a->lines, &others.alive, ret);
	if (!daemon_is_running(&c->config)) {
		asking_end(a);
		return r;
	}
	release(a);
	return r;
}

void asking_sweep(struct ctx *c)
{
	_cleanup_(around_release) struct around a = {0};
	struct asking_left left = {0};

	look_around(c, NULL, &a);
	if (!a.dead_files.n || take_back(c, &a.dead, &a.alive, &left) < 0)
		return; /* a full disk, say: the files are there the next time */
	for (size_t i = 0; i < a.dead_files.n; i++)
		(void)unlink(a.dead_files.v[i]);
	if (left.builds + left.boots)
		store_event(c->store, 0, 0, 0, "%d builds and %d boots taken back: who asked for them has gone",
			    left.builds, left.boots);
}
