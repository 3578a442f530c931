/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels: tinyconfig, our fragment on top, olddefconfig; then bzImage (and modules where the config has any) into the
 * O= folder. The config step is left out when nothing that it reads has changed since the last build there.
 */
#include "kernels/build-internal.h"
#include "kernels/tree-internal.h"
#include "lib/fs.h"
#include "lib/proc.h"

#define MAKE "make -C \"$SRC\" O=\"$OUT\" ARCH=x86_64"
#define CONFIG_MAX (4u << 20)
#define FRAGMENT BOX "/fragment"

static const char config_script[] =
	"cd \"$OUT\" || exit 1\n"
	"rm -f .config.prev\n"
	"[ ! -f .config ] || mv .config .config.prev\n"
	MAKE " -s tinyconfig && cat " FRAGMENT " >>.config && " MAKE " -s olddefconfig || exit 1\n"
	/* the same config keeps its time, so that make sees nothing new */
	"if cmp -s .config .config.prev; then mv .config.prev .config; fi\n";

/* ---- does the config need making? ---- */

static int config_reads(const char *path, void *arg _unused_)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return startswith(base, "Kconfig") || startswith(base, "Makefile") || startswith(path, "scripts/") ||
	       startswith(path, "kernel/configs/") || startswith(path, "arch/x86/configs/");
}

/* The configuration came along with what we go on from, and nothing that it is made of has changed since. */
static bool config_is_current(const struct build_job *j)
{
	return j->start_commit &&
	       tree_diff_commits(j->q->git_dir, j->start_commit, j->q->commit, config_reads, NULL) == 0;
}

/* ---- what became of the fragment ---- */

