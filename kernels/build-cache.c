/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finished builds: cache_dir/builds/<files>-<config>-<toolchain>/ with the image, meta.json and what else is worth
 * keeping. A folder appears by one rename, so there is a whole one or none. Broken builds are kept too (they stay
 * broken), those that failed through our fault never.
 */
#include "kernels/build-priv.h"
#include "kernels/tree.h"
#include "lib/fs.h"
#include "lib/proc.h"

#include <fcntl.h>
#include <ftw.h>
#include <json-c/json.h>
#include <sys/stat.h>
#include <time.h>

#define RECIPE "1"              /* changes when our way of building changes what comes out */
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

char *build_toolchain(void)
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

	free(j->tree_oid);
	j->tree_oid = xstrdup(tree_oid);
	if (!j->toolchain) {
		j->toolchain = build_toolchain();
		sha256_hex(j->fragment, strlen(j->fragment), j->fragment_hash);
	}
	sha256_hex(j->toolchain, strlen(j->toolchain), tools);
	free(j->key);
	j->key = xasprintf("%s-%.16s-%.12s-" RECIPE, j->tree_oid, j->fragment_hash, tools);
}

int build_epoch(enum build_kind kind, const char *kconfig, char ret[BUILD_EPOCH])
{
	_cleanup_buf_ struct buf b = {0};
	_cleanup_free_ char *toolchain = build_toolchain();
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

static int meta_write(const char *dir, struct build_result *r, const char *image)
{
	_cleanup_free_ char *path = xasprintf("%s/meta.json", dir), *image_path = image ? xasprintf("%s/%s", dir, image) : NULL;
	struct json_object *o = json_object_new_object();
	const char *text;
	int e;

	json_object_object_add(o, "state", json_object_new_string(r->state));
	json_object_object_add(o, "image", image ? json_object_new_string(image) : NULL);
	json_object_object_add(o, "image_bytes", json_object_new_int64(image ? size_of(image_path) : 0));
	json_object_object_add(o, "seconds", json_object_new_double(r->seconds));
	for (size_t i = 0; i < ARRAY_SIZE(meta_texts); i++)
		if (*meta_text(r, i))
			json_object_object_add(o, meta_texts[i].name, json_object_new_string(*meta_text(r, i)));
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY);
	e = build_write(path, text, strlen(text));
	json_object_put(o);
	return e;
}

static const char *member(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && v ? json_object_get_string(v) : NULL;
}

static int64_t number(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_int64(v) : 0;
}

/* True when everything the meta file speaks of is there in full. */
static bool meta_read(const char *dir, struct build_result *ret)
{
	_cleanup_free_ char *path = xasprintf("%s/meta.json", dir), *image = NULL;
	_cleanup_buf_ struct buf b = {0};
	struct json_object *o = NULL, *seconds;
	const char *state, *name;
	bool good = false;

	if (fs_read(path, 1 << 20, &b) < 0 || !(o = json_tokener_parse(buf_str(&b))))
		return false;
	state = member(o, "state");
	name = member(o, "image");
	image = name ? xasprintf("%s/%s", dir, name) : NULL;
	if (streq(state, "broken"))
		good = true;
	else if (streq(state, "ok") && image)
		good = fs_exists(image) && size_of(image) == number(o, "image_bytes");
	if (good) {
		ret->state = streq(state, "ok") ? "ok" : "broken";
		ret->image_path = TAKE_PTR(image);
		ret->seconds = json_object_object_get_ex(o, "seconds", &seconds) ? json_object_get_double(seconds) : 0;
		for (size_t i = 0; i < ARRAY_SIZE(meta_texts); i++) {
			free(*meta_text(ret, i));
			*meta_text(ret, i) = xstrdup(member(o, meta_texts[i].name));
		}
	}
	json_object_put(o);
	return good;
}

