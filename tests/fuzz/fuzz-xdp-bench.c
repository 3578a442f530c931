/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fuzz/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_parser(program_find("xdp-bench"), "runtime: 3s\nwarmup: 1s\nxdp-bench: {mode: redirect-cpu}\n",
			   true, data, size);
}
