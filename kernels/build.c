/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One build from request to result: cache, lock, sources, compile, keep. */
#include "kernels/build-internal.h"
#include "kernels/tree-internal.h"
#include "lib/fs.h"

#include <fcntl.h>
#include <zstd.h>

#define TIMEOUT_S 7200.0
#define FREE_KERNEL (1ll << 30)
#define FREE_PROGRAM (64ll << 20)

void build_result_release(struct build_result *r)
{
	free(r->image_path);
	free(r->image_hash);
	free(r->config_hash);
	free(r->source_hash);
	free(r->toolchain);
	free(r->error);
	free(r->warnings);
	free(r->log_path);
	*r = (struct build_result){0};
}

static void job_release(struct build_job *j)
{
	free(j->dir);
	free(j->src);
	free(j->index);
	free(j->objects);
	free(j->out);
	free(j->start_key);
	free(j->start_commit);
	free(j->kept);
	free(j->log);
	free(j->key);
	free(j->tree_oid);
	free(j->toolchain);
	free(j->fragment);
	buf_release(&j->warnings);
}

static int name_check(const char *what, const char *s)
{
	_cleanup_free_ char *shown = term_safe(s);

	if (!s || !*s || *s == '.' || strchr(s, '/'))
		return err_set(-EINVAL, "'%s' is no name for a %s", shown, what);
	return 0;
}

/* lib/Kconfig.debug has the option since Linux 5.14. */
static bool build_has_align_option(const struct build_request *q)
{
	_cleanup_buf_ struct buf b = {0};

	return q->commit && tree_file_at(q->git_dir, q->commit, "lib/Kconfig.debug", &b) >= 0 &&
	       strstr(buf_str(&b), "config DEBUG_FORCE_FUNCTION_ALIGN_64B\n");
}

/* The text that, with the files and the toolchain, determines what comes out. */
static int make_fragment(struct build_job *j)
{
	const struct build_request *q = j->q;
	_cleanup_buf_ struct buf b = {0};
	int r = 0;

	if (q->kind == BUILD_PROGRAM) {
		const char *a = q->artefact;

		if (!a || !*a || *a == '/' || !strcmp(a, "..") || startswith(a, "../") || strstr(a, "/.."))
			return err_set(-EINVAL, "'%s' is no path inside the worktree", a ? a : "");
		buf_addf(&b, "%s\n%s\n", q->command ? q->command : "make", a);
	} else {
		r = kconfig_fragment(q->kconfig, &b);
	}
	if (q->align_functions)
		buf_adds(&b, q->kind == BUILD_KERNEL && build_has_align_option(q) ? BUILD_ALIGN_OPTIONS
										  : BUILD_ALIGN_FLAG "\n");
	for (const char *const *o = q->options; r == 0 && o && *o; o++) {
		if ((!startswith(*o, "CONFIG_") && !startswith(*o, "# CONFIG_")) || strchr(*o, '\n'))
			return err_set(-EINVAL, "'%s' is no config option; write CONFIG_NAME=y", *o);
		buf_addf(&b, "%s\n", *o);
	}
	if (r == 0)
		j->fragment = buf_take(&b);
	return r;
}

static int job_init(struct build_job *j, const struct build_request *q)
{
	int r;

	*j = (struct build_job){.q = q, .start = mono_usec()};
	r = name_check("tree", q->tree);
	if (r == 0)
		r = name_check("kernel config", q->kconfig);
	if (r == 0)
		r = make_fragment(j);
	return r < 0 ? r : build_key(j);
}

static void job_folders(struct build_job *j)
{
	const struct build_request *q = j->q;

	/* builds with other options would throw each other's objects away */
	j->dir = (q->options && *q->options) || q->align_functions
			 ? xasprintf("%s/worktrees/%s-%s-%.8s", q->state_dir, q->tree, q->kconfig, j->fragment_hash)
			 : xasprintf("%s/worktrees/%s-%s", q->state_dir, q->tree, q->kconfig);
	j->src = xasprintf("%s/src", j->dir);
	j->index = xasprintf("%s/index", j->dir);
	j->log = q->log_path ? xstrdup(q->log_path) : xasprintf("%s/build.log", j->dir);
}

