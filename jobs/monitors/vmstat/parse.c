/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmstat -n 1: two header lines, then a row a second. The first row is the mean since boot and says nothing about the
 * test: it is dropped. The values are means over the others.
 */
#include "jobs/program.h"
#include "lib/text.h"

static const struct { const char *column, *name, *unit; } columns[] = {
	{"r", "procs.r", NULL}, {"b", "procs.b", NULL}, {"swpd", "memory.swpd", "kB"}, {"free", "memory.free", "kB"},
	{"buff", "memory.buff", "kB"}, {"cache", "memory.cache", "kB"}, {"si", "swap.si", "kB/s"},
	{"so", "swap.so", "kB/s"}, {"bi", "io.bi", "blocks/s"}, {"bo", "io.bo", "blocks/s"}, {"in", "system.in", "/s"},
	{"cs", "system.cs", "/s"}, {"us", "cpu.us", "%"}, {"sy", "cpu.sy", "%"}, {"id", "cpu.id", "%"},
	{"wa", "cpu.wa", "%"}, {"st", "cpu.st", "%"}, {"gu", "cpu.gu", "%"},
};
#define MAX_COLUMNS 32

struct vmstat_table { int column[MAX_COLUMNS]; double sum[MAX_COLUMNS]; size_t n, rows; };

static int column_of(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (!strcmp(columns[i].column, word))
			return (int)i;
	return -1;
}

/* true where all of the row's n words are numbers. The first row tells of the time since boot: it adds nothing. */
static bool read_row(struct vmstat_table *v, char *const *w, size_t n)
{
	double x[MAX_COLUMNS];

	if (n != v->n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!number(w[i], &x[i]))
			return false;
	for (size_t i = 0; v->rows && i < n; i++)
		v->sum[i] += x[i];
	v->rows++;
	return true;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	struct vmstat_table v = {0};
	char *w[MAX_COLUMNS + 1], last[LINE_MAX_BYTES] = "";

	while (next_line(&it)) {
		size_t n;

		if (it.line[0])
			memcpy(last, it.line, sizeof(last));
		n = split(it.line, w, ARRAY_SIZE(w));
		if (!n || !strcmp(w[0], "procs"))
			continue;
		if (!v.n && n <= MAX_COLUMNS && !strcmp(w[0], "r")) {
			v.n = n;
			for (size_t i = 0; i < n; i++)
				v.column[i] = column_of(w[i]);
		} else if (v.n && (!it.ended || !read_row(&v, w, n))) {
			return parse_fail(c, RUN_FAILED, "the output of vmstat is cut off or damaged at: %s", last);
		}
	}
	if (!v.n)
		return parse_fail(c, RUN_INCOMPLETE, "vmstat gave no table%s%s", *last ? ": " : "", last);
	for (size_t i = 0; v.rows > 1 && i < v.n; i++) {
		_cleanup_free_ char *name = NULL;

		if (v.column[i] < 0)
			continue;
		name = xasprintf("vmstat.%s", columns[v.column[i]].name);
		metric_set_add(c->out, name, v.sum[i] / (double)(v.rows - 1), columns[v.column[i]].unit, 0, false);
	}
	return 0;
}

const struct program_ops monitor_vmstat = {.name = "vmstat", .parse = parse, .file = "vmstat"};
