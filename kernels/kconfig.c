/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Config fragments: kernels/configs/NAME.config in our data folder, chained by "# include: NAME" lines. */
#include "kernels/build.h"
#include "lib/fs.h"

#define DEPTH_MAX 8
#define FRAGMENT_MAX (1u << 20)

/* Names of the configs there are. */
static int kconfig_names(struct strv *ret)
{
	_cleanup_free_ char *dir = xasprintf("%s/kernels/configs", fs_data_dir());
	_cleanup_strv_ struct strv files = {0};
	int r = fs_list(dir, &files);

	for (size_t i = 0; r == 0 && i < files.n; i++)
		if (endswith(files.v[i], ".config")) {
			files.v[i][strlen(files.v[i]) - strlen(".config")] = 0;
			strv_add(ret, files.v[i]);
		}
	return r;
}

static int unknown(const char *name)
{
	_cleanup_strv_ struct strv names = {0};
	_cleanup_free_ char *shown = term_safe(name);
	const char *near;

	(void)kconfig_names(&names);
	near = nearest_word(name, (const char *const *)names.v, names.n);
	return err_set(-ENOENT, "no kernel config '%s'%s%s%s", shown, near ? "; did you mean '" : "", near ? near : "",
		       near ? "'?" : "");
}

static int add_fragment(const char *name, int depth, struct buf *out)
{
	static const char include[] = "# include:";
	_cleanup_free_ char *path = xasprintf("%s/kernels/configs/%s.config", fs_data_dir(), name);
	_cleanup_buf_ struct buf text = {0};
	int r;

	if (!*name || *name == '.' || strchr(name, '/') || !fs_exists(path))
		return unknown(name);
	if (depth > DEPTH_MAX)
		return err_set(-ELOOP, "'%s' includes itself", path);
	r = fs_read(path, FRAGMENT_MAX, &text);
	if (r < 0)
		return r;
	for (char *save = NULL, *l = text.s ? strtok_r(text.s, "\n", &save) : NULL; r == 0 && l;
	     l = strtok_r(NULL, "\n", &save)) {
		char *word, *end = NULL;

		if (!startswith(l, include)) {
			buf_addf(out, "%s\n", l);
			continue;
		}
		word = strtok_r(l + strlen(include), " \t\r", &end);
		r = word ? add_fragment(word, depth + 1, out)
			 : err_set(-EINVAL, "'%s': \"# include:\" wants a name", path);
	}
	return r;
}

int kconfig_fragment(const char *name, struct buf *ret)
{
	_cleanup_buf_ struct buf b = {0};
	int r = add_fragment(name, 0, &b);

	if (r == 0)
		buf_add(ret, buf_str(&b), b.len);
	return r;
}

/* ---- what a tree made of it ---- */

static bool all_of(const char *s, const char *end, const char *set)
{
	return s < end && strspn(s, set) >= (size_t)(end - s);
}

static bool is_value(const char *s, const char *end)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	size_t n = end - s;

	if (n == 1 && strchr("ymn", *s))
		return true;
	if (n >= 2 && *s == '"' && end[-1] == '"')
		return strcspn(s + 1, "\"$`\\") == n - 2;
	if (startswith(s, "0x") || startswith(s, "0X"))
		return all_of(s + 2, end, digits);
	return all_of(s + (*s == '-'), end, "0123456789");
}

/* One line, which ends at end with a newline or NUL. */
static bool is_config_line(const char *s, const char *end)
{
	static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	const char *equals = memchr(s, '=', end - s);

	for (const char *c = s; c < end; c++)
		if (*c < 0x20 || *c > 0x7e)
			return false;
	if (s == end || *s == '#') /* a backslash would take the next line into make's comment */
		return !memchr(s, '\\', end - s);
	return startswith(s, "CONFIG_") && equals && all_of(s + strlen("CONFIG_"), equals, name) &&
	       is_value(equals + 1, end);
}

int kconfig_check(const char *text, size_t len)
{
	_cleanup_free_ char *all = xstrndup(text ? text : "", len);
	const char *end;

	for (const char *s = all; *s; s = end + (*end != 0)) {
		_cleanup_buf_ struct buf shown = {0};
		_cleanup_free_ char *line = NULL;

		end = s + strcspn(s, "\n");
		if (is_config_line(s, end))
			continue;
		line = xstrndup(s, end - s);
		buf_add_shown(&shown, line);
		return err_set(-EBADMSG, "its .config holds what no configuration tool writes: %s", buf_str(&shown));
	}
	if (strlen(all) != len)
		return err_set(-EBADMSG, "its .config holds what no configuration tool writes: a NUL byte");
	return 0;
}
