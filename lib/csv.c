/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/csv.h"

#include <strings.h>

void csv_init(struct csv *c, const char *name, char *text, size_t len)
{
	*c = (struct csv){.name = name, .p = text, .end = text + len, .next_line = 1};
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		c->p += 3;
}

int csv_err(const struct csv *c, int r, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(r, "%s:%zu: %s", c->name, c->line, text);
}

/* Takes the quotes off a field in place and gives back where the rest of the row goes on; NULL: never closed. */
static char *unquote(struct csv *c, char *from, char **ret_end)
{
	char *to = from++;

	for (; from < c->end; from++) {
		if (*from == '\n')
			c->next_line++;
		if (*from == '"' && from + 1 < c->end && from[1] == '"')
			from++;
		else if (*from == '"')
			break;
		*to++ = *from;
	}
	if (from >= c->end)
		return NULL;
	*ret_end = to;
	return from + 1;
}

/* One field from c->p; true where another one follows in the row. */
static int take_field(struct csv *c)
{
	char *start = c->p, *end, stop;

	if (start < c->end && *start == '"') {
		c->p = unquote(c, start, &end);
		if (!c->p)
			return csv_err(c, -EINVAL, "a quote is opened and never closed");
		if (c->p < c->end && *c->p == '\r' && c->p + 1 < c->end && c->p[1] == '\n')
			c->p++;
		if (c->p < c->end && *c->p != ',' && *c->p != '\n')
			return csv_err(c, -EINVAL, "text after a closing quote");
	} else {
		while (c->p < c->end && *c->p != ',' && *c->p != '\n')
			c->p++;
		end = c->p;
		if (end > start && end[-1] == '\r' && (c->p == c->end || *c->p == '\n'))
			end--;
	}
	stop = c->p < c->end ? *c->p : '\n';
	c->next_line += c->p < c->end && stop == '\n';
	c->p += c->p < c->end;
	*end = 0;
	if (strlen(start) != (size_t)(end - start))
		return csv_err(c, -EINVAL, "there is a NUL byte");
	GROW(c->field, c->n, c->cap);
	c->field[c->n++] = start;
	return stop == ',';
}

int csv_next(struct csv *c)
{
	int r;

	do {
		if (c->p >= c->end)
			return 0;
		c->line = c->next_line;
		c->n = 0;
		while ((r = take_field(c)) > 0)
			;
		if (r < 0)
			return r;
	} while (c->n == 1 && !*c->field[0]);
	return 1;
}

int csv_column(const struct csv *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++) {
		const char *f = c->field[i] + strspn(c->field[i], " \t");
		size_t len = strlen(f);

		while (len && (f[len - 1] == ' ' || f[len - 1] == '\t'))
			len--;
		if (len == strlen(name) && !strncasecmp(f, name, len))
			return (int)i;
	}
	return -1;
}

int csv_number(const struct csv *c, size_t field, double *ret)
{
	const char *text = c->field[field];
	double v = NAN;

	if (*text && parse_double(text, &v) < 0)
		return csv_err(c, -EINVAL, "value '%.40s' is no number", text);
	if (*text && !isfinite(v))
		return csv_err(c, -EINVAL,
			       "value '%.40s' is no finite number; leave the field empty where there is none", text);
	*ret = v;
	return 0;
}

void csv_release(struct csv *c)
{
	free(c->field);
	c->field = NULL;
}
