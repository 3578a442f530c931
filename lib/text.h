/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - what programs print, as lines, words and numbers. The text may hold anything, NUL bytes too; a line ends at
 *a newline or the end. Nothing is copied but the line into a buffer of the walker.
 *
 *	struct lines it = {.text = text, .len = len};
 *	while (next_line(&it)) { n = split(it.line, words, ARRAY_SIZE(words)); ... }
 */
#ifndef KPB_LIB_TEXT_H
#define KPB_LIB_TEXT_H
#include "lib/base.h"

#define LINE_MAX_BYTES 1024     /* longer lines are cut */
struct lines { const char *text; size_t len, pos; bool ended; char line[LINE_MAX_BYTES]; };
/* The next line as a terminal would leave it: of what carriage returns part the last piece that is not empty, without
 * escape sequences (ECMA-48) and what a backspace took back. An escape sequence without end stays as it is. false at
 * the end. ended: the line had its newline (a file that was cut off has none at its end). */
bool next_line(struct lines *it);
/* Cuts s in place at blanks; returns how many words there are, at most max. */
size_t split(char *s, char **words, size_t max);
/* A finite, not negative decimal number, and nothing else. */
bool number(const char *s, double *ret);
/* As number(), but a sign is allowed. */
bool signed_number(const char *s, double *ret);
/* As people print it: a sign, and thousands in groups of three parted by ',', "'", '_', or a no-break or thin space of
 * UTF-8, always the same: "1,234,567.8". "1,23" and "1.234.567" are none, since nobody can tell what they mean. */
bool grouped_number(const char *s, double *ret);
/* grouped_number() and a unit right behind it (lib/unit.h): "12.3M", "45%", "1,200KB/s". ret_unit points into s, "" for
 * none. */
bool figure(const char *s, double *ret, const char **ret_unit);
/* "nan", "-inf", "<not counted>", "n/a", "-" and so on: a value was wanted here, and there is none. */
bool no_value(const char *s);
/* The last line with a letter or digit in it, as next_line() gives it, without blanks in front; "" where there is none.
 * New string. */
char *last_words(const char *text, size_t len);
/* Copies s to out with every character that a metric name cannot have as '_'. */
void metric_word(char *out, size_t size, const char *s);

#endif
