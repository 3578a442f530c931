/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checked-out sources, by git in a box: the mirror is mounted read-only, what git writes belongs to the builder. A kernel's
 * sources stay from one build to the next, with an index beside them that no build sees, and builds only read them; a
 * program's are made anew each time, since its build writes there.
 *
 * Times decide what make does. A build goes on from the output of one of its ancestors (build-start.c), which may be older
 * or younger than the files here, so no file keeps the time at which it happened to be written: all are as old as OLD, and those
 * that differ from that ancestor are of now. So what make compiles does not depend on what was built here in between.
 */
#include "kernels/build-priv.h"
#include "lib/fs.h"
#include "lib/proc.h"

#define CHECKOUT_MEMORY (2ull << 30)
#define GIT BOX "/git"
#define INDEX BOX "/index"

static const char kernel_script[] =
	"I=" INDEX "; export GIT_DIR=" GIT " GIT_WORK_TREE=" BOX_SRC " GIT_INDEX_FILE=$I/index\n"
	"export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0\n"
	"g() { git -c core.hooksPath=/dev/null -c core.autocrlf=false -c core.trustctime=false -c core.fsmonitor=false \"$@\"; }\n"
	"old() { xargs -0 -r touch -h -c -d @1000000000 --; }\n"
	"diff() { g diff-tree -r -z --name-only --no-renames --diff-filter=d \"$@\"; }\n"
	"checkout() {\n"
	"	if [ -s $I/touched ]; then old <$I/touched || return; fi\n"
	"	rm -f $I/touched $I/index.lock\n"
	"	g read-tree --reset -u \"$COMMIT\" || return\n"
	"	if [ -s $I/at ]; then diff \"$(cat $I/at)\" \"$COMMIT\" >$I/list\n"
	"	else g ls-tree -r -z --name-only \"$COMMIT\" >$I/list; fi || return\n"
	"	old <$I/list || return\n"
	"	g update-index -q --refresh\n"
	"	echo \"$COMMIT\" >$I/at\n"
	"}\n"
	"cd " BOX_SRC " || exit 1\n"
	"if ! [ -s $I/at ] || ! checkout; then\n"
	"	find . $I -mindepth 1 -delete\n"
	"	checkout || exit 1\n"
	"fi\n"
	"if [ -n \"$START\" ]; then\n"
	"	diff \"$START\" \"$COMMIT\" >$I/touched || exit 1\n"
	"	xargs -0 -r touch -h -c -- <$I/touched || exit 1\n"
	"fi\n";

static const char program_script[] =
	"index=$(mktemp -d) && trap 'rm -rf \"$index\"' EXIT || exit 1\n"
	"export GIT_DIR=" GIT " GIT_WORK_TREE=" BOX_SRC " GIT_INDEX_FILE=\"$index/index\"\n"
	"export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0\n"
	"cd " BOX_SRC " && git -c core.hooksPath=/dev/null -c core.autocrlf=false read-tree --reset -u \"$COMMIT\"\n";

static int folders(const struct build_job *j)
{
	int r = 0;

	if (j->q->kind == BUILD_PROGRAM)
		return box_folder_make(j->src);
	if (!fs_is_dir(j->src) || !fs_is_dir(j->index)) {
		r = box_folder_make(j->src);
		r = r < 0 ? r : box_folder_make(j->index);
	}
	return r;
}

static int failed(struct build_job *j, const struct sandbox_result *s)
{
	_cleanup_buf_ struct buf log = {0};
	_cleanup_free_ char *line = NULL, *shown = NULL;

	(void)fs_read(j->log, 0, &log);
	line = last_line(buf_str(&log));
	shown = term_safe(line);
	return err_set(strcasestr(line, "no space left on device") ? -ENOSPC : -EIO, "cannot check out '%.12s': %s", j->q->commit,
		       *shown ? shown : s->status ? "git failed" : "git gave no reason");
}

int worktree_checkout(struct build_job *j, struct sandbox_result *ret)
{
	bool program = j->q->kind == BUILD_PROGRAM;
	const struct box_mount mounts[] = {{j->q->git_dir, GIT, false}, {j->src, BOX_SRC, true}, {j->index, INDEX, true}};
	_cleanup_free_ char *script = program ? xstrdup(program_script)
					      : xasprintf("START=%s\n%s", j->start_commit ? j->start_commit : "", kernel_script);
	struct build_step s = {.script = script, .mount = mounts, .n_mounts = program ? 2 : 3, .cwd = BOX_SRC,
			       .memory = CHECKOUT_MEMORY};
	int r = folders(j);

	if (r == 0)
		r = build_step(j, &s, ret);
	if (r < 0 || (!ret->status && !ret->stop))
		return r;
	/* whatever it left, the next one starts with nothing */
	(void)box_folder_remove(j->src);
	(void)box_folder_remove(j->index);
	return ret->stop ? 0 : failed(j, ret);
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
