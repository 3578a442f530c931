/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fuzz/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_parser(monitor_find("null"), "stress-ng: {test: sockfd}\n", false, data, size);
}
