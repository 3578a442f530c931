/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reporters/maintainers.h"
#include "reporters/mail.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <strings.h>

#define MAX_PEOPLE 500
#define TITLE_MAX 200
#define PERSON_MAX 1000
#define REGEX_MAX 1000          /* characters of a pattern */
#define MATCH_LIMIT 200000      /* steps in one line; the kernel's own patterns take some tens */
#define DEPTH_LIMIT 5000
#define HEAP_LIMIT_KIB 4096

void maintainers_release(struct maintainers *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].name);
		free(m->v[i].address);
		free(m->v[i].section);
	}
	free(m->v);
	free(m->left_out);
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

struct looker {
	const struct strv *paths;
	const char *changed;
	usec_t deadline;
	bool late;
	pcre2_compile_context *cc;
	pcre2_match_context *mc;
	char *left_out;
};

static void left_out(struct looker *l, const char *section, const char *why)
{
	_cleanup_free_ char *safe = term_safe(section);

	if (!l->left_out)
		l->left_out = xasprintf("%.100s: %s", safe, why);
}

static bool too_late(struct looker *l)
{
	l->late = l->late || mono_usec() > l->deadline;
	return l->late;
}

static pcre2_code *regex_compile(struct looker *l, const char *section, const char *pattern)
{
	int error = 0;
	size_t at;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				       PCRE2_EXTENDED | PCRE2_NEVER_BACKSLASH_C, &error, &at, l->cc);

	if (!re)
		left_out(l, section, "a pattern that cannot be read");
	return re;
}

/* Does it fit any of the lines? get_maintainer.pl takes them one by one, too. */
static bool regex_lines(struct looker *l, const char *section, const char *pattern, const char *text)
{
	pcre2_code *re = *pattern ? regex_compile(l, section, pattern) : NULL;
	pcre2_match_data *md = re ? pcre2_match_data_create(1, NULL) : NULL;
	int r = PCRE2_ERROR_NOMATCH;

	for (const char *p = text, *nl; md && *p && r == PCRE2_ERROR_NOMATCH && !too_late(l); p = nl + (*nl != 0)) {
		nl = p + strcspn(p, "\n");
		r = pcre2_match(re, (PCRE2_SPTR)p, nl - p, 0, 0, md, l->mc);
	}
	if (r < 0 && r != PCRE2_ERROR_NOMATCH)
		left_out(l, section, "a pattern that takes too much time or memory");
	pcre2_match_data_free(md);
	pcre2_code_free(re);
	return r >= 0;
}

struct entry { char key; char *value; };
struct maintainers_section { char *title; struct entry *e; size_t n, cap; };

static void section_clear(struct maintainers_section *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->e[i].value);
	free(s->e);
	free(s->title);
	*s = (struct maintainers_section){0};
}

static bool section_excludes(struct looker *l, const struct maintainers_section *s, const char *path)
{
	for (size_t i = 0; i < s->n && !too_late(l); i++)
		if (s->e[i].key == 'X' && maintainers_path_match(s->e[i].value, path))
			return true;
	return false;
}

static int path_depth(struct looker *l, const struct maintainers_section *s, const char *path, int best)
{
	for (size_t i = 0; i < s->n && !too_late(l); i++) {
		const struct entry *e = &s->e[i];
		int depth = (int)slashes(e->value) + 1;

		if ((e->key == 'F' && depth > best && maintainers_path_match(e->value, path)) ||
		    (e->key == 'N' && (depth = 1) > best && regex_lines(l, s->title, e->value, path)))
			best = depth;
	}
	return best;
}

/* How closely the section fits any of the paths; -1: not at all. */
static int section_depth(struct looker *l, const struct maintainers_section *s)
{
	int best = -1;

	for (size_t p = 0; p < l->paths->n && !too_late(l); p++)
		if (!section_excludes(l, s, l->paths->v[p]))
			best = path_depth(l, s, l->paths->v[p], best);
	for (size_t i = 0; best < 0 && l->changed && i < s->n && !too_late(l); i++)
		if (s->e[i].key == 'K' && regex_lines(l, s->title, s->e[i].value, l->changed))
			best = 0;
	return best;
}

static void add_person(struct maintainers *m, enum maintainer_role role, const struct maintainers_section *s, int depth,
		       const char *value)
{
	_cleanup_free_ char *name = NULL, *address = NULL;

	if (m->n >= MAX_PEOPLE || strlen(value) > PERSON_MAX || mail_address_parse(value, &name, &address) < 0)
		return;
	GROW(m->v, m->n, m->cap);
	m->v[m->n++] = (struct maintainer){role, TAKE_PTR(name), TAKE_PTR(address), xstrdup(s->title), depth};
}

static void section_end(struct looker *l, struct maintainers_section *s, struct maintainers *m)
{
	bool rest = s->title && streq(s->title, "THE REST");
	int depth = s->title && s->n ? section_depth(l, s) : -1;

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

static void looker_make(struct looker *l)
{
	l->deadline = mono_usec() + MAINTAINERS_S * USEC_PER_SEC;
	l->cc = pcre2_compile_context_create(NULL);
	l->mc = pcre2_match_context_create(NULL);
	if (!l->cc || !l->mc)
		abort();
	pcre2_set_max_pattern_length(l->cc, REGEX_MAX);
	pcre2_set_match_limit(l->mc, MATCH_LIMIT);
	pcre2_set_depth_limit(l->mc, DEPTH_LIMIT);
	pcre2_set_heap_limit(l->mc, HEAP_LIMIT_KIB);
}

static void looker_release(struct looker *l)
{
	pcre2_compile_context_free(l->cc);
	pcre2_match_context_free(l->mc);
	free(l->left_out);
}

static void take_line(struct looker *l, struct maintainers_section *s, char *line, struct maintainers *m)
{
	size_t n = strlen(line);

	while (n && strchr(" \t\r", line[n - 1]))
		line[--n] = 0;
	if (n > 2 && line[0] >= 'A' && line[0] <= 'Z' && line[1] == ':') {
		GROW(s->e, s->n, s->cap);
		s->e[s->n++] = (struct entry){line[0], xstrdup(line + 2 + strspn(line + 2, " \t"))};
	} else if (!n || s->n) {
		section_end(l, s, m);
	}
	if (n && line[1] != ':' && !strchr(" \t", line[0])) {
		_cleanup_free_ char *title = xstrndup(line, TITLE_MAX);

		free(s->title);
		s->title = term_safe(title);
	}
}

int maintainers_match(const char *text, size_t len, const struct strv *paths, const char *changed,
		      struct maintainers *ret)
{
	static const char head[] = "\nMaintainers List\n";
	const char *end = text + len, *start = memmem(text, len, head, strlen(head));
	_cleanup_(looker_release) struct looker l = {.paths = paths, .changed = changed};
	struct maintainers m = {0};
	struct maintainers_section s = {0};

	looker_make(&l);
	if (start)
		text = start + strlen(head);
	while (text < end && !too_late(&l)) {
		const char *nl = memchr(text, '\n', end - text);
		_cleanup_free_ char *line = xstrndup(text, (nl ? nl : end) - text);

		text = nl ? nl + 1 : end;
		take_line(&l, &s, line, &m);
	}
	section_end(&l, &s, &m);
	if (l.late)
		left_out(&l, "all", "it takes too long to find who looks after the changed files");
	if (m.n)
		qsort(m.v, m.n, sizeof(*m.v), by_rank);
	drop_doubles(&m);
	m.left_out = TAKE_PTR(l.left_out);
	*ret = m;
	return 0;
}
