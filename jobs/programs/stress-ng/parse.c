/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stress-ng's --metrics table, as text (stderr and stdout together):
 *
 *	stress-ng: metrc: [PID] NAME ops real usr sys ops/s(real) ops/s(usr+sys) [CPU% [RSS]]
 *
 *	stress-ng: metrc: [PID] miscellaneous metrics:
 *	stress-ng: metrc: [PID] NAME 53.66 nanoseconds per longjmp call (average per stressor)
 *
 * The header says how many columns there are: six with --metrics-brief and before 0.12.05, then one or two more; the
 * tag was "info:" before 0.15.05. The stressor's row is the first one below it with just as many figures, and nothing
 * else: the other metrics that a stressor may print may have as many words. real is the mean wall time of the
 * instances, usr and sys are sums. stress-ng exits with 0 when it skipped the stressor or an instance gave up, so what
 * it says, operations and time are looked at.
 *
 * Instructions (machine qemu-icount): there a nanosecond of guest time is 1/2^shift instructions, so what is wanted is
 * the exact CPU time of the stressor. usr + sys as printed has two digits, but ops / "ops/s(usr+sys)" gives it back
 * with seven: stress-ng takes it from getrusage(), where the kernel scales the tick-sampled user and system times so
 * that their sum is the scheduler's sum_exec_runtime in nanoseconds (cputime_adjust() in kernel/sched/cputime.c). Only
 * the split is sampled; the sum is exact, holds no idle time and none of the monitors'. Interrupts taken meanwhile are
 * in it. ops / rate is usr + sys per operation times ops, which is what is stored.
 */
#include "jobs/check.h"
#include "jobs/program.h"
#include "lib/text.h"

#define MIN_COLUMNS 6
#define MAX_COLUMNS 12
struct table_row { double v[MAX_COLUMNS]; size_t columns; bool found, finished; };

/* "stress-ng: metrc: [26016] " in front of the words proper; how many words that is, or 0. */
static size_t prefix(char *const *w, size_t n)
{
	if (n < 4 || strcmp(w[0], "stress-ng:") || w[2][0] != '[' || (strcmp(w[1], "metrc:") && strcmp(w[1], "info:")))
		return 0;
	return 3;
}

/* "stressor bogo ops real time usr time sys time bogo ops/s bogo ops/s CPU used per RSS Max" */
static bool read_header(char *const *w, size_t n, struct table_row *row)
{
	static const char *const order[] = {"bogo", "real", "usr", "sys", "bogo", "bogo", "CPU", "RSS"};
	static const char *const more[] = {"ops", "time", "ops/s", "used", "per", "Max"};
	size_t columns = 0;

	if (n < 5 || strcmp(w[3], "stressor") || strcmp(w[4], "bogo"))
		return false;
	for (size_t i = 4; i < n; i++) {
		size_t k = 0;

		while (k < ARRAY_SIZE(more) && strcmp(more[k], w[i]))
			k++;
		if (k < ARRAY_SIZE(more))
			continue;
		/* a column that nobody knows, behind those that are read, counts */
		if (columns == MAX_COLUMNS || (columns < MIN_COLUMNS && strcmp(order[columns], w[i])))
			return false;
		columns++;
	}
	row->columns = columns >= MIN_COLUMNS ? columns : 0;
	row->found = false;
	return row->columns;
}

static bool cell(const char *s, double *ret)
{
	*ret = NAN;
	return number(s, ret) || no_value(s);
}

static bool read_row(char *const *w, size_t n, const char *test, struct table_row *row)
{
	double v[MAX_COLUMNS];

	if (!row->columns || row->found || strcmp(w[3], test) || n != 4 + row->columns)
		return false;
	for (size_t i = 0; i < row->columns; i++)
		if (!cell(w[4 + i], &v[i]))
			return false;
	memcpy(row->v, v, row->columns * sizeof(*v));
	row->found = true;
	return true;
}

/* Time for an operation is better when less; a rate when more. */
static int direction_of(const char *unit)
{
	if (strstr(unit, "per_sec") || strstr(unit, "/sec"))
		return 1;
	return startswith(unit, "nanosec") || startswith(unit, "microsec") || startswith(unit, "millisec") ? -1 : 0;
}

/* "udp-flood 35127.25 sendto calls per sec (geometic mean of 2 instances)" -> udp-flood.sendto_calls_per_sec */
static void read_extra(struct parse_ctx *c, char *const *w, size_t n, const char *test)
{
	char unit[200] = "", word[64];
	_cleanup_free_ char *name = NULL;
	double v;

	if (n < 6 || strcmp(w[3], test) || !cell(w[4], &v))
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
	if (isnan(v))
		check_say(c, "figures", CHECK_UNKNOWN, "left out, since it is no value: %s %s", w[4], unit);
	else
		metric_set_add(c->out, name, v, NULL, direction_of(unit), false);
}

/* ---- why not ---- */

struct ranked_words { int rank; char text[LINE_MAX_BYTES]; };
enum { R_OTHER = 1, R_ABORTED, R_STRESSOR, R_ERROR, R_SKIPPED };

