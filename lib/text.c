/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/text.h"
#include "lib/unit.h"

#include <ctype.h>

/* The length of the escape sequence at s, 0: none that has its end. endless: none further on has, if it is a string. */
static size_t escape_sequence(const char *s, const char *end, bool *endless)
{
	const char *p = s + 2;

	if (end - s < 2)
		return 0;
	if (s[1] == '[') { /* CSI: parameters, intermediates, a final byte */
		while (p < end && *p >= 0x20 && *p < 0x40)
			p++;
		return p < end && *p >= 0x40 && *p < 0x7f ? (size_t)(p + 1 - s) : 0;
	}
	if (strchr("]P^_X", s[1]) && s[1]) { /* a string, up to BEL or ESC \\ */
		for (; !*endless && p < end; p++)
			if (*p == '\a' || (*p == '\\' && p[-1] == '\x1b'))
				return (size_t)(p + 1 - s);
		*endless = true;
		return 0;
	}
	for (p = s + 1; p < end && *p >= 0x20 && *p < 0x30;)
		p++;
	return p < end && *p >= 0x30 && *p < 0x7f ? (size_t)(p + 1 - s) : 0;
}

/* "ESC [ G" and "ESC [ 1 G" go back to the first column. */
static bool to_first_column(const char *s, size_t n)
{
	return (n == 3 && !memcmp(s, "\x1b[G", 3)) ||
	       (n == 4 && (!memcmp(s, "\x1b[1G", 4) || !memcmp(s, "\x1b[0G", 4)));
}

static void plain_line(char line[LINE_MAX_BYTES], const char *s, const char *end)
{
	bool endless = false;
	const char *cr;
	size_t n = 0;

	while (end > s && end[-1] == '\r')
		end--;
	cr = end > s ? memrchr(s, '\r', (size_t)(end - s)) : NULL;
	for (s = cr ? cr + 1 : s; s < end && n + 1 < LINE_MAX_BYTES; s++) {
		size_t k = *s == '\x1b' ? escape_sequence(s, end, &endless) : 0;

		if (k) {
			n = to_first_column(s, k) ? 0 : n;
			s += k - 1;
		} else if (*s == '\b') {
			n -= n > 0;
		} else {
			line[n++] = *s;
		}
	}
	line[n] = 0;
}

bool next_line(struct lines *it)
{
	const char *start = it->text + it->pos, *nl;
	size_t n;

	if (it->pos >= it->len)
		return false;
	nl = memchr(start, '\n', it->len - it->pos);
	n = nl ? (size_t)(nl - start) : it->len - it->pos;
	it->pos += n + (nl != NULL);
	it->ended = nl != NULL;
	plain_line(it->line, start, start + n);
	return true;
}

static bool says_something(const char *s)
{
	while (*s && !isalnum((unsigned char)*s) && (unsigned char)*s < 0x80)
		s++;
	return *s;
}

char *last_words(const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	char last[LINE_MAX_BYTES] = "";

	while (next_line(&it))
		if (says_something(it.line))
			memcpy(last, it.line, strlen(it.line) + 1);
	return xstrdup(last + strspn(last, " \t"));
}

size_t split(char *s, char **words, size_t max)
{
	size_t n = 0;

	for (;;) {
		s += strspn(s, " \t");
		if (!*s || n == max)
			return n;
		words[n++] = s;
		s += strcspn(s, " \t");
		if (*s)
			*s++ = 0;
	}
}

bool signed_number(const char *s, double *ret)
{
	const char *digits = s + (*s == '-' || *s == '+');
	double v;

	if (!*digits || strspn(digits, "0123456789.eE+-") != strlen(digits) || strlen(s) > 40)
		return false;
	if (parse_double(s, &v) < 0 || !isfinite(v))
		return false;
	*ret = v;
	return true;
}

bool number(const char *s, double *ret)
{
	return *s != '-' && *s != '+' && signed_number(s, ret);
}

/* The length of a thousands separator, 0: none. */
static size_t separator(const char *s)
{
	static const char *const all[] = {",", "'", "_", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (startswith(s, all[i]))
			return strlen(all[i]);
	return 0;
}

struct digits { const char *p; char plain[48]; size_t n; };

static void take_digits(struct digits *d, size_t k)
{
	size_t room = sizeof(d->plain) - 1 - d->n;

	memcpy(d->plain + d->n, d->p, MIN(k, room));
	d->n += MIN(k, room);
	d->p += k;
}

static size_t run_of_digits(const char *s) { return strspn(s, "0123456789"); }

/* What looks like a number at d->p, without its groups, to plain; false: nothing does. */
static bool take_number(struct digits *d)
{
	size_t whole, sep, fraction = 0;
	const char *first;

	take_digits(d, *d->p == '-' || *d->p == '+');
	whole = run_of_digits(d->p);
	/* 0,123 is a fraction in some countries and nothing in the others */
	sep = whole && whole <= 3 && *d->p != '0' ? separator(d->p + whole) : 0;
	take_digits(d, whole);
	for (first = d->p; sep && !strncmp(d->p, first, sep) && run_of_digits(d->p + sep) == 3;) {
		d->p += sep;
		take_digits(d, 3);
	}
	if (*d->p == '.') {
		fraction = run_of_digits(d->p + 1);
		take_digits(d, 1 + fraction);
	}
	if (whole + fraction && (*d->p == 'e' || *d->p == 'E')) {
		size_t sign = d->p[1] == '-' || d->p[1] == '+', e = run_of_digits(d->p + 1 + sign);

		take_digits(d, e ? 1 + sign + e : 0);
	}
	d->plain[d->n] = 0;
	return whole + fraction && d->n + 1 < sizeof(d->plain);
}

bool figure(const char *s, double *ret, const char **ret_unit)
{
	struct digits d = {.p = s};
	struct unit u;
	double v;

	if (!take_number(&d) || !signed_number(d.plain, &v) || !unit_parse(d.p, &u))
		return false;
	*ret = v;
	*ret_unit = d.p;
	return true;
}

bool grouped_number(const char *s, double *ret)
{
	const char *unit;
	double v;

	if (!figure(s, &v, &unit) || *unit)
		return false;
	*ret = v;
	return true;
}

bool no_value(const char *s)
{
	static const char *const words[] = {"", "-", "--", "nan", "nan%", "inf", "infinity", "n/a", "na", "null",
					    "none", "?", "<not counted>", "<not supported>"};

	s += strspn(s, " \t");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(s, words[i]) || ((*s == '-' || *s == '+') && s[1] && !strcasecmp(s + 1, words[i])))
			return true;
	return false;
}

void metric_word(char *out, size_t size, const char *s)
{
	size_t n = 0;

	for (; *s && n + 1 < size; s++) {
		bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || strchr("0123456789_.%-+/:", *s) ||
			     (*s == '>' && n && out[n - 1] == '-'); /* curr->pid, as lkp-tests has it */

		out[n++] = plain ? *s : '_';
	}
	out[n] = 0;
}
