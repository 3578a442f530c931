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

	if (n <= sizeof(label) - 1 || n >= sizeof(word) + sizeof(label) - 1 ||
	    memcmp(it->text + pos, label, sizeof(label) - 1))
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
	size_t len = strlen(name), at;

	if (!len || l->n == MAX_SERIES)
		return hash_find(&l->names, name, len);
	at = hash_add(&l->names, name, len);
	if (at == l->n) {
		GROW(l->v, l->n, l->cap);
		l->v[l->n++] = (struct sampled){.name = hash_key(&l->names, at)};
	}
	return (ssize_t)at;
}

void sampled_release(struct sampled_set *l)
{
	free(l->v);
	hash_release(&l->names);
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
