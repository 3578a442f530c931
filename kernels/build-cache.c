/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finished builds: cache_dir/builds/<files>-<config>-<toolchain>-<recipe>/ with the image, meta.json and what else is
 * worth keeping; -<tree>-<commit> behind it where it went on from that commit's output (build-start.c): such a build is
 * taken for descendants of that commit in that tree only. Files of builds are ours alone; no box can write here. A
 * folder appears by one rename, so there is a whole one or none. Broken builds are kept too (they stay broken), those
 * that failed through our fault never.
 */
#include "kernels/build-internal.h"
#include "kernels/tree.h"
#include "lib/escape.h"
#include "lib/fs.h"
#include "lib/json.h"
#include "lib/proc.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#define RECIPE "2"              /* changes when our way of building changes what comes out */
#define CACHE_MAX (20ll << 30)
#define PRUNE_EVERY_S 600
#define TMP_AGE_S 86400

static _Thread_local int64_t size_sum;

static int size_add(const char *path _unused_, const struct stat *st, int type, struct FTW *f _unused_)
{
	if (type == FTW_F)
		size_sum += st->st_size;
	return 0;
}

/* Bytes in a file, or in all files below a folder; 0 where there is nothing. */
static int64_t size_of(const char *path)
{
	size_sum = 0;
	(void)nftw(path, size_add, 32, FTW_PHYS);
	return size_sum;
}

static char *builds_dir(const struct build_request *q) { return xasprintf("%s/builds", q->cache_dir); }

static void first_line_of(const char *const *argv, struct buf *out)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};

	if (proc_run(&(struct proc_spec){.argv = argv, .env_clear = true, .timeout_s = 20}, &r) == 0 && !r.status)
		buf_add(out, buf_str(&r.out), strcspn(buf_str(&r.out), "\n"));
	else
		buf_adds(out, "none");
}

static char *toolchain_text(void)
{
	static _Thread_local char known[512];
	_cleanup_buf_ struct buf b = {0};

	if (!known[0]) {
		first_line_of(ARGV("gcc", "--version"), &b);
		buf_adds(&b, ", ");
		first_line_of(ARGV("ld", "--version"), &b);
		snprintf(known, sizeof(known), "%s", b.s);
	}
	return xstrdup(known);
}

int build_key(struct build_job *j)
{
	_cleanup_(commit_info_release) struct commit_info c = {0};
	int r = tree_commit(j->q->git_dir, j->q->commit, &c);

	if (r == 0)
		build_key_of(j, c.tree_oid);
	return r;
}

void build_key_of(struct build_job *j, const char *tree_oid)
{
	char tools[SHA256_HEX];

	if (tree_oid != j->tree_oid) {
		free(j->tree_oid);
		j->tree_oid = xstrdup(tree_oid);
	}
	if (!j->toolchain) {
		j->toolchain = toolchain_text();
		sha256_hex(j->fragment, strlen(j->fragment), j->fragment_hash);
	}
	sha256_hex(j->toolchain, strlen(j->toolchain), tools);
	free(j->key);
	j->key = xasprintf("%s-%.16s-%.12s-" RECIPE "%s", j->tree_oid, j->fragment_hash, tools,
			   box_mode() == BOX_NONE ? "n" : "");
	if (j->start_commit) {
		_cleanup_free_ char *base = j->key;

		j->key = xasprintf("%s-%s-%s", base, j->q->tree,
				   j->start_commit); /* whole: half an id can be made twice */
	}
}

/* Where the recipe ends: behind four parts. */
static size_t key_base(const char *key)
{
	size_t n = 0;

	for (int i = 0; i < 4; i++)
		n += strcspn(key + n, "-") + (i < 3 && key[n + strcspn(key + n, "-")] != 0);
	return n;
}

bool build_key_suits(const struct build_job *j, const char *key)
{
	size_t files = strcspn(key, "-"), ours = strcspn(j->key, "-"), end = key_base(key), our_end = key_base(j->key);

	return end - files == our_end - ours && !strncmp(key + files, j->key + ours, end - files);
}

bool build_key_scratch(const char *key) { return !key[key_base(key)]; }

int build_epoch(enum build_kind kind, const char *kconfig, char ret[BUILD_EPOCH])
{
	_cleanup_buf_ struct buf b = {0};
	_cleanup_free_ char *toolchain = toolchain_text();
	char hash[SHA256_HEX];
	int r = kind == BUILD_KERNEL ? kconfig_fragment(kconfig, &b) : 0;

	if (r < 0)
		return r;
	buf_addf(&b, "\n%s\n" RECIPE, toolchain);
	sha256_hex(b.s, b.len, hash);
	memcpy(ret, hash, BUILD_EPOCH - 1);
	ret[BUILD_EPOCH - 1] = 0;
	return 0;
}

