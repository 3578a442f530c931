/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels: tinyconfig, our fragment on top, olddefconfig; then bzImage (and modules where the config has any) into the
 * O= folder. The config step is left out when nothing that it reads has changed since the last build there.
 */
#include "kernels/build-priv.h"
#include "kernels/tree-priv.h"
#include "lib/fs.h"
#include "lib/proc.h"

#define MAKE "make -C \"$SRC\" O=\"$OUT\" ARCH=x86_64"
#define CONFIG_MAX (4u << 20)

static const char config_script[] =
	"cd \"$OUT\" || exit 1\n"
	"rm -f .config.prev\n"
	"[ ! -f .config ] || mv .config .config.prev\n"
	MAKE " -s tinyconfig && cat kperfbot.fragment >>.config && " MAKE " -s olddefconfig || exit 1\n"
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

static char *stamp_path(const struct build_job *j) { return xasprintf("%s/configured", j->dir); }

/* Stamp: "commit fragment toolchain". */
static bool config_is_current(const struct build_job *j)
{
	_cleanup_free_ char *path = stamp_path(j), *config = xasprintf("%s/.config", j->out), *tail = NULL, *old = NULL;
	_cleanup_buf_ struct buf b = {0};
	size_t n;

	if (!fs_exists(config) || fs_read(path, 4096, &b) < 0)
		return false;
	n = strcspn(buf_str(&b), " ");
	tail = xasprintf(" %s %s\n", j->fragment_hash, j->toolchain);
	if (!streq(buf_str(&b) + n, tail))
		return false;
	old = xstrndup(buf_str(&b), n);
	return tree_diff_commits(j->q->git_dir, old, j->q->commit, config_reads, NULL) == 0;
}

static int config_stamp(const struct build_job *j)
{
	_cleanup_free_ char *path = stamp_path(j),
			    *text = xasprintf("%s %s %s\n", j->q->commit, j->fragment_hash, j->toolchain);

	return build_write(path, text, strlen(text));
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
		if (overruled_later(&wanted, i, option) || (off ? !got : streq(got, l)) || (!off && !got && endswith(l, "=n")))
			continue;
		safe = term_safe(off ? "" : l + strlen(option) + 1);
		buf_addf(warnings, "%s: wanted %s, is %s\n", option, off ? "off" : safe, got ? got + strlen(option) + 1 : "off");
	}
}

static int configure(struct build_job *j, struct sandbox_result *s)
{
	_cleanup_free_ char *fragment = xasprintf("%s/kperfbot.fragment", j->out);
	int r;

	if (config_is_current(j))
		return 0;
	r = build_write(fragment, j->fragment, strlen(j->fragment));
	if (r == 0)
		r = sandbox_run(j, config_script, false, s);
	return r < 0 || s->status || s->stopped ? r : config_stamp(j);
}

/* ---- from the config to the image ---- */

