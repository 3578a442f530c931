/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A header line, repeated for each interval, then a summary row whose Core and CPU are "-" and a row for each CPU. The
 * summary rows count: the mean over the intervals, under the header's words, as turbostat.PkgWatt. The last one may be
 * short: it is the interval that the end of the test fell into.
 */
#include "jobs/sample.h"

#define MAX_COLUMNS 200

static bool is_header(char *const *w, size_t n)
{
	bool busy = false;

	for (size_t i = 0; i < n; i++)
		busy |= !strcmp(w[i], "Busy%") || !strcmp(w[i], "Avg_MHz");
	return busy && n > 2;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	_cleanup_sampled_ struct sampled_set l = {0};
	char header[LINE_MAX_BYTES] = "", *w[MAX_COLUMNS], *h[MAX_COLUMNS];
	size_t columns = 0, rows = 0;

	while (next_line(&it) && it.ended) {
		char copy[LINE_MAX_BYTES];
		size_t n;

		memcpy(copy, it.line, sizeof(copy));
		n = split(copy, w, ARRAY_SIZE(w));
		if (is_header(w, n)) {
			memcpy(header, it.line, sizeof(header));
			columns = split(header, h, ARRAY_SIZE(h));
			continue;
		}
		if (n != columns || !n || strcmp(w[0], "-"))
			continue;
		rows++;
		for (size_t i = 0; i < n; i++) {
			char name[64];
			double v;

			metric_word(name, sizeof(name), h[i]);
			if (number(w[i], &v))
				sampled_add(&l, name, v);
		}
	}
	if (!rows)
		return no_samples(c, "turbostat", text, len);
	for (size_t i = 0; i < l.n; i++)
		sampled_store(c, "turbostat", &l.v[i], rows, false, NULL);
	return 0;
}

const struct program_ops monitor_turbostat = {
	.name = "turbostat", .parse = parse, .file = "turbostat", .optional = true};
