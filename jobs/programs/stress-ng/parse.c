/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stress-ng's --metrics table, as text (stderr and stdout together):
 *
 *	stress-ng: metrc: [PID] NAME ops real usr sys ops/s(real) ops/s(usr+sys) [CPU% [RSS]]
 *
 * 10 words before 0.12.05 and with --metrics-brief, 11 or 12 since; the tag was "info:" before 0.15.05. real is the mean
 * wall time of the instances, usr and sys are sums. stress-ng exits with 0 when it skipped the stressor, so operations and
 * time are looked at.
 *
 * Instructions (machine qemu-icount): there a nanosecond of guest time is 1/2^shift instructions, so what is wanted is the
 * exact CPU time of the stressor. usr + sys as printed has two digits, but ops / "ops/s(usr+sys)" gives it back with seven:
 * stress-ng takes it from getrusage(), where the kernel scales the tick-sampled user and system times so that their sum
 * is the scheduler's sum_exec_runtime in nanoseconds (cputime_adjust() in kernel/sched/cputime.c). Only the split is
 * sampled; the sum is exact, holds no idle time and none of the monitors'. Interrupts taken meanwhile are in it.
 * ops / rate is usr + sys per operation times ops, which is what is stored.
 */
#include "jobs/program.h"
#include "jobs/text.h"

struct table_row { double v[8]; size_t n; bool found, finished; };

/* "stress-ng: metrc: [26016] " in front of the words proper; how many words that is, or 0. */
static size_t prefix(char *const *w, size_t n)
{
	if (n < 4 || strcmp(w[0], "stress-ng:") || w[2][0] != '[' || (strcmp(w[1], "metrc:") && strcmp(w[1], "info:")))
		return 0;
	return 3;
}

static void read_row(char *const *w, size_t n, const char *test, struct table_row *row)
{
	if (strcmp(w[3], test) || n < 10 || n > 12)
		return;
	for (size_t i = 4; i < n; i++)
		if (!number(w[i], &row->v[i - 4]))
			return;
	row->n = n - 4;
	row->found = true;
}

/* "udp-flood 35127.25 sendto calls per sec (geometic mean of 2 instances)" -> udp-flood.sendto_calls_per_sec */
static void read_extra(struct parse_ctx *c, char *const *w, size_t n, const char *test)
{
	char unit[200] = "", word[64];
	_cleanup_free_ char *name = NULL;
	double v;

	if (n < 7 || strcmp(w[3], test) || !number(w[4], &v))
		return;
	for (size_t i = 5; i < n && w[i][0] != '('; i++) {
		metric_word(word, sizeof(word), w[i]);
		if (strlen(unit) + strlen(word) + 2 > sizeof(unit))
			return;
		strcat(strcat(unit, *unit ? "_" : ""), word);
	}
	if (!*unit || (strspn(unit, "0123456789._") == strlen(unit)))
		return;
	name = xasprintf("stress-ng.%s.%s", test, unit);
	metric_set_add(c->out, name, v, NULL, strstr(unit, "per_sec") || strstr(unit, "/sec") ? 1 : 0, false);
}

static void add(struct parse_ctx *c, const char *test, const char *what, double v, const char *unit, int dir, bool kpi)
{
	_cleanup_free_ char *name = xasprintf("stress-ng.%s.%s", test, what);

	metric_set_add(c->out, name, v, unit, dir, kpi);
}

static int check_row(struct parse_ctx *c, const struct table_row *row, const char *test, const char *skipped,
		     const char *last)
{
	const struct program_def *d;
	double want = 0, ops = 0;

	if (*skipped)
		return parse_fail(c, "incomplete", "%s", skipped);
	if (!row->found)
		return parse_fail(c, "failed", "stress-ng printed no figures for '%s'%s%s", test, *last ? ": " : "", last);
	if (!row->finished)
		return parse_fail(c, "failed", "the output of stress-ng is cut off after: %s", last);
	if (row->v[0] == 0)
		return parse_fail(c, "failed", "stress-ng did nothing: 0 operations of '%s'", test);
	if (program_def_get("stress-ng", &d) == 0) {
		(void)parse_seconds(job_value(c->job, d, "testtime"), &want);
		(void)parse_double(job_value(c->job, d, "ops"), &ops);
	}
	if (row->v[1] < 0.95 * want && !(ops > 0 && row->v[0] >= ops))
		return parse_fail(c, "failed", "stress-ng ran %.2f s of %g s", row->v[1], want);
	return 0;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	const char *test = job_param(c->job, "test");
	struct lines it = {.text = text, .len = len};
	struct table_row row = {0};
	char last[LINE_MAX_BYTES] = "", skipped[LINE_MAX_BYTES] = "", *w[32];
	double ns = c->facts->icount_ns_per_insn;
	int r;

	if (!test)
		return parse_fail(c, "failed", "the job names no stressor");
	while (next_line(&it)) {
		size_t n;

		if (it.line[strspn(it.line, " \t")])
			memcpy(last, it.line, sizeof(last));
		if (strstr(it.line, "skipping stressor"))
			memcpy(skipped, it.line, sizeof(skipped));
		if (it.ended && strstr(it.line, "] successful run completed"))
			row.finished = true;
		n = split(it.line, w, ARRAY_SIZE(w));
		if (!it.ended || !prefix(w, n))
			continue;
		if (n >= 7)
			read_extra(c, w, n, test);
		read_row(w, n, test, &row);
	}
	r = check_row(c, &row, test, skipped, last);
	if (r < 0)
		return r;
	add(c, test, "ops", row.v[0], "ops", 1, false);
	add(c, test, "ops_per_sec", row.v[4], "ops/s", 1, true);
	if (row.v[5] > 0) {
		add(c, test, "ops_per_sec_usr_sys", row.v[5], "ops/s", 1, false);
		if (ns > 0) {
			metric_set_add(c->out, "icount.instructions", row.v[0] / row.v[5] * 1e9 / ns, "insns", 0, false);
			metric_set_add(c->out, "icount.instructions_per_op", 1e9 / row.v[5] / ns, "insns", -1, true);
		}
	}
	return 0;
}

const struct program_ops program_stress_ng = {.name = "stress-ng", .parse = parse, .file = "stress-ng"};
