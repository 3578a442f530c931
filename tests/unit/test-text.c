/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures as programs print them: behind colours and progress, with groups; and what is none. */
#include "lib/text.h"
#include "tests/tap.h"

static void test_lines(void)
{
	static const struct { const char *text, *line; } cases[] = {
		{"plain\n", "plain"}, {"crlf\r\n", "crlf"}, {"serial\r\r\n", "serial"}, {"\r\n", ""},
		{"\x1b[1;32mops:\x1b[0m \x1b[38;5;196m12\x1b[m\n", "ops: 12"},
		{"\x1b[?25lops: 12\x1b[K\x1b[?25h\n", "ops: 12"},
		{"\x1b(B\x1b[mops: 12\n", "ops: 12"},
		{"\x1b]0;a title\x07ops: 12\n", "ops: 12"},
		{"\x1b]8;;http://x/\x1b\\ops\x1b]8;;\x1b\\: 12\n", "ops: 12"},
		{" 10%\r 50%\r100%\rops: 12\n", "ops: 12"}, {"ops: 1\rops: 12\r\n", "ops: 12"},
		{"ops: 1\x1b[1Gops: 12\n", "ops: 12"}, {"ops: 1\x1b[Gops: 12\n", "ops: 12"},
		{"|\b/\b-\bops: 12\n", "ops: 12"}, {"\b\bx\n", "x"},
		{"ops: 9\x1b\n", "ops: 9\x1b"}, {"ops: 9\x1b[3\n", "ops: 9\x1b[3"}, {"\x1b]no end\n", "\x1b]no end"},
	};
	_cleanup_free_ char *last = NULL, *none = last_words(" \n\r\n", 4);
	char text[3000];
	struct lines it = {.text = text};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lines l = {.text = cases[i].text, .len = strlen(cases[i].text)};

		ok(next_line(&l) && l.ended, "line %zu", i);
		is_str(l.line, cases[i].line, "as a terminal leaves it");
	}
	/* the progress is longer than any line may be, the figure is not */
	memset(text, '.', sizeof(text));
	memcpy(text + 2900, "\rops: 12\n", 9);
	it.len = 2909;
	ok(next_line(&it), "a long progress");
	is_str(it.line, "ops: 12", "does not hide the figure behind it");
	last = last_words("one\n\x1b[31m  two\x1b[0m\n\x1b[0m\n\n", 26);
	is_str(last, "two", "the last words are without colours and blanks");
	is_str(none, "", "or there are none");
}

static void test_grouped(void)
{
	static const struct { const char *s; double want; } cases[] = {
		{"12", 12}, {"12.5", 12.5}, {".5", .5}, {"-3", -3}, {"+3", 3}, {"1e3", 1000}, {"1.5e+06", 1.5e6},
		{"0", 0}, {"007", 7},
		{"1,234,567", 1234567}, {"1,234", 1234}, {"12,345.67", 12345.67}, {"-1,234", -1234},
		{"1'234'567", 1234567},
		{"1_234_567", 1234567}, {"1\xc2\xa0" "234\xc2\xa0" "567", 1234567}, {"1\xe2\x80\xaf" "234", 1234},
		{"999\xe2\x80\x89" "999.5", 999999.5},
	};
	static const char *const none[] = {
		"", "-", ".", "1,23", "12,5", "0,123", "1,2345", "1234,567", "1,234'567", "1.234.567", "1.234,56",
		"1,,234", ",123", "1,",
		"nan", "inf", "-inf", "1e", "1e999", "0x10", "12abc", "12M", "1 234", "\xd9\xa1\xd9\xa2",
		"\xef\xbc\x91\xef\xbc\x92",
		"1\xd9\xac" "234", "1.2.3", "--1", "1-2", "12345678901234567890123456789012345678901234567890",
	};
	double v = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		v = NAN;
		ok(grouped_number(cases[i].s, &v), "%s is a number", cases[i].s);
		is_near(v, cases[i].want, 0, "and that one");
	}
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		ok(!grouped_number(none[i], &v), "'%s' is none", none[i]);
}

static void test_figure(void)
{
	static const struct { const char *s; double want; const char *unit; } cases[] = {
		{"12.3M", 12.3, "M"}, {"1,200KB/s", 1200, "KB/s"}, {"45%", 45, "%"}, {"900us", 900, "us"},
		{"1e3", 1e3, ""}, {"2e3ms", 2e3, "ms"},
	};
	static const char *const absent[] = {"nan", "NaN", "-nan", "inf", "-inf", "+inf", "", "  ", "-", "--", "n/a",
					     "<not counted>",
					     "<not supported>"};
	const char *unit;
	double v;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		v = NAN;
		unit = "?";
		ok(figure(cases[i].s, &v, &unit), "%s is a figure", cases[i].s);
		is_near(v, cases[i].want, 1e-12, "its number");
		is_str(unit, cases[i].unit, "its unit");
	}
	ok(!figure("12abc", &v, &unit) && !figure("M", &v, &unit) && !figure("12,5ms", &v, &unit), "others are none");
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		ok(no_value(absent[i]), "'%s' says that there is no value", absent[i]);
	ok(!no_value("0") && !no_value("12") && !no_value("nano") && !no_value("-1"), "others do not");
}

static void test_names(void)
{
	char out[64];

	metric_word(out, sizeof(out), "curr->pid");
	is_str(out, "curr->pid", "an arrow stays");
	metric_word(out, sizeof(out), "a>b <i> \xc3\xa9");
	is_str(out, "a_b__i____", "other brackets do not");
}

/* Sequences that never end, each taken back: looked for once. */
static void test_endless(void)
{
	enum { N = 100000 };
	_cleanup_free_ char *text = xmalloc(4 * N + 1);
	struct lines l = {.text = text, .len = 4 * N};
	usec_t start = mono_usec();

	for (size_t i = 0; i < N; i++)
		memcpy(text + 4 * i, "\x1b]\b\b", 4);
	ok(next_line(&l) && !*l.line, "a line of sequences without an end");
	ok(mono_usec() - start < USEC_PER_SEC, "takes no longer than another one");
}

int main(void)
{
	test_lines();
	test_endless();
	test_grouped();
	test_figure();
	test_names();
	return tap_done();
}
