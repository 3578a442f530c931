/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stage "build": a commit becomes an image, a row says how that went. */
#include "bot/work-internal.h"
#include "bot/engine/engine.h"
#include "kernels/build.h"
#include "lib/fs.h"

#define BUILD_LIMIT_TIMES 20    /* as long as the usual clean build of the tree: the time limit, but never under ... */
#define BUILD_LIMIT_LEAST_S 900

/* Seconds that a build may take: what the configuration says, and less where it is known what is usual. */
static double build_limit(struct work *w, const struct db_tree *t, const char *kconfig)
{
	struct build_costs c = {0};
	double most = w->c->config.build_timeout_s;

	if (store_build_costs(w->c->store, t->id, kconfig, &c) < 0 || !c.n_clean)
		return most;
	return MIN(most, MAX(BUILD_LIMIT_TIMES * c.clean, BUILD_LIMIT_LEAST_S));
}

/* Again at once where a limit was met: the machine may have been busy; the second time it is the commit's own fault. */
static int build_fairly(const struct build_request *q, struct build_result *ret)
{
	int r = build_commit(q, ret);

	if (r >= 0 && ret->limit) {
		build_result_release(ret);
		r = build_commit(q, ret);
	}
	if (r >= 0 && ret->limit) {
		_cleanup_free_ char *why = ret->error;

		ret->error = xasprintf("%s, twice", why ? why : "it met a limit");
		ret->state = BUILD_BROKEN;
	}
	return r;
}

int work_build(struct work *w, usec_t *retry)
{
	struct config *cfg = &w->c->config;
	struct db_tree t = {0};
	struct tree_config tc = {0};
	struct build_result b = {0};
	struct db_build row = {0};
	const char *kconfig = w->p.kconfig;
	bool aligned = endswith(kconfig, KCONFIG_ALIGNED);
	size_t plain_len = strlen(kconfig) - (aligned ? strlen(KCONFIG_ALIGNED) : 0);
	_cleanup_free_ char *plain = xstrndup(kconfig, plain_len), *git_dir = NULL,
			    *log = xasprintf("%s/logs/build-%" PRId64 ".log", cfg->state_dir, w->task.id);
	struct build_request q = {.commit = w->p.commit, .kconfig = plain, .align_functions = aligned,
				  .state_dir = cfg->state_dir, .cache_dir = cfg->cache_dir, .log_path = log,
				  .jobs = cfg->build_jobs, .max_memory = (uint64_t)cfg->build_memory_mb << 20,
				  .max_disk = cfg->build_disk_mb << 20, .max_files = cfg->build_files,
				  .cancel = w->cancel};
	int r = work_load_tree(w, &t, &tc);

	if (r >= 0)
		r = fs_mkdir_parent(log);
	if (r >= 0) {
		git_dir = engine_git_dir(cfg, t.name);
		q.git_dir = git_dir;
		q.tree = t.name;
		q.kind = tc.program ? BUILD_PROGRAM : BUILD_KERNEL;
		q.command = tc.build_command;
		q.artefact = tc.artefact;
		q.timeout_s = build_limit(w, &t, kconfig);
		r = build_fairly(&q, &b);
	}
	if (r >= 0 && b.state == BUILD_INFRA) {
		*retry = work_backoff(w);
		work_say(w, "build of %.12s failed on our side: %s", q.commit, b.error ? b.error : "no reason known");
		r = err_set(-EIO, "%s", w->result);
	} else if (r >= 0) {
		row = (struct db_build){.tree = t.id, .commit = w->p.commit, .kconfig = w->p.kconfig, .state = b.state,
					.image_path = b.image_path, .image_hash = b.image_hash,
					.config_hash = b.config_hash, .source_hash = b.source_hash,
					.toolchain = b.toolchain, .error = b.error,
					.warnings = b.warnings, .log_path = b.log_path, .seconds = b.seconds,
					.cached = b.cached, .clean = b.clean, .exposed = !b.isolated,
					.time = now_usec()};
		r = store_build_put(w->c->store, &row, NULL);
		work_say(w, "%.12s %s%s in %.1f s%s%s", q.commit, b.state == BUILD_OK ? "built" : "does not build",
		    b.cached ? " (kept from before)" : "", b.seconds, b.error ? ": " : "", b.error ? b.error : "");
	}
	/* ours, and it may go: no boxes here yet, no memory for a fork ... */
	if (r < 0 && !*retry && r != -EINVAL && r != -ENOENT)
		*retry = work_backoff(w);
	build_result_release(&b);
	tree_config_release(&tc);
	db_tree_release(&t);
	return MIN(r, 0);
}
