/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parser.h - what the fuzzers of all programs' and monitors' parsers share: a parser gets any bytes and must give
 * either named finite values, or a verdict with a cause that a terminal can show.
 */
#ifndef KPB_TESTS_FUZZ_PARSER_H
#define KPB_TESTS_FUZZ_PARSER_H
#include "jobs/expand.h"
#include "tests/fuzz/check.h"

/* The job is loaded once. wants_values: a program, whose success without a value would be a lie. */
static inline int fuzz_parser(const struct program_ops *ops, const char *job, bool wants_values, const uint8_t *data,
			      size_t size)
{
	static struct job_list jobs;
	const struct run_facts facts = {.ns_per_insn = 8, .nr_cpu = 1};
	struct metric_set m = {0};
	struct parse_ctx c = {.facts = &facts, .result_dir = "/nonexistent", .out = &m, .verdict = RUN_OK};
	char *text = xmalloc(size + 1); /* a fresh block, so that reading past it is seen */
	int r;

	if (!jobs.n)
		FUZZ_CHECK(job_load_text("fuzz.yaml", job, strlen(job), NULL, &jobs) == 0);
	c.job = &jobs.v[0];
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	r = ops->parse(&c, text, size);
	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	if (r == 0) {
		FUZZ_CHECK(c.verdict == RUN_OK && (m.n || !wants_values));
	} else {
		FUZZ_CHECK(c.verdict == RUN_INCOMPLETE || c.verdict == RUN_FAILED);
		FUZZ_CHECK(c.cause && *c.cause && !strpbrk(c.cause, "\n\r\t\x1b"));
	}
	for (size_t i = 0; i < m.n; i++)
		FUZZ_CHECK(isfinite(m.v[i].value) && m.v[i].name[0] && !strpbrk(m.v[i].name, " \t\n\x1b"));
	metric_set_release(&m);
	free(c.cause);
	free(text);
	return 0;
}

#endif
