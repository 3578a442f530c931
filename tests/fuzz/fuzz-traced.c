/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of watched functions that a guest leaves. Any bytes: an error with a message, or plain names with counts. */
#include "kernels/traced.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char map[] =
		"ffffffff81000000 T alpha\nffffffff81000100 t beta.isra.0\nffffffff81000200 T gamma\n";
	static struct symbols sym;
	char *copy = xmalloc(size + 1); /* a block of its own, so that reading past it is seen */
	struct traced w = {0};
	int r;

	if (!sym.n)
		FUZZ_CHECK(symbols_parse(map, sizeof(map) - 1, &sym) == 0);
	if (size)
		memcpy(copy, data, size);
	copy[size] = 0;
	r = traced_parse(copy, size, &w);
	FUZZ_CHECK(r == 0 || r == -EBADMSG || r == -ENODATA);
	FUZZ_CHECK(r < 0 || streq(w.means, "ftrace") || streq(w.means, "kprobe") || streq(w.means, "perf"));
	traced_merge(&w, &sym);
	for (size_t i = 0; i < w.n; i++) {
		FUZZ_CHECK(*w.v[i].name && traced_name_ok(w.v[i].name));
		for (size_t k = 0; k < i; k++)
			FUZZ_CHECK(!streq(w.v[k].name, w.v[i].name));
	}
	traced_release(&w);
	free(copy);
	return 0;
}