/* The message behind "stress-ng: info:  [26024] "; NULL where the line has no such front. */
static const char *message(const char *line, char tag[8])
{
	const char *open = strchr(line, '['), *close = open ? strstr(open, "] ") : NULL;

	*tag = 0;
	if (!startswith(line, "stress-ng: ") || !close || sscanf(line, "stress-ng: %7[a-z]:", tag) != 1)
		return NULL;
	return close + 1 + strspn(close + 1, " ");
}

static int rank_of(const char *line, const char *said, const char *tag, const char *test)
{
	const char *s = said ? said : line;

	if (strstr(s, "skipping stressor") || strstr(s, "will be skipped") || startswith(s, "disabled '"))
		return R_SKIPPED;
	if (said && (!strcmp(tag, "fail") || !strcmp(tag, "error")))
		return strstr(s, "No stress workers") ? 0 : R_ERROR;
	if (said && startswith(s, test) && s[strlen(test)] == ':')
		return R_STRESSOR;
	if (said)
		return strstr(s, "aborted early") ? R_ABORTED : 0;
	return startswith(s, "Try '") || !s[strspn(s, " \t")] ? 0 : R_OTHER;
}

/* Why it skipped the stressor counts most, then the first failure or error, then the last word on the stressor. */
static void note_words(struct ranked_words *best, const char *line, const char *test)
{
	char tag[8];
	const char *said = message(line, tag), *s = said ? said : line;
	int rank = rank_of(line, said, tag, test);
	bool first = rank == R_SKIPPED || rank == R_ERROR || rank == R_ABORTED;

	if (rank && (rank > best->rank || (rank == best->rank && !first))) {
		best->rank = rank;
		snprintf(best->text, sizeof(best->text), "%s", s);
	}
}

static char *reason(const struct parse_ctx *c, const char *text, size_t len)
{
	const char *test = job_param(c->job, "test");
	struct lines it = {.text = text, .len = len};
	struct ranked_words best = {0};

	while (next_line(&it))
		note_words(&best, it.line, test ? test : "");
	return best.rank ? xstrdup(best.text) : last_words(text, len);
}

/* ---- all of it ---- */

static void add(struct parse_ctx *c, const char *test, const char *what, double v, const char *unit, int dir, bool kpi)
{
	_cleanup_free_ char *name = xasprintf("stress-ng.%s.%s", test, what);

	metric_set_add(c->out, name, v, unit, dir, kpi);
}

static int check_row(struct parse_ctx *c, const struct table_row *row, const char *test, bool gave_up, const char *why)
{
	const struct program_def *d;
	double want = 0, ops = 0;

	if (gave_up)
		return parse_fail(c, RUN_INCOMPLETE, "%s", why);
	if (!row->found)
		return parse_fail(c, RUN_FAILED, "stress-ng printed no figures for '%s'%s%s", test, *why ? ": " : "",
				  why);
	if (!row->finished)
		return parse_fail(c, RUN_FAILED, "the output of stress-ng is cut off after: %s", why);
	if (!(row->v[0] > 0))
		return parse_fail(c, RUN_FAILED, "stress-ng did nothing: 0 operations of '%s'", test);
	if (program_def_get("stress-ng", &d) == 0) {
		(void)parse_seconds(job_value(c->job, d, "testtime"), &want);
		(void)parse_double(job_value(c->job, d, "ops"), &ops);
	}
	if (!(row->v[1] >= 0.95 * want) && !(ops > 0 && row->v[0] >= ops))
		return parse_fail(c, RUN_FAILED, "stress-ng ran %.2f s of %g s", row->v[1], want);
	return 0;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	const char *test = job_param(c->job, "test");
	struct lines it = {.text = text, .len = len};
	struct table_row row = {0};
	char *w[32];
	double ns = c->facts->ns_per_insn;
	bool gave_up = false;
	int r;

	if (!test)
		return parse_fail(c, RUN_FAILED, "the job names no stressor");
	_cleanup_free_ char *why = reason(c, text, len), *last = last_words(text, len);

	while (next_line(&it)) {
		size_t n;

		gave_up |= strstr(it.line, "skipping stressor") || strstr(it.line, "will be skipped") ||
			   strstr(it.line, "] disabled '") || strstr(it.line, "aborted early");
		if (it.ended && strstr(it.line, "] successful run completed"))
			row.finished = true;
		n = split(it.line, w, ARRAY_SIZE(w));
		if (it.ended && prefix(w, n) && !read_header(w, n, &row) && !read_row(w, n, test, &row))
			read_extra(c, w, n, test);
	}
	r = check_row(c, &row, test, gave_up, row.found && !gave_up ? last : why);
	if (r < 0)
		return r;
	add(c, test, "ops", row.v[0], "ops", 1, false);
	if (row.v[4] > 0)
		add(c, test, "ops_per_sec", row.v[4], "ops/s", 1, true);
	if (row.v[5] > 0) {
		add(c, test, "ops_per_sec_usr_sys", row.v[5], "ops/s", 1, false);
		if (ns > 0) {
			metric_set_add(c->out, "icount.instructions", row.v[0] / row.v[5] * 1e9 / ns, "insns", 0,
				       false);
			metric_set_add(c->out, "icount.instructions_per_op", 1e9 / row.v[5] / ns, "insns", -1, true);
		}
	}
	return 0;
}

const struct program_ops program_stress_ng = {
	.name = "stress-ng", .parse = parse, .file = "stress-ng", .reason = reason};