int build_cache_get(const struct build_job *j, struct build_result *ret)
{
	_cleanup_free_ char *builds = builds_dir(j->q), *dir = xasprintf("%s/%s", builds, j->key), *log = NULL;

	if (!fs_is_dir(dir))
		return 0;
	if (!meta_read(dir, ret)) { /* torn by a power cut */
		int r = fs_rm_rf(dir);

		return r < 0 ? r : 0;
	}
	log = xasprintf("%s/build.log.zst", dir);
	ret->log_path = fs_exists(log) ? TAKE_PTR(log) : NULL;
	ret->cached = true;
	utimensat(AT_FDCWD, dir, NULL, 0); /* what was used last goes last */
	return 1;
}

/* ---- keeping ---- */

struct old { char *name; time_t used; };

static int by_age(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	return x->used < y->used ? -1 : x->used > y->used;
}

int build_cache_prune(const char *cache_dir, int64_t max_bytes)
{
	_cleanup_free_ char *builds = xasprintf("%s/builds", cache_dir);
	_cleanup_strv_ struct strv names = {0};
	_cleanup_free_ struct old *v = NULL;
	int64_t excess;
	size_t n = 0;
	int r = fs_list(builds, &names), gone = 0;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	excess = size_of(builds) - (max_bytes > 0 ? max_bytes : CACHE_MAX);
	v = xcalloc(names.n, sizeof(*v));
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *dir = xasprintf("%s/%s", builds, names.v[i]);
		struct stat st;

		if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		if (*names.v[i] != '.')
			v[n++] = (struct old){names.v[i], st.st_mtime};
		else if (time(NULL) - st.st_mtime > TMP_AGE_S)
			(void)fs_rm_rf(dir);
	}
	qsort(v, n, sizeof(*v), by_age);
	for (size_t i = 0; r == 0 && i < n && excess > 0; i++, gone++) {
		_cleanup_free_ char *dir = xasprintf("%s/%s", builds, v[i].name);

		excess -= size_of(dir);
		r = fs_rm_rf(dir);
	}
	return r < 0 ? r : gone;
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

static int keep_file(const struct kept_file *f, const char *dir)
{
	_cleanup_free_ char *to = xasprintf("%s/%s", dir, f->name);

	return fs_is_dir(f->from) ? proc_ok(ARGV("cp", "-a", "--reflink=auto", "--", f->from, to), NULL, NULL)
				  : fs_copy(f->from, to);
}

static int fill(const char *dir, const struct kept_file *files, size_t n, const char *image, struct build_result *ret)
{
	int r = fs_mkdir_p(dir);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = keep_file(&files[i], dir);
	if (r == 0 && ret->log_path)
		r = keep_file(&(struct kept_file){ret->log_path, "build.log.zst"}, dir);
	return r < 0 ? r : meta_write(dir, ret, image);
}

int build_cache_put(const struct build_job *j, const struct kept_file *files, size_t n, const char *image,
		    struct build_result *ret)
{
	_cleanup_free_ char *builds = builds_dir(j->q), *dir = xasprintf("%s/%s", builds, j->key),
			    *tmp = xasprintf("%s/.tmp-%d-%.40s", builds, getpid(), j->key);
	int r = build_log_pack(j, ret);

	ret->seconds = (mono_usec() - j->start) / 1e6;
	if (!ret->warnings && j->warnings.len)
		ret->warnings = xstrdup(j->warnings.s);
	if (r == 0)
		r = fs_rm_rf(tmp);
	if (r == 0)
		r = fill(tmp, files, n, image, ret);
	if (r == 0 && rename(tmp, dir) < 0 && errno != EEXIST && errno != ENOTEMPTY) /* else: another was first */
		r = err_set(-errno, "cannot keep the build as '%s': %s", dir, strerror(errno));
	if (r < 0 || fs_exists(tmp))
		(void)fs_rm_rf(tmp);
	if (r == 0 && image)
		ret->image_path = xasprintf("%s/%s", dir, image);
	if (r == 0)
		prune_now_and_then(j->q->cache_dir);
	return r;
}
