/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of other encodings: what iconv and Python say, and what strangers claim. */
#include "lib/charset.h"
#include "lib/escape.h"
#include "lib/proc.h"
#include "tests/tap.h"

#define SPOILT "\xef\xbf\xbd"

static void test_cases(void)
{
	static const struct { const char *in, *charset, *want; } c[] = {
		{"", NULL, ""}, {"plain", NULL, "plain"}, {"Jos\xc3\xa9", NULL, "Jos\xc3\xa9"},
		{"Jos\xc3\xa9", "UTF-8", "Jos\xc3\xa9"}, {"Jos\xe9", "ISO-8859-1", "Jos\xc3\xa9"},
		{"Jos\xe9", "latin1", "Jos\xc3\xa9"}, {"Jos\xe9", NULL, "Jos\xc3\xa9"},
		{"\xa4", "iso-8859-15", "\xe2\x82\xac"}, {"\xea\xcf\xca", "koi8-r", "\xd0\x99\xd0\xbe\xd0\xb9"},
		{"Jos\xe9", "no-such-charset", "Jos\xc3\xa9"}, {"\xc3\xa9\xff", NULL, "\xc3\xa9" SPOILT},
		{"a\xff\xc3\xa9", "utf8", "a" SPOILT "\xc3\xa9"}, {"Jos\xe9", "UTF-7", "Jos\xc3\xa9"},
		{"a\x1b$B", "ISO-2022-JP", "a\x1b$B"}, {"Jos\xe9", "../../x", "Jos\xc3\xa9"},
		{"Jos\xe9", "ISO-8859-1//TRANSLIT", "Jos\xc3\xa9"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		_cleanup_free_ char *got = utf8_from(c[i].in, c[i].charset);

		is_str(got, c[i].want, "%s, text %zu", c[i].charset ? c[i].charset : "nothing said", i);
	}
}

/* All bytes in each charset of one byte: the same text as Python's, wherever Python has a character. */
static void test_python(void)
{
	static const char *const sets[] = {"iso-8859-1", "iso-8859-2", "iso-8859-5", "iso-8859-15",
					   "cp1250",	 "cp1251",     "koi8-r",     "koi8-u"};
	static const char *const check =
		"import sys\n"
		"want = bytes(range(0xa1, 0x100)).decode(sys.argv[1], 'replace')\n"
		"sys.exit(None if sys.argv[2] == want else ascii([(a, b) for a, b in zip(sys.argv[2], want) if a != b]))\n";
	char bytes[0x60];

	for (int i = 0; i < 0x5f; i++)
		bytes[i] = (char)(0xa1 + i);
	bytes[0x5f] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		_cleanup_free_ char *got = utf8_from(bytes, sets[i]);

		ok(utf8_valid(got), "%s comes out as UTF-8", sets[i]);
		is_int(proc_ok(ARGV("/usr/bin/python3", "-c", check, sets[i], got), NULL, NULL), 0,
		       "as Python reads it");
	}
}

/* Whatever is claimed of whatever: UTF-8 comes out, and an end. */
static void test_any(void)
{
	static const char *const sets[] = {"big5",   "gb18030", "shift_jis",	"euc-jp",
					   "euc-kr", "utf-8",	"windows-1252", "?"};
	bool right = true;

	srand(1);
	for (int i = 0; i < 4000; i++) {
		char s[40];
		_cleanup_free_ char *got = NULL;

		for (size_t k = 0; k + 1 < sizeof(s); k++)
			s[k] = (char)(1 + rand() % 255);
		s[rand() % (int)sizeof(s)] = s[sizeof(s) - 1] = 0;
		got = utf8_from(s, sets[i % 8]);
		right = right && utf8_valid(got);
	}
	ok(right, "any bytes come out as UTF-8");
}

int main(void)
{
	test_cases();
	test_python();
	test_any();
	return tap_done();
}