static int missing_tools(struct build_result *ret)
{
	static const char *const need[] = {"make", "gcc", "ld", "flex", "bison", "bc", "perl"};

	for (size_t i = 0; i < ARRAY_SIZE(need); i++)
		if (!proc_have(need[i])) {
			ret->state = "infra";
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
	const char *flag = align ? " KCFLAGS=-falign-functions=64" : "";

	/* profile.h finds lines and inlined functions in vmlinux.debug */
	return xasprintf(MAKE " -j%d%s bzImage%s || exit 1\n%s%s", jobs, flag, modules ? " modules" : "", !debug ? "" :
			 "(cd \"$OUT\" && objcopy --only-keep-debug vmlinux vmlinux.debug) || exit 1\n", !modules ? "" :
			 "cd \"$OUT\" && rm -rf mods modules.tar && " MAKE
			 " -s INSTALL_MOD_PATH=\"$OUT/mods\" INSTALL_MOD_STRIP=1 DEPMOD=true modules_install || exit 1\n"
			 "rm -f mods/lib/modules/*/build mods/lib/modules/*/source\n"
			 "tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C mods -cf modules.tar . || exit 1\n"
			 "rm -rf mods\n");
}

static int keep_kernel(struct build_job *j, bool modules, bool debug, struct build_result *ret)
{
	struct kept_file files[] = {
		{"arch/x86/boot/bzImage", "bzImage"}, {".config", "config"}, {"System.map", "System.map"},
		{"modules.tar", "modules.tar"}, {"vmlinux.debug", "vmlinux.debug"},
	}, kept[ARRAY_SIZE(files)];
	size_t n = modules ? 4 : 3;
	_cleanup_strv_ struct strv path = {0};
	char hash[SHA256_HEX], both[2 * SHA256_HEX] = "";
	int r = 0;

	if (debug)
		files[n++] = files[ARRAY_SIZE(files) - 1];
	for (size_t i = 0; i < n; i++) {
		const char *why = NULL;
		_cleanup_free_ char *p = build_output(j->out, files[i].from, false, &why);

		if (!p) {
			ret->state = "broken";
			ret->error = xasprintf("make succeeded, but '%s' %s", files[i].from, why);
			return build_cache_put(j, NULL, 0, NULL, ret);
		}
		strv_add(&path, p);
	}
	for (size_t i = 0; i < n; i++)
		kept[i] = (struct kept_file){path.v[i], files[i].name};
	r = sha256_file(path.v[0], hash);
	if (r == 0 && modules) { /* a commit that changes a module only is a change, too */
		r = sha256_file(path.v[3], both);
		strcat(both, hash);
		sha256_hex(both, strlen(both), hash);
	}
	if (r < 0)
		return r;
	ret->state = "ok";
	ret->image_hash = xstrdup(hash);
	return build_cache_put(j, kept, n, "bzImage", ret);
}

static int broken_or_infra(struct build_job *j, const struct sandbox_result *s, struct build_result *ret)
{
	int r = build_failed(j, s, ret);

	return r < 0 || streq(ret->state, "infra") ? r : build_cache_put(j, NULL, 0, NULL, ret);
}

static bool was_configured(const struct build_job *j)
{
	_cleanup_free_ char *config = xasprintf("%s/.config", j->out);

	return fs_exists(config);
}

static int compile(struct build_job *j, struct build_result *ret)
{
	_cleanup_free_ char *config = NULL, *script = NULL;
	_cleanup_buf_ struct buf text = {0};
	struct sandbox_result s = {0};
	const char *why = NULL;
	char hash[SHA256_HEX];
	bool modules, debug, align;
	int r;

	ret->clean = !was_configured(j);
	r = configure(j, &s);
	if (r < 0)
		return r;
	if (s.status || s.stopped)
		return broken_or_infra(j, &s, ret);
	config = build_output(j->out, ".config", false, &why);
	if (!config)
		return err_set(-EIO, "configuring succeeded, but '.config' %s", why);
	r = fs_read(config, CONFIG_MAX, &text);
	if (r < 0)
		return r;
	sha256_hex(text.s, text.len, hash);
	ret->config_hash = xstrdup(hash);
	modules = strstr(buf_str(&text), "=m\n");
	debug = strstr(buf_str(&text), "\nCONFIG_DEBUG_INFO=y\n");
	align = align_by_flag(j, buf_str(&text));
	lost_options(j->fragment, text.s, &j->warnings);
	script = make_script(j->q->jobs, modules, debug, align);
	r = sandbox_run(j, script, false, &s);
	if (r < 0)
		return r;
	return s.status || s.stopped ? broken_or_infra(j, &s, ret) : keep_kernel(j, modules, debug, ret);
}

int build_kernel(struct build_job *j, struct build_result *ret)
{
	int r;

	if (missing_tools(ret))
		return 0;
	r = worktree_checkout(j, false);
	if (r == 0)
		r = worktree_begin_out(j);
	if (r == 0)
		r = compile(j, ret);
	/* a build that was killed (by us, too) leaves the mark, and the next one starts from an empty folder */
	if (r == 0 && !j->killed)
		worktree_end_out(j);
	return r;
}
