/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MAINTAINERS files made to stop a report: somebody is left out, the others stay, and it says so. */
#include "lib/buf.h"
#include "reporters/maintainers.h"
#include "tests/tap.h"

#include <sys/resource.h>

#define LONG_PATH "net/core/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.c"

static bool has(const struct maintainers *m, const char *address)
{
	for (size_t i = 0; i < m->n; i++)
		if (streq(m->v[i].address, address))
			return true;
	return false;
}

/* The pattern in one section, an honest section behind it. */
static void two_sections(struct buf *b, const char *key, const char *pattern)
{
	buf_addf(b, "FIRST\nM:\tA <a@example.org>\n%s:\t%s\n\nSECOND\nM:\tB <b@example.org>\nF:\tnet/\n", key, pattern);
}

static void one(const char *key, const char *pattern, bool wanted, bool left_out)
{
	_cleanup_(maintainers_release) struct maintainers m = {0};
	_cleanup_strv_ struct strv paths = {0};
	_cleanup_buf_ struct buf b = {0}, changed = {0};
	usec_t start = cpu_usec();

	two_sections(&b, key, pattern);
	strv_add(&paths, LONG_PATH);
	for (int i = 0; i < 2000; i++)
		buf_adds(&changed, "int aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				   "(struct page *x);\n");
	for (int i = 0; i < 1 << 20; i++)
		buf_addc(&changed, 'a');
	is_int(maintainers_match(b.s, b.len, &paths, changed.s, &m), 0, "%s: %.40s", key, pattern);
	ok(has(&m, "b@example.org"), "the next section's maintainer is found");
	ok(has(&m, "a@example.org") == wanted, "its own %s", wanted ? "too" : "is not");
	ok(!!m.left_out == left_out, "%s", m.left_out ? m.left_out : "nobody is left out");
	ok(cpu_usec() - start < 20 * USEC_PER_SEC, "in %.1f s", (cpu_usec() - start) / 1e6);
}

static void test_patterns(void)
{
	static const char *const keys[] = {"N", "K"};
	static const char *const bad[] = {
		"((a+)+)+$x", "(a*)*b", "(a|a)*c$z", "(?:a?){100}a{100}!", "(.*)*(.*)*(.*)*q!", "(?R)*", "((a", "[z-",
		"(a(?1)?)!", "(((a{1,500}){1,500}){1,500})!", "(?<=a+)b", "(*LIMIT_MATCH=999999999)(a+)+!", "\\C",
		"(?{ die })", "(?C1)a", "(a|aa|aaa|aaaa)+!",
		"(((((((((((((((((((((((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)"
		"+)+)+)+)+)+)+)+)+)+)+)+)+)+)!"};
	_cleanup_buf_ struct buf deep = {0};

	for (size_t k = 0; k < 2; k++) {
		one(keys[k], "a{20,}", true, false);
		one(keys[k], "zzz", false, false);
		one(keys[k], "a a{1,2} # a comment", true, false);
		one(keys[k], "\\b[a-z]+ (?= [.(])", true, false);
	}
	one("K", "struct\\s+page\\b", true, false);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		for (size_t k = 0; k < 2; k++) {
			_cleanup_(maintainers_release) struct maintainers m = {0};
			_cleanup_strv_ struct strv paths = {0};
			_cleanup_buf_ struct buf b = {0};
			usec_t start = cpu_usec();

			strv_add(&paths, LONG_PATH);
			two_sections(&b, keys[k], bad[i]);
			maintainers_match(b.s, b.len, &paths, paths.v[0], &m);
			ok(has(&m, "b@example.org") && cpu_usec() - start < 5 * USEC_PER_SEC,
			   "%s: %s: the others are found", keys[k], bad[i]);
			printf("# %s\n", m.left_out ? m.left_out : "nobody is left out");
		}
	one("K", "((a+)+)+$x", false, true);
	for (int i = 0; i < 900; i++)
		buf_addc(&deep, '(');
	one("K", deep.s, false, true);
	for (int i = 0; i < 100000; i++)
		buf_addc(&deep, 'a');
	one("N", deep.s, false, true);
}

static void test_sizes(void)
{
	_cleanup_(maintainers_release) struct maintainers m = {0}, late = {0};
	_cleanup_strv_ struct strv paths = {0};
	_cleanup_buf_ struct buf b = {0}, many = {0};
	usec_t start;

	strv_add(&paths, "net/core/sock.c");
	for (int i = 0; i < 20 << 20; i++)
		buf_addc(&b, 'x');
	buf_adds(&b, "\nM:\t");
	for (int i = 0; i < 20 << 20; i++)
		buf_addc(&b, 'y');
	buf_adds(&b, " <long@example.org>\nM:\tA <a@example.org>\nF:\tnet/\n");
	start = cpu_usec();
	is_int(maintainers_match(b.s, b.len, &paths, NULL, &m), 0, "lines of 20 MB");
	ok(m.n == 1 && has(&m, "a@example.org") && strlen(m.v[0].section) <= 800, "the person in it is found");
	ok(cpu_usec() - start < 10 * USEC_PER_SEC, "in %.1f s", (cpu_usec() - start) / 1e6);
	for (int i = 0; i < 2000; i++)
		strv_addf(&paths, "net/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/%d.c", i);
	buf_adds(&many, "EARLY\nM:\tE <e@example.org>\nF:\tnet/\n\n");
	for (int i = 0; i < 1000000; i++)
		buf_adds(&many, "SECTION\nM:\tS <s@example.org>\nN:\t(a*)*!\nF:\tnet/*a*a*a*a*a*b/*z\n\n");
	start = cpu_usec();
	is_int(maintainers_match(many.s, many.len, &paths, NULL, &late), 0, "a million sections for 2000 files");
	ok(cpu_usec() - start < (MAINTAINERS_S + 10) * USEC_PER_SEC, "end in %.1f s", (cpu_usec() - start) / 1e6);
	ok(has(&late, "e@example.org") && late.left_out, "with who was found: %s", late.left_out);
}

int main(void)
{
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_DATA, &(struct rlimit){600u << 20, 600u << 20});
#endif
	test_patterns();
	test_sizes();
	return tap_done();
}
