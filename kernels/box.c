/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A box is made in three steps: a user namespace of two identities (struct proc_ids), bubblewrap in it as the first of
 * them, which can reach our folders and mounts what is to be seen, and setpriv, which hands over to the second for
 * good.
 */
#include "kernels/box-internal.h"
#include "lib/fs.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#define BUILD_USER "kperfbot-build"
/* Between the ids of containers and the end: what no account and no container manager gives out. */
#define BUILD_UID 1879050000u
#define OR_TRUST "say 'sandbox: none' in the configuration and trust every tree"
#define FILE_MAX (8ull << 30)
#define TMP_BYTES (1ull << 30)
#define SHM_BYTES (256ull << 20)
#define LOOK_MS 200
#define USAGE_EVERY (10 * USEC_PER_SEC)
#define GRACE_US (10 * USEC_PER_SEC)
#define OWNER_S 600.0
#define DISK_FLOOR (16ll << 20) /* nobody gets the last of a disk */

static enum box_mode mode = BOX_ISOLATED;

void box_set_mode(enum box_mode m) { mode = m; }
enum box_mode box_mode(void) { return mode; }

const char *box_stop_words(enum box_stop s)
{
	static const char *const words[] = {[BOX_TIME] = "took longer than its time limit",
					    [BOX_MEMORY_USED] = "took more memory than its limit",
					    [BOX_TASKS] = "started more processes than the limit of 1024",
					    [BOX_DISK_USED] = "wrote more to the disk than its limit",
					    [BOX_FILES] = "made more files than its limit",
					    [BOX_LOG] = "wrote more output than its limit"};

	return s < ARRAY_SIZE(words) && words[s] ? words[s] : "";
}

/* ---- whose uid ---- */

/* The last id of our range in /etc/subuid or /etc/subgid ("name:first:count", also by number), or 0. */
static unsigned last_sub_id(const char *path, const char *name, unsigned number)
{
	_cleanup_buf_ struct buf b = {0};
	unsigned found = 0;

	if (fs_read(path, 1 << 20, &b) < 0 || !b.s)
		return 0;
	for (char *save = NULL, *l = strtok_r(b.s, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(l, ':');
		unsigned long first, count;

		if (!colon || sscanf(colon + 1, "%lu:%lu", &first, &count) != 2 || !count || first + count > UINT32_MAX)
			continue;
		*colon = 0;
		if (streq(l, name) || (*l >= '0' && *l <= '9' && strtoul(l, NULL, 10) == number))
			found = first + count - 1;
	}
	return found;
}

/* root has all ids: the account that was made for it, else a number that nobody has. */
static int ids_of_root(struct proc_ids *ret)
{
	const struct passwd *p = getpwnam(BUILD_USER);

	if (p && p->pw_uid)
		*ret = (struct proc_ids){p->pw_uid, p->pw_gid ? p->pw_gid : 65534};
	else
		*ret = (struct proc_ids){BUILD_UID, BUILD_UID};
	if (!p && (getpwuid(BUILD_UID) || getgrgid(BUILD_UID)))
		return err_set(-EPERM, "uid %u, under which builds run, belongs to an account; make a user '" BUILD_USER
			       "' for them",
			       BUILD_UID);
	return 0;
}

int box_ids(struct proc_ids *ret)
{
	const struct passwd *p;
	unsigned uid, gid;

	if (geteuid() == 0)
		return ids_of_root(ret);
	p = getpwuid(geteuid());
	uid = last_sub_id("/etc/subuid", p ? p->pw_name : "", geteuid());
	/* by the user's name and id, too: so does newgidmap */
	gid = last_sub_id("/etc/subgid", p ? p->pw_name : "", geteuid());
	if (!uid || !gid)
		return err_set(-EPERM, "builds need a uid of their own, and this user has no subordinate ids: as root, "
			       "'usermod --add-subuids 200000-265535 --add-subgids 200000-265535 %s', or " OR_TRUST,
			       p ? p->pw_name : "USER");
	*ret = (struct proc_ids){uid, gid};
	return 0;
}

int box_whose(char **ret)
{
	const struct passwd *p;
	struct proc_ids ids;
	int r = box_ids(&ids);

	if (r < 0)
		return r;
	p = getpwuid(ids.uid);
	*ret = xasprintf("uid %u (%s)", ids.uid, p ? p->pw_name : geteuid() ? "a subordinate id of this user" :
			 "without account");
	return 0;
}

/* ---- the way in ---- */

static void mask(struct strv *a, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		strv_addv(a, ARGV("--tmpfs", path));
	else
		strv_addv(a, ARGV("--ro-bind", "/dev/null", path));
}

static void system_folders(struct strv *a)
{
	static const char *const tops[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};
	static const char *const etc[] = {
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/protocols",
		"/etc/services", "/etc/mime.types", "/etc/perl", "/etc/python3", "/etc/java", "/etc/ssl/certs"};
	static const char *const folders[] = {"/etc", "/etc/ssl", "/sys", "/sys/devices", "/var"};
	static const char *const made[] = {"passwd", "group", "hosts", "nsswitch.conf"};

	/* folders that bubblewrap makes by itself are for their owner alone */
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		strv_addv(a, ARGV("--perms", "0755", "--dir", folders[i]));
	strv_addv(a, ARGV("--ro-bind", "/usr", "/usr"));
	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		_cleanup_free_ char *path = xasprintf("/%s", tops[i]);
		char target[PATH_MAX];
		ssize_t n = readlink(path, target, sizeof(target) - 1);

		target[MAX(n, 0)] = 0;
		if (n > 0)
			strv_addv(a, ARGV("--symlink", target, path));
		else
			strv_addv(a, ARGV("--ro-bind-try", path, path));
	}
	for (size_t i = 0; i < ARRAY_SIZE(etc); i++)
		strv_addv(a, ARGV("--ro-bind-try", etc[i], etc[i]));
	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		_cleanup_free_ char *ours = xasprintf("%s/kernels/box-etc/%s", fs_data_dir(), made[i]),
				    *there = xasprintf("/etc/%s", made[i]);

		strv_addv(a, ARGV("--ro-bind", ours, there));
	}
}

