/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/git.h"

#include <signal.h>

int git_exec(const struct git_spec *g, struct proc_result *ret)
{
	_cleanup_strv_ struct strv argv = {0}, env = {0};

	strv_addv(&argv, ARGV("git", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0",
			      "-c", "core.packedGitLimit=2g", "-c", "core.bigFileThreshold=64m",
			      "-c", "core.deltaBaseCacheLimit=64m",
			      "-c", "pack.threads=2", "-c", "pack.windowMemory=256m", "-c", "core.fsmonitor=false"));
	strv_addv(&argv, g->args);
	strv_add(&env, "GIT_TERMINAL_PROMPT=0");
	if (!g->user_config)
		strv_addv(&env, ARGV("GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1"));
	if (g->git_dir)
		strv_addf(&env, "GIT_DIR=%s", g->git_dir);
	if (g->env_add)
		strv_addv(&env, g->env_add);
	return proc_run(&(struct proc_spec){.argv = (const char *const *)argv.v, .env_clear = true,
					    .env_add = (const char *const *)env.v, .cwd = g->cwd, .input = g->input,
					    .timeout_s = g->timeout_s > 0 ? g->timeout_s : GIT_TIMEOUT_S,
					    .max_output = g->max_output,
					    .limit_data = g->memory ? g->memory : GIT_MEMORY,
					    .limit_fsize = g->file_size ? g->file_size : GIT_FILE_SIZE,
					    .cancel = g->cancel}, ret);
}

int git_status(const struct proc_result *r)
{
	static const char *const limits[] = {"out of memory", "cannot allocate memory", "malloc failed",
					     "file too large", "bad_alloc", "exceeds the limit"};

	if (!r->status)
		return 0;
	if (strcasestr(buf_str(&r->err), "no space left on device"))
		return -ENOSPC;
	if (r->status == 128 + SIGXFSZ || r->status == 128 + SIGSEGV)
		return -EFBIG;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (strcasestr(buf_str(&r->err), limits[i]))
			return -EFBIG;
	return -EIO;
}
