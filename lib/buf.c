/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/buf.h"

static void buf_grow(struct buf *b, size_t more)
{
	size_t need = b->len + more + 1;

	if (need <= b->cap)
		return;
	b->cap = MAX(need, b->cap * 2);
	b->s = xrealloc_array(b->s, b->cap, 1);
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	buf_grow(b, n);
	if (n)
		memcpy(b->s + b->len, p, n);
	b->len += n;
	b->s[b->len] = 0;
}

void buf_adds(struct buf *b, const char *s) { buf_add(b, s, strlen(s)); }
void buf_addc(struct buf *b, char c) { buf_add(b, &c, 1); }

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	buf_grow(b, n);
	va_start(ap, fmt);
	vsnprintf(b->s + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += n;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->s)
		b->s[0] = 0;
}

void buf_release(struct buf *b)
{
	free(b->s);
	*b = (struct buf){0};
}

char *buf_take(struct buf *b)
{
	char *s = b->s ? b->s : xstrdup("");

	*b = (struct buf){0};
	return s;
}