static void box_args(const struct box *b, struct strv *a)
{
	static const char *const hidden[] = {
		"/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kmsg", "/proc/timer_list", "/proc/latency_stats",
		"/proc/sysrq-trigger", "/proc/acpi", "/proc/scsi", "/proc/fs"};
	_cleanup_free_ char *tmp = xasprintf("%llu", TMP_BYTES), *shm = xasprintf("%llu", SHM_BYTES),
			    *fd = xasprintf("%d", PROC_PASSED_FD);

	strv_addv(a, ARGV("bwrap", "--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid",
			  "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "kperfbot",
			  "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add",
			  "CAP_SETPCAP"));
	system_folders(a);
	strv_addv(a, ARGV("--dev", "/dev", "--proc", "/proc", "--ro-bind-try", "/sys/devices/system",
			  "/sys/devices/system"));
	strv_addv(a, ARGV("--ro-bind", "/proc/sys", "/proc/sys"));
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		mask(a, hidden[i]);
	strv_addv(a, ARGV("--perms", "1777", "--size", tmp, "--tmpfs", "/tmp", "--perms", "1777", "--size", shm,
			  "--tmpfs", "/dev/shm", "--symlink", "../tmp", "/var/tmp", "--perms", "0755", "--dir", BOX));
	for (size_t i = 0; i < b->n_mounts; i++)
		strv_addv(a, ARGV(b->mount[i].writable ? "--bind" : "--ro-bind", b->mount[i].host, b->mount[i].inside));
	strv_addv(a, ARGV("--remount-ro", "/", "--chdir", b->cwd ? b->cwd : "/tmp", "--seccomp", fd, "--", "setpriv",
			  "--reuid", BOX_ID, "--regid", BOX_ID, "--clear-groups", "--inh-caps=-all",
			  "--bounding-set=-all", "--"));
}

/* "sandbox: none": the same script with our rights. Mounts are where they are on the host, so BOX has to be made of
 * links. */