static int cmp_line(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void split_lines(char *text, struct strv *ret)
{
	for (char *save = NULL, *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		strv_add(ret, l);
}

/* The option's line in a sorted .config: "CONFIG_X=v", or NULL where it is off or unknown. */
static const char *config_line(const struct strv *config, const char *option)
{
	_cleanup_free_ char *start = xasprintf("%s=", option);
	size_t lo = 0, hi = config->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (strcmp(config->v[mid], start) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < config->n && startswith(config->v[lo], start) ? config->v[lo] : NULL;
}

static bool overruled_later(const struct strv *wanted, size_t i, const char *option)
{
	size_t n = strlen(option);

	for (size_t k = i + 1; k < wanted->n; k++) {
		const char *l = wanted->v[k] + (startswith(wanted->v[k], "# ") ? 2 : 0);

		if (!strncmp(l, option, n) && (l[n] == '=' || streq(l + n, " is not set")))
			return true;
	}
	return false;
}

static void lost_options(const char *fragment, char *config_text, struct buf *warnings)
{
	_cleanup_strv_ struct strv config = {0}, wanted = {0};
	_cleanup_free_ char *copy = xstrdup(fragment);

	split_lines(config_text, &config);
	qsort(config.v, config.n, sizeof(*config.v), cmp_line);
	split_lines(copy, &wanted);
	for (size_t i = 0; i < wanted.n; i++) {
		const char *l = wanted.v[i], *got;
		bool off = startswith(l, "# CONFIG_") && endswith(l, " is not set");
		_cleanup_free_ char *option = NULL, *safe = NULL;

		if (!off && !(startswith(l, "CONFIG_") && strchr(l, '=')))
			continue;
		option = off ? xstrndup(l + 2, strcspn(l + 2, " ")) : xstrndup(l, strcspn(l, "="));
		got = config_line(&config, option);
		if (overruled_later(&wanted, i, option) || (off ? !got : streq(got, l)) ||
		    (!off && !got && endswith(l, "=n")))
			continue;
		safe = term_safe(off ? "" : l + strlen(option) + 1);
		buf_addf(warnings, "%s: wanted %s, is %s\n", option, off ? "off" : safe,
			 got ? got + strlen(option) + 1 : "off");
	}
}

static int step_in_out(struct build_job *j, const char *script, struct sandbox_result *s)
{
	_cleanup_free_ char *fragment = xasprintf("%s/fragment", j->objects);
	const struct box_mount mounts[] = {
		{j->src, BOX_SRC, false}, {j->out, BOX_OUT, true}, {fragment, FRAGMENT, false}};
	const struct build_step step = {.script = script, .mount = mounts, .n_mounts = ARRAY_SIZE(mounts),
					.cwd = BOX_OUT};

	return build_step(j, &step, s);
}

static int configure(struct build_job *j, struct sandbox_result *s)
{
	return config_is_current(j) ? 0 : step_in_out(j, config_script, s);
}

static int read_config(struct build_job *j, struct buf *ret, struct sandbox_result *s)
{
	const struct box_mount m = {j->out, BOX_OUT, false};
	const struct build_step step = {.script = "[ -f .config ] && exec cat .config", .mount = &m, .n_mounts = 1,
					.cwd = BOX_OUT, .out = ret, .max_out = CONFIG_MAX};

	return build_step(j, &step, s);
}

/* ---- from the config to the image ---- */

static int missing_tools(struct build_result *ret)
{
	static const char *const need[] = {"make", "gcc", "ld", "flex", "bison", "bc", "perl"};

	for (size_t i = 0; i < ARRAY_SIZE(need); i++)
		if (!proc_have(need[i])) {
			ret->state = BUILD_INFRA;
			ret->error = xasprintf("'%s' is missing on this machine; install it", need[i]);
			return 1;
		}
	return 0;
}

/* Asked for and not given by the config: by the compiler's flag then. */
static bool align_by_flag(const struct build_job *j, const char *config)
{
	return j->q->align_functions && !strstr(config, "\nCONFIG_DEBUG_FORCE_FUNCTION_ALIGN_64B=y\n");
}

static char *make_script(int jobs, bool modules, bool debug, bool align)
{
	static const char pack[] =
		"cd \"$OUT\" && rm -rf mods modules.tar && " MAKE " -s INSTALL_MOD_PATH=\"$OUT/mods\""
		" INSTALL_MOD_STRIP=1 DEPMOD=true modules_install || exit 1\n"
		"rm -f mods/lib/modules/*/build mods/lib/modules/*/source\n"
		"tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C mods -cf modules.tar . || exit 1\n"
		"rm -rf mods\n";
	/* profile.h finds lines and inlined functions in it */
	static const char keep_debug[] =
		"(cd \"$OUT\" && objcopy --only-keep-debug vmlinux vmlinux.debug) || exit 1\n";
	const char *flag = align ? " KCFLAGS=-falign-functions=64" : "";

	return xasprintf(MAKE " -j%d%s bzImage%s || exit 1\n%s%s", jobs, flag, modules ? " modules" : "",
			 debug ? keep_debug : "", modules ? pack : "");
}

static int broken_config(struct build_job *j, struct build_result *ret)
{
	ret->state = BUILD_BROKEN;
	ret->error = xstrdup(err_msg());
	return build_cache_put(j, NULL, ret);
}

/* make may have written another one since it was read: what is kept is what is checked, and what the hash is of. */
static int check_kept_config(const struct build_job *j, struct build_result *ret)
{
	_cleanup_free_ char *path = xasprintf("%s/config", j->kept);
	_cleanup_buf_ struct buf text = {0};
	char hash[SHA256_HEX];
	int r = fs_read(path, CONFIG_MAX, &text);

	r = r < 0 ? r : kconfig_check(text.s, text.len);
	if (r < 0)
		return r == -EFBIG ? err_set(-EBADMSG, "its .config is larger than %u bytes", CONFIG_MAX) : r;
	sha256_hex(buf_str(&text), text.len, hash);
	free(ret->config_hash);
	ret->config_hash = xstrdup(hash);
	return 0;
}

static int keep_kernel(struct build_job *j, bool modules, bool debug, struct build_result *ret)
{
	struct box_file files[] = {
		{"arch/x86/boot/bzImage", "bzImage"}, {".config", "config"}, {"System.map", "System.map"},
		{"modules.tar", "modules.tar"}, {"vmlinux.debug", "vmlinux.debug"},
	};
	struct box_export x = {.folder = j->out, .file = files, .n = modules ? 4 : 3, .to_dir = j->kept,
			       .cancel = j->q->cancel};
	_cleanup_free_ char *why = NULL, *image = xasprintf("%s/bzImage", j->kept),
			    *tar = xasprintf("%s/modules.tar", j->kept);
	char hash[SHA256_HEX], both[2 * SHA256_HEX] = "";
	int r;

	if (debug)
		files[x.n++] = files[ARRAY_SIZE(files) - 1];
	r = box_export(&x, &why);
	if (r == -EBADMSG) {
		ret->state = BUILD_BROKEN;
		ret->error = xasprintf("make succeeded, but %s", why);
		return build_cache_put(j, NULL, ret);
	}
	if (r == 0 && (r = check_kept_config(j, ret)) == -EBADMSG) {
		(void)fs_rm_rf(j->kept);
		return broken_config(j, ret);
	}
	if (r == 0)
		r = sha256_file(image, hash);
	if (r == 0 && modules) { /* a commit that changes a module only is a change, too */
		r = sha256_file(tar, both);
		strcat(both, hash);
		sha256_hex(both, strlen(both), hash);
	}
	if (r < 0)
		return r;
	ret->state = BUILD_OK;
	ret->image_hash = xstrdup(hash);
	(void)start_keep(j); /* without it the next build only takes longer; first, since it may have to warn */
	return build_cache_put(j, "bzImage", ret);
}

static bool went_wrong(const struct sandbox_result *s) { return s->status || s->stop; }

static int compile(struct build_job *j, struct build_result *ret)
{
	_cleanup_free_ char *script = NULL;
	_cleanup_buf_ struct buf text = {0};
	struct sandbox_result s = {0};
	bool modules, debug, align;
	int r = configure(j, &s);

	if (r == 0 && !went_wrong(&s))
		r = read_config(j, &text, &s);
	if (r < 0)
		return r;
	if (went_wrong(&s))
		return build_broken(j, &s, ret);
	if (kconfig_check(text.s, text.len) < 0)
		return broken_config(j, ret);
	modules = strstr(buf_str(&text), "=m\n");
	debug = strstr(buf_str(&text), "\nCONFIG_DEBUG_INFO=y\n");
	align = align_by_flag(j, buf_str(&text));
	lost_options(j->fragment, text.s ? text.s : (char *)"", &j->warnings);
	script = make_script(j->q->jobs, modules, debug, align);
	r = step_in_out(j, script, &s);
	if (r < 0)
		return r;
	return went_wrong(&s) ? build_broken(j, &s, ret) : keep_kernel(j, modules, debug, ret);
}

/* The output folder, empty yet. */
static int begin(struct build_job *j)
{
	_cleanup_free_ char *fragment = NULL;
	int r = start_begin(j);

	fragment = xasprintf("%s/fragment", j->objects);
	if (r == 0)
		r = build_write(fragment, j->fragment, strlen(j->fragment));
	return r;
}

int build_kernel(struct build_job *j, struct build_result *ret)
{
	struct sandbox_result s = {0};
	int r;

	if (missing_tools(ret))
		return 0;
	ret->clean = !j->start_key;
	r = begin(j);
	if (r == 0)
		r = worktree_checkout(j, &s);
	if (r < 0)
		return r;
	return went_wrong(&s) ? build_broken(j, &s, ret) : compile(j, ret);
}
