/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checked-out sources, by git in a box: the mirror is mounted read-only, what git writes belongs to the builder. A
 * kernel's sources stay from one build to the next, with an index beside them that no build sees, and builds only read
 * them; a program's are made anew each time, since its build writes there. So are those of a kernel that is built from
 * nothing: all trees may take what comes of it (build-start.c), so nothing of another commit may be there.
 *
 * What lies there are the blobs of the commit as they are. git sees the mirror's objects and nothing else of it:
 * attributes of a tree could make one blob two files, and git does not write again what it takes for unchanged. "at"
 * names the commit only while all of it is there: who is killed half-way leaves none, and the next one begins with
 * nothing.
 *
 * Times decide what make does. A build goes on from the output of one of its ancestors (build-start.c), which may be
 * older or younger than the files here, so no file keeps the time at which it happened to be written: all are as old as
 * OLD, and those that differ from that ancestor are of now. So what make compiles does not depend on what was built
 * here in between. git is told which commit it goes on from and looks at no file's time.
 */
#include "kernels/build-internal.h"
#include "lib/fs.h"
#include "lib/proc.h"

#define CHECKOUT_MEMORY (2ull << 30)
#define GIT BOX "/git"
#define INDEX BOX "/index"
#define COPY_FAILED 77

/* Attributes of $GIT_DIR/info win over those of the tree. */
static const char own_git[] =
	"own=$(mktemp -d) && trap 'rm -rf \"$own\"' EXIT || exit 1\n"
	"mkdir -p \"$own/refs\" \"$own/objects\" \"$own/info\" && cp " GIT "/config \"$own/config\" || exit 1\n"
	"echo ref: refs/heads/none >\"$own/HEAD\" || exit 1\n"
	"echo '* -text !eol -ident !filter !working-tree-encoding' >\"$own/info/attributes\" || exit 1\n"
	"export GIT_DIR=\"$own\" GIT_OBJECT_DIRECTORY=" GIT "/objects GIT_NO_REPLACE_OBJECTS=1 GIT_ATTR_NOSYSTEM=1\n"
	"export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_WORK_TREE=" BOX_SRC "\n"
	"g() { git -c core.hooksPath=/dev/null -c core.autocrlf=false -c core.fsmonitor=false \"$@\"; }\n";

static const char kernel_script[] =
	"I=" INDEX "; export GIT_INDEX_FILE=$I/index\n"
	"old() { xargs -0 -r touch -h -c -d @1000000000 --; }\n"
	"diff() { g diff-tree -r -z --name-only --no-renames --diff-filter=d \"$@\"; }\n"
	"go_on() {\n"
	"	[ -s $I/at ] && mv $I/at $I/was || return\n"
	"	if [ -s $I/touched ]; then old <$I/touched || return; fi\n"
	"	rm -f $I/touched $I/index.lock\n"
	"	g read-tree --reset -u \"$(cat $I/was)\" \"$COMMIT\" && diff \"$(cat $I/was)\" \"$COMMIT\" >$I/list\n"
	"}\n"
	"begin() {\n"
	"	find . $I -mindepth 1 -delete\n"
	"	g read-tree --reset -u \"$COMMIT\" && g ls-tree -r -z --name-only \"$COMMIT\" >$I/list\n"
	"}\n"
	"cd " BOX_SRC " || exit 1\n"
	"if [ -n \"$START\" ]; then\n"
	"	cp -dR --preserve=mode,timestamps,links --reflink=auto " BOX "/start/. " BOX_OUT "/ & copy=$!\n"
	"fi\n"
	"go_on || begin || exit 1\n"
	"old <$I/list && echo \"$COMMIT\" >$I/new && mv $I/new $I/at || exit 1\n"
	"if [ -n \"$START\" ]; then\n"
	"	diff \"$START\" \"$COMMIT\" >$I/touched || exit 1\n"
	"	xargs -0 -r touch -h -c -- <$I/touched || exit 1\n"
	"	wait $copy || exit 77\n"
	"fi\n";

static const char program_script[] =
	"export GIT_INDEX_FILE=\"$own/index\"\n"
	"cd " BOX_SRC " && g read-tree --reset -u \"$COMMIT\"\n";

static int folders(const struct build_job *j)
{
	int r = 0;

	if (j->q->kind == BUILD_PROGRAM)
		return box_folder_make(j->src);
	if (!j->start_commit || !fs_is_dir(j->src) || !fs_is_dir(j->index)) {
		r = box_folder_make(j->src);
		r = r < 0 ? r : box_folder_make(j->index);
	}
	return r;
}

static int failed(const struct build_job *j)
{
	_cleanup_buf_ struct buf log = {0};
	_cleanup_free_ char *line = NULL, *shown = NULL;

	(void)fs_read(j->log, 0, &log);
	line = last_line(buf_str(&log));
	shown = term_safe(line);
	return err_set(build_disk_full(j) ? -ENOSPC : -EIO, "cannot check out '%.12s': %s", j->q->commit,
		       *shown ? shown : "git gave no reason");
}

int worktree_checkout(struct build_job *j, struct sandbox_result *ret)
{
	bool program = j->q->kind == BUILD_PROGRAM;
	const char *from = j->start_commit ? j->start_commit : "", *what = program ? program_script : kernel_script;
	_cleanup_free_ char *start = j->start_key ? start_folder(j) : NULL,
			    *script = xasprintf("START=%s\n%s%s", from, own_git, what);
	const struct box_mount mounts[] = {{j->q->git_dir, GIT, false}, {j->src, BOX_SRC, true},
					   {j->index, INDEX, true}, {start, BOX "/start", false},
					   {j->out, BOX_OUT, true}};
	struct build_step s = {.script = script, .mount = mounts, .n_mounts = program ? 2 : start ? 5 : 3,
			       .cwd = BOX_SRC, .memory = CHECKOUT_MEMORY};
	int r = folders(j);

	if (r == 0)
		r = build_step(j, &s, ret);
	if (r == 0 && !ret->status && !ret->stop)
		return 0;
	/* whatever it left, the next one starts with nothing */
	(void)box_folder_remove(j->src);
	(void)box_folder_remove(j->index);
	if (r < 0 || ret->stop)
		return r;
	return start && ret->status == COPY_FAILED ? start_drop(j) : failed(j);
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
