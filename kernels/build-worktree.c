/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checked-out sources. A worktree is a plain folder with an index of its own beside it; the mirror knows nothing of it,
 * so that nothing has to be repaired there after a crash. "git read-tree --reset -u" writes the files that differ and
 * leaves the others with their times, which is what makes a neighbour commit cheap.
 */
#include "kernels/build-priv.h"
#include "lib/fs.h"
#include "lib/proc.h"

#include <ftw.h>
#include <sys/stat.h>

#define CHECKOUT_TIMEOUT_S 1800

static int git_in(const struct build_job *j, const char *const *args)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_strv_ struct strv argv = {0}, env = {0};
	_cleanup_free_ char *line = NULL, *shown = NULL;
	int e;

	strv_addv(&argv, ARGV("git", "-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false", "-c", "gc.auto=0"));
	strv_addv(&argv, args);
	strv_addf(&env, "GIT_DIR=%s", j->q->git_dir);
	strv_addf(&env, "GIT_WORK_TREE=%s", j->src);
	strv_addf(&env, "GIT_INDEX_FILE=%s/index", j->dir);
	strv_addv(&env, ARGV("GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0"));
	e = proc_run(&(struct proc_spec){.argv = (const char *const *)argv.v, .env_add = (const char *const *)env.v,
					 .env_clear = true, .cwd = j->src, .timeout_s = CHECKOUT_TIMEOUT_S,
					 .cancel = j->q->cancel}, &r);
	if (e < 0)
		return e;
	if (!r.status)
		return 0;
	line = last_line(buf_str(&r.err));
	shown = term_safe(line);
	return err_set(strcasestr(buf_str(&r.err), "no space left on device") ? -ENOSPC : -EIO, "cannot check out '%.12s': %s",
		       j->q->commit, shown);
}

static int drop_special(const char *path, const struct stat *st, int type _unused_, struct FTW *f _unused_)
{
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode))
		unlink(path);
	return 0;
}

/* "git clean" does not see pipes and sockets. */
static int clean_all(const struct build_job *j)
{
	nftw(j->src, drop_special, 32, FTW_PHYS);
	return git_in(j, ARGV("clean", "-ffdxq"));
}

static int checkout_once(const struct build_job *j, bool clean)
{
	_cleanup_free_ char *lock = xasprintf("%s/index.lock", j->dir), *index = xasprintf("%s/index", j->dir);
	int r = fs_mkdir_p(j->src);

	if (r < 0)
		return r;
	unlink(lock); /* a killed git's; the worktree's lock is ours */
	if (fs_exists(index)) {
		r = git_in(j, ARGV("read-tree", "--reset", "-u", j->q->commit));
	} else { /* files that no index knows are of unknown content */
		r = fs_rm_rf(j->src);
		if (r == 0)
			r = fs_mkdir_p(j->src);
		if (r == 0)
			r = git_in(j, ARGV("read-tree", "--reset", "-u", j->q->commit));
		clean = false;
	}
	return r < 0 || !clean ? r : clean_all(j);
}

int worktree_checkout(const struct build_job *j, bool clean)
{
	_cleanup_free_ char *index = xasprintf("%s/index", j->dir);
	int r = checkout_once(j, clean);

	if (r == -EIO && fs_exists(index)) { /* half-written index or files in the way: from scratch */
		unlink(index);
		r = checkout_once(j, clean);
	}
	return r;
}

int worktree_lock(const struct build_job *j)
{
	_cleanup_free_ char *path = xasprintf("%s/lock", j->dir);
	int fd = fs_mkdir_p(j->dir);

	while (fd == 0 && (fd = fs_lock(path, false)) == -EWOULDBLOCK) {
		if (j->q->cancel && *j->q->cancel)
			return err_set(-ECANCELED, "stopped while waiting for '%s'", path);
		if (j->deadline && mono_usec() > j->deadline)
			return err_set(-ETIMEDOUT, "another build kept '%s' for too long", path);
		usleep(50000);
		fd = 0;
	}
	return fd;
}

static char *mark_path(const struct build_job *j) { return xasprintf("%s/building", j->dir); }

int worktree_begin_out(const struct build_job *j)
{
	_cleanup_free_ char *mark = mark_path(j);
	int r = 0;

	/* A compiler that was killed leaves half an object file which make takes for a new one. */
	if (fs_exists(mark))
		r = fs_rm_rf(j->out);
	if (r == 0)
		r = fs_mkdir_p(j->out);
	return r < 0 ? r : build_write(mark, j->q->commit, strlen(j->q->commit));
}

void worktree_end_out(const struct build_job *j)
{
	_cleanup_free_ char *mark = mark_path(j);

	unlink(mark);
}
