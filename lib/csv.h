/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * csv.h - reads comma-separated text (RFC 4180; LF or CRLF, quotes, a byte order mark) row by row, in place.
 *
 *	struct csv c;
 *	csv_init(&c, "a.csv", text, len);      text is overwritten, text[len] must be 0
 *	while ((r = csv_next(&c)) > 0)
 *		use(c.field[0], c.n, c.line);
 *	csv_release(&c);
 *
 * Fields point into text. Empty lines are skipped. Messages begin with "a.csv:12: ".
 */
#ifndef KPB_LIB_CSV_H
#define KPB_LIB_CSV_H
#include "lib/base.h"

struct csv {
	const char *name;
	char *p, *end;
	size_t next_line, line;         /* line: where the row began, from 1 */
	char **field; size_t n, cap;
};
void csv_init(struct csv *c, const char *name, char *text, size_t len);
int csv_next(struct csv *c);            /* 1: a row, 0: the end, -EINVAL: an unclosed quote or a NUL byte */
/* Index of the column of that name (case does not matter) in the current row, -1 without one. */
int csv_column(const struct csv *c, const char *name);
/* The number in a field: NAN where it is empty. -EINVAL with the place for text, nan, infinities and what overflows. */
int csv_number(const struct csv *c, size_t field, double *ret);
/* err_set() with the place in front. */
int csv_err(const struct csv *c, int r, const char *fmt, ...) _printf_(3, 4);
void csv_release(struct csv *c);

#endif