/* ---- meta.json ---- */

static const struct { const char *name; size_t offset; } meta_texts[] = {
	{"image_hash", offsetof(struct build_result, image_hash)},
	{"config_hash", offsetof(struct build_result, config_hash)},
	{"source_hash", offsetof(struct build_result, source_hash)},
	{"toolchain", offsetof(struct build_result, toolchain)},
	{"error", offsetof(struct build_result, error)},
	{"warnings", offsetof(struct build_result, warnings)},
};

static char **meta_text(struct build_result *r, size_t i) { return (char **)((char *)r + meta_texts[i].offset); }

static int meta_write(const struct build_job *j, const char *dir, struct build_result *r, const char *image)
{
	_cleanup_free_ char *path = xasprintf("%s/meta.json", dir),
			    *image_path = image ? xasprintf("%s/%s", dir, image) : NULL;
	struct json_object *o = json_object_new_object();
	_cleanup_free_ char *text = NULL;
	int e;

	json_object_object_add(o, "state", json_text(build_state_word(r->state)));
	json_object_object_add(o, "image", image ? json_text(image) : NULL);
	json_object_object_add(o, "image_bytes", json_object_new_int64(image ? size_of(image_path) : 0));
	json_object_object_add(o, "seconds", json_object_new_double(r->seconds));
	json_object_object_add(o, "tree", json_text(j->q->tree));
	json_object_object_add(o, "commit", json_text(j->q->commit));
	json_object_object_add(o, "from", j->start_commit ? json_text(j->start_commit) : NULL);
	json_object_object_add(o, "isolated", json_object_new_boolean(r->isolated));
	for (size_t i = 0; i < ARRAY_SIZE(meta_texts); i++)
		if (*meta_text(r, i))
			json_object_object_add(o, meta_texts[i].name, json_text(*meta_text(r, i)));
	text = json_line(o);
	e = build_write(path, text, strlen(text));
	json_object_put(o);
	return e;
}

/* True when everything the meta file speaks of is there in full. */
static bool meta_read(const char *dir, struct build_result *ret)
{
	_cleanup_free_ char *path = xasprintf("%s/meta.json", dir), *image = NULL;
	_cleanup_json_ struct json_object *o = json_object_of_file(path, META_MAX);
	enum build_state state = BUILD_INFRA;
	const char *name;
	bool good = false;

	if (!o)
		return false;
	(void)build_state_from(json_get_text(o, "state"), &state);
	name = json_get_text(o, "image");
	image = name ? xasprintf("%s/%s", dir, name) : NULL;
	if (state == BUILD_BROKEN)
		good = true;
	else if (state == BUILD_OK && image)
		good = fs_exists(image) && size_of(image) == json_get_int64(o, "image_bytes", 0);
	if (good) {
		ret->state = state;
		ret->image_path = TAKE_PTR(image);
		ret->seconds = json_get_double(o, "seconds", 0);
		for (size_t i = 0; i < ARRAY_SIZE(meta_texts); i++) {
			free(*meta_text(ret, i));
			*meta_text(ret, i) = xstrdup(json_get_text(o, meta_texts[i].name));
		}
	}
	return good;
}

/* May the build in dir, which went on from the output of another commit, be taken for this one? */
static bool from_ancestor(const struct build_job *j, const char *dir, const char *commit)
{
	_cleanup_free_ char *path = xasprintf("%s/meta.json", dir);
	_cleanup_json_ struct json_object *o = json_object_of_file(path, META_MAX);
	const char *from = json_get_text(o, "from");

	return streq(json_get_text(o, "tree"), j->q->tree) && from &&
	       (streq(from, commit) || tree_is_ancestor(j->q->git_dir, from, commit) == 1);
}

static int get_from(const char *dir, struct build_result *ret)
{
	_cleanup_free_ char *log = NULL;

	if (!meta_read(dir, ret)) { /* torn by a power cut */
		int r = fs_rm_rf(dir);

		return r < 0 ? r : 0;
	}
	log = xasprintf("%s/build.log.zst", dir);
	ret->log_path = fs_exists(log) ? TAKE_PTR(log) : NULL;
	ret->cached = true;
	ret->isolated = box_mode() == BOX_ISOLATED; /* the key says it, too */
	utimensat(AT_FDCWD, dir, NULL, 0); /* what was used last goes last */
	return 1;
}

