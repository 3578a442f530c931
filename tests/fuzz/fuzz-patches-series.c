/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mails as lines "subject<tab>id<tab>parent<tab>d": what is picked are patches, each once; what is refused has
 * words. */
#include "kernels/patches-series.h"
#include "tests/fuzz/check.h"

#define MAX_MAILS 300

static char *field(char **at)
{
	char *w = *at ? strsep(at, "\t") : NULL;

	return w ? w : "";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = xstrndup((const char *)data, size), *note = NULL;
	_cleanup_free_ struct series_mail *m = xcalloc(MAX_MAILS, sizeof(*m));
	_cleanup_free_ size_t *order = NULL;
	bool seen[MAX_MAILS] = {0};
	size_t n = 0, taken = 0;
	int r;

	for (char *at = text, *l; n < MAX_MAILS && (l = strsep(&at, "\n")); n++) {
		m[n] = (struct series_mail){.file = "x.mbox", .has_author = true};
		m[n].subject = field(&l);
		m[n].id = field(&l);
		m[n].parent = field(&l);
		m[n].has_diff = *field(&l);
	}
	r = series_pick("x", m, n, size % 5 == 0, &order, &taken, &note);
	FUZZ_CHECK(r == 0 || (r == -ENOTSUP && *err_msg() && fuzz_plain(err_msg())));
	FUZZ_CHECK(r < 0 || (taken && taken <= n));
	for (size_t i = 0; r == 0 && i < taken; i++) {
		FUZZ_CHECK(order[i] < n && !seen[order[i]] && m[order[i]].has_diff);
		seen[order[i]] = true;
	}
	return 0;
}
