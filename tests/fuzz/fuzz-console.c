/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel's console and a build's log: at most one short line of what went wrong. */
#include "kernels/build-internal.h"
#include "kernels/machine-internal.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = xmalloc(size ? size : 1); /* a block of just that size, so that reading past it is seen */
	_cleanup_free_ char *why = NULL, *log = xstrndup((const char *)data, size), *error = NULL;
	bool infra;

	if (size)
		memcpy(copy, data, size);
	why = console_failure(copy, size);
	FUZZ_CHECK(!why || (*why && strlen(why) < 500));
	free(copy);
	error = build_first_error(log, true, &infra);
	FUZZ_CHECK(error && strlen(error) < 500 && fuzz_plain(error));
	return 0;
}
