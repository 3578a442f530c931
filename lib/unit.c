/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/unit.h"

enum base { B_COUNT, B_TIME, B_BYTE, B_BIT, B_OP, B_PACKET, B_HERTZ, N_BASES };
enum per { PER_NONE, PER_SECOND, PER_OP, N_PERS };
static const struct { const char *word; enum base base; } words[] = {
	{"", B_COUNT}, {"s", B_TIME}, {"sec", B_TIME}, {"secs", B_TIME}, {"second", B_TIME}, {"seconds", B_TIME},
	{"B", B_BYTE}, {"byte", B_BYTE}, {"bytes", B_BYTE}, {"Byte", B_BYTE}, {"Bytes", B_BYTE}, {"b", B_BIT},
	{"bit", B_BIT}, {"bits", B_BIT}, {"op", B_OP}, {"ops", B_OP}, {"pkt", B_PACKET}, {"pkts", B_PACKET},
	{"packets", B_PACKET}, {"Hz", B_HERTZ},
};
static const struct { const char *word; double scale; bool of_time; } prefixes[] = {
	{"", 1, false}, {"nano", 1e-9, true}, {"micro", 1e-6, true}, {"milli", 1e-3, true}, {"n", 1e-9, true},
	{"u", 1e-6, true}, {"\xc2\xb5", 1e-6, true}, {"\xce\xbc", 1e-6, true}, {"m", 1e-3, true},
	{"Ki", 0x1p10, false}, {"Mi", 0x1p20, false}, {"Gi", 0x1p30, false}, {"Ti", 0x1p40, false},
	{"k", 1e3, false}, {"K", 1e3, false}, {"M", 1e6, false}, {"G", 1e9, false}, {"T", 1e12, false},
};
static const char *const names[N_BASES][N_PERS] = {
	[B_COUNT] = {"", "/s", "/op"},	     [B_TIME] = {"s", "s/s", "s/op"},
	[B_BYTE] = {"B", "B/s", "B/op"},     [B_BIT] = {"bit", "bit/s", "bit/op"},
	[B_OP] = {"ops", "ops/s", "ops/op"}, [B_PACKET] = {"pkt", "pps", "pkt/op"},
	[B_HERTZ] = {"Hz", "Hz/s", "Hz/op"},
};

static bool is(const char *s, size_t n, const char *word) { return strlen(word) == n && !strncmp(s, word, n); }

static bool find_base(const char *s, size_t n, enum base *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (is(s, n, words[i].word)) {
			*ret = words[i].base;
			return true;
		}
	return false;
}

/* [prefix]base of n bytes */
static bool prefixed(const char *s, size_t n, enum base *ret, double *ret_scale)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t k = strlen(prefixes[i].word);

		if (n < k || strncmp(s, prefixes[i].word, k) || !find_base(s + k, n - k, ret))
			continue;
		if (k && prefixes[i].of_time != (*ret == B_TIME))
			continue;
		*ret_scale = prefixes[i].scale;
		return true;
	}
	return false;
}

/* The length of what is counted, and per what; SIZE_MAX: unknown. */
static size_t cut_per(const char *word, enum per *ret)
{
	const char *slash = strchr(word, '/');
	size_t n = strlen(word);
	enum base b = B_COUNT;
	double scale;

	*ret = PER_NONE;
	if (slash) {
		n = strlen(slash + 1);
		if (!n || !find_base(slash + 1, n, &b) || (b != B_TIME && b != B_OP))
			return SIZE_MAX;
		*ret = b == B_TIME ? PER_SECOND : PER_OP;
		return (size_t)(slash - word);
	}
	if (n < 3 || strcmp(word + n - 2, "ps"))
		return n;
	if (word[n - 3] == 'p' || (prefixed(word, n - 2, &b, &scale) && (b == B_BYTE || b == B_BIT || b == B_PACKET))) {
		*ret = PER_SECOND;
		return n - 2;
	}
	return n; /* "ops" */
}

bool unit_parse(const char *word, struct unit *ret)
{
	/* of their own, without prefixes */
	static const char *const plain[] = {"%", "insns", "cycles"};
	enum base b = B_COUNT;
	double scale = 1;
	enum per per;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (!strcmp(word, plain[i])) {
			*ret = (struct unit){plain[i], 1};
			return true;
		}
	n = cut_per(word, &per);
	if (n == SIZE_MAX)
		return false;
	if (per == PER_SECOND && word[n] == 'p' && n && word[n - 1] == 'p') { /* pps, Mpps */
		if (!prefixed(word, n - 1, &b, &scale) || b != B_COUNT)
			return false;
		b = B_PACKET;
	} else if (!prefixed(word, n, &b, &scale)) {
		return false;
	}
	*ret = (struct unit){names[b][per], scale};
	return true;
}

bool unit_factor(const char *from, const char *to, double *ret)
{
	struct unit a, b;

	if (!unit_parse(from, &a) || !unit_parse(to, &b) || strcmp(a.base, b.base))
		return false;
	*ret = a.scale / b.scale;
	return true;
}
