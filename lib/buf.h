/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * buf.h - a growing byte string. Zero-initialise; s is always NUL-terminated once anything was added (NULL before:
 * use buf_str()). May hold NUL bytes. Release with buf_release() or _cleanup_buf_; buf_take() hands the memory over.
 *
 *	_cleanup_buf_ struct buf b = {0};
 *	buf_addf(&b, "%s=%d\n", key, value);
 *	fputs(buf_str(&b), stdout);
 *
 * Untrusted text leaves a buf by the ways of lib/escape.h, which comes along with this header.
 */
#ifndef KPB_LIB_BUF_H
#define KPB_LIB_BUF_H
#include "lib/base.h"

struct buf { char *s; size_t len, cap; };

void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) _printf_(2, 3);
void buf_clear(struct buf *b);          /* keeps the memory */
void buf_release(struct buf *b);
char *buf_take(struct buf *b);          /* never NULL; the buf is empty afterwards */
static inline const char *buf_str(const struct buf *b) { return b->s ? b->s : ""; }
#define _cleanup_buf_ _cleanup_(buf_release)

#include "lib/escape.h"

#endif
