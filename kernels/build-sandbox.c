/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Running a tree's own code: bubblewrap with no network, a process space of its own, everything read-only but the
 * build's folders, and none of our environment. What it may take of the machine: see build-watch.c.
 */
#include "kernels/build-priv.h"
#include "lib/fs.h"
#include "lib/proc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MEMORY_MAX (4ull << 30)
#define LOG_MAX (128ll << 20)
#define FILE_MAX (8ull << 30)
#define LOOK_MS 200
#define GRACE_US (10 * USEC_PER_SEC)

static bool box_works(void)
{
	static int known = -1;
	_cleanup_(proc_result_release) struct proc_result r = {0};

	if (known < 0)
		known = proc_have("bwrap") &&
			proc_run(&(struct proc_spec){.argv = ARGV("bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev",
								  "/dev", "--unshare-net", "--unshare-pid", "true"),
						     .timeout_s = 20}, &r) == 0 && r.status == 0;
	return known;
}

static void hide(struct strv *a, const char *dir)
{
	if (dir && fs_is_dir(dir))
		strv_addv(a, ARGV("--tmpfs", dir));
}

static void box_args(const struct build_job *j, bool src_writable, const char *ccache, struct strv *a)
{
	strv_addv(a, ARGV("bwrap", "--die-with-parent", "--new-session", "--unshare-user-try", "--unshare-ipc", "--unshare-pid",
			  "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "kperfbot", "--cap-drop", "ALL",
			  "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"));
	/* our own state, people's files, and the sockets of services */
	hide(a, "/run");
	hide(a, "/root");
	hide(a, "/home");
	hide(a, "/etc/kperfbot");
	hide(a, "/var/tmp");
	hide(a, j->q->state_dir);
	hide(a, j->q->cache_dir);
	hide(a, "/tmp");
	strv_addv(a, ARGV(src_writable ? "--bind" : "--ro-bind", j->src, BOX_SRC, "--bind", j->out, BOX_OUT));
	if (ccache)
		strv_addv(a, ARGV("--bind", ccache, BOX_CCACHE));
	strv_addv(a, ARGV("--chdir", src_writable ? BOX_SRC : BOX_OUT, "--"));
}

static void box_env(const struct build_job *j, bool boxed, const char *ccache, struct strv *env)
{
	const char *path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

	strv_addf(env, "PATH=%s%s", ccache && fs_is_dir("/usr/lib/ccache") ? "/usr/lib/ccache:" : "", path);
	strv_addf(env, "HOME=%s", boxed ? "/tmp" : j->out);
	strv_addf(env, "SRC=%s", boxed ? BOX_SRC : j->src);
	strv_addf(env, "OUT=%s", boxed ? BOX_OUT : j->out);
	strv_addv(env, ARGV("LC_ALL=C", "TZ=UTC", "SOURCE_DATE_EPOCH=315532800", "KBUILD_BUILD_USER=kperfbot",
			    "KBUILD_BUILD_HOST=kperfbot", "KBUILD_BUILD_VERSION=1",
			    "KBUILD_BUILD_TIMESTAMP=Tue Jan  1 00:00:00 UTC 1980", "LOCALVERSION=", "CCACHE_NOHASHDIR=1",
			    "CCACHE_COMPILERCHECK=content", "CCACHE_MAXSIZE=10G", "CCACHE_NOSTATS=1",
			    "CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime"));
	if (ccache) {
		strv_addf(env, "CCACHE_DIR=%s", boxed ? BOX_CCACHE : ccache);
		strv_addf(env, "CCACHE_BASEDIR=%s", boxed ? BOX : j->dir);
	}
}

/* ---- watching ---- */

/* New whole lines of the log go to the caller's progress function. */
static void report_progress(const struct build_request *q, int fd, struct buf *part)
{
	char chunk[16384];
	ssize_t n;

	while (q->progress && (n = read(fd, chunk, sizeof(chunk))) > 0) {
		char *l, *nl;

		buf_add(part, chunk, n);
		for (l = part->s; (nl = memchr(l, '\n', part->s + part->len - l)); l = nl + 1) {
			_cleanup_free_ char *safe = NULL;

			*nl = 0;
			safe = term_safe(l + strspn(l, " \t"));
			q->progress(q->progress_arg, safe);
		}
		n = part->s + part->len - l;
		memmove(part->s, l, n);
		part->len = n;
		if (part->len > 65536)
			buf_clear(part);
	}
}

