/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernels/traced.h"
#include "lib/fs.h"

#include <ctype.h>

#define TEXT_MAX (4u << 20)
#define HITS_MAX 1e15

static const char *const means_known[] = {"ftrace", "kprobe", "perf"};

bool traced_name_ok(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_.$", *p))
			return false;
	return *name && *name != '.' && strlen(name) < 512;
}

void traced_release(struct traced *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i].name);
	free(w->v);
	*w = (struct traced){0};
}

static void add(struct traced *w, const char *name, uint64_t hits)
{
	for (size_t i = 0; i < w->n; i++)
		if (streq(w->v[i].name, name)) {
			w->v[i].hits += hits;
			return;
		}
	GROW(w->v, w->n, w->cap);
	w->v[w->n++] = (struct traced_fn){xstrdup(name), hits};
}

/* "hits NAME N" of ftrace and kprobes, "seen NAME N" of perf */
static bool take_line(struct traced *w, char *line)
{
	char *save = NULL, *word[3] = {0}, *rest;
	double hits;

	for (size_t i = 0; i < 3; i++)
		word[i] = strtok_r(i ? NULL : line, " ", &save);
	rest = strtok_r(NULL, " ", &save);
	if (!word[2] || rest || !traced_name_ok(word[1]) || parse_double(word[2], &hits) < 0 ||
	    !(hits >= 0 && hits <= HITS_MAX) || hits != floor(hits) || w->n >= TRACED_MAX ||
	    !streq(word[0], streq(w->means, "perf") ? "seen" : "hits"))
		return false;
	add(w, word[1], (uint64_t)hits);
	return true;
}

int traced_parse(const char *text, size_t len, struct traced *ret)
{
	_cleanup_free_ char *copy = xstrndup(text, len);
	char *save = NULL, *line = strlen(copy) == len ? strtok_r(copy, "\n", &save) : NULL;
	struct traced w = {0};

	if (line && startswith(line, "none: ")) {
		_cleanup_free_ char *safe = term_safe(line + strlen("none: "));

		return err_set(-ENODATA, "no function could be watched: %s", safe);
	}
	for (size_t i = 0; line && startswith(line, "means ") && i < ARRAY_SIZE(means_known); i++)
		if (streq(line + strlen("means "), means_known[i]))
			w.means = means_known[i];
	if (!w.means)
		return err_set(-EBADMSG, "the list of watched functions does not begin with the means");
	while ((line = strtok_r(NULL, "\n", &save))) {
		_cleanup_free_ char *safe = term_safe(line);

		if (!take_line(&w, line)) {
			traced_release(&w);
			return err_set(-EBADMSG, "the list of watched functions has '%.100s'", safe);
		}
	}
	*ret = w;
	return 0;
}

int traced_read(const char *path, struct traced *ret)
{
	_cleanup_buf_ struct buf b = {0};
	int r = fs_read(path, TEXT_MAX, &b);

	if (r == -ENOENT)
		return err_set(-ENODATA, "the script left no list of watched functions");
	return r < 0 ? r : traced_parse(buf_str(&b), b.len, ret);
}

void traced_merge(struct traced *w, const struct symbols *s)
{
	struct traced out = {.means = w->means};

	for (size_t i = 0; i < w->n; i++) {
		_cleanup_free_ char *base = xstrndup(w->v[i].name, strcspn(w->v[i].name, "."));
		const char *counted = symbols_counted_as(s, base);

		add(&out, counted ? counted : base, w->v[i].hits);
	}
	traced_release(w);
	*w = out;
}
