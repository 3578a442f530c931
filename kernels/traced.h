/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * traced.h - functions that a kernel watched itself, where nobody can count from outside: what jobs/reach.sh leaves in
 * the results of an extra run. Hits are exact (ftrace, kprobes) or mere samples (perf).
 */
#ifndef KPB_KERNELS_TRACED_H
#define KPB_KERNELS_TRACED_H
#include "kernels/profile.h"

#define TRACED_MAX 10000       /* functions; a change that touches many has some hundreds */

struct traced_fn { char *name; uint64_t hits; };       /* a symbol, or by traced_merge() the name it is counted by */
struct traced { const char *means; struct traced_fn *v; size_t n, cap; };     /* "ftrace", "kprobe" or "perf" */
/* -ENODATA where nothing was watched, with the guest's reason; -EBADMSG for anything that is no such text. */
int traced_parse(const char *text, size_t len, struct traced *ret);
int traced_read(const char *path, struct traced *ret);
void traced_release(struct traced *w);
/* Names as the profiles have them (symbols_counted_as()), parts of one function added up. */
void traced_merge(struct traced *w, const struct symbols *s);
/* Letters, digits, '_', '.' and '$': nothing that a shell or the kernel could misread. */
bool traced_name_ok(const char *name);

#endif
