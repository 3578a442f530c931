/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first byte says which test the job is for; all engines are reached through the file's own words. */
#include "tests/fuzz/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const test[] = {"tcp_rr", "tcp_stream", "udp_rr", "tcp_crr", "udp_stream"};
	static struct job_list jobs[ARRAY_SIZE(test)];
	const struct run_facts facts = {.nr_cpu = 1};
	struct metric_set m = {0};
	struct parse_ctx c = {.facts = &facts, .result_dir = "/nonexistent", .out = &m, .verdict = RUN_OK};
	size_t which = size ? data[0] % ARRAY_SIZE(test) : 0, n = size ? size - 1 : 0;
	_cleanup_free_ char *text = xmalloc(n + 1), *job = xasprintf("neper: {test: %s, length: 1s}\n", test[which]);
	int r;

	if (!jobs[which].n)
		FUZZ_CHECK(job_load_text("fuzz.yaml", job, strlen(job), NULL, &jobs[which]) == 0);
	c.job = &jobs[which].v[0];
	if (n)
		memcpy(text, data + 1, n);
	text[n] = 0;
	r = program_find("neper")->parse(&c, text, n);
	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	if (r == 0)
		FUZZ_CHECK(m.n && metric_set_get(&m, job_kpis(c.job)[0]));
	else
		FUZZ_CHECK(c.cause && *c.cause && !strpbrk(c.cause, "\n\r\t\x1b"));
	for (size_t i = 0; i < m.n; i++)
		FUZZ_CHECK(isfinite(m.v[i].value) && m.v[i].name[0] && !strpbrk(m.v[i].name, " \t\n\x1b"));
	metric_set_release(&m);
	free(c.cause);
	return 0;
}
