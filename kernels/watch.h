/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch.h - functions that a kernel watched itself, where nobody can count from outside: what jobs/reach.sh leaves in the
 * results of an extra run. Hits are exact (ftrace, kprobes) or mere samples (perf).
 */
#ifndef KPB_KERNELS_WATCH_H
#define KPB_KERNELS_WATCH_H
#include "kernels/profile.h"

#define WATCHED_MAX 10000       /* functions; a change that touches many has some hundreds */

struct watched_fn { char *name; uint64_t hits; };       /* a symbol, or by watched_merge() the name it is counted by */
struct watched { const char *means; struct watched_fn *v; size_t n, cap; };     /* "ftrace", "kprobe" or "perf" */
/* -ENODATA where nothing was watched, with the guest's reason; -EBADMSG for anything that is no such text. */
int watched_parse(const char *text, size_t len, struct watched *ret);
int watched_read(const char *path, struct watched *ret);
void watched_release(struct watched *w);
/* Names as the profiles have them (symbols_counted_as()), parts of one function added up. */
void watched_merge(struct watched *w, const struct symbols *s);
/* Letters, digits, '_', '.' and '$': nothing that a shell or the kernel could misread. */
bool watched_name_ok(const char *name);

#endif
