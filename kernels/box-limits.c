/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits on memory and processes of a box as a whole: control groups where we may make them (root, or a service with
 * Delegate=yes), else /proc is looked through five times a second and RLIMIT_NPROC holds inside.
 */
#include "kernels/box-internal.h"
#include "lib/fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

struct proc_line { pid_t pid, ppid; uint64_t rss; bool ours; };

static bool read_stat(const char *pid, struct proc_line *ret)
{
	char path[64], text[512], *p;
	long pages = 0;
	int ppid = 0, fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[MAX(n, 0)] = 0;
	p = strrchr(text, ')'); /* the name may hold anything */
	if (!p || sscanf(p + 1, " %*c %d", &ppid) != 1)
		return false;
	for (int field = 2; *p && field < 24; p++) /* rss is field 24 (proc(5)); ')' ends field 2 */
		field += *p == ' ';
	sscanf(p, "%ld", &pages);
	*ret = (struct proc_line){atoi(pid), ppid, (uint64_t)MAX(pages, 0) * sysconf(_SC_PAGESIZE), false};
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct proc_line *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void box_descendants(pid_t top, size_t *ret_n, uint64_t *ret_rss)
{
	struct proc_line *v = NULL;
	size_t n = 0, cap = 0;
	DIR *d = opendir("/proc");
	bool more = true;

	*ret_n = 0;
	*ret_rss = 0;
	for (struct dirent *e; d && (e = readdir(d));) {
		GROW(v, n, cap);
		if (*e->d_name >= '1' && *e->d_name <= '9' && read_stat(e->d_name, &v[n]))
			n++;
	}
	if (d)
		closedir(d);
	qsort(v, n, sizeof(*v), by_pid);
	while (more) { /* children mostly have higher ids than parents: one pass and one to see that it was enough */
		more = false;
		for (size_t i = 0; i < n; i++) {
			struct proc_line key = {.pid = v[i].ppid};
			const struct proc_line *parent = v[i].ours ? NULL : bsearch(&key, v, n, sizeof(*v), by_pid);

			if (v[i].ours || (v[i].ppid != top && (!parent || !parent->ours)))
				continue;
			more = v[i].ours = true;
			++*ret_n;
			*ret_rss += v[i].rss;
		}
	}
	free(v);
}

/* Kills the first process of the sandbox: the kernel then ends all others in it before bubblewrap sees it gone, so that
 * nobody writes any more when we come back. */
void box_kill(pid_t bwrap)
{
	DIR *d = opendir("/proc");
	struct proc_line l;

	for (struct dirent *e; d && (e = readdir(d));)
		if (*e->d_name >= '1' && *e->d_name <= '9' && read_stat(e->d_name, &l) && l.ppid == bwrap)
			kill(l.pid, SIGKILL);
	if (d)
		closedir(d);
}

/* All tasks of the machine: one system call, so that a fork bomb is seen before it has taken the machine. */
long box_all_tasks(void)
{
	struct sysinfo s;

	return sysinfo(&s) < 0 ? 0 : s.procs;
}

/* ---- control groups ---- */

/* Our own group in the hierarchy that has the controller: a line "8:pids:/path" (v1), or "0::/path" (v2) for NULL. */
static char *own_group(const char *controller)
{
	_cleanup_free_ char *v1 = controller ? xasprintf(":%s:", controller) : NULL;
	_cleanup_buf_ struct buf b = {0};
	char *path = NULL;

	if (fs_read("/proc/self/cgroup", 65536, &b) < 0 || !b.s)
		return NULL;
	for (char *save = NULL, *l = strtok_r(b.s, "\n", &save); l && !path; l = strtok_r(NULL, "\n", &save)) {
		char *mark = strstr(l, v1 ? v1 : "0::");

		if (mark && (v1 || mark == l))
			path = v1 ? xasprintf("/sys/fs/cgroup/%s%s", controller, mark + strlen(v1))
				  : xasprintf("/sys/fs/cgroup%s", mark + 3);
	}
	if (path && !fs_is_dir(path)) {
		free(path);
		path = NULL;
	}
	return path;
}

static bool put_line(const char *dir, const char *file, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, file);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Groups whose maker was killed; one that still has processes cannot be removed. */
static void drop_stale(const char *own)
{
	_cleanup_strv_ struct strv names = {0};
	int pid;

	if (fs_list(own, &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++)
		if (sscanf(names.v[i], "kperfbot-box-%d-", &pid) == 1 && kill(pid, 0) < 0 && errno == ESRCH) {
			_cleanup_free_ char *dir = xasprintf("%s/%s", own, names.v[i]);

			rmdir(dir);
		}
}

/* v2: controllers are handed down only by a group without processes, so we all move one down first. A folder name of
 * ours, so that a second call finds us there. */
static char *delegated_group(void)
{
	static const char below[] = "/kperfbot-main";
	char *own = own_group(NULL);
	_cleanup_free_ char *main_group = NULL, *procs = NULL;
	_cleanup_buf_ struct buf b = {0};

	if (own && endswith(own, below))
		own[strlen(own) - strlen(below)] = 0;
	if (!own || !*own || access(own, W_OK) < 0 || streq(own, "/sys/fs/cgroup") || streq(own, "/sys/fs/cgroup/"))
		goto none;
	main_group = xasprintf("%s%s", own, below);
	procs = xasprintf("%s/cgroup.procs", own);
	if (mkdir(main_group, 0755) < 0 && errno != EEXIST)
		goto none;
	if (fs_read(procs, 1 << 20, &b) == 0)
		for (char *save = NULL, *l = strtok_r(b.s ? b.s : (char *)"", "\n", &save); l;
		     l = strtok_r(NULL, "\n", &save))
			(void)put_line(main_group, "cgroup.procs", l);
	if (put_line(own, "cgroup.subtree_control", "+pids +memory"))
		return own;
none:
	free(own);
	return NULL;
}

static char *group_below(const char *own)
{
	static _Atomic unsigned serial;
	_cleanup_free_ char *dir = own ? xasprintf("%s/kperfbot-box-%d-%u", own, getpid(), serial++) : NULL;

	if (!dir)
		return NULL;
	drop_stale(own);
	return mkdir(dir, 0755) < 0 && errno != EEXIST ? NULL : TAKE_PTR(dir);
}

static bool limit_memory(const char *dir, bool v2, const char *bytes)
{
	if (!v2) { /* swap with it, where that is counted */
		bool r = put_line(dir, "memory.limit_in_bytes", bytes);

		(void)put_line(dir, "memory.memsw.limit_in_bytes", bytes);
		return r;
	}
	(void)put_line(dir, "memory.swap.max", "0");
	(void)put_line(dir, "memory.oom.group", "1");
	return put_line(dir, "memory.max", bytes);
}

static void keep_or_drop(struct box_groups *g, const char *dir, bool *what, bool works)
{
	if (works && !strv_has(&g->dirs, dir))
		strv_add(&g->dirs, dir);
	else if (!works && dir)
		rmdir(dir);
	*what |= works;
}

void box_groups_make(uint64_t memory, struct box_groups *ret)
{
	_cleanup_free_ char *bytes = xasprintf("%" PRIu64, memory), *tasks = xasprintf("%d", BOX_PROCESSES), *v2 = NULL,
			    *both = NULL;

	*ret = (struct box_groups){0};
	v2 = delegated_group();
	both = group_below(v2);
	if (both) {
		bool m = limit_memory(both, true, bytes), p = put_line(both, "pids.max", tasks);

		keep_or_drop(ret, both, &ret->memory, m);
		keep_or_drop(ret, both, &ret->processes, p);
	}
	if (!ret->memory) {
		_cleanup_free_ char *own = own_group("memory"), *dir = group_below(own);

		keep_or_drop(ret, dir, &ret->memory, dir && limit_memory(dir, false, bytes));
	}
	if (!ret->processes) {
		_cleanup_free_ char *own = own_group("pids"), *dir = group_below(own);

		keep_or_drop(ret, dir, &ret->processes, dir && put_line(dir, "pids.max", tasks));
	}
}

/* The number behind a word at the beginning of a line. */
static long counter(const char *dir, const char *file, const char *word)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, file);
	_cleanup_buf_ struct buf b = {0};

	if (!fs_exists(path) || fs_read(path, 65536, &b) < 0)
		return 0;
	for (const char *l = buf_str(&b); *l; l = strchrnul(l, '\n'), l += *l == '\n')
		if (startswith(l, word) && l[strlen(word)] == ' ')
			return atol(l + strlen(word));
	return 0;
}

enum box_stop box_groups_hit(const struct box_groups *g)
{
	for (size_t i = 0; i < g->dirs.n; i++) {
		const char *d = g->dirs.v[i];

		if (counter(d, "memory.events", "oom_kill") || counter(d, "memory.oom_control", "oom_kill"))
			return BOX_MEMORY_USED;
		if (counter(d, "pids.events", "max"))
			return BOX_TASKS;
	}
	return BOX_NOT_STOPPED;
}

void box_groups_drop(struct box_groups *g)
{
	for (size_t k = 0; k < g->dirs.n; k++)
		for (int i = 0; rmdir(g->dirs.v[k]) < 0 && errno == EBUSY && i < 50; i++)
			usleep(10000);
	strv_release(&g->dirs);
}
