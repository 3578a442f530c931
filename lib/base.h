/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base.h - what every file of kperfbot includes first.
 *
 * Errors: functions return 0 (or a useful non-negative number) or a negative errno. Who knows best what went wrong
 * says it once with err_set(); the text stays in a per-thread slot until the next err_set(). Library code never
 * prints and never exits; verbs in bot/ print err_msg().
 *
 *	if (open(path, O_RDONLY) < 0)
 *		return err_set(-errno, "cannot open '%s': %s", path, strerror(errno));
 *
 * Results go out through ret_ parameters, which stay untouched on failure. Memory is owned by the caller unless the
 * header says otherwise; the _cleanup_ attributes free it at the end of the scope. Running out of memory aborts.
 */
#ifndef KPB_LIB_BASE_H
#define KPB_LIB_BASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _unused_ __attribute__((unused))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define TAKE_PTR(p)                                                                                                    \
	({                                                                                                             \
		__typeof__(p) _take = (p);                                                                             \
		(p) = NULL;                                                                                            \
		_take;                                                                                                 \
	})
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static inline void cleanup_free(void *p) { free(*(void **)p); }
static inline void cleanup_close(int *fd) { if (*fd >= 0) close(*fd); }
static inline void cleanup_fclose(FILE **f) { if (*f) fclose(*f); }
#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

/* Remembers a message for err_msg() and returns r, so that "return err_set(-EINVAL, ...)" reads well. */
int err_set(int r, const char *fmt, ...) _printf_(2, 3);
/* Puts words in front of the remembered message: "job 'x': no such key". Returns r. */
int err_prefix(int r, const char *fmt, ...) _printf_(2, 3);
/* The last message, never NULL. Valid until the next err_set() of this thread. */
const char *err_msg(void);

/* Allocation that aborts when memory is out. All results are freed with free(). */
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc_array(void *p, size_t n, size_t size);
char *xstrdup(const char *s);          /* NULL gives NULL */
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) _printf_(1, 2);
char *xvasprintf(const char *fmt, va_list ap) _printf_(1, 0);

/* Makes room for one more element in a growing array: GROW(v, n, cap) before v[n++] = x. */
#define GROW(v, n, cap)                                                                                                \
	do {                                                                                                           \
		if ((n) >= (cap)) {                                                                                    \
			(cap) = (cap) ? 2 * (cap) : 8;                                                                 \
			(v) = xrealloc_array((v), (cap), sizeof(*(v)));                                                \
		}                                                                                                      \
	} while (0)

/* A list of strings; always NULL-terminated, so v can serve as argv. Zero-initialise; free with strv_release(). */
struct strv { char **v; size_t n, cap; };
void strv_add(struct strv *l, const char *s);
void strv_addf(struct strv *l, const char *fmt, ...) _printf_(2, 3);
void strv_addv(struct strv *l, const char *const *s); /* NULL-terminated */
bool strv_has(const struct strv *l, const char *s);
void strv_sort_uniq(struct strv *l);
void strv_release(struct strv *l);
#define _cleanup_strv_ _cleanup_(strv_release)

/* Time in microseconds: wall clock since the epoch, and a clock that never jumps. */
typedef uint64_t usec_t;
#define USEC_PER_SEC 1000000ULL
usec_t now_usec(void);
usec_t mono_usec(void);

/* Whole-string number parsing, locale-free; -EINVAL (with a message naming the text) on anything left over. */
int parse_i64(const char *s, int64_t *ret);
int parse_double(const char *s, double *ret);
/* "90", "60s", "5m", "1h", "2d" -> seconds. */
int parse_seconds(const char *s, double *ret);
static inline bool streq(const char *a, const char *b) { return a && b && !strcmp(a, b); }
static inline bool startswith(const char *s, const char *prefix) { return !strncmp(s, prefix, strlen(prefix)); }
bool endswith(const char *s, const char *suffix);
/* The nearest of n words to a mistyped one, or NULL where none is near (edit distance > 1/2 of its length). */
const char *nearest_word(const char *word, const char *const *words, size_t n);

#endif
