/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobs/sample.h"

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	return store_cpu_table(c, "interrupts", text, len);
}

const struct program_ops monitor_interrupts = {.name = "interrupts", .parse = parse, .file = "interrupts"};
