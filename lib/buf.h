/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * buf.h - a growing byte string. Zero-initialise; s is always NUL-terminated once anything was added (NULL before:
 * use buf_str()). May hold NUL bytes. Release with buf_release() or _cleanup_buf_; buf_take() hands the memory over.
 *
 *	_cleanup_buf_ struct buf b = {0};
 *	buf_addf(&b, "%s=%d\n", key, value);
 *	fputs(buf_str(&b), stdout);
 *
 * The escapers below are the only way by which untrusted text (commit subjects, paths, benchmark output) may reach a
 * shell, a terminal, HTML or CSV.
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

/* 'it'\''s' - one POSIX shell word whatever the text; plain words stay bare. */
void buf_add_shell(struct buf *b, const char *s);
/* & < > " ' as entities. */
void buf_add_html(struct buf *b, const char *s);
/* Quoted where RFC 4180 asks for it. */
void buf_add_csv(struct buf *b, const char *s);
/* Control characters (but not valid UTF-8) as \xNN, so that no text can drive a terminal; newline becomes a blank. */
void buf_add_term(struct buf *b, const char *s);
/* The same as a new string. */
char *term_safe(const char *s);

#endif
