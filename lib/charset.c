/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/charset.h"
#include "lib/buf.h"
#include "lib/escape.h"

#include <iconv.h>
#include <strings.h>

#define GROWS 4         /* UTF-8 bytes that one byte can become */

static const struct { const char *said, *is; } known[] = {
	{"latin1", "ISO-8859-1"}, {"latin-1", "ISO-8859-1"}, {"iso8859-1", "ISO-8859-1"}, {"iso-8859-1", "ISO-8859-1"},
	{"iso-8859-2", "ISO-8859-2"}, {"iso-8859-3", "ISO-8859-3"}, {"iso-8859-4", "ISO-8859-4"},
	{"iso-8859-5", "ISO-8859-5"}, {"iso-8859-7", "ISO-8859-7"}, {"iso-8859-9", "ISO-8859-9"},
	{"iso-8859-10", "ISO-8859-10"}, {"iso-8859-13", "ISO-8859-13"}, {"iso-8859-14", "ISO-8859-14"},
	{"iso-8859-15", "ISO-8859-15"}, {"iso-8859-16", "ISO-8859-16"}, {"latin2", "ISO-8859-2"},
	{"latin9", "ISO-8859-15"},
	{"windows-1250", "CP1250"}, {"cp1250", "CP1250"}, {"windows-1251", "CP1251"}, {"cp1251", "CP1251"},
	{"windows-1252", "CP1252"}, {"cp1252", "CP1252"}, {"windows-1253", "CP1253"}, {"windows-1254", "CP1254"},
	{"windows-1257", "CP1257"}, {"koi8-r", "KOI8-R"}, {"koi8-u", "KOI8-U"}, {"euc-jp", "EUC-JP"},
	{"eucjp", "EUC-JP"},
	{"shift_jis", "SHIFT_JIS"}, {"shift-jis", "SHIFT_JIS"}, {"sjis", "SHIFT_JIS"}, {"euc-kr", "EUC-KR"},
	{"gb2312", "GB18030"}, {"gbk", "GB18030"}, {"gb18030", "GB18030"}, {"big5", "BIG5"},
};

static const char *iconv_name(const char *charset)
{
	for (size_t i = 0; charset && i < ARRAY_SIZE(known); i++)
		if (!strcasecmp(known[i].said, charset))
			return known[i].is;
	return NULL;
}

static bool said_utf8(const char *charset)
{
	return !charset || !*charset || !strcasecmp(charset, "utf-8") || !strcasecmp(charset, "utf8");
}

/* Has letters that are UTF-8: a text with a byte that is not is spoilt UTF-8 then, and no other encoding. */
static bool has_utf8(const char *s)
{
	size_t left = strlen(s), n;
	enum utf8_class class;
	uint32_t c;

	for (; left; s += n, left -= n) {
		n = utf8_next(s, left, &class, &c);
		if (n > 1 && class != UTF8_INVALID)
			return true;
	}
	return false;
}

static const char unknown[] = "\xef\xbf\xbd";

/* Not by iconv, which lets code points through that RFC 3629 has no room for. */
static char *mend_utf8(const char *s)
{
	_cleanup_buf_ struct buf b = {0};
	enum utf8_class class;

	for (size_t n, left = strlen(s); left; s += n, left -= n) {
		n = utf8_next(s, left, &class, NULL);
		buf_add(&b, class == UTF8_INVALID ? unknown : s, class == UTF8_INVALID ? sizeof(unknown) - 1 : n);
	}
	return buf_take(&b);
}

char *utf8_from(const char *s, const char *charset)
{
	size_t left = strlen(s), room = GROWS * left + 1;
	char *in = (char *)s, *start, *out;
	const char *from;
	iconv_t c;

	if (said_utf8(charset) && utf8_valid(s))
		return xstrdup(s);
	from = iconv_name(charset);
	if (!from && has_utf8(s))
		return mend_utf8(s);
	c = iconv_open("UTF-8", from ? from : "ISO-8859-1");
	if (c == (iconv_t)-1)
		c = iconv_open("UTF-8", "ISO-8859-1");
	if (c == (iconv_t)-1) /* a system without iconv's tables: ways out show such bytes as they can */
		return xstrdup(s);
	start = out = xmalloc(room);
	while (left && iconv(c, &in, &left, &out, &room) == (size_t)-1 && left && room > sizeof(unknown)) {
		memcpy(out, unknown, sizeof(unknown) - 1);
		out += sizeof(unknown) - 1;
		room -= sizeof(unknown) - 1;
		in++;
		left--;
	}
	*out = 0;
	iconv_close(c);
	return start;
}
