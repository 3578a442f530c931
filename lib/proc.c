/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/proc.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define KILL_GRACE_S 5.0
#define TIMEOUT_S 3600.0
#define DRAIN_S 1.0             /* for what is left in the pipes of a child that has ended */

extern char **environ;

static volatile const int *cancel_flag;

void proc_cancel_on(volatile const int *flag) { cancel_flag = flag; }

bool proc_cancelled(void) { return cancel_flag && *cancel_flag; }

int proc_status(int ws)
{
	return WIFEXITED(ws) ? WEXITSTATUS(ws) : WIFSIGNALED(ws) ? 128 + WTERMSIG(ws) : 255;
}

static void set_limit(int what, uint64_t v)
{
	struct rlimit l = {.rlim_cur = v, .rlim_max = v};

	if (v)
		setrlimit(what, &l);
}

/* ---- a user namespace: the child makes it, the parent writes who is who in it ---- */

/* In the child. gate: one byte each way; the parent closes it without one where it could not write the maps. */
static int enter_ids(int gate)
{
	static const char max[] = "/proc/sys/user/max_user_namespaces";
	_cleanup_close_ int fd = -1;
	char go = 1;

	if (unshare(CLONE_NEWUSER) < 0 || write(gate, &go, 1) != 1)
		return -errno;
	if (read(gate, &go, 1) != 1)
		return -EPERM;
	if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return -errno;
	fd = open(max, O_WRONLY | O_CLOEXEC); /* this namespace's own limit */
	return fd < 0 || write(fd, "0", 1) != 1 ? -errno : 0;
}

static int write_map(pid_t pid, const char *file, unsigned us, unsigned other)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/%s", pid, file);
	_cleanup_free_ char *map = xasprintf("0 %u 1\n1 %u 1\n", us, other);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, map, strlen(map)) != (ssize_t)strlen(map))
		return err_set(-errno, "cannot write '%s': %s", path, strerror(errno));
	return 0;
}

static int ask_for_map(pid_t pid, const char *program, unsigned us, unsigned other)
{
	_cleanup_free_ char *p = xasprintf("%d", pid), *a = xasprintf("%u", us), *b = xasprintf("%u", other);

	return proc_ok(ARGV(program, p, "0", a, "1", "1", b, "1"), NULL, NULL);
}

/* In the parent, while the child waits at the gate. */
static int give_ids(const struct proc_ids *ids, pid_t pid, int gate)
{
	char go;
	int r = 0;

	if (read(gate, &go, 1) != 1)
		return 0; /* it tells by itself why not */
	if (geteuid() == 0) {
		r = write_map(pid, "uid_map", 0, ids->uid);
		r = r < 0 ? r : write_map(pid, "gid_map", 0, ids->gid);
	} else {
		r = ask_for_map(pid, "newuidmap", geteuid(), ids->uid);
		r = r < 0 ? r : ask_for_map(pid, "newgidmap", getegid(), ids->gid);
	}
	if (r == 0 && write(gate, &go, 1) != 1)
		r = err_set(-EPIPE, "child %d died", pid);
	return r;
}

static int enter_groups(const char *const *groups)
{
	for (; groups && *groups; groups++) {
		_cleanup_free_ char *path = xasprintf("%s/cgroup.procs", *groups);
		_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, "0", 1) != 1)
			return -errno;
	}
	return 0;
}

