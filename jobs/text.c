/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobs/text.h"

bool next_line(struct lines *it)
{
	const char *start = it->text + it->pos, *nl;
	size_t n, k;

	if (it->pos >= it->len)
		return false;
	nl = memchr(start, '\n', it->len - it->pos);
	n = nl ? (size_t)(nl - start) : it->len - it->pos;
	it->pos += n + (nl != NULL);
	it->ended = nl != NULL;
	k = MIN(n, sizeof(it->line) - 1);
	memcpy(it->line, start, k);
	it->line[k] = 0;
	if (k && it->line[k - 1] == '\r')
		it->line[k - 1] = 0;
	return true;
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