static int plain_folder(const struct box *b, char **ret)
{
	char dir[] = "/tmp/kperfbot-box-XXXXXX";
	_cleanup_free_ char *tmp = NULL;

	if (!mkdtemp(dir))
		return err_set(-errno, "cannot make a folder in /tmp: %s", strerror(errno));
	*ret = xstrdup(dir); /* whoever gets it removes it, whole or not */
	tmp = xasprintf("%s/tmp", dir);
	if (mkdir(tmp, 0700) < 0)
		return err_set(-errno, "cannot make folder '%s': %s", tmp, strerror(errno));
	for (size_t i = 0; i < b->n_mounts; i++) {
		const char *name = b->mount[i].inside;
		_cleanup_free_ char *at = startswith(name, BOX "/") ? xasprintf("%s%s", dir, name + strlen(BOX)) : NULL;

		if (at && symlink(b->mount[i].host, at) < 0)
			return err_set(-errno, "cannot link '%s': %s", at, strerror(errno));
	}
	return 0;
}

/* A text that speaks of BOX, told where it is. */
static char *placed(const char *text, const char *where)
{
	_cleanup_buf_ struct buf b = {0};

	for (const char *p; (p = strstr(text, BOX)); text = p + strlen(BOX)) {
		buf_add(&b, text, p - text);
		buf_adds(&b, where);
	}
	buf_adds(&b, text);
	return buf_take(&b);
}

/* ---- watching ---- */

struct box_watch {
	const struct box *b;
	struct box_groups groups;
	uint64_t memory;
	int64_t disk, inodes, output;
	usec_t deadline, usage_at;
	int64_t written;        /* bytes of output */
	int log, error;         /* its file, and what went wrong with it */
	struct buf part;        /* the last line, not yet whole */
	/* of the file system of the first writable mount: at the start, and when the folders were counted last */
	int64_t free_first, inodes_first, free_then, inodes_then;
	bool isolated;
};

/* New lines go to the caller's on_line(). */
static void report_progress(const struct box *b, const char *chunk, size_t k, struct buf *part)
{
	char *l, *nl;

	if (!b->on_line)
		return;
	buf_add(part, chunk, k);
	for (l = part->s; (nl = memchr(l, '\n', part->s + part->len - l)); l = nl + 1) {
		_cleanup_free_ char *safe = NULL;

		*nl = 0;
		safe = term_safe(l + strspn(l, " \t"));
		b->on_line(b->on_line_arg, safe);
	}
	k = part->s + part->len - l;
	memmove(part->s, l, k);
	part->len = k;
	if (part->len > 65536)
		buf_clear(part);
}

static const char *writable_mount(const struct box *b, size_t from, size_t *ret_next)
{
	for (size_t i = from; i < b->n_mounts; i++)
		if (b->mount[i].writable) {
			*ret_next = i + 1;
			return b->mount[i].host;
		}
	return NULL;
}

static int usage_of_all(const struct box *b, int64_t *bytes, int64_t *files)
{
	const char *dir;
	int r = 0;

	*bytes = *files = 0;
	for (size_t i = 0; r == 0 && (dir = writable_mount(b, i, &i));) {
		int64_t n = 0, k = 0;

		r = box_folder_usage(dir, &n, &k);
		*bytes += n;
		*files += k;
	}
	return r;
}

/* Of the file system that it writes to; false where there is none. */
static bool space(const struct box *b, int64_t *bytes, int64_t *inodes)
{
	size_t next = 0;
	const char *dir = writable_mount(b, 0, &next);
	struct statvfs v;

	if (!dir || statvfs(dir, &v) < 0)
		return false;
	*bytes = (int64_t)(v.f_bavail * v.f_frsize);
	*inodes = (int64_t)v.f_favail;
	return true;
}

/* The free space tells cheaply that something grows; who it is, and how many files, only a look at the folders does. */
static enum box_stop over_quota(struct box_watch *w)
{
	int64_t left, inodes, bytes, files;
	usec_t now = mono_usec();

