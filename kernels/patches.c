/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a patch series. */
#include "kernels/patches.h"

#include <sys/stat.h>

#define PATCHES_MAX (64u << 20)  /* bytes of all files */
#define MAILS_MAX 1000

void patches_release(struct patches *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].name);
		buf_release(&s->v[i].text);
	}
	free(s->v);
	free(s->name);
	*s = (struct patches){0};
}

/* ---- one file ---- */

static size_t count_from_lines(const char *s)
{
	size_t n = startswith(s, "From ");

	while ((s = strstr(s, "\nFrom ")))
		n++, s++;
	return n;
}

static int read_regular(const char *path, struct buf *ret)
{
	_cleanup_free_ char *shown = term_safe(path);
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return err_set(-errno, "cannot read patch file '%s': %s", shown, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(-EINVAL, "'%s' is no plain file", shown);
	r = fs_read(path, PATCHES_MAX, ret);
	if (r < 0)
		return r;
	if (ret->len >= 2 && !memcmp(ret->s, "\x1f\x8b", 2))
		return err_set(-EINVAL, "'%s' is compressed: unpack it first", shown);
	if (ret->len && memchr(ret->s, 0, ret->len))
		return err_set(-EINVAL, "'%s' holds a NUL byte: it is no mail", shown);
	return 0;
}

static int add_text(struct patches *s, const char *name, struct buf *text)
{
	size_t bytes = text->len, mails = count_from_lines(buf_str(text));

	for (size_t i = 0; i < s->n; i++) {
		bytes += s->v[i].text.len;
		mails += count_from_lines(buf_str(&s->v[i].text));
	}
	if (bytes > PATCHES_MAX)
		return err_set(-EFBIG, "patch series '%s' is larger than %u bytes", s->name, PATCHES_MAX);
	if (mails > MAILS_MAX || s->n >= MAILS_MAX)
		return err_set(-E2BIG, "patch series '%s' has more than %d mails", s->name, MAILS_MAX);
	GROW(s->v, s->n, s->cap);
	s->v[s->n++] = (struct patch_file){xstrdup(name), *text};
	*text = (struct buf){0};
	return 0;
}

static int add_file(struct patches *s, const char *dir, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	_cleanup_buf_ struct buf text = {0};
	int r = read_regular(path, &text);

	return r < 0 ? r : add_text(s, name, &text);
}

/* ---- lists and folders ---- */

/* "From x", "Subject: x", or a bare diff, which is refused later with a better reason. */
static bool looks_like_mail(const char *text)
{
	static const char *const starts[] = {"From ", "diff ", "--- ", "Index: "};
	size_t key = strcspn(text, ": \t\n");

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (startswith(text, starts[i]))
			return true;
	return key && text[key] == ':';
}

/* A list comes with its files and may lead nowhere else. */
static bool inside(const char *name)
{
	_cleanup_free_ char *padded = xasprintf("/%s/", name);

	return *name != '/' && !strstr(padded, "/../");
}

/* Names of patch files, one a line, as "git format-patch" prints them and quilt's "series" has them. */
static int read_list(struct patches *s, const char *dir, const char *name, const char *text)
{
	_cleanup_free_ char *copy = xstrdup(text), *shown = term_safe(name);
	int r = 0, line = 0;

	s->listed = true;
	for (char *at = copy, *l; r == 0 && (l = strsep(&at, "\n"));) {
		char *rest;

		line++;
		l += strspn(l, " \t");
		rest = l + strcspn(l, " \t\r");
		if (*rest)
			*rest++ = 0;
		rest += strspn(rest, " \t\r");
		if (!*l || *l == '#')
			continue;
		if (*rest && *rest != '#')
			r = err_set(-EINVAL, "'%s' is neither a mail nor a list of patch files (line %d)", shown, line);
		else if (!inside(l))
			r = err_set(-EINVAL, "'%s', line %d: a list names files in its own folder only", shown, line);
		else
			r = add_file(s, dir, l);
		if (r < 0 && r != -EINVAL)
			r = err_prefix(r, "'%s', line %d", shown, line);
	}
	return r;
}

static int read_folder(struct patches *s, const char *dir)
{
	_cleanup_free_ char *list = xasprintf("%s/series", dir), *shown = term_safe(dir);
	_cleanup_strv_ struct strv names = {0};
	_cleanup_buf_ struct buf text = {0};
	int r;

	if (fs_exists(list)) {
		r = read_regular(list, &text);
		return r < 0 ? r : read_list(s, dir, list, buf_str(&text));
	}
	r = fs_list(dir, &names);
	for (size_t i = 0; r >= 0 && i < names.n; i++)
		if (endswith(names.v[i], ".patch") || endswith(names.v[i], ".eml") || endswith(names.v[i], ".mbox"))
			r = add_file(s, dir, names.v[i]);
	if (r >= 0 && !s->n)
		r = err_set(-ENOENT, "folder '%s' has no *.patch, *.eml or *.mbox", shown);
	return r;
}

static int read_file(struct patches *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = slash ? xstrndup(path, MAX(slash - path, 1)) : xstrdup(".");
	_cleanup_buf_ struct buf text = {0};
	int r = read_regular(path, &text);

	if (r < 0)
		return r;
	if (!buf_str(&text)[strspn(buf_str(&text), " \t\r\n")])
		return err_set(-EINVAL, "patch series '%s' is empty", s->name);
	if (!looks_like_mail(buf_str(&text)))
		return read_list(s, dir, path, buf_str(&text));
	return add_text(s, slash ? slash + 1 : path, &text);
}

/* The second rules: what the first ones took for a series may have had answers in it. */
static void hash_all(struct patches *s)
{
	_cleanup_buf_ struct buf all = {0};

	buf_adds(&all, "2");
	for (size_t i = 0; i < s->n; i++) {
		char hex[SHA256_HEX];

		sha256_hex(buf_str(&s->v[i].text), s->v[i].text.len, hex);
		buf_adds(&all, hex);
	}
	sha256_hex(buf_str(&all), all.len, s->hash);
}

int patches_read(const char *path, struct patches *ret)
{
	struct patches s = {.name = fs_word(path)};
	int r = fs_is_dir(path) ? read_folder(&s, path) : read_file(&s, path);

	if (r >= 0 && !s.n)
		r = err_set(-EINVAL, "patch series '%s' is empty", s.name);
	if (r < 0) {
		patches_release(&s);
		return r;
	}
	hash_all(&s);
	*ret = s;
	return 0;
}