int build_cache_get(const struct build_job *j, const char *commit, const struct strv *names, struct build_result *ret)
{
	size_t n = key_base(j->key);
	_cleanup_free_ char *builds = builds_dir(j->q), *base = xstrndup(j->key, n),
			    *dir = xasprintf("%s/%s", builds, base);
	_cleanup_strv_ struct strv own = {0};

	if (fs_is_dir(dir))
		return get_from(dir, ret);
	if (j->q->kind == BUILD_PROGRAM)
		return 0;
	if (!names && fs_is_dir(builds) && fs_list(builds, &own) == 0)
		names = &own;
	for (size_t i = 0; names && i < names->n; i++) {
		_cleanup_free_ char *d = NULL;

		if (strncmp(names->v[i], base, n) || names->v[i][n] != '-')
			continue;
		d = xasprintf("%s/%s", builds, names->v[i]);
		if (from_ancestor(j, d, commit))
			return get_from(d, ret);
	}
	return 0;
}

/* ---- keeping ---- */

struct old { char *dir; time_t used; int64_t bytes; bool objects; };

static int by_age(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	return x->used < y->used ? -1 : x->used > y->used;
}

/* The maker of a folder ".tmp-PID-..." is dead, or so old that the number is another's. */
static bool is_leftover(const char *name, time_t made)
{
	int pid;

	return sscanf(name, ".tmp-%d-", &pid) == 1 &&
	       ((kill(pid, 0) < 0 && errno == ESRCH) || time(NULL) - made > TMP_AGE_S);
}

/* Objects belong to the builder: what they take was written down when they were kept. */
static int64_t objects_bytes(const char *dir)
{
	_cleanup_free_ char *path = xasprintf("%s/start.json", dir);
	_cleanup_json_ struct json_object *o = json_object_of_file(path, START_MAX);

	return json_get_int64(o, "bytes", 0);
}

static int remove_old(const struct old *x)
{
	_cleanup_free_ char *out = xasprintf("%s/o", x->dir);
	int r = x->objects ? box_folder_remove(out) : 0;

	return r < 0 ? r : fs_rm_rf(x->dir);
}

static void list_old(const char *cache_dir, const char *what, bool objects, struct old **v, size_t *n)
{
	_cleanup_free_ char *top = xasprintf("%s/%s", cache_dir, what);
	_cleanup_strv_ struct strv names = {0};

	if (!fs_is_dir(top) || fs_list(top, &names) < 0)
		return;
	*v = xrealloc_array(*v, *n + names.n + 1, sizeof(**v));
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *dir = xasprintf("%s/%s", top, names.v[i]),
				    *stamp = xasprintf("%s/start.json", dir);
		struct old x = {.dir = dir, .objects = objects};
		struct stat st;

		if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		if (*names.v[i] == '.') {
			if (is_leftover(names.v[i], st.st_mtime))
				(void)remove_old(&x);
			continue;
		}
		if (objects && stat(stamp, &st) < 0)
			st.st_mtime = 0;
		(*v)[(*n)++] = (struct old){TAKE_PTR(dir), st.st_mtime, objects ? objects_bytes(x.dir) : size_of(x.dir),
					    objects};
	}
}

static void free_old(struct old *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i].dir);
	free(v);
}

int build_cache_prune(const char *cache_dir, int64_t max_bytes)
{
	int64_t excess = -(max_bytes > 0 ? max_bytes : CACHE_MAX);
	struct old *v = NULL;
	size_t n = 0;
	int r = 0, gone = 0;

	list_old(cache_dir, "builds", false, &v, &n);
	list_old(cache_dir, "objects", true, &v, &n);
	for (size_t i = 0; i < n; i++)
		excess += v[i].bytes;
	if (n)
		qsort(v, n, sizeof(*v), by_age);
	for (size_t i = 0; r == 0 && i < n && excess > 0; i++, gone += r == 0) {
		excess -= v[i].bytes;
		r = remove_old(&v[i]);
	}
	free_old(v, n);
	return r < 0 ? r : gone;
}

