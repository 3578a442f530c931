/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - small tools for parsers: lines, words, numbers. The text may hold anything, NUL bytes too; a line ends at a
 * newline or the end. Nothing is copied but the line into a buffer of the walker.
 *
 *	struct lines it = {.text = text, .len = len};
 *	while (next_line(&it)) { n = split(it.line, words, ARRAY_SIZE(words)); ... }
 */
#ifndef KPB_JOBS_TEXT_H
#define KPB_JOBS_TEXT_H
#include "lib/base.h"

#define LINE_MAX_BYTES 1024     /* longer lines are cut */
struct lines { const char *text; size_t len, pos; bool ended; char line[LINE_MAX_BYTES]; };
/* false at the end. ended: the line had its newline (a file that was cut off has none at its end). */
bool next_line(struct lines *it);
/* Cuts s in place at blanks; returns how many words there are, at most max. */
size_t split(char *s, char **words, size_t max);
/* A finite, not negative decimal number, and nothing else. */
bool number(const char *s, double *ret);
/* As number(), but a sign is allowed. */
bool signed_number(const char *s, double *ret);
/* Copies s to out with every character that a metric name cannot have as '_'. */
void metric_word(char *out, size_t size, const char *s);

#endif
