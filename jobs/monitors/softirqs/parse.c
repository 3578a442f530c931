/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Softirqs are counters: what matters is how many there were in the test. lkp-tests averages them, by mistake in a
 * name. */
#include "jobs/sample.h"

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	return store_cpu_table(c, "softirqs", text, len);
}

const struct program_ops monitor_softirqs = {.name = "softirqs", .parse = parse, .file = "softirqs"};
