/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that the plugin leaves. Any bytes: an error with a message, or counts that make a profile in which no
 * instruction is lost, and which comes back the same from its own file's text.
 */
#include "kernels/profile.h"
#include "tests/fuzz/check.h"

static void check_profile(const struct counts *c)
{
	static const char map[] = "ffffffff81000000 T _stext\nffffffff81000100 t alpha\nffffffff81000200 T beta\n"
				  "ffffffff81000300 t gamma.part.0\nffffffff81000400 T _etext\n";
	static struct symbols sym;
	struct profile p = {0};
	uint64_t sum = 0;
	int r;

	if (!sym.n)
		FUZZ_CHECK(symbols_parse(map, sizeof(map) - 1, &sym) == 0);
	r = profile_make(c, &sym, &p);
	FUZZ_CHECK(r == 0 || r == -ENODATA);
	FUZZ_CHECK((r == 0) == (c->starts && c->stops == c->starts));
	if (r < 0)
		return;
	for (size_t i = 0; i < p.n; i++) {
		sum += p.fn[i].insns;
		FUZZ_CHECK(p.fn[i].insns && p.fn[i].entries <= p.fn[i].insns);
		FUZZ_CHECK(profile_get(&p, p.fn[i].name) == &p.fn[i]);
	}
	FUZZ_CHECK(sum + p.user == p.insns);
	profile_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = xmalloc(size + 1); /* a block of its own, so that reading past it is seen */
	struct counts c = {0};
	int r;

	if (size)
		memcpy(copy, data, size);
	copy[size] = 0;
	r = counts_read(copy, size, &c);
	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	if (r == 0) {
		for (size_t i = 1; i < c.n; i++)
			FUZZ_CHECK(c.v[i].addr >= c.v[i - 1].addr);
		check_profile(&c);
		counts_release(&c);
	}
	if (size) { /* the same bytes as the text of a profile, and as symbols */
		struct profile p = {0};
		struct symbols s = {0};

		if (symbols_parse(copy, size, &s) == 0)
			symbols_release(&s);
		if (profile_parse("fuzz", copy, size, &p) == 0)
			profile_release(&p);
	}
	free(copy);
	return 0;
}
