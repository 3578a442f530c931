/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits on memory and processes. RLIMIT_NPROC does not bind root and RLIMIT_AS hits programs that only reserve address
 * space, so that /proc is looked through now and then. A fork bomb outruns any looking: against that root uses a
 * control group (pids), others RLIMIT_NPROC inside the sandbox.
 */
#include "kernels/build-priv.h"
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

/* How many processes descend from top, and the largest one's memory. */
void watch_descendants(pid_t top, size_t *ret_n, uint64_t *ret_rss)
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
			*ret_rss = MAX(*ret_rss, v[i].rss);
		}
	}
	free(v);
}

/* Kills the first process of the sandbox: the kernel then ends all others in it before bubblewrap sees it gone, so that
 * nobody writes any more when we come back. */
void watch_kill(pid_t bwrap)
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
long watch_all_tasks(void)
{
	struct sysinfo s;

	return sysinfo(&s) < 0 ? 0 : s.procs;
}

/* ---- the control group ---- */

/* Our own group in the hierarchy that has the pids controller: a line "8:pids:/path" (v1) or "0::/path" (v2). */
static char *own_group(bool v2)
{
	_cleanup_buf_ struct buf b = {0};
	char *path = NULL;

	if (fs_read("/proc/self/cgroup", 65536, &b) < 0 || !b.s)
		return NULL;
	for (char *save = NULL, *l = strtok_r(b.s, "\n", &save); l && !path; l = strtok_r(NULL, "\n", &save)) {
		char *mark = strstr(l, v2 ? "0::" : ":pids:");

		if (mark && (!v2 || mark == l))
			path = xasprintf("/sys/fs/cgroup%s%s", v2 ? "" : "/pids", strchr(mark + 1, ':') + 1 + v2);
	}
	return path;
}

static bool put_line(const char *dir, const char *file, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, file);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Groups whose builder was killed; one that still has processes cannot be removed. */
static void drop_stale(const char *own)
{
	_cleanup_strv_ struct strv names = {0};
	int pid;

	if (fs_list(own, &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++)
		if (sscanf(names.v[i], "kperfbot-build-%d-", &pid) == 1 && kill(pid, 0) < 0 && errno == ESRCH) {
			_cleanup_free_ char *dir = xasprintf("%s/%s", own, names.v[i]);

			rmdir(dir);
		}
}

char *watch_group_make(void)
{
	static _Atomic unsigned serial;

	for (int v2 = 0; v2 < 2 && geteuid() == 0; v2++) {
		_cleanup_free_ char *own = own_group(v2), *dir = NULL, *max = xasprintf("%d", BUILD_PROCESSES_MAX);

		if (!own || !fs_is_dir(own))
			continue;
		if (v2)
			(void)put_line(own, "cgroup.subtree_control", "+pids");
		dir = xasprintf("%s/kperfbot-build-%d-%u", own, getpid(), serial++);
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			continue;
		if (put_line(dir, "pids.max", max)) {
			drop_stale(own);
			return TAKE_PTR(dir);
		}
		rmdir(dir);
	}
	return NULL;
}

void watch_group_enter(const char *group, struct strv *argv)
{
	if (group)
		strv_addv(argv, (const char *const[]){"sh", "-c", "echo $$ >\"$0/cgroup.procs\"; exec \"$@\"", group, NULL});
}

bool watch_group_hit(const char *group)
{
	_cleanup_free_ char *path = group ? xasprintf("%s/pids.events", group) : NULL;
	_cleanup_buf_ struct buf b = {0};

	return path && fs_read(path, 4096, &b) == 0 && startswith(buf_str(&b), "max ") && atol(b.s + 4) > 0;
}

void watch_group_drop(char *group)
{
	for (int i = 0; group && rmdir(group) < 0 && errno == EBUSY && i < 50; i++)
		usleep(10000);
	free(group);
}
