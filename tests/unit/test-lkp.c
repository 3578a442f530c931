/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LKP's table against what 0-day really mailed. */
#include "bisect/compare-class.h"
#include "lib/fs.h"
#include "reporters/report.h"
#include "tests/tap.h"

struct rows {
	struct cmp_result r;
	struct cmp_row *row; size_t cap;
	struct cmp_side *side; struct cmp_delta *delta;
	char *names;
};

static struct cmp_row *add(struct rows *t, const char *name, size_t n)
{
	struct cmp_row *row;

	GROW(t->row, t->r.n_rows, t->cap);
	row = &t->row[t->r.n_rows++];
	*row = (struct cmp_row){xstrdup(name), metric_is_fail(name), xcalloc(n, sizeof(struct cmp_side)),
				xcalloc(n, sizeof(struct cmp_delta))};
	t->r.row = t->row;
	t->r.n_builds = n;
	for (size_t b = 1; b < n; b++)
		row->delta[b].verdict = CMP_CHANGED;
	return row;
}

static void release(struct rows *t)
{
	for (size_t i = 0; i < t->r.n_rows; i++) {
		free((char *)t->row[i].name);
		free(t->row[i].side);
		free(t->row[i].delta);
	}
	free(t->row);
	*t = (struct rows){0};
}

/* The number that was printed: 2 stands for 2.0 to 2.99. */
static double pct(const char *text) { return *text ? strtod(text, NULL) + .5 : 0; }

static void recorded_rows(void)
{
	_cleanup_buf_ struct buf text = {0};
	const struct lkp_column col[2] = {{"a", NULL}, {"b", NULL}};
	size_t n = 0, good = 0, classed = 0;

	is_int(fs_read("tests/fixtures/lkp-report-rows.tsv", 0, &text), 0, "the recorded rows are there");
	for (char *save = NULL, *line = strtok_r(text.s, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *f[7] = {NULL}, *want;
		struct rows t = {0};
		struct cmp_row *row;
		_cleanup_buf_ struct buf out = {0};
		size_t k = 0;

		for (char *p = line; k < 7 && p; k++)
			f[k] = strsep(&p, "\t");
		if (k < 7 || *line == '#' || streq(f[0], "base"))
			continue;
		n++;
		row = add(&t, f[5], 2);
		row->side[0] = (struct cmp_side){.mean = strtod(f[0], NULL), .stddev_pct = pct(f[1])};
		row->side[1] = (struct cmp_side){.mean = strtod(f[3], NULL), .stddev_pct = pct(f[4])};
		row->delta[1].change = strtod(f[2], NULL);
		row->delta[1].points = !strchr(f[2], '%');
		classed += row->delta[1].points == metric_is_points(f[5]) && !row->fail;
		lkp_table(&t.r, col, 2, NULL, 0, false, &out);
		out.s[out.len -= 2] = 0;        /* the last row without the empty line */
		want = strrchr(out.s, '\n') + 1;
		if (!strcmp(want, f[6]))
			good++;
		else
			printf("# wanted '%s'\n# got    '%s'\n", f[6], want);
		release(&t);
	}
	is_int(n, 765, "there are 765 rows");
	is_int(good, n, "every row is printed again byte for byte");
	is_int(classed, n, "their names tell points from per cent, and none is a failure");
}

/* Numbers of one printed row: base [± n%] change[%] other [± n%] name; '?' stands for ± there. */
static void parse_row(const char *line, struct rows *t, double tiny)
{
	char copy[512], *w[12], *name = NULL;
	size_t n = 0, at = 0;
	double mean[2], sd[2] = {0, 0};
	struct cmp_row *row;
	bool points;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *save = NULL, *p = strtok_r(copy, " ", &save); p && n < 12; p = strtok_r(NULL, " ", &save))
		w[n++] = p;
	name = w[n - 1];
	mean[0] = strtod(w[at++], NULL);
	if (streq(w[at], "?")) {
		sd[0] = pct(w[at + 1]);
		at += 2;
	}
	points = !strchr(w[at], '%');
	row = add(t, name, 2);
	row->delta[1].change = strtod(w[at++], NULL) + tiny;
	if (w[at - 1][0] == '-')        /* -0.0 stays negative */
		row->delta[1].change -= 1e-3;
	row->delta[1].points = points;
	mean[1] = strtod(w[at++], NULL);
	if (streq(w[at], "?"))
		sd[1] = pct(w[at + 1]);
	for (int b = 0; b < 2; b++)
		row->side[b] = (struct cmp_side){.mean = mean[b], .stddev_pct = sd[b]};
}

static char *question_marks(const char *s)
{
	struct buf b = {0};

	for (; *s; s++)
		if (startswith(s, "±")) {
			buf_addc(&b, '?');
			s++;
		} else {
			buf_addc(&b, *s);
		}
	return buf_take(&b);
}

