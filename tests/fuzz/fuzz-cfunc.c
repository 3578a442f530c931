/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function finder on any text: functions in order, inside the text, none overlapping. */
#include "kernels/cfunc.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = xmalloc(size ? size : 1);
	struct cfuncs f = {0};

	if (size)
		memcpy(copy, data, size);
	cfuncs_find(copy, size, &f);
	for (size_t i = 0; i < f.n; i++) {
		FUZZ_CHECK(f.v[i].name[0] && f.v[i].first <= f.v[i].last);
		FUZZ_CHECK(f.v[i].body <= size && f.v[i].body_len <= size - f.v[i].body);
		FUZZ_CHECK(!i || f.v[i].body >= f.v[i - 1].body + f.v[i - 1].body_len);
		(void)cfunc_calls(&f.v[i], copy, "x");
		FUZZ_CHECK(cfuncs_at(&f, f.v[i].last));
	}
	cfuncs_release(&f);
	free(copy);
	return 0;
}
