/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Config fragments: kernels/configs/NAME.config in our data folder, chained by "# include: NAME" lines. */
#include "kernels/build.h"
#include "lib/fs.h"

#define DEPTH_MAX 8
#define FRAGMENT_MAX (1u << 20)

int kconfig_names(struct strv *ret)
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
	for (char *save = NULL, *l = text.s ? strtok_r(text.s, "\n", &save) : NULL; r == 0 && l; l = strtok_r(NULL, "\n", &save)) {
		char *word, *end = NULL;

		if (!startswith(l, include)) {
			buf_addf(out, "%s\n", l);
			continue;
		}
		word = strtok_r(l + strlen(include), " \t\r", &end);
		r = word ? add_fragment(word, depth + 1, out) : err_set(-EINVAL, "'%s': \"# include:\" wants a name", path);
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