static void recorded_block(void)
{
	_cleanup_buf_ struct buf text = {0}, out = {0};
	_cleanup_free_ char *copy = NULL, *got = NULL;
	const struct lkp_column col[2] = {
		{"32e4a5447ed9fa904a2dfcf4609c64bce053b4e8",
		 "net: dsa: realtek: fix digital interface select macro for EXT0"},
		{"2b0cfa6e49566c8fa6759734cf821aa6e8271a9e", "net: add generic percpu page_pool allocator"},
	};
	const struct lkp_axis axis[] = {        /* not in order */
		{"testtime", "60s"}, {"testcase", "stress-ng"}, {"test", "sockfd"}, {"tbox_group", "lkp-spr-r02"},
		{"rootfs", "debian-12-x86_64-20240206.cgz"}, {"nr_threads", "100%"}, {"kconfig", "x86_64-rhel-8.3"},
		{"cpufreq_governor", "performance"}, {"compiler", "gcc-12"},
	};
	struct rows t = {0};
	bool rows = false;
	int k = 0;

	is_int(fs_read("tests/fixtures/lkp/block-2b0cfa6e49.txt", 0, &text), 0, "the recorded block is there");
	while (text.len > 1 && text.s[text.len - 1] == '\n' && text.s[text.len - 2] == '\n' &&
	       text.s[text.len - 3] == '\n')
		text.s[--text.len] = 0;
	copy = xstrdup(text.s);
	for (char *save = NULL, *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (rows)       /* unrounded changes ascended in each group of the profile */
			parse_row(line, &t, 1e-6 * k++);
		rows = rows || strstr(line, "|                \\");
	}
	is_int(t.r.n_rows, 31, "it has 31 rows");
	/* rows within a group come in by the tiny differences only where the printed change is equal */
	is_int(lkp_table(&t.r, col, 2, axis, ARRAY_SIZE(axis), false, &out), 0, "it can be printed");
	got = question_marks(buf_str(&out));
	is_str(got, text.s, "the whole block is printed again byte for byte");
	release(&t);
}

static void failures_and_columns(void)
{
	struct rows t = {0};
	struct cmp_row *row;
	_cleanup_buf_ struct buf out = {0};
	const struct lkp_column col[3] = {
		{"0123456789abcdef0123", "one"}, {"1123456789abcdef0123", "two"}, {"fix", NULL}};
	const char *want =
		"=========================================================================================\n"
		"commit: \n  0123456789 (\"one\")\n  1123456789 (\"two\")\n  fix\n\n"
		"0123456789abcdef        1123456789abcdef0123                         fix \n"
		"---------------- --------------------------- --------------------------- \n"
		"       fail:runs  %reproduction    fail:runs  %reproduction    fail:runs\n"
		"           |             |             |             |             |    \n"
		"           :6           17%           1:6            0%            :6     dmesg.WARNING:at_net\n"
		"         %stddev     %change         %stddev     %change         %stddev\n"
		"             \\          |                \\          |                \\  \n"
		"    100.00           +10.0%     110.00 ±  3%      -1.0%      99.00        x.ops\n\n";

	row = add(&t, "x.ops", 3);
	row->side[0] = (struct cmp_side){.mean = 100, .stddev_pct = 2};
	row->side[1] = (struct cmp_side){.mean = 110, .stddev_pct = 3.99};
	row->side[2] = (struct cmp_side){.mean = 99, .stddev_pct = NAN};
	row->delta[1].change = 10;
	row->delta[2].change = -1;
	row = add(&t, "dmesg.WARNING:at_net", 3);
	for (int b = 0; b < 3; b++)
		row->side[b] = (struct cmp_side){.mean = b == 1 ? 1. / 6 : 0, .runs = 6, .boots = 6};
	row->delta[1].change = 100. / 6;
	row = add(&t, "unchanged", 3);
	row->delta[1].verdict = row->delta[2].verdict = CMP_SAME;
	is_int(lkp_table(&t.r, col, 3, NULL, 0, false, &out), 0, "three columns");
	is_str(buf_str(&out), want, "failures come first, unchanged rows not at all");
	ok(lkp_table(&t.r, col, 2, NULL, 0, false, &out) == -EINVAL, "columns must match the builds");
	release(&t);
}

static void numbers(void)
{
	static const struct { double v; const char *value; } values[] = {
		{999.999, "   1000.00"}, {1000.9, "      1000"}, {-5.5, "     -5.50"}, {1e8, " 100000000"},
		{1.00000001e8, "     1e+08"},
		{6.536e10, " 6.536e+10"}, {0, "      0.00"}, {NAN, "      0.00"}, {1e300, "    1e+300"},
	};
	static const struct { double v; bool points; const char *text; } changes[] = {
		{6.94, false, "      +6.9% "}, {-0.04, true, "      -0.0  "}, {123456, false, "  +1.2e+05% "},
		{99999, false, "  +99999.0% "},
	};
	static const struct { double v; const char *text; } spreads[] = {
		{2, "      "}, {2.001, " ±  2%"}, {99.99, " ± 99%"}, {223.6, " ±223%"}, {NAN, "      "},
		{1000, " ±1000%"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		_cleanup_buf_ struct buf b = {0};

		lkp_value(&b, values[i].v);
		is_str(b.s, values[i].value, "value %g", values[i].v);
	}
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_buf_ struct buf b = {0};

		lkp_change(&b, changes[i].v, changes[i].points);
		is_str(b.s, changes[i].text, "change %g", changes[i].v);
	}
	for (size_t i = 0; i < ARRAY_SIZE(spreads); i++) {
		_cleanup_buf_ struct buf b = {0};

		lkp_stddev(&b, spreads[i].v);
		is_str(b.s, spreads[i].text, "stddev %g", spreads[i].v);
	}
}

static void hostile_names(void)
{
	struct rows t = {0};
	_cleanup_buf_ struct buf out = {0};
	const struct lkp_column col[2] = {{"\033]0;x", "a\nb\033[31m"}, {"b", NULL}};
	const struct lkp_axis axis = {"test", "x\033y"};

	add(&t, "evil\033[2Jname", 2);
	lkp_table(&t.r, col, 2, &axis, 1, false, &out);
	ok(!strchr(out.s, '\033'), "no control character reaches the terminal");
	release(&t);
}

int main(void)
{
	recorded_rows();
	recorded_block();
	failures_and_columns();
	numbers();
	hostile_names();
	return tap_done();
}
