/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/base.h"

#include <locale.h>
#include <time.h>

static _Thread_local char err_slot[2048];

int err_set(int r, const char *fmt, ...)
{
	char tmp[sizeof(err_slot)];
	va_list ap;

	va_start(ap, fmt); /* through tmp: the arguments may point into the slot */
	vsnprintf(tmp, sizeof(tmp), fmt, ap);
	va_end(ap);
	memcpy(err_slot, tmp, sizeof(tmp));
	return r;
}

int err_prefix(int r, const char *fmt, ...)
{
	char tmp[sizeof(err_slot)];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(tmp, sizeof(tmp), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(tmp))
		snprintf(tmp + n, sizeof(tmp) - n, ": %.*s", (int)(sizeof(tmp) - n - 3), err_slot);
	memcpy(err_slot, tmp, sizeof(tmp));
	return r;
}

const char *err_msg(void) { return err_slot[0] ? err_slot : "no details known"; }

static void *or_die(void *p)
{
	if (!p) {
		fputs("kperfbot: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *xmalloc(size_t n) { return or_die(malloc(n ? n : 1)); }
void *xcalloc(size_t n, size_t size) { return or_die(calloc(n ? n : 1, size ? size : 1)); }
void *xrealloc_array(void *p, size_t n, size_t size) { return or_die(reallocarray(p, n ? n : 1, size)); }
char *xstrdup(const char *s) { return s ? or_die(strdup(s)) : NULL; }
char *xstrndup(const char *s, size_t n) { return or_die(strndup(s, n)); }

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s = NULL;

	return or_die(vasprintf(&s, fmt, ap) < 0 ? NULL : s);
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

static void strv_take(struct strv *l, char *s)
{
	if (l->n + 2 > l->cap) {
		l->cap = l->cap ? 2 * l->cap : 8;
		l->v = xrealloc_array(l->v, l->cap, sizeof(*l->v));
	}
	l->v[l->n++] = s;
	l->v[l->n] = NULL;
}

void strv_add(struct strv *l, const char *s) { strv_take(l, xstrdup(s)); }

void strv_addf(struct strv *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strv_take(l, xvasprintf(fmt, ap));
	va_end(ap);
}

void strv_addv(struct strv *l, const char *const *s)
{
	for (; s && *s; s++)
		strv_add(l, *s);
}

bool strv_has(const struct strv *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], s))
			return true;
	return false;
}

static int cmp_str(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void strv_sort_uniq(struct strv *l)
{
	size_t k = 0;

	if (!l->n)
		return;
	qsort(l->v, l->n, sizeof(*l->v), cmp_str);
	for (size_t i = 0; i < l->n; i++) {
		if (k && !strcmp(l->v[k - 1], l->v[i]))
			free(l->v[i]);
		else
			l->v[k++] = l->v[i];
	}
	l->n = k;
	l->v[k] = NULL;
}

void strv_release(struct strv *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct strv){0};
}

static usec_t clock_usec(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (usec_t)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

usec_t now_usec(void) { return clock_usec(CLOCK_REALTIME); }
usec_t mono_usec(void) { return clock_usec(CLOCK_MONOTONIC); }

int parse_i64(const char *s, int64_t *ret)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno || end == s || *end)
		return err_set(-EINVAL, "'%s' is not a whole number", s);
	*ret = v;
	return 0;
}

int parse_double(const char *s, double *ret)
{
	static locale_t c_locale;
	char *end;
	double v;

	if (!c_locale)
		c_locale = newlocale(LC_ALL_MASK, "C", NULL);
	v = strtod_l(s, &end, c_locale);
	if (end == s || *end || strpbrk(s, "xX")) /* nobody means hexadecimal here */
		return err_set(-EINVAL, "'%s' is not a number", s);
	*ret = v;
	return 0;
}

int parse_seconds(const char *s, double *ret)
{
	static const struct { char c; double f; } unit[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	size_t n = strlen(s);
	double f = 1, v;
	_cleanup_free_ char *num = xstrdup(s);

	for (size_t i = 0; n > 1 && i < ARRAY_SIZE(unit); i++)
		if (num[n - 1] == unit[i].c) {
			num[n - 1] = 0;
			f = unit[i].f;
			break;
		}
	if (parse_double(num, &v) < 0 || !isfinite(v) || v < 0)
		return err_set(-EINVAL, "'%s' is not a time; write for example 90, 60s, 5m or 1h", s);
	*ret = v * f;
	return 0;
}

bool endswith(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && !strcmp(s + n - k, suffix);
}

static size_t edit_distance(const char *a, const char *b)
{
	size_t n = MIN(strlen(a), (size_t)63), m = MIN(strlen(b), (size_t)63), row[64];

	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diag = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = MIN(row[j], row[j - 1]) + 1, sub = diag + (a[i - 1] != b[j - 1]);

			diag = row[j];
			row[j] = MIN(best, sub);
		}
	}
	return row[m];
}

const char *nearest_word(const char *word, const char *const *words, size_t n)
{
	size_t best = strlen(word) / 2 + 1;
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = edit_distance(word, words[i]);

		if (d < best) {
			best = d;
			found = words[i];
		}
	}
	return found;
}
