/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.sh wrote "start S" and "stop S", seconds since boot. A file that is cut off gives no value. */
#include "jobs/job.h"
#include "lib/text.h"

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	double start = NAN, stop = NAN;
	char *w[3];

	while (next_line(&it)) {
		bool pair = split(it.line, w, ARRAY_SIZE(w)) == 2 && it.ended;

		if (pair && streq(w[0], "start") && !number(w[1], &start))
			return parse_fail(c, RUN_FAILED, "null: no number: %s", w[1]);
		if (pair && streq(w[0], "stop") && !number(w[1], &stop))
			return parse_fail(c, RUN_FAILED, "null: no number: %s", w[1]);
	}
	if (!(stop >= start))
		return parse_fail(c, RUN_INCOMPLETE, "null ended early");
	/* name, value, unit, direction (1: more is better, -1: less is, 0: neither), and whether it is a KPI */
	metric_set_add(c->out, "null.seconds", stop - start, "s", 0, false);
	return 0;
}

const struct program_ops monitor_null = {.name = "null", .parse = parse, .file = "null"};