	if (!space(w->b, &left, &inodes))
		return BOX_NOT_STOPPED;
	if (left < DISK_FLOOR && w->free_first >= DISK_FLOOR)
		return BOX_DISK_USED;
	if (now < w->usage_at && w->free_then - left < w->disk && w->inodes_then - inodes < w->inodes)
		return BOX_NOT_STOPPED;
	w->usage_at = now + USAGE_EVERY;
	w->free_then = left;
	w->inodes_then = inodes;
	/* a slow disk, or so many that nobody can count them: then what is gone tells */
	if (usage_of_all(w->b, &bytes, &files) < 0) {
		bytes = w->free_first - left;
		files = w->inodes_first - inodes;
	}
	if (bytes > w->disk)
		return BOX_DISK_USED;
	return files > w->inodes ? BOX_FILES : BOX_NOT_STOPPED;
}

static enum box_stop over_limit(struct box_watch *w, pid_t pid)
{
	enum box_stop hit;
	uint64_t rss;
	size_t n;

	if ((hit = box_groups_hit(&w->groups)))
		return hit;
	if (!w->groups.memory || !w->groups.processes) {
		box_descendants(pid, &n, &rss);
		if (n > BOX_PROCESSES)
			return BOX_TASKS;
		if (!w->groups.memory && rss > w->memory)
			return BOX_MEMORY_USED;
	}
	return over_quota(w);
}

/* What the pipe holds, into the log or the caller's buffer: no descriptor of ours gets into a box. False at its end. */
static bool drain(struct box_watch *w, int fd, struct box_result *ret)
{
	char chunk[65536];
	ssize_t n = -1, k;

	while (fd >= 0 && (n = read(fd, chunk, sizeof(chunk))) > 0) {
		if ((w->written += n) > w->output) {
			ret->stop = ret->stop ? ret->stop : BOX_LOG;
			return true;
		}
		if (w->b->out)
			buf_add(w->b->out, chunk, n);
		else if (w->log >= 0 && (k = write(w->log, chunk, n)) != n)
			w->error = k < 0 ? errno : ENOSPC;
		report_progress(w->b, chunk, n, &w->part);
	}
	return n != 0;
}

static int wait_for(struct box_watch *w, pid_t pid, int out, struct box_result *ret)
{
	const struct box *b = w->b;
	int pidfd = syscall(SYS_pidfd_open, pid, 0), ws = 0, r = 0;
	struct pollfd p[2] = {{pidfd, POLLIN, 0}, {out, POLLIN, 0}};
	usec_t look = mono_usec() + LOOK_MS * 1000, killed = 0;
	long tasks = box_all_tasks();

	while (waitpid(pid, &ws, WNOHANG) == 0) {
		usec_t now;

		if (pidfd >= 0)
			poll(p, 2, 20);
		else
			usleep(20000);
		now = mono_usec();
		if (!drain(w, out, ret))
			p[1].fd = -1;
		if ((now >= look || box_all_tasks() > tasks + BOX_PROCESSES) && !ret->stop && r == 0) {
			ret->stop = over_limit(w, pid);
			look = mono_usec() + LOOK_MS * 1000;
		}
		if (w->deadline && now > w->deadline && !ret->stop)
			ret->stop = BOX_TIME;
		if (b->cancel && *b->cancel)
			r = err_set(-ECANCELED, "%s was stopped", b->what ? b->what : "the box");
		if (!ret->stop && r == 0)
			continue;
		if (!killed && w->isolated)
			box_kill(pid);
		else if (!killed)
			kill(-pid, SIGTERM);
		killed = killed ? killed : now;
		if (now > killed + GRACE_US || !w->isolated)
			kill(-pid, SIGKILL);
	}
	kill(-pid, SIGKILL);
	(void)drain(w, out, ret);
	if (pidfd >= 0)
		close(pidfd);
	ret->status = proc_status(ws);
	if (r == 0 && w->error)
		r = err_set(-w->error, "cannot write '%s': %s", b->log_path, strerror(w->error));
	return r;
}

static uint64_t memory_limit(const struct box_limits *l)
{
	struct sysinfo s;
	uint64_t all = sysinfo(&s) < 0 ? 0 : (uint64_t)s.totalram * s.mem_unit;

	if (l->memory)
		return l->memory;
	return all ? MIN(all / 4 * 3, BOX_MEMORY) : BOX_MEMORY;
}

