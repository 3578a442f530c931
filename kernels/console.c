/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.c - reads a kernel's last words. The text is not trusted: it may hold anything. */
#include "kernels/machine-internal.h"

/* What the kernel prints when it gives up or goes on broken, most telling first within a line. die() ends its line with
 * the number of the oops: "Oops: 0002 [#1]", "invalid opcode: 0000 [#1]". */
static const struct pattern { const char *text, *label; bool after; } patterns[] = {
	{"Kernel panic - not syncing: ", "kernel panic", true},
	{"soft lockup - ", "hang", false},
	{"hard LOCKUP", "hang", false},
	{"self-detected stall", "hang", false},
	{"detected stalls on CPUs", "hang", false},
	{"blocked for more than", "hang", false},
	{"BUG: ", "oops", true},
	{"kernel BUG at ", "oops", false},
	{" [#1]", "oops", false},
};

/* Cuts "[    0.123456] " off. */
static const char *skip_stamp(const char *s, const char *end)
{
	const char *p = s;

	if (p < end && *p == '[') {
		while (p < end && *p != ']')
			p++;
		if (p + 1 < end && p[1] == ' ')
			return p + 2;
	}
	return s;
}

static char *match_line(const char *line, const char *end, const char **ret_label)
{
	line = skip_stamp(line, end);
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		const char *hit = memmem(line, end - line, patterns[i].text, strlen(patterns[i].text));
		const char *from;

		if (!hit)
			continue;
		from = patterns[i].after ? hit + strlen(patterns[i].text) : line;
		while (end > from && (end[-1] == '\r' || end[-1] == ' '))
			end--;
		*ret_label = patterns[i].label;
		return xasprintf("%s: %.*s", patterns[i].label, (int)MIN(end - from, 200), from);
	}
	return NULL;
}

char *console_failure(const char *text, size_t len)
{
	_cleanup_free_ char *first = NULL;
	const char *end = text + len;

	for (const char *p = text; p < end;) {
		const char *eol = memchr(p, '\n', end - p), *label = NULL;
		_cleanup_free_ char *hit = match_line(p, eol ? eol : end, &label);

		if (hit && !first)
			first = TAKE_PTR(hit);
		else if (hit && streq(label, "kernel panic")) /* the panic that an oops led to */
			return xasprintf("%s (%s)", first, hit);
		if (!eol)
			break;
		p = eol + 1;
	}
	return TAKE_PTR(first);
}
