/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The growing byte string: always ended by NUL, holds NUL bytes, grows by any step. */
#include "lib/buf.h"
#include "tests/tap.h"

static void test_adding(void)
{
	_cleanup_buf_ struct buf b = {0};
	_cleanup_free_ char *all = NULL;

	is_str(buf_str(&b), "", "empty before anything was added");
	buf_adds(&b, "");
	buf_add(&b, "x", 0);
	is_str(buf_str(&b), "", "and after nothing was");
	buf_adds(&b, "one");
	buf_addc(&b, ' ');
	buf_addf(&b, "%d%s", 2, "!");
	is_str(b.s, "one 2!", "texts, a letter, a format");
	buf_add(&b, "\0\1", 2);
	ok(b.len == 8 && !b.s[6] && b.s[7] == 1 && !b.s[8], "NUL bytes are kept, and one is behind the end");
	all = buf_take(&b);
	ok(streq(all, "one 2!") && !b.s && !b.len && !b.cap, "taken, and empty again");
	free(all);
	all = buf_take(&b);
	is_str(all, "", "nothing is taken as an empty string");
	buf_adds(&b, "again");
	buf_clear(&b);
	ok(!b.len && !*buf_str(&b) && b.cap, "cleared, its memory kept");
}

static void test_growing(void)
{
	for (size_t step = 1; step < 5000; step = step * 3 + 1) {
		_cleanup_buf_ struct buf b = {0};
		_cleanup_free_ char *piece = xmalloc(step + 1);
		bool right = true;

		for (size_t i = 0; i < step; i++)
			piece[i] = (char)('a' + i % 26);
		piece[step] = 0;
		for (int i = 0; i < 50; i++) {
			if (i % 2)
				buf_add(&b, piece, step);
			else
				buf_addf(&b, "%s", piece);
			right = right && b.len == (size_t)(i + 1) * step && b.cap > b.len && !b.s[b.len];
		}
		for (size_t i = 0; right && i < b.len; i++)
			right = b.s[i] == piece[i % step];
		ok(right, "50 pieces of %zu bytes", step);
	}
}

int main(void)
{
	test_adding();
	test_growing();
	return tap_done();
}
