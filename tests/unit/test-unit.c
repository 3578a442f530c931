/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units of printed figures, and what cannot be told. */
#include "lib/unit.h"
#include "tests/tap.h"

static void test_units(void)
{
	static const struct { const char *from, *to; double want; } cases[] = {
		{"ms", "us", 1e3}, {"us", "s", 1e-6}, {"\xc2\xb5s", "us", 1}, {"usec", "us", 1},
		{"nanoseconds", "ns", 1}, {"sec", "ms", 1e3}, {"KB/s", "Kb/s", NAN}, {"KB/s", "B/s", 1e3},
		{"Kb/s", "bit/s", 1e3}, {"KiB", "B", 1024}, {"MiB/s", "KiB/s", 1024}, {"GB/s", "MB/s", 1e3},
		{"Gbps", "Mbit/s", 1e3}, {"Mbps", "bit/s", 1e6}, {"MBps", "MB/sec", 1}, {"GiBps", "B/s", 0x1p30},
		{"K", "", 1e3}, {"M", "K", 1e3}, {"G", "", 1e9}, {"k", "", 1e3}, {"M/s", "/s", 1e6},
		{"K/sec", "/s", 1e3}, {"ops/s", "op/s", 1}, {"Mops/s", "ops/s", 1e6}, {"Kops/sec", "ops/s", 1e3},
		{"ops", "ops/s", NAN}, {"Mpps", "pps", 1e6}, {"pkt/s", "pps", 1}, {"Mpkts/s", "Mpps", 1},
		{"ns/op", "us/op", 1e-3}, {"ns/op", "ns", NAN}, {"%", "%", 1}, {"%", "", NAN}, {"GHz", "MHz", 1e3},
		{"cycles", "cycles", 1}, {"insns", "cycles", NAN}, {"m", "", NAN}, {"mB", "B", NAN}, {"Ms", "s", NAN},
		{"things", "things", NAN}, {"B/x", "B/x", NAN}, {"/", "", NAN}, {"ps", "ps", NAN}, {"KK", "", NAN},
		{"mb/s", "bit/s", NAN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double v = NAN;
		bool known = unit_factor(cases[i].from, cases[i].to, &v);

		ok(known == !isnan(cases[i].want), "%s in %s can%s be told", cases[i].from, cases[i].to,
		   isnan(cases[i].want) ? "not" : "");
		if (known)
			is_near(v, cases[i].want, 1e-12 * cases[i].want, "one %s", cases[i].from);
	}
}

/* From there and back is where it began, for every pair of units of one kind. */
static void test_back(void)
{
	static const char *const words[] = {"ns",   "us",  "ms",     "s",    "B",     "KB", "MB", "GiB", "Kb",
					    "Mbit", "B/s", "Mbit/s", "op/s", "Kop/s", "K",  "Mi", "",	 "%"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (size_t k = 0; k < ARRAY_SIZE(words); k++) {
			double there = NAN, back = NAN;
			bool a = unit_factor(words[i], words[k], &there), b = unit_factor(words[k], words[i], &back);

			if (a != b || (a && fabs(there * back - 1) > 1e-12) || (i == k && (!a || there != 1)))
				ok(false, "%s in %s: %g, back %g", words[i], words[k], there, back);
		}
	ok(true, "all pairs");
}

static void test_parse(void)
{
	struct unit u = {.base = "kept", .scale = 7};

	ok(unit_parse("MiB/s", &u) && streq(u.base, "B/s") && u.scale == 0x1p20, "a prefix, a base, a time");
	ok(unit_parse("", &u) && streq(u.base, "") && u.scale == 1, "none is a plain count");
	u = (struct unit){"kept", 7};
	ok(!unit_parse("parsecs", &u) && streq(u.base, "kept") && u.scale == 7, "what is not known is left alone");
}

int main(void)
{
	test_parse();
	test_units();
	test_back();
	return tap_done();
}
