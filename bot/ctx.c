/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/ctx.h"
#include "lib/fs.h"

/* A folder of our name holds what it may; any other one, such as /srv by mistake, is ours by what is in it. */
static int private_folder(const char *path, const char *const *own)
{
	static const char *const all[] = {"*", NULL};
	const char *slash = strrchr(path, '/');

	return fs_mkdir_private(path, streq(slash ? slash + 1 : path, "kperfbot") ? all : own);
}

int ctx_private_folders(const struct config *cfg)
{
	static const char *const state[] = {"kperfbot.db*", "daemon.lock", "daemon-config", "asking", "trees",
					    "worktrees",    "runs",	   "logs",	    "cases",  "build*",
					    "etc",	    NULL};
	static const char *const cache[] = {"builds", "objects", "ccache*", "root", "demo", "demo-base.git", "lock",
					    "kvm-does-not-work", "state", "build*", NULL};
	_cleanup_strv_ struct strv own = {0};
	int r;

	strv_addv(&own, state);
	for (const struct report_ops *const *o = reporters(); *o; o++)
		strv_addv(&own, (*o)->files);
	r = private_folder(cfg->state_dir, (const char *const *)own.v);
	if (r >= 0)
		(void)private_folder(cfg->cache_dir, cache); /* who needs it says so */
	return r;
}

int ctx_store(struct ctx *c, bool read_only)
{
	_cleanup_free_ char *path = xasprintf("%s/kperfbot.db", c->config.state_dir);
	int r;

	if (c->store)
		return 0;
	if (read_only && access(path, F_OK) < 0 && errno == EACCES)
		return err_set(-EACCES, "the state folder '%s' is another user's: run this as that user",
			       c->config.state_dir);
	if (read_only && !fs_exists(path))
		return err_set(-ENOENT, "there is no database '%s' yet; 'kperfbot daemon' makes one", path);
	if (!read_only) {
		r = ctx_private_folders(&c->config);
		if (r < 0)
			return r;
	}
	return store_open(path, read_only, &c->store);
}

void buf_add_self(const struct ctx *c, struct buf *b)
{
	buf_adds(b, "kperfbot");
	if (c->given_config) {
		buf_adds(b, " --config ");
		buf_add_shell(b, c->given_config);
	}
	if (c->given_state) {
		buf_adds(b, " --state ");
		buf_add_shell(b, c->given_state);
	}
}

char *daemon_lock_path(const struct config *cfg) { return xasprintf("%s/daemon.lock", cfg->state_dir); }

bool daemon_is_running(const struct config *cfg)
{
	_cleanup_free_ char *path = daemon_lock_path(cfg);
	_cleanup_close_ int fd = fs_exists(path) ? fs_lock(path, false) : 0;

	if (fd == 0)
		fd = -1;
	return fd == -EWOULDBLOCK;
}
