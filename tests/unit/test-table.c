/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table in three forms: Python reads the same cells from CSV and JSON, and a terminal shows them. */
#include "lib/table.h"
#include "lib/proc.h"
#include "tests/tap.h"

static char *printed(const struct table *t, enum table_form form)
{
	FILE *f = tmpfile();
	char *text = xcalloc(20000, 1);

	is_int(table_print(t, form, f), 0, "printed");
	rewind(f);
	if (fread(text, 1, 19999, f) == 0 && ferror(f))
		text[0] = 0;
	fclose(f);
	return text;
}

static void fill(struct table *t)
{
	table_column(t, "name", false);
	table_column(t, "n,\"x\"", true);
	table_row(t);
	table_text(t, 0, "a,b\n\"c\"");
	table_int(t, 1, INT64_MIN);
	table_row(t);
	table_text(t, 0, NULL);
	table_num(t, 1, NAN);
	table_row(t);
	table_text(t, 0, "");
	table_num(t, 1, 0.1);
	table_row(t);
	table_text(t, 0, "\x1b[2J");
	table_numf(t, 1, 1234.5678, 2);
	table_row(t);
	table_text(t, 0, "x");
	table_text(t, 0, "set again");
	table_numf(t, 1, 1e17, 2);
}

static const char *const both_py =
	"import csv, io, json, sys\n"
	"rows, objects = list(csv.reader(io.StringIO(sys.argv[1], newline=''))), json.loads(sys.argv[2])\n"
	"assert rows[0] == ['name', 'n,\"x\"'] and len(rows) == 1 + len(objects) == 6, rows\n"
	"want = [['a,b\\n\"c\"', -2 ** 63], [None, None], ['', 0.1], [None, 1234.57], ['set again', 1e17]]\n"
	"for row, o, w in zip(rows[1:], objects, want):\n"
	"    assert list(o) == rows[0], o\n"
	"    assert w[0] is None or o['name'] == w[0], (o, w)\n"
	"    assert o['n,\"x\"'] == w[1], (o, w)\n"
	"    assert row[1] == '' if w[1] is None else float(row[1]) == float(w[1]), (row, w)\n"
	"    assert w[0] is None or row[0] == w[0], (row, w)\n"
	"assert objects[1]['name'] is None and objects[3]['name'] == '\\x1b[2J' and rows[4][0] == '\\\\x1b[2J', objects\n";

int main(void)
{
	_cleanup_table_ struct table t = {0}, none = {0};
	_cleanup_free_ char *csv = NULL, *json = NULL, *term = NULL, *empty = NULL, *no_rows = NULL;

	fill(&t);
	csv = printed(&t, TABLE_CSV);
	json = printed(&t, TABLE_JSON);
	term = printed(&t, TABLE_TERM);
	is_int(proc_ok(ARGV("/usr/bin/python3", "-c", both_py, csv, json), NULL, NULL), 0,
	       "CSV and JSON hold the same cells");
	ok(!strchr(term, '\x1b') && strstr(term, "\\x1b[2J") && strstr(term, "1234.57") && strstr(term, "set again"),
	   "a terminal shows them");
	table_column(&none, "a", false);
	empty = printed(&none, TABLE_JSON);
	ok(startswith(empty, "[") && strchr(empty, ']') && !strchr(empty, '{'), "no rows are an empty array");
	no_rows = printed(&none, TABLE_CSV);
	is_str(no_rows, "a\n", "or a line of names");
	return tap_done();
}
