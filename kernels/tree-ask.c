/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions about a history whose answer can take hours: libgit2 compares merge bases with each other, and a merge of
 * ten thousand children costs a stranger two megabytes. libgit2 looks at no clock meanwhile, so it is asked in a child
 * that the kernel ends after some seconds of its own work.
 */
#include "kernels/tree-internal.h"
#include "lib/proc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define WALL 6.0                /* times the seconds of work: a busy machine */

struct answer { int r; char out[TREE_ANSWER], err[400]; };

static _Noreturn void answer(tree_question f, void *arg, double seconds, int fd)
{
	struct rlimit l = {(rlim_t)seconds, (rlim_t)seconds + 1};
	struct answer a = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGXCPU, SIG_DFL);
	setrlimit(RLIMIT_CPU, &l);
	a.r = f(arg, a.out);
	if (a.r < 0)
		snprintf(a.err, sizeof(a.err), "%s", err_msg());
	_exit(write(fd, &a, sizeof(a)) != sizeof(a)); /* less than PIPE_BUF: whole or not at all */
}

/* False where there is none in time, or where nobody wants it any more. */
static bool answered(int fd, usec_t end)
{
	struct pollfd p = {fd, POLLIN, 0};

	while (mono_usec() < end && !proc_cancelled()) {
		int n = poll(&p, 1, 100);

		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
	return false;
}

int tree_ask(tree_question f, void *arg, double seconds, char ret[TREE_ANSWER])
{
	usec_t end = mono_usec() + (usec_t)(seconds * WALL * 1e6);
	struct answer a = {0};
	ssize_t got = 0;
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_set(-errno, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		answer(f, arg, seconds, fd[1]);
	close(fd[1]);
	if (pid < 0) {
		close(fd[0]);
		return err_set(-errno, "cannot fork: %s", strerror(errno));
	}
	if (answered(fd[0], end))
		got = read(fd[0], &a, sizeof(a));
	close(fd[0]);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (got != sizeof(a) && proc_cancelled())
		return err_set(-ECANCELED, "the reading was stopped");
	if (got != sizeof(a))
		return err_set(-EFBIG, "its history takes more than %g s to follow", seconds);
	if (a.r < 0)
		return err_set(a.r, "%s", a.err);
	memcpy(ret, a.out, sizeof(a.out));
	return a.r;
}
