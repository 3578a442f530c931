/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only the generator's part and the counters: the input stands where pktgen, ethtool and /proc/stat stand. */
#include "lib/buf.h"
#include "tests/fuzz/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char before[] =
		"# role: generator\n# generator: eth2 driver ixgbe cpu 0 threads 2 burst 32\n# ---- before\n"
		"@ 10.00 pktgen eth2@0\n     pkts-sofar: 1000  errors: 0\n@ 10.10 ethtool generator eth2\n     tx: 500\n",
			  after[] = "\n# ---- end\n";
	struct buf b = {0};
	int r;

	buf_adds(&b, before);
	buf_add(&b, data, size);
	buf_adds(&b, after);
	r = fuzz_parser(program_find("xdp-bench"), "xdp-bench: {mode: drop}\n", true, (const uint8_t *)b.s, b.len);
	buf_release(&b);
	return r;
}
