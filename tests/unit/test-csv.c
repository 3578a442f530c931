/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comma-separated text: what Python's csv module writes is read as it was; what is none names its line. */
#include "lib/csv.h"
#include "lib/buf.h"
#include "lib/proc.h"
#include "tests/tap.h"

/* All rows as "[field|field]" one after another, or the message. */
static char *read_all(const char *text, size_t len)
{
	_cleanup_free_ char *copy = xmalloc(len + 1);
	_cleanup_buf_ struct buf b = {0};
	struct csv c;
	int r;

	memcpy(copy, text, len);
	copy[len] = 0;
	csv_init(&c, "a.csv", copy, len);
	while ((r = csv_next(&c)) > 0)
		for (size_t i = 0; i < c.n; i++)
			buf_addf(&b, "%s%s%s", i ? "|" : "[", c.field[i], i + 1 == c.n ? "]" : "");
	if (r < 0)
		buf_adds(&b, err_msg());
	csv_release(&c);
	return buf_take(&b);
}

static void test_rows(void)
{
	static const struct { const char *text, *want; } cases[] = {
		{"", ""}, {"\n\n", ""}, {"a,b\n1,2\n", "[a|b][1|2]"}, {"a,b\r\n1,2\r\n", "[a|b][1|2]"},
		{"a,b", "[a|b]"}, {"a,", "[a|]"}, {",\n", "[|]"}, {"a,,b\n", "[a||b]"}, {"\xef\xbb\xbf" "a\n", "[a]"},
		{"\n\na\n\n\nb\n", "[a][b]"}, {"\"a,b\",c\n", "[a,b|c]"}, {"\"a\"\"b\"\n", "[a\"b]"}, {"\"\"\n", ""},
		{"\"\",\"\"\n", "[|]"}, {"\"two\nlines\",x\n", "[two\nlines|x]"}, {"a\"b\n", "[a\"b]"},
		{"\"a\"\r\n", "[a]"}, {"a\rb\n", "[a\rb]"}, {" a , b \n", "[ a | b ]"},
		{"a\n\"b", "[a]a.csv:2: a quote is opened and never closed"},
		{"\"a\"b\n", "a.csv:1: text after a closing quote"},
		{"\"x\ny\"\n\"z\" \n", "[x\ny]a.csv:3: text after a closing quote"},
	};
	_cleanup_free_ char *nul = read_all("a\nb\0c\n", 6);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = read_all(cases[i].text, strlen(cases[i].text));

		is_str(got, cases[i].want, "text %zu", i);
	}
	is_str(nul, "[a]a.csv:2: there is a NUL byte", "a NUL byte ends no field");
}

static void test_python(void)
{
	static const char *const writer =
		"import csv, io, sys\n"
		"rows = [['a', 'b,c', '\"', 'x\"\"y'], ['', ' ', 'two\\nlines', \"'\"], ['\\u20ac', '-1', '=1+1', 'end']]\n"
		"for how in csv.QUOTE_MINIMAL, csv.QUOTE_ALL:\n"
		"    f = io.StringIO(newline='')\n"
		"    csv.writer(f, quoting=how).writerows(rows)\n"
		"    sys.stdout.buffer.write(f.getvalue().encode())\n";
	const char *want = "[a|b,c|\"|x\"\"y][| |two\nlines|'][\xe2\x82\xac|-1|=1+1|end]";
	_cleanup_free_ char *twice = xasprintf("%s%s", want, want), *got = NULL;
	_cleanup_buf_ struct buf out = {0};

	is_int(proc_ok(ARGV("/usr/bin/python3", "-c", writer), NULL, &out), 0, "Python writes");
	got = read_all(buf_str(&out), out.len);
	is_str(got, twice, "and is read, with few quotes and with many");
}

static void test_columns(void)
{
	char text[] = " Name ,value,other\nx,1.5,\ny,nan,text\nz,1e999,-0\n";
	struct csv c;
	double v = 7;

	csv_init(&c, "a.csv", text, strlen(text));
	csv_next(&c);
	ok(csv_column(&c, "name") == 0 && csv_column(&c, "VALUE") == 1 && csv_column(&c, "val") == -1,
	   "columns by name");
	csv_next(&c);
	ok(csv_number(&c, 1, &v) == 0 && v == 1.5 && csv_number(&c, 2, &v) == 0 && isnan(v), "a number, and none");
	csv_next(&c);
	v = 7;
	is_int(csv_number(&c, 1, &v), -EINVAL, "%s", err_msg());
	ok(startswith(err_msg(), "a.csv:3: ") && v == 7, "names its place");
	is_int(csv_number(&c, 2, &v), -EINVAL, "%s", err_msg());
	csv_next(&c);
	is_int(csv_number(&c, 1, &v), -EINVAL, "%s", err_msg());
	csv_release(&c);
}

int main(void)
{
	test_rows();
	test_python();
	test_columns();
	return tap_done();
}
