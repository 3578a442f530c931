/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the files of compare: an error with its place, or rows whose numbers can be printed. The input is split
 * at its first 0xff byte into two files, so that both sides are reached. */
#include "reporters/dataset.h"
#include "reporters/report.h"
#include "tests/fuzz/check.h"

static int add(struct dataset *d, const char *name, const uint8_t *data, size_t size)
{
	char *text = xmalloc(size + 1);
	int r;

	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	err_set(0, "%s", "");
	r = dataset_add_text(d, name, text, size);
	FUZZ_CHECK(r == 0 || r == -EINVAL || r == -E2BIG);
	FUZZ_CHECK(r == 0 || startswith(err_msg(), name));
	free(text);
	return r;
}

static void check_rows(const struct cmp_result *r)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct cmp_delta *d = &r->row[i].delta[1];

		FUZZ_CHECK(isnan(d->p) || (d->p >= 0 && d->p <= 1));
		FUZZ_CHECK(isnan(d->q) || (d->q >= d->p * (1 - 1e-12) && d->q <= 1));
		FUZZ_CHECK(isnan(d->lo) || d->lo <= d->hi);
		FUZZ_CHECK(!isinf(r->row[i].side[0].mean) && !isinf(r->row[i].side[1].mean));
		FUZZ_CHECK(cmp_verdict_name(d->verdict));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = size ? memchr(data, 0xff, size) : NULL;
	size_t first = cut ? (size_t)(cut - data) : size;
	const struct lkp_column col[2] = {{"a", NULL}, {"b", NULL}};
	struct dataset d = {0};

	if (add(&d, "a.csv", data, first) == 0 &&
	    add(&d, "b.csv", cut ? cut + 1 : data, cut ? size - first - 1 : size) == 0 &&
	    dataset_finish(&d, NULL) == 0) {
		for (int rule = 0; rule < 2; rule++) {
			struct cmp_config c = {.rule = rule ? CMP_LKP : CMP_MODERATED, .n_builds = 2};
			struct cmp_result r;
			struct buf out = {0};

			FUZZ_CHECK(cmp_run(&c, d.metric, d.n_metrics, &r) == 0);
			check_rows(&r);
			FUZZ_CHECK(lkp_table(&r, col, 2, NULL, 0, true, &out) == 0);
			buf_release(&out);
			cmp_result_release(&r);
		}
	}
	dataset_release(&d);
	return 0;
}
