/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reporters/maintainers.h"
#include "reporters/mail.h"
#include <regex.h>
#include <strings.h>

#define MAX_PEOPLE 500
#define MAX_REGEX 200

void maintainers_release(struct maintainers *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].name);
		free(m->v[i].address);
		free(m->v[i].section);
	}
	free(m->v);
	*m = (struct maintainers){0};
}

static size_t slashes(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == '/';
	return n;
}

/* Does the pattern fit a beginning of the path? ends: any position will do, else only the path's end or a '/' (a folder
 * written without its slash). Linear-time wildcard matching with one point to go back to. */
static bool prefix_match(const char *pat, const char *path)
{
	const char *star = NULL, *retry = NULL;

	for (;;) {
		if (!*pat)
			return true;
		if (*pat == '*') {
			star = pat++;
			retry = path;
			continue;
		}
		if (*path && (*pat == '?' || *pat == *path)) {
			pat++;
			path++;
			continue;
		}
		if (!star || !*retry)
			return false;
		path = ++retry;
		pat = star + 1;
	}
}

bool maintainers_path_match(const char *pattern, const char *path)
{
	size_t n = strlen(pattern);

	if (!n)
		return false;
	if (pattern[n - 1] == '/')
		return prefix_match(pattern, path);
	if (startswith(path, pattern) && path[n] == '/')
		return true;    /* a folder whose slash was forgotten */
	return slashes(pattern) == slashes(path) && prefix_match(pattern, path);
}

/* POSIX matching stands in for Perl's; patterns that could explode in it are passed over. */
static bool regex_match(const char *pattern, const char *text)
{
	regex_t re;
	bool hit;

	if (!*pattern || strlen(pattern) > MAX_REGEX || strchr(pattern, '{'))
		return false;
	for (const char *p = pattern; *p; p++)
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '9')
			return false;
	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB | REG_NEWLINE))
		return false;
	hit = regexec(&re, text, 0, NULL, 0) == 0;
	regfree(&re);
	return hit;
}

struct entry { char key; char *value; };
struct section { char *title; struct entry *e; size_t n, cap; };

static void section_clear(struct section *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->e[i].value);
	free(s->e);
	free(s->title);
	*s = (struct section){0};
}

static bool section_excludes(const struct section *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->e[i].key == 'X' && maintainers_path_match(s->e[i].value, path))
			return true;
	return false;
}

/* How closely the section fits any of the paths; -1: not at all. */
static int section_depth(const struct section *s, const struct strv *paths, const char *changed)
{
	int best = -1;

	for (size_t p = 0; p < paths->n; p++) {
		if (section_excludes(s, paths->v[p]))
			continue;
		for (size_t i = 0; i < s->n; i++) {
			const struct entry *e = &s->e[i];
			int depth = (int)slashes(e->value) + 1;

			if ((e->key == 'F' && depth > best && maintainers_path_match(e->value, paths->v[p])) ||
			    (e->key == 'N' && (depth = 1) > best && regex_match(e->value, paths->v[p])))
				best = depth;
		}
	}
	for (size_t i = 0; best < 0 && changed && i < s->n; i++)
		if (s->e[i].key == 'K' && regex_match(s->e[i].value, changed))
			best = 0;
	return best;
}

static void add_person(struct maintainers *m, enum maintainer_role role, const struct section *s, int depth, const char *value)
{
	_cleanup_free_ char *name = NULL, *address = NULL;

	if (m->n >= MAX_PEOPLE || mail_address_parse(value, &name, &address) < 0)
		return;
	GROW(m->v, m->n, m->cap);
	m->v[m->n++] = (struct maintainer){role, TAKE_PTR(name), TAKE_PTR(address), xstrdup(s->title), depth};
}

static void section_end(struct section *s, const struct strv *paths, const char *changed, struct maintainers *m)
{
	bool rest = s->title && streq(s->title, "THE REST");
	int depth = s->title && s->n ? section_depth(s, paths, changed) : -1;

	for (size_t i = 0; depth >= 0 && i < s->n; i++) {
		const struct entry *e = &s->e[i];

		if (e->key == 'M' && !rest)
			add_person(m, MAINTAINER_M, s, depth, e->value);
		else if (e->key == 'R' && !rest)
			add_person(m, MAINTAINER_R, s, depth, e->value);
		else if (e->key == 'L' && !strstr(e->value, "subscribers-only"))
			add_person(m, MAINTAINER_L, s, rest ? -1 : depth, e->value);
	}
	section_clear(s);
}

static int by_rank(const void *pa, const void *pb)
{
	const struct maintainer *a = pa, *b = pb;
	int c = (b->depth > a->depth) - (b->depth < a->depth);

	c = c ? c : strcmp(a->section, b->section);
	c = c ? c : (int)a->role - (int)b->role;
	return c ? c : strcmp(a->address, b->address);
}

/* The first of equal addresses stays: it is the closest. */
static void drop_doubles(struct maintainers *m)
{
	size_t k = 0;

	for (size_t i = 0; i < m->n; i++) {
		bool twice = false;

		for (size_t j = 0; j < k && !twice; j++)
			if (!strcasecmp(m->v[j].address, m->v[i].address)) {
				m->v[j].role = MIN(m->v[j].role, m->v[i].role);
				twice = true;
			}
		if (!twice) {
			m->v[k++] = m->v[i];
			continue;
		}
		free(m->v[i].name);
		free(m->v[i].address);
		free(m->v[i].section);
	}
	m->n = k;
}

int maintainers_match(const char *text, size_t len, const struct strv *paths, const char *changed, struct maintainers *ret)
{
	static const char head[] = "\nMaintainers List\n";
	const char *end = text + len, *start = memmem(text, len, head, strlen(head));
	struct maintainers m = {0};
	struct section s = {0};

	if (start)
		text = start + strlen(head);
	while (text < end) {
		const char *nl = memchr(text, '\n', end - text);
		_cleanup_free_ char *line = xstrndup(text, (nl ? nl : end) - text);
		size_t n = strlen(line);

		text = nl ? nl + 1 : end;
		while (n && strchr(" \t\r", line[n - 1]))
			line[--n] = 0;
		if (n > 2 && line[0] >= 'A' && line[0] <= 'Z' && line[1] == ':') {
			GROW(s.e, s.n, s.cap);
			s.e[s.n++] = (struct entry){line[0], xstrdup(line + 2 + strspn(line + 2, " \t"))};
		} else if (!n || s.n) {
			section_end(&s, paths, changed, &m);
		}
		if (n && line[1] != ':' && !strchr(" \t", line[0])) {
			free(s.title);
			s.title = term_safe(line);
		}
	}
	section_end(&s, paths, changed, &m);
	if (m.n)
		qsort(m.v, m.n, sizeof(*m.v), by_rank);
	drop_doubles(&m);
	*ret = m;
	return 0;
}
