/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nr_* and thresholds say how much there is: the mean. All else, and of nr_* what only ever grows, is counted: last -
 * first. (lkp-tests knows some of the counters by name and averages the others.)
 */
#include "jobs/sample.h"

static bool is_counter(const char *name)
{
	static const char *const growing[] = {"nr_dirtied", "nr_written", "nr_throttled_written", "nr_vmscan_write",
					      "nr_vmscan_immediate_reclaim", "nr_foll_pin_acquired",
					      "nr_foll_pin_released",
					      "nr_tlb_remote_flush", "nr_tlb_remote_flush_received",
					      "nr_tlb_local_flush_all",
					      "nr_tlb_local_flush_one", "nr_unstable"};

	for (size_t i = 0; i < ARRAY_SIZE(growing); i++)
		if (!strcmp(name, growing[i]))
			return true;
	return !startswith(name, "nr_");
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct proc_samples it = {.text = text, .len = len};
	_cleanup_sampled_ struct sampled_set l = {0};
	struct proc_sample s;
	size_t n = 0;

	for (; next_sample(&it, &s); n++) {
		struct lines lines = {.text = s.s, .len = s.len};
		char *w[3], name[80];
		double v;

		while (next_line(&lines))
			if (split(lines.line, w, ARRAY_SIZE(w)) == 2 && number(w[1], &v)) {
				metric_word(name, sizeof(name), w[0]);
				sampled_add(&l, name, v);
			}
	}
	if (n < 2 || !l.n)
		return no_samples(c, "proc-vmstat", text, len);
	for (size_t i = 0; i < l.n; i++)
		sampled_store(c, "proc-vmstat", &l.v[i], n, is_counter(l.v[i].name), NULL);
	return 0;
}

const struct program_ops monitor_proc_vmstat = {.name = "proc-vmstat", .parse = parse, .file = "proc-vmstat"};
