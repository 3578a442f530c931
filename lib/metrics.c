/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/metrics.h"
#include "lib/escape.h"

static struct metric_value *find_value(const struct metric_set *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->v[i].name, name))
			return &m->v[i];
	return NULL;
}

int metric_set_add(struct metric_set *m, const char *name, double value, const char *unit, int direction, bool kpi)
{
	struct metric_value *v;

	if (!*name)
		return err_set(-EINVAL, "a metric has no name");
	if (!isfinite(value))
		return err_set(-EINVAL, "metric '%s' has the value %g, which is not a number to store", name, value);
	v = find_value(m, name);
	if (!v) {
		GROW(m->v, m->n, m->cap);
		v = &m->v[m->n++];
		v->name = xstrdup(name);
	}
	v->value = value;
	v->unit = unit ?: "";
	v->direction = direction;
	v->kpi = kpi;
	return 0;
}

const struct metric_value *metric_set_get(const struct metric_set *m, const char *name) { return find_value(m, name); }

void metric_set_release(struct metric_set *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].name);
	free(m->v);
	*m = (struct metric_set){0};
}

/* ---- checks ---- */

WORDS_DEFINE(check_verdict, CHECK_VERDICTS, "verdict of a check");

static int badness(enum check_verdict v) { return v == CHECK_FAIL ? 2 : v == CHECK_UNKNOWN ? 1 : 0; }

struct check *check_set_add(struct check_set *c, const char *name, enum check_verdict verdict, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	struct check *k = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	for (size_t i = 0; i < c->n && !k; i++)
		if (streq(c->v[i].name, name))
			k = &c->v[i];
	if (k && badness(verdict) <= badness(k->verdict))
		return NULL;
	if (!k) {
		GROW(c->v, c->n, c->cap);
		k = &c->v[c->n++];
		*k = (struct check){.name = xstrdup(name)};
	}
	free(k->evidence);
	k->verdict = verdict;
	k->evidence = term_safe(text ?: "");
	k->capped = false;
	return k;
}

const struct check *check_set_get(const struct check_set *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (streq(c->v[i].name, name))
			return &c->v[i];
	return NULL;
}

void check_set_release(struct check_set *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].name);
		free(c->v[i].evidence);
	}
	free(c->v);
	*c = (struct check_set){0};
}
