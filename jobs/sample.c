/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobs/sample.h"

#define MAX_SERIES 100000

static const char *line_end(const struct proc_samples *it, size_t pos)
{
	return pos < it->len ? memchr(it->text + pos, '\n', it->len - pos) : NULL;
}

static bool uptime_line(const struct proc_samples *it, size_t pos, const char *end, double *ret)
{
	static const char label[] = "uptime: ";
	size_t n = end ? (size_t)(end - it->text) - pos : 0;
	char word[32];

	if (n <= sizeof(label) - 1 || n >= sizeof(word) + sizeof(label) - 1 || memcmp(it->text + pos, label, sizeof(label) - 1))
		return false;
	n -= sizeof(label) - 1;
	memcpy(word, it->text + pos + sizeof(label) - 1, n);
	word[n] = 0;
	return number(word, ret);
}

bool next_sample(struct proc_samples *it, struct proc_sample *ret)
{
	const char *end;
	bool inside = false;

	*ret = (struct proc_sample){0};
	while ((end = line_end(it, it->pos))) {
		double uptime;

		if (uptime_line(it, it->pos, end, &uptime)) {
			if (inside && ret->len)
				return true;
			inside = true;
			*ret = (struct proc_sample){.s = end + 1, .uptime = uptime};
		} else if (inside) {
			ret->len = (size_t)(end + 1 - ret->s);
		}
		it->pos = (size_t)(end + 1 - it->text);
	}
	return inside && ret->len;
}

static uint32_t hash_of(const char *s)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

static void grow_hash(struct sampled_set *l)
{
	free(l->hash);
	l->n_hash = l->n_hash ? 4 * l->n_hash : 1024;
	l->hash = xcalloc(l->n_hash, sizeof(*l->hash));
	for (size_t i = 0; i < l->n; i++) {
		size_t k = hash_of(l->v[i].name) % l->n_hash;

		while (l->hash[k])
			k = (k + 1) % l->n_hash;
		l->hash[k] = (uint32_t)i + 1;
	}
}

void sampled_add(struct sampled_set *l, const char *name, double v)
{
	ssize_t at = isfinite(v) && fabs(v) <= 1e18 ? sampled_index(l, name) : -1;
	struct sampled *s;

	if (at < 0)
		return;
	s = &l->v[at];
	if (!s->n)
		s->first = s->last = s->max = v;
	s->fell |= v < s->last;
	s->last = v;
	s->max = MAX(s->max, v);
	s->sum += v;
	s->n++;
}

ssize_t sampled_index(struct sampled_set *l, const char *name)
{
	size_t k;

	if (!*name)
		return -1;
	if (2 * l->n >= l->n_hash)
		grow_hash(l);
	for (k = hash_of(name) % l->n_hash; l->hash[k] && strcmp(l->v[l->hash[k] - 1].name, name);)
		k = (k + 1) % l->n_hash;
	if (!l->hash[k]) {
		if (l->n == MAX_SERIES)
			return -1;
		GROW(l->v, l->n, l->cap);
		l->v[l->n] = (struct sampled){.name = xstrdup(name)};
		l->hash[k] = (uint32_t)++l->n;
	}
	return (ssize_t)l->hash[k] - 1;
}

void sampled_release(struct sampled_set *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].name);
	free(l->v);
	free(l->hash);
	*l = (struct sampled_set){0};
}

void sampled_store(struct parse_ctx *c, const char *prefix, const struct sampled *s, size_t n, bool counter,
		   const char *unit)
{
	_cleanup_free_ char *name = xasprintf("%s.%s", prefix, s->name);

	if (s->n != n || (counter && (s->fell || n < 2)))
		return;
	metric_set_add(c->out, name, counter ? s->last - s->first : s->sum / (double)s->n, unit, 0, false);
}

int no_samples(struct parse_ctx *c, const char *monitor, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	char last[LINE_MAX_BYTES] = "";

	while (next_line(&it))
		if (it.line[strspn(it.line, " \t")])
			memcpy(last, it.line, sizeof(last));
	return parse_fail(c, RUN_INCOMPLETE, "%s gave fewer than two samples%s%s", monitor, *last ? ": " : "", last);
}
