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

void buf_add_shell(struct buf *b, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,+@%=";

	if (*s && strspn(s, plain) == strlen(s)) {
		buf_adds(b, s);
		return;
	}
	buf_addc(b, '\'');
	for (; *s; s++)
		if (*s == '\'')
			buf_adds(b, "'\\''");
		else
			buf_addc(b, *s);
	buf_addc(b, '\'');
}

void buf_add_html(struct buf *b, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '&': buf_adds(b, "&amp;"); break;
		case '<': buf_adds(b, "&lt;"); break;
		case '>': buf_adds(b, "&gt;"); break;
		case '"': buf_adds(b, "&quot;"); break;
		case '\'': buf_adds(b, "&#39;"); break;
		default: buf_addc(b, *s);
		}
}

void buf_add_csv(struct buf *b, const char *s)
{
	if (!strpbrk(s, ",\"\r\n")) {
		buf_adds(b, s);
		return;
	}
	buf_addc(b, '"');
	for (; *s; s++) {
		if (*s == '"')
			buf_addc(b, '"');
		buf_addc(b, *s);
	}
	buf_addc(b, '"');
}

/* The length of a valid, printable UTF-8 sequence at s, or 0 (also for the C1 controls U+0080..9F and bidi controls). */
static size_t utf8_printable(const unsigned char *s)
{
	uint32_t c;
	size_t n;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	n = s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : 0;
	if (!n)
		return 0;
	c = s[0] & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < 0xa0 || (n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10ffff)) || (c >= 0xd800 && c < 0xe000))
		return 0;
	if ((c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029)
		return 0;
	return n;
}

void buf_add_term(struct buf *b, const char *s)
{
	while (*s) {
		size_t n = utf8_printable((const unsigned char *)s);

		if (n) {
			buf_add(b, s, n);
			s += n;
		} else if (*s == '\n' || *s == '\t') {
			buf_addc(b, ' ');
			s++;
		} else {
			buf_addf(b, "\\x%02x", (unsigned char)*s++);
		}
	}
}

char *term_safe(const char *s)
{
	struct buf b = {0};

	buf_add_term(&b, s ? s : "");
	return buf_take(&b);
}