int build_write(const char *path, const void *data, size_t n)
{
	_cleanup_free_ char *tmp = xasprintf("%s.tmp", path);
	int fd, r = 0;
	FILE *f;

	unlink(tmp);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return err_set(-errno, "cannot write '%s': %s", tmp, strerror(errno));
	if (fwrite(data, 1, n, f) != n)
		r = -errno;
	if (fclose(f) != 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(tmp, path) < 0)
		r = -errno;
	return r < 0 ? err_set(r, "cannot write '%s': %s", path, strerror(-r)) : 0;
}

int build_log_pack(const struct build_job *j, struct build_result *ret)
{
	_cleanup_free_ char *path = xasprintf("%s.zst", j->log), *packed = NULL;
	_cleanup_buf_ struct buf log = {0};
	size_t bound, n;
	int r;

	if (ret->log_path || !fs_exists(j->log))
		return 0;
	r = fs_read(j->log, 0, &log);
	if (r < 0)
		return r;
	bound = ZSTD_compressBound(log.len);
	packed = xmalloc(bound);
	n = ZSTD_compress(packed, bound, buf_str(&log), log.len, 3);
	if (ZSTD_isError(n))
		return err_set(-EIO, "cannot compress '%s': %s", j->log, ZSTD_getErrorName(n));
	r = build_write(path, packed, n);
	if (r < 0)
		return r;
	unlink(j->log);
	ret->log_path = TAKE_PTR(path);
	return 0;
}

bool build_disk_full(const struct build_job *j)
{
	int64_t left = build_room(j->q->state_dir, j->q->cache_dir);

	return left >= 0 && left < 2 * BUILD_RESERVE;
}

static void add_hint(const struct build_job *j, const char *log, struct build_result *ret)
{
	_cleanup_free_ char *hint = build_error_hint(j, log, ret->error), *error = ret->error;

	ret->error = hint ? xasprintf("%s%s", error, hint) : TAKE_PTR(error);
}

int build_broken(struct build_job *j, const struct sandbox_result *s, struct build_result *ret)
{
	_cleanup_buf_ struct buf log = {0};
	bool infra = false;
	int r = fs_read(j->log, 0, &log);

	if (r < 0)
		return r;
	if (s->stop) {
		ret->error = xasprintf("the build %s", box_stop_words(s->stop));
		infra = true;
		ret->limit = !s->ours;
	} else if (s->status == 137 || strstr(buf_str(&log), "Killed signal terminated program")) {
		ret->error = xstrdup("the build was killed, probably because memory ran out");
		ret->limit = infra = true;
	} else {
		ret->error = build_first_error(buf_str(&log), j->q->kind == BUILD_KERNEL, &infra);
		/* words of a log prove nothing: whoever wrote it may want to be tried again for ever */
		infra = infra && (build_disk_full(j) || build_tool_missing());
		if (!*ret->error) {
			free(ret->error);
			ret->error = xasprintf("the build ended with status %d and said nothing", s->status);
		}
		if (!infra)
			add_hint(j, buf_str(&log), ret);
	}
	ret->state = infra ? BUILD_INFRA : BUILD_BROKEN;
	return infra ? 0 : build_cache_put(j, NULL, ret);
}

static int enough_space(const struct build_job *j, struct build_result *ret)
{
	int64_t need = j->q->kind == BUILD_KERNEL ? FREE_KERNEL : FREE_PROGRAM;
	const char *dirs[] = {j->q->state_dir, j->q->cache_dir};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		int64_t have = fs_free_bytes(dirs[i]);

		if (have < 0 || have >= need)
			continue;
		build_make_room(j->q->state_dir, j->q->cache_dir, need);
		have = fs_free_bytes(dirs[i]);
		if (have < 0 || have >= need)
			continue;
		ret->state = BUILD_INFRA;
		ret->error = xasprintf("'%s' has only %" PRId64 " MiB free, a build needs %" PRId64 "; make room",
				       dirs[i], have >> 20, need >> 20);
		return 0;
	}
	return 1;
}

/* Our own trouble on the way: what goes by itself or by making room is a state, the rest a plain error. */
static int as_state(int r, struct build_result *ret)
{
	if (r != -ENOSPC && r != -EDQUOT && r != -ESTALE)
		return r;
	ret->state = BUILD_INFRA;
	free(ret->error);
	ret->error = xstrdup(err_msg());
	return 0;
}

