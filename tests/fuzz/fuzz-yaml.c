/* SPDX-License-Identifier: GPL-2.0-or-later */
/* YAML of any content: an error with a message, or a tree within its limits whose every node can be walked to. */
#include "lib/yaml.h"
#include "tests/fuzz/check.h"

static size_t walk(const struct ynode *n, int depth)
{
	size_t sum = 1;

	FUZZ_CHECK(depth <= 101 && n->line > 0 && n->col > 0 && n->file && n->text);
	for (size_t i = 0; i < n->n; i++) {
		FUZZ_CHECK(n->kind == Y_LIST || n->kind == Y_MAP);
		if (n->kind == Y_MAP) {
			FUZZ_CHECK(n->key[i]->kind == Y_SCALAR);
			sum += walk(n->key[i], depth + 1);
		}
		sum += walk(n->val[i], depth + 1);
	}
	FUZZ_CHECK(sum <= 200000);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = xmalloc(size ? size : 1); /* a block of just that size, so that reading past it is seen */
	struct yaml y = {0};
	int r;

	if (size)
		memcpy(copy, data, size);
	r = yaml_load_text("fuzz", copy, size, &y);
	free(copy);
	FUZZ_CHECK(r == 0 || r == -EINVAL || r == -EFBIG);
	FUZZ_CHECK(r == 0 || startswith(err_msg(), "fuzz:"));
	for (size_t i = 0; r == 0 && i < y.n_docs; i++)
		walk(y.doc[i], 0);
	yaml_release(&y);
	return 0;
}