static void box_watch_init(struct box_watch *w, const struct box *b)
{
	const struct box_limits *l = &b->limits;

	*w = (struct box_watch){.b = b, .memory = memory_limit(l), .disk = l->disk ? l->disk : BOX_DISK,
			      .inodes = l->inodes ? l->inodes : BOX_INODES,
			      .output = l->output ? l->output : BOX_OUTPUT, .log = -1,
			      .isolated = mode == BOX_ISOLATED};
	if (l->seconds > 0)
		w->deadline = mono_usec() + (usec_t)(l->seconds * 1e6);
	w->usage_at = mono_usec() + USAGE_EVERY;
	if (space(b, &w->free_first, &w->inodes_first)) {
		w->free_then = w->free_first;
		w->inodes_then = w->inodes_first;
	}
	box_groups_make(w->memory, &w->groups);
}

static int start(struct box_watch *w, const struct strv *argv, const struct strv *env, int filter, const char *out_path,
		 pid_t *ret)
{
	const struct box *b = w->b;
	struct proc_ids ids;
	struct proc_spec s = {.argv = (const char *const *)argv->v, .env_clear = true,
			      .env_add = (const char *const *)env->v, .out_path = out_path, .limit_fsize = FILE_MAX,
			      .no_core = true, .groups = (const char *const *)w->groups.dirs.v, .pass_fd = filter};
	int r = w->isolated ? box_ids(&ids) : 0;

	if (r < 0)
		return r;
	if (w->isolated)
		s.ids = &ids;
	r = proc_start(&s, ret);
	return r < 0 ? err_prefix(r, "cannot start %s", b->what ? b->what : "the box") : 0;
}

static int run_in(struct box_watch *w, const char *plain, int filter, struct box_result *ret)
{
	const struct box *b = w->b;
	_cleanup_strv_ struct strv argv = {0}, env = {0};
	_cleanup_free_ char *script = plain ? placed(b->script, plain) : xstrdup(b->script),
			    *nice = xasprintf("%d", b->nice), *tasks = xasprintf("--nproc=%d", 2 * BOX_PROCESSES),
			    *out_path = NULL, *cwd = plain && b->cwd ? placed(b->cwd, plain) : NULL;
	int fd[2], r;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(-errno, "cannot make a pipe: %s", strerror(errno));
	for (const char *const *e = b->env; e && *e; e++) {
		_cleanup_free_ char *v = plain ? placed(*e, plain) : xstrdup(*e);

		strv_add(&env, v);
	}
	if (plain) { /* /tmp is everybody's there */
		strv_addf(&env, "HOME=%s/tmp", plain);
		strv_addf(&env, "TMPDIR=%s/tmp", plain);
	}
	out_path = xasprintf("/proc/self/fd/%d", fd[1]);
	strv_addv(&argv, ARGV("nice", "-n", nice));
	if (!plain)
		box_args(b, &argv);
	else if (cwd)
		strv_addv(&argv, ARGV("env", "-C", cwd, "--"));
	if (!w->groups.processes && !plain)
		strv_addv(&argv, ARGV("prlimit", tasks));
	strv_addv(&argv, ARGV("sh", "-c", script));
	r = start(w, &argv, &env, filter, out_path, &pid);
	close(fd[1]);
	if (r == 0 && b->take) {
		_cleanup_free_ char *why = NULL;
		int e = b->take(b->take_arg, fd[0]);

		why = e < 0 ? xstrdup(err_msg()) : NULL;
		close(fd[0]); /* who still writes gets a signal */
		fd[0] = -1;
		if (e < 0)
			kill(-pid, SIGKILL);
		r = wait_for(w, pid, -1, ret);
		if (e < 0)
			r = err_set(e, "%s", why);
	} else if (r == 0) {
		r = wait_for(w, pid, fd[0], ret);
	}
	if (fd[0] >= 0)
		close(fd[0]);
	if (r == 0 && ret->status && !ret->stop)
		ret->stop = box_groups_hit(&w->groups);
	return r;
}

