/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages, lists of strings, numbers and times, the nearest word. */
#include "lib/base.h"
#include "tests/tap.h"

#include <locale.h>

static void test_messages(void)
{
	char text[5000];

	is_str(err_msg(), "no details known", "nothing has gone wrong yet");
	is_int(err_set(-ENOENT, "no '%s'", "x"), -ENOENT, "the number goes through");
	is_str(err_msg(), "no 'x'", "the message stays");
	err_set(-EIO, "again: %s", err_msg());
	is_str(err_msg(), "again: no 'x'", "the last message may stand in the next one");
	is_int(err_prefix(-EPERM, "file '%s'", "y"), -EPERM, "and so through a prefix");
	is_str(err_msg(), "file 'y': again: no 'x'", "which stands in front");
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	err_set(-EIO, "%s", text);
	ok(strlen(err_msg()) == 2047, "a long message is cut");
	err_prefix(-EIO, "front");
	ok(startswith(err_msg(), "front: aaa") && strlen(err_msg()) <= 2047, "a prefix is not what is cut off");
	err_prefix(-EIO, "%s", text);
	ok(startswith(err_msg(), "aaa"), "nor does a long prefix overflow");
}

static void test_lists(void)
{
	_cleanup_strv_ struct strv l = {0};

	ok(!strv_has(&l, "a"), "an empty list has nothing");
	strv_sort_uniq(&l);
	strv_addv(&l, NULL);
	is_int(l.n, 0, "and takes nothing from nothing");
	strv_addv(&l, (const char *const[]){"b", "a", "b", NULL});
	for (int i = 0; i < 100; i++)
		strv_addf(&l, "n%d", i % 10);
	ok(l.n == 103 && !l.v[l.n] && strv_has(&l, "n9") && !strv_has(&l, "n10"), "it ends in NULL, as argv does");
	strv_sort_uniq(&l);
	ok(l.n == 12 && !l.v[12] && streq(l.v[0], "a") && streq(l.v[1], "b") && streq(l.v[11], "n9"),
	   "sorted, each once");
}

static void test_numbers(void)
{
	static const char *const whole_bad[] = {
		"", " ", "1 ", "x", "1x", "1.0", "0x10", "9223372036854775808", "-9223372036854775809", "--1", "1e3"};
	static const struct { const char *s; double want; } seconds[] = {
		{"90", 90}, {"60s", 60}, {"5m", 300}, {"1h", 3600}, {"2d", 172800}, {"0", 0}, {"1.5m", 90},
		{"1e3", 1000},
	};
	static const char *const seconds_bad[] = {"",	 "s",	"m",   "-1",   "-5m",  "5 m", "5x",
						  "5ms", "nan", "inf", "infd", "0x10", "5mm"};
	int64_t i = 7;
	double d = 7;

	is_int(parse_i64("-9223372036854775808", &i), 0, "the smallest number");
	ok(i == INT64_MIN, "is itself");
	is_int(parse_i64("9223372036854775807", &i), 0, "the largest");
	ok(i == INT64_MAX, "is itself");
	for (size_t k = 0; k < ARRAY_SIZE(whole_bad); k++)
		ok(parse_i64(whole_bad[k], &i) == -EINVAL && i == INT64_MAX, "'%s' is no whole number", whole_bad[k]);
	is_int(parse_double("-2.5e-3", &d), 0, "a number");
	is_near(d, -0.0025, 0, "as it is");
	ok(parse_double("1,5", &d) == -EINVAL && parse_double("", &d) == -EINVAL &&
		   parse_double("0x1p3", &d) == -EINVAL && parse_double("1 ", &d) == -EINVAL && d == -0.0025,
	   "others are none, and the value stays");
	ok(parse_double("nan", &d) == 0 && isnan(d) && parse_double("-inf", &d) == 0 && isinf(d),
	   "nan and infinity are read");
	if (setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		ok(parse_double("1.5", &d) == 0 && d == 1.5, "the locale does not matter");
	for (size_t k = 0; k < ARRAY_SIZE(seconds); k++) {
		d = NAN;
		is_int(parse_seconds(seconds[k].s, &d), 0, "'%s' is a time", seconds[k].s);
		is_near(d, seconds[k].want, 1e-9, "of so many seconds");
	}
	for (size_t k = 0; k < ARRAY_SIZE(seconds_bad); k++)
		is_int(parse_seconds(seconds_bad[k], &d), -EINVAL, "'%s' is none", seconds_bad[k]);
}

static void test_words(void)
{
	static const char *const words[] = {"branches", "machine", "kconfig", "jobs"};
	char text[300];

	is_str(nearest_word("machines", words, 4), "machine", "a letter too many");
	is_str(nearest_word("brnches", words, 4), "branches", "one too few");
	is_str(nearest_word("konfig", words, 4), "kconfig", "two");
	is_str(nearest_word("job", words, 4), "jobs", "a short word");
	ok(!nearest_word("colour", words, 4) && !nearest_word("", words, 0), "nothing is near");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	ok(nearest_word(text, words, 4) || true, "a word of any length is compared");
	ok(streq("a", "a") && !streq("a", "b") && !streq(NULL, NULL) && !streq("a", NULL),
	   "equal, and nothing equals nothing");
	ok(startswith("abc", "") && startswith("abc", "ab") && !startswith("a", "ab"), "beginnings");
	ok(endswith("abc", "") && endswith("abc", "bc") && !endswith("c", "bc"), "ends");
}

static void test_memory(void)
{
	char *s = xstrdup("text"), *taken = TAKE_PTR(s);
	int *v = NULL;
	size_t n = 0, cap = 0;

	ok(!s && streq(taken, "text"), "a pointer is taken");
	free(taken);
	ok(!xstrdup(NULL), "a copy of nothing is nothing");
	for (int i = 0; i < 1000; i++) {
		GROW(v, n, cap);
		v[n++] = i;
	}
	ok(n == 1000 && cap >= n && v[0] == 0 && v[999] == 999, "an array grows");
	free(v);
}

int main(void)
{
	usec_t a = mono_usec(), b = mono_usec();

	test_messages();
	test_lists();
	test_numbers();
	test_words();
	test_memory();
	ok(b >= a && now_usec() > 1600000000 * USEC_PER_SEC, "the clocks");
	return tap_done();
}