/* Sources of a tree that nobody builds now: they are checked out again when they are needed. */
static void drop_worktrees(const char *state_dir, const char *cache_dir, int64_t need)
{
	_cleanup_free_ char *top = xasprintf("%s/worktrees", state_dir);
	struct old *v = NULL;
	size_t n = 0;

	list_old(state_dir, "worktrees", true, &v, &n);
	if (n)
		qsort(v, n, sizeof(*v), by_age);
	for (size_t i = 0; i < n && build_room(state_dir, cache_dir) < need; i++) {
		_cleanup_free_ char *lock = xasprintf("%s/lock", v[i].dir), *src = xasprintf("%s/src", v[i].dir),
				    *index = xasprintf("%s/index", v[i].dir);
		_cleanup_close_ int fd = fs_lock(lock, false);

		if (fd < 0)
			continue;
		(void)box_folder_remove(src);
		(void)box_folder_remove(index);
	}
	free_old(v, n);
}

/* Files of runs (logs, what parsers have read): values are in the database. Those of a run that is going on stay. */
static void drop_runs(const char *state_dir, const char *cache_dir, int64_t need)
{
	_cleanup_free_ char *top = xasprintf("%s/runs", state_dir);
	_cleanup_strv_ struct strv months = {0};
	struct old *v = NULL;
	size_t n = 0;

	if (!fs_is_dir(top) || fs_list(top, &months) < 0)
		return;
	for (size_t i = 0; i < months.n; i++)
		list_old(top, months.v[i], false, &v, &n);
	if (n)
		qsort(v, n, sizeof(*v), by_age);
	for (size_t i = 0; i < n && build_room(state_dir, cache_dir) < need; i++) {
		_cleanup_free_ char *busy = xasprintf("%s/.boot", v[i].dir);

		if (!fs_exists(busy))
			(void)fs_rm_rf(v[i].dir);
	}
	free_old(v, n);
}

int64_t build_room(const char *state_dir, const char *cache_dir)
{
	int64_t a = fs_free_bytes(state_dir), b = fs_free_bytes(cache_dir);

	return a < 0 ? b : b < 0 ? a : MIN(a, b);
}

void build_make_room(const char *state_dir, const char *cache_dir, int64_t need)
{
	static const char *const what[] = {"objects", "builds"};

	for (size_t k = 0; k < ARRAY_SIZE(what); k++) {
		struct old *v = NULL;
		size_t n = 0;

		list_old(cache_dir, what[k], k == 0, &v, &n); /* leftovers go by this alone */
		if (n)
			qsort(v, n, sizeof(*v), by_age);
		for (size_t i = 0; i < n && build_room(state_dir, cache_dir) < need; i++)
			(void)remove_old(&v[i]);
		free_old(v, n);
		if (k == 0)
			drop_worktrees(state_dir, cache_dir, need);
	}
	drop_runs(state_dir, cache_dir, need);
}

static void prune_now_and_then(const char *cache_dir)
{
	_cleanup_free_ char *stamp = xasprintf("%s/builds/.pruned", cache_dir);
	struct stat st;

	if (stat(stamp, &st) == 0 && time(NULL) - st.st_mtime < PRUNE_EVERY_S)
		return;
	(void)build_write(stamp, "", 0);
	(void)build_cache_prune(cache_dir, 0);
}

int build_cache_begin(struct build_job *j)
{
	_cleanup_free_ char *builds = builds_dir(j->q);
	int r;

	free(j->kept);
	j->kept = xasprintf("%s/.tmp-%d-%.60s", builds, getpid(), j->key);
	r = fs_rm_rf(j->kept);
	return r < 0 ? r : fs_mkdir_p(j->kept);
}

int build_cache_put(struct build_job *j, const char *image, struct build_result *ret)
{
	_cleanup_free_ char *builds = builds_dir(j->q), *dir = xasprintf("%s/%s", builds, j->key),
			    *log = xasprintf("%s/build.log.zst", j->kept);
	int r = build_log_pack(j, ret);

	ret->seconds = (mono_usec() - j->start) / 1e6;
	if (!ret->warnings && j->warnings.len)
		ret->warnings = xstrdup(j->warnings.s);
	if (r == 0)
		r = fs_mkdir_p(j->kept); /* an export that failed took it away */
	if (r == 0 && ret->log_path)
		r = fs_copy(ret->log_path, log);
	if (r == 0)
		r = meta_write(j, j->kept, ret, image);
	if (r == 0 && rename(j->kept, dir) < 0 && errno != EEXIST && errno != ENOTEMPTY) /* else: another was first */
		r = err_set(-errno, "cannot keep the build as '%s': %s", dir, strerror(errno));
	if (r == 0 && image)
		ret->image_path = xasprintf("%s/%s", dir, image);
	if (r == 0)
		prune_now_and_then(j->q->cache_dir);
	return r;
}