static int run_unchecked(const struct box *b, struct box_result *ret)
{
	struct box_result out = {0};
	_cleanup_free_ char *plain = NULL;
	_cleanup_close_ int filter = -1;
	struct box_watch w;
	int r;

	box_watch_init(&w, b);
	if (b->log_path &&
	    (w.log = open(b->log_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644)) < 0)
		r = err_set(-errno, "cannot write '%s': %s", b->log_path, strerror(errno));
	else if (w.isolated)
		r = filter = box_filter();
	else
		r = plain_folder(b, &plain);
	if (r >= 0)
		r = run_in(&w, plain, filter, &out);
	box_groups_drop(&w.groups);
	if (w.log >= 0)
		close(w.log);
	buf_release(&w.part);
	if (plain)
		(void)fs_rm_rf(plain);
	if (r == 0)
		*ret = out;
	return MIN(r, 0);
}

int box_run(const struct box *b, struct box_result *ret)
{
	int r = mode == BOX_ISOLATED ? box_check() : 0;

	return r < 0 ? r : run_unchecked(b, ret);
}

int box_run_as_owner(const char *const *argv, double timeout_s, struct proc_result *ret)
{
	struct proc_spec s = {.argv = argv, .env_clear = true, .timeout_s = timeout_s};
	struct proc_ids ids;
	int e = mode == BOX_ISOLATED && geteuid() ? box_ids(&ids) : 0;

	if (mode == BOX_ISOLATED && geteuid())
		s.ids = &ids;
	return e < 0 ? e : proc_run(&s, ret);
}

int box_as_owner(const char *const *argv, struct buf *ret_out)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_free_ char *line = NULL;
	int e = box_run_as_owner(argv, OWNER_S, &r);

	if (e < 0)
		return e;
	if (r.status) {
		line = last_line(buf_str(r.err.len ? &r.err : &r.out));
		return err_set(-EIO, "'%s' ended with status %d: %s", argv[0], r.status, line);
	}
	if (ret_out)
		buf_add(ret_out, buf_str(&r.out), r.out.len);
	return 0;
}

/* ---- does it work here? ---- */

static int try_box(void)
{
	static const struct { const char *program, *package; } need[] = {
		{"bwrap", "bubblewrap"}, {"setpriv", "util-linux"}, {"tar", "tar"}, {"newuidmap", "uidmap"},
		{"newgidmap", "uidmap"}};
	static const char ask[] =
		"exec 2>&1; id -u; wc -l </proc/self/uid_map; unshare -U true 2>/dev/null && echo nested\n"
		"sh -c ': >/proc/sys/kernel/core_pattern' 2>/dev/null && echo core_pattern; true\n";
	struct box_result res = {0};
	_cleanup_buf_ struct buf out = {0};
	struct proc_ids ids;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(need); i++)
		if (!proc_have(need[i].program) && (geteuid() != 0 || !startswith(need[i].program, "new")))
			return err_set(-ENOENT, "builds cannot be isolated: '%s' is missing; install the package '%s', "
				       "or " OR_TRUST, need[i].program, need[i].package);
	r = box_ids(&ids);
	if (r < 0)
		return r;
	/* what the rest relies on, asked of the box itself */
	r = run_unchecked(&(struct box){.what = "the box", .limits = {.seconds = 30, .output = 65536}, .out = &out,
					.script = ask}, &res);
	if (r < 0)
		return err_prefix(r, "builds cannot be isolated");
	if (res.status || res.stop || !streq(buf_str(&out), "1\n2\n")) {
		_cleanup_free_ char *line = last_line(buf_str(&out)), *safe = term_safe(line);

		return err_set(-EPERM, "builds cannot be isolated here (status %d: %s): bubblewrap needs user "
			       "namespaces, which this system or container forbids; allow them, or " OR_TRUST,
			       res.status, safe);
	}
	return 0;
}

int box_check(void)
{
	static int known = 1;
	static char *why;

	if (known > 0) {
		known = try_box();
		why = known < 0 ? xstrdup(err_msg()) : NULL;
	}
	return known < 0 ? err_set(known, "%s", why) : 0;
}
