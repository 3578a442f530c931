/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load.c - job files: finding them, refusing what needs lkp-tests' Ruby, and handing each document over to expand.c.
 */
#include "jobs/expand.h"
#include "lib/fs.h"

/* ---- what only Ruby can read, seen in the text since it is not YAML ---- */

static int refuse(const char *file, int line, size_t col, const char *why)
{
	return err_set(-EINVAL, "%s:%d:%zu: %s", file, line, col + 1, why);
}

static int check_line(const char *file, int line, const char *s)
{
	size_t indent = strspn(s, " -");
	const char *p;

	if (s[strspn(s, " \t")] == '#')
		return 0;
	p = strstr(s, "<%");
	if (p)
		return refuse(file, line, p - s, "ERB ('<% %>') is not supported: write the values down");
	if (*s == '%' && !startswith(s, "%YAML") && !startswith(s, "%TAG"))
		return refuse(file, line, 0, "a line of Ruby ('%') is not supported: write the values down");
	p = strstr(s, ": {{");
	if (p)
		return refuse(file, line, p + 2 - s, "'{{ }}' expressions are not supported: write the value down");
	if (startswith(s + indent, "<<:")) {
		p = s + indent + 3;
		p += strspn(p, " \t");
		if (*p && *p != '*' && *p != '[' && *p != '#')
			return refuse(file, line, indent,
				      "'<<' with a file name (include) is not supported: copy the keys here; '<<: *anchor' works");
	}
	return 0;
}

static int check_text(const char *file, const char *text)
{
	int r = 0;

	for (int line = 1; r == 0 && *text; line++) {
		size_t n = strcspn(text, "\n");
		_cleanup_free_ char *s = xstrndup(text, n);

		r = check_line(file, line, s);
		text += n + (text[n] == '\n');
	}
	return r;
}

/* ---- files ---- */

int job_load_text(const char *file, const char *text, size_t len, const char *const *overrides, struct job_list *ret)
{
	_cleanup_(yaml_release) struct yaml y = {0};
	struct job_list list = {0};
	int r = memchr(text, 0, len) ? err_set(-EINVAL, "%s: holds a NUL byte", file) : check_text(file, text);

	if (r == 0)
		r = yaml_load_text(file, text, len, &y);
	for (size_t i = 0; r == 0 && i < y.n_docs; i++)
		r = expand_document(file, y.doc[0], i ? y.doc[i] : NULL, y.n_docs == 1, overrides, &list);
	if (r == 0 && !list.n)
		r = err_set(-EINVAL, "%s: no job in it", file);
	if (r < 0) {
		job_list_release(&list);
		return r;
	}
	*ret = list;
	return 0;
}

static int load_file(const char *path, const char *const *overrides, struct job_list *ret)
{
	_cleanup_buf_ struct buf b = {0};
	int r = fs_read(path, 4 << 20, &b);

	return r < 0 ? r : job_load_text(path, buf_str(&b), b.len, overrides, ret);
}

static void names_in(const char *dir, struct strv *out)
{
	_cleanup_strv_ struct strv all = {0};

	if (!dir || fs_list(dir, &all) < 0)
		return;
	for (size_t i = 0; i < all.n; i++)
		if (endswith(all.v[i], ".yaml") && strlen(all.v[i]) > 5) {
			all.v[i][strlen(all.v[i]) - 5] = 0;
			strv_add(out, all.v[i]);
		}
}

int job_names(const char *extra_dir, struct strv *ret)
{
	_cleanup_free_ char *dir = xasprintf("%s/jobs", fs_data_dir());
	struct strv names = {0};

	names_in(dir, &names);
	names_in(extra_dir, &names);
	strv_sort_uniq(&names);
	*ret = names;
	return 0;
}

static char *find_file(const char *name, const char *extra_dir)
{
	const char *const dirs[] = {extra_dir, fs_data_dir()};

	if (strchr(name, '/') || endswith(name, ".yaml"))
		return xstrdup(name);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		_cleanup_free_ char *p = dirs[i] ? xasprintf("%s%s/%s.yaml", dirs[i], i ? "/jobs" : "", name) : NULL;

		if (p && fs_exists(p))
			return TAKE_PTR(p);
	}
	return NULL;
}

/* "stress-ng-sockfd-100%-sockfd-60s": one point of the file stress-ng-sockfd. */
static int load_point(const char *name, const char *extra_dir, const char *const *overrides, struct job_list *ret)
{
	_cleanup_strv_ struct strv names = {0};
	int r = job_names(extra_dir, &names);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		size_t n = strlen(names.v[i]);
		_cleanup_(job_list_release) struct job_list all = {0};
		_cleanup_free_ char *path = NULL;

		if (!startswith(name, names.v[i]) || name[n] != '-')
			continue;
		path = find_file(names.v[i], extra_dir);
		if (!path || load_file(path, overrides, &all) < 0)
			continue;
		for (size_t k = 0; k < all.n; k++)
			if (streq(all.v[k].point, name)) {
				*ret = (struct job_list){0};
				GROW(ret->v, ret->n, ret->cap);
				ret->v[ret->n++] = all.v[k];
				all.v[k] = (struct job){0};
				return 0;
			}
	}
	if (r == 0) {
		const char *near = nearest_word(name, (const char *const *)names.v, names.n);

		r = err_set(-ENOENT, "no job '%s'%s%s%s; 'kperfbot job list' shows those there are", name,
			    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	}
	return r;
}

int job_load(const char *name_or_path, const char *extra_dir, const char *const *overrides, struct job_list *ret)
{
	_cleanup_free_ char *path = find_file(name_or_path, extra_dir);

	return path ? load_file(path, overrides, ret) : load_point(name_or_path, extra_dir, overrides, ret);
}