/* In the child; on failure the errno goes up the pipe. */
static _Noreturn void child_exec(const struct proc_spec *s, int in, int out, int err, int report, int gate,
				 pid_t parent)
{
	sigset_t none;
	int e;

	setpgid(0, 0);
	if ((e = enter_groups(s->groups)) < 0 || (s->ids && (e = enter_ids(gate)) < 0)) {
		errno = -e;
		goto fail;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* not before: a change of credentials undoes it */
	if (getppid() != parent)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			signal(sig, SIG_DFL);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		goto fail;
	if (report <= 2 || (report = fcntl(report, F_DUPFD_CLOEXEC, PROC_PASSED_FD + 1)) < 0)
		goto fail;
	syscall(SYS_close_range, 3, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */);
	if (s->pass_fd > 0 &&
	    (s->pass_fd == PROC_PASSED_FD ? fcntl(s->pass_fd, F_SETFD, 0) : dup2(s->pass_fd, PROC_PASSED_FD)) < 0)
		goto fail;
	if (s->cwd && chdir(s->cwd) < 0)
		goto fail;
	if (s->env_clear) {
		static char *minimal[4];
		const char *path = getenv("PATH"), *home = getenv("HOME");

		minimal[0] = xasprintf("PATH=%s", path ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
		minimal[1] = xasprintf("HOME=%s", home ? home : "/");
		minimal[2] = xstrdup("LC_ALL=C.UTF-8");
		environ = minimal;
	}
	for (const char *const *e2 = s->env_add; e2 && *e2; e2++)
		putenv(xstrdup(*e2));
	set_limit(RLIMIT_AS, s->limit_as); /* last: a sanitizer's own memory may be above it already */
	set_limit(RLIMIT_DATA, s->limit_data);
	set_limit(RLIMIT_FSIZE, s->limit_fsize);
	set_limit(RLIMIT_NPROC, s->limit_nproc);
	if (s->no_core) /* 0 would still start the program of core_pattern; 1 does not (core(5)) */
		set_limit(RLIMIT_CORE, 1);
	execvp(s->argv[0], (char *const *)s->argv);
fail:
	e = errno;
	if (write(report, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

static int spawn(const struct proc_spec *s, int in, int out, int err, pid_t *ret)
{
	int report[2], gate[2] = {-1, -1}, e = 0, r = 0;
	pid_t parent = getpid(), pid;
	ssize_t n;

	if (pipe2(report, O_CLOEXEC) < 0)
		return err_set(-errno, "cannot make a pipe: %s", strerror(errno));
	if (s->ids && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) < 0)
		r = err_set(-errno, "cannot make a socket: %s", strerror(errno));
	fflush(NULL);
	pid = r < 0 ? -1 : fork();
	if (pid < 0) {
		e = errno;
		close(report[0]);
		close(report[1]);
		for (int i = 0; i < 2; i++)
			if (gate[i] >= 0)
				close(gate[i]);
		return r < 0 ? r : err_set(-e, "cannot fork for '%s': %s", s->argv[0], strerror(e));
	}
	if (!pid) {
		if (gate[0] >= 0)
			close(gate[0]);
		child_exec(s, in, out, err, report[1], gate[1], parent);
	}
	setpgid(pid, pid);
	close(report[1]);
	if (s->ids) {
		close(gate[1]);
		r = give_ids(s->ids, pid, gate[0]);
		close(gate[0]);
	}
	if (r < 0) {
		kill(pid, SIGKILL);
		close(report[0]);
		waitpid(pid, NULL, 0);
		return err_prefix(r, "cannot make a user namespace for '%s'", s->argv[0]);
	}
	do
		n = read(report[0], &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	if (n == sizeof(e)) {
		waitpid(pid, NULL, 0);
		return err_set(-e, "cannot start '%s'%s%s: %s", s->argv[0], s->cwd ? " in " : "", s->cwd ? s->cwd : "",
			       strerror(e));
	}
	*ret = pid;
	return 0;
}

static int open_null(int flags) { return open("/dev/null", flags | O_CLOEXEC); }

static int open_log(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	return fd < 0 ? err_set(-errno, "cannot write '%s': %s", path, strerror(errno)) : fd;
}

int proc_start(const struct proc_spec *s, pid_t *ret_pid)
{
	_cleanup_close_ int in = open_null(O_RDONLY);
	_cleanup_close_ int log = -1;

	if (s->out_path && (log = open_log(s->out_path)) < 0)
		return log;
	return spawn(s, in, log >= 0 ? log : 1, log >= 0 ? log : 2, ret_pid);
}

static void keep(struct buf *b, const char *p, size_t n, size_t max, bool *truncated)
{
	size_t room = b->len < max ? max - b->len : 0;

	if (n > room)
		*truncated = true;
	buf_add(b, p, MIN(n, room));
}

/* Moves bytes between us and the child until it has exited and both streams are closed. */
static int pump(const struct proc_spec *s, pid_t pid, int pidfd, int in, int out, int err, struct proc_result *r)
{
	size_t max = s->max_output ? s->max_output : 16u << 20, sent = 0, len = s->input ? strlen(s->input) : 0;
	double limit = s->timeout_s > 0 ? s->timeout_s : TIMEOUT_S;
	usec_t deadline = mono_usec() + (usec_t)(limit * 1e6), kill_at = 0, drain_until = 0;
	volatile const int *cancel = s->cancel ? s->cancel : cancel_flag;
	bool exited = false;
	int result = 0;
	char tmp[65536];

	while (!exited || out >= 0 || err >= 0) {
		struct pollfd fds[4] = {
			{out, POLLIN, 0}, {err, POLLIN, 0}, {in, POLLOUT, 0}, {exited ? -1 : pidfd, POLLIN, 0}};
		usec_t now;

		if (poll(fds, 4, exited ? 200 : 100) < 0 && errno != EINTR)
			return err_set(-errno, "poll: %s", strerror(errno));
		for (int i = 0; i < 2; i++) {
			int *fd = i ? &err : &out;
			ssize_t n;

			if (*fd < 0 || !fds[i].revents)
				continue;
			n = read(*fd, tmp, sizeof(tmp));
			if (n > 0)
				keep(i ? &r->err : &r->out, tmp, n, max, &r->truncated);
			else if (n == 0 || errno != EINTR) {
				close(*fd);
				*fd = -1;
			}
		}
		if (in >= 0 && fds[2].revents) {
			ssize_t n = sent < len ? write(in, s->input + sent, len - sent) : 0;

			if (n > 0)
				sent += n;
			if (sent >= len || (n < 0 && errno != EAGAIN && errno != EINTR)) {
				close(in);
				in = -1;
			}
		}
		if (!exited && fds[3].revents)
			exited = true;
		else if (exited && !fds[0].revents && !fds[1].revents)
			break; /* a grandchild holds the pipes open: it is not waited for */
		now = mono_usec();
		if (exited) { /* nor one that goes on writing */
			drain_until = drain_until ? drain_until : now + (usec_t)(DRAIN_S * 1e6);
			if (now > drain_until)
				break;
			continue;
		}
		if (!kill_at && (now > deadline || (cancel && *cancel))) {
			result = cancel && *cancel
				 ? err_set(-ECANCELED, "'%s' was stopped", s->argv[0])
				 : err_set(-ETIMEDOUT, "'%s' took longer than %g s", s->argv[0], limit);
			kill(-pid, SIGTERM);
			kill_at = now + (usec_t)(KILL_GRACE_S * 1e6);
		} else if (kill_at && now > kill_at) {
			kill(-pid, SIGKILL);
		}
	}
	if (out >= 0)
		close(out);
	if (err >= 0)
		close(err);
	if (in >= 0)
		close(in);
	return result;
}

int proc_run(const struct proc_spec *s, struct proc_result *ret)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1}, in[2] = {-1, -1}, r, ws = 0, pidfd;
	usec_t start = mono_usec();
	struct rusage ru = {0};
	struct sigaction old, ign = {.sa_handler = SIG_IGN};
	pid_t pid;

	if (s->out_path) {
		r = open_log(s->out_path);
		if (r < 0)
			return r;
		out[1] = r;
		err[1] = dup(r);
	} else if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
		return err_set(-errno, "cannot make a pipe: %s", strerror(errno));
	}
	if (s->input) {
		if (pipe2(in, O_CLOEXEC) < 0)
			return err_set(-errno, "cannot make a pipe: %s", strerror(errno));
		fcntl(in[1], F_SETFL, O_NONBLOCK);
	} else {
		in[0] = open_null(O_RDONLY);
	}
	sigaction(SIGPIPE, &ign, &old);
	r = spawn(s, in[0], out[1], err[1], &pid);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	if (r < 0) {
		int fds[] = {in[1], out[0], err[0]};

		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			if (fds[i] >= 0)
				close(fds[i]);
		sigaction(SIGPIPE, &old, NULL);
		return r;
	}
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	r = pump(s, pid, pidfd, in[1], out[0], err[0], ret);
	if (pidfd >= 0)
		close(pidfd);
	if (r < 0)
		kill(-pid, SIGKILL); /* stragglers of the group */
	while (wait4(pid, &ws, 0, &ru) < 0 && errno == EINTR)
		;
	kill(-pid, SIGKILL);
	sigaction(SIGPIPE, &old, NULL);
	ret->status = proc_status(ws);
	ret->seconds = (mono_usec() - start) / 1e6;
	ret->user_s = ru.ru_utime.tv_sec + ru.ru_utime.tv_usec / 1e6;
	ret->sys_s = ru.ru_stime.tv_sec + ru.ru_stime.tv_usec / 1e6;
	ret->max_rss_kb = ru.ru_maxrss;
	return r;
}

void proc_result_release(struct proc_result *r)
{
	buf_release(&r->out);
	buf_release(&r->err);
}

char *last_line(const char *text)
{
	const char *end = text + strlen(text), *p;

	while (end > text && strchr("\r\n\t ", end[-1]))
		end--;
	for (p = end; p > text && p[-1] != '\n'; p--)
		;
	return xstrndup(p, MIN(end - p, 300));
}

int proc_ok(const char *const *argv, const char *cwd, struct buf *ret_out)
{
	struct proc_spec s = {.argv = argv, .cwd = cwd};
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_free_ char *line = NULL;
	int e = proc_run(&s, &r);

	if (e < 0)
		return e;
	if (r.status) {
		line = last_line(buf_str(r.err.len ? &r.err : &r.out));
		return err_set(-EIO, "'%s %s' ended with status %d: %s", argv[0], argv[1] ? argv[1] : "", r.status,
			       line);
	}
	if (ret_out)
		buf_add(ret_out, buf_str(&r.out), r.out.len);
	return 0;
}

bool proc_have(const char *program)
{
	const char *path = getenv("PATH");
	_cleanup_free_ char *copy = xstrdup(path ? path : "/usr/bin:/bin"), *file = NULL;

	if (strchr(program, '/'))
		return access(program, X_OK) == 0;
	for (char *save = NULL, *d = strtok_r(copy, ":", &save); d; d = strtok_r(NULL, ":", &save)) {
		free(file);
		file = xasprintf("%s/%s", d, program);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}