static const char *over_limit(const struct build_job *j, pid_t pid)
{
	uint64_t max = j->q->max_memory ? j->q->max_memory : MEMORY_MAX, rss;
	size_t n;

	if (fs_size(j->log) > LOG_MAX)
		return "the build wrote more than 128 MiB of output";
	watch_descendants(pid, &n, &rss);
	if (n > BUILD_PROCESSES_MAX || watch_group_hit(j->group))
		return "the build started more processes than the limit of 1024";
	return rss > max ? "a process of the build took more memory than the limit" : NULL;
}

static int wait_for(struct build_job *j, pid_t pid, struct sandbox_result *ret)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0), ws = 0, r = 0;
	_cleanup_close_ int log = open(j->log, O_RDONLY | O_CLOEXEC);
	_cleanup_buf_ struct buf part = {0};
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	usec_t look = mono_usec() + LOOK_MS * 1000, killed = 0;
	long tasks = watch_all_tasks();

	if (log >= 0)
		lseek(log, 0, SEEK_END);
	while (waitpid(pid, &ws, WNOHANG) == 0) {
		usec_t now = mono_usec();

		if (pidfd >= 0)
			poll(&p, 1, 20);
		else
			usleep(20000);
		report_progress(j->q, log, &part);
		if ((now >= look || watch_all_tasks() > tasks + BUILD_PROCESSES_MAX) && !ret->stopped && r == 0) {
			ret->stopped = over_limit(j, pid);
			look = mono_usec() + LOOK_MS * 1000;
		}
		if (j->deadline && now > j->deadline && !ret->stopped) {
			ret->stopped = "the build took longer than its time limit";
			ret->infra = true;
		}
		if (j->q->cancel && *j->q->cancel)
			r = err_set(-ECANCELED, "the build was stopped");
		if (!ret->stopped && r == 0)
			continue;
		if (!killed)
			watch_kill(pid);
		killed = killed ? killed : now;
		if (now > killed + GRACE_US)
			kill(-pid, SIGKILL);
	}
	kill(-pid, SIGKILL);
	report_progress(j->q, log, &part);
	if (pidfd >= 0)
		close(pidfd);
	ret->status = proc_status(ws);
	return r;
}

int sandbox_run(struct build_job *j, const char *script, bool src_writable, struct sandbox_result *ret)
{
	_cleanup_free_ char *ccache = xasprintf("%s/ccache", j->q->cache_dir);
	_cleanup_strv_ struct strv argv = {0}, env = {0};
	bool boxed = box_works(), cached = proc_have("ccache");
	struct sandbox_result out = {0};
	pid_t pid;
	int r = cached ? fs_mkdir_p(ccache) : 0;

	if (r < 0)
		return r;
	box_env(j, boxed, cached ? ccache : NULL, &env);
	j->group = watch_group_make();
	watch_group_enter(j->group, &argv);
	/* what we measure on this machine, and our own watching, come first */
	strv_addv(&argv, ARGV("nice", "-n", "5"));
	if (boxed)
		box_args(j, src_writable, cached ? ccache : NULL, &argv);
	else if (!strstr(buf_str(&j->warnings), "bubblewrap"))
		buf_adds(&j->warnings, "NOT ISOLATED: bubblewrap does not work here, the tree's Makefiles ran with our rights\n");
	if (geteuid() != 0 && proc_have("prlimit")) /* root is exempt and has the control group */
		strv_addv(&argv, ARGV("prlimit", "--nproc=2048"));
	strv_addv(&argv, ARGV("sh", "-c", script));
	r = proc_start(&(struct proc_spec){.argv = (const char *const *)argv.v, .env_clear = true,
					   .env_add = (const char *const *)env.v, .cwd = src_writable ? j->src : j->out,
					   .out_path = j->log, .limit_fsize = FILE_MAX}, &pid);
	if (r == 0)
		r = wait_for(j, pid, &out);
	if (r == 0 && out.status && !out.stopped && watch_group_hit(j->group))
		out.stopped = "the build started more processes than the limit of 1024";
	watch_group_drop(j->group);
	j->group = NULL;
	if (r == 0)
		*ret = out;
	return r;
}