/* What no checkout could take is the commit's fault, told before git tries. 1: it is. */
static int checkable(struct build_job *j, struct build_result *ret)
{
	int r = tree_check(j->q->git_dir, j->q->commit);

	if (r >= 0 || !tree_fault(r))
		return MIN(r, 0);
	ret->state = BUILD_BROKEN;
	ret->error = xstrdup(err_msg());
	r = build_cache_put(j, NULL, ret);
	return r < 0 ? r : 1;
}

static int build_now(struct build_job *j, struct build_result *ret)
{
	double limit = j->q->timeout_s > 0 ? j->q->timeout_s : TIMEOUT_S;
	_cleanup_close_ int lock = -1;
	int r;

	job_folders(j);
	lock = worktree_lock(j);
	if (lock < 0)
		return lock;
	r = build_cache_get(j, j->q->commit, NULL, ret); /* the one before us in the queue may have made it */
	if (r)
		return r < 0 ? r : 0;
	if (box_mode() == BOX_ISOLATED && (r = box_check()) < 0)
		return r;
	ret->isolated = box_mode() == BOX_ISOLATED;
	r = fs_mkdir_p(j->q->cache_dir);
	if (r < 0 || (r = enough_space(j, ret)) <= 0 || (r = fs_mkdir_parent(j->log)) < 0)
		return r;
	unlink(j->log);
	j->start = mono_usec();
	j->deadline = j->start + (usec_t)(limit * 1e6);
	ret->source_hash = xstrdup(j->tree_oid);
	ret->toolchain = xstrdup(j->toolchain);
	if (j->q->kind == BUILD_KERNEL) {
		start_find(j);
		build_key_of(j, j->tree_oid);
	}
	r = build_cache_begin(j);
	if (r == 0)
		r = checkable(j, ret);
	if (r == 0)
		r = j->q->kind == BUILD_KERNEL ? build_kernel(j, ret) : build_program(j, ret);
	r = r < 0 ? as_state(r, ret) : 0;
	start_end(j);
	if (j->kept)
		(void)fs_rm_rf(j->kept);
	(void)build_log_pack(j, ret);
	if (!ret->seconds)
		ret->seconds = (mono_usec() - j->start) / 1e6;
	if (!ret->warnings && j->warnings.len)
		ret->warnings = xstrdup(j->warnings.s);
	return r;
}

int build_commit(const struct build_request *given, struct build_result *ret)
{
	_cleanup_free_ char *state = NULL, *cache = NULL;
	struct build_request q = *given;
	_cleanup_(job_release) struct build_job j = {0};
	struct build_result out = {.state = BUILD_INFRA};
	int r;

	if ((r = fs_mkdir_p(q.state_dir)) < 0 || (r = fs_mkdir_p(q.cache_dir)) < 0)
		return r;
	q.state_dir = state = realpath(q.state_dir, NULL);
	q.cache_dir = cache = realpath(q.cache_dir, NULL);
	if (!state || !cache)
		return err_set(-errno, "cannot find the state or cache folder: %s", strerror(errno));
	q.jobs = q.jobs > 0 ? q.jobs : (int)sysconf(_SC_NPROCESSORS_ONLN);
	r = job_init(&j, &q);
	if (r == 0)
		r = build_cache_get(&j, q.commit, NULL, &out);
	if (r == 0)
		r = build_now(&j, &out);
	if (r < 0) {
		build_result_release(&out);
		return r;
	}
	*ret = out;
	return 0;
}

int build_ready(const struct build_request *q, char *const *oid, size_t n, bool *ret)
{
	_cleanup_(cleanup_repo) git_repository *repo = NULL;
	_cleanup_(job_release) struct build_job j = {.q = q};
	_cleanup_free_ char *builds = xasprintf("%s/builds", q->cache_dir);
	_cleanup_strv_ struct strv names = {0};
	int r = q->align_functions ? err_set(-EINVAL, "not for aligned builds") : repo_open(q->git_dir, &repo);

	if (r == 0)
		r = make_fragment(&j);
	(void)(fs_is_dir(builds) && fs_list(builds, &names));
	for (size_t i = 0; r == 0 && i < n; i++) {
		_cleanup_(cleanup_gcommit) git_commit *c = NULL;
		_cleanup_(build_result_release) struct build_result b = {0};

		ret[i] = false;
		if (repo_commit(repo, oid[i], &c) < 0)
			continue;
		build_key_of(&j, git_oid_tostr_s(git_commit_tree_id(c)));
		ret[i] = build_cache_get(&j, oid[i], &names, &b) > 0 && b.state == BUILD_OK;
	}
	return r;
}
