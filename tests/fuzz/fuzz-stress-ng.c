/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fuzz/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_parser(program_find("stress-ng"), "testtime: 2s\nstress-ng: {test: sockfd}\n", true, data, size);
}
