/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a kernel watched itself: the list from the guest, whose text may be anything, and where it goes in the
 * database. */
#include "bot/engine/profile.h"
#include "bot/engine/reach.h"
#include "kernels/traced.h"
#include "tests/tap.h"

static const struct { const char *text; int r; const char *says; } bad[] = {
	{"none: this kernel has neither\n", -ENODATA, "no function could be watched: this kernel has neither"},
	{"", -EBADMSG, "begin with the means"},
	{"means magic\nhits f 1\n", -EBADMSG, "begin with the means"},
	{"means ftrace\nhits f\n", -EBADMSG, "'hits f'"},
	{"means ftrace\nseen f 1\n", -EBADMSG, "seen"},
	{"means perf\nhits f 1\n", -EBADMSG, "hits"},
	{"means ftrace\nhits f -1\n", -EBADMSG, "has"},
	{"means ftrace\nhits f 1.5\n", -EBADMSG, "has"},
	{"means ftrace\nhits f nan\n", -EBADMSG, "has"},
	{"means ftrace\nhits f 1e300\n", -EBADMSG, "has"},
	{"means ftrace\nhits f;reboot 1\n", -EBADMSG, "has"},
	{"means ftrace\nhits f 1 2\n", -EBADMSG, "has"},
};

static void test_parse(void)
{
	static const char text[] = "means ftrace\nhits f 30\nhits f.constprop.0 5\nhits g.isra.0 0\n";
	static const char map[] =
		"ffffffff81000000 T f\nffffffff81000100 t f.constprop.0\nffffffff81000200 t g.isra.0\n";
	_cleanup_(traced_release) struct traced w = {0};
	_cleanup_(symbols_release) struct symbols s = {0};

	symbols_parse(map, strlen(map), &s);
	is_int(traced_parse(text, strlen(text), &w), 0, "a list");
	ok(w.n == 3 && streq(w.means, "ftrace") && streq(w.v[1].name, "f.constprop.0") && w.v[1].hits == 5,
	   "as the guest wrote it");
	traced_merge(&w, &s);
	ok(w.n == 2 && streq(w.v[0].name, "f") && w.v[0].hits == 35, "a copy counts as its function");
	ok(streq(w.v[1].name, "g") && !w.v[1].hits, "watched in vain");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct traced x = {0};

		is_int(traced_parse(bad[i].text, strlen(bad[i].text), &x), bad[i].r, "refused: %.30s", bad[i].text);
		ok(strstr(err_msg(), bad[i].says) != NULL, "%s", err_msg());
	}
	for (size_t n = 0; n < strlen(text); n++) {
		struct traced x = {0};

		if (traced_parse(text, n, &x) == 0 && x.n > 3)
			ok(false, "cut at %zu", n);
		traced_release(&x);
	}
	ok(traced_name_ok("g.isra.0") && !traced_name_ok("a b") && !traced_name_ok("") && !traced_name_ok("a/b"),
	   "names");
}

/* A guest may write what it likes. */
static void test_many(void)
{
	_cleanup_(traced_release) struct traced w = {0};
	_cleanup_buf_ struct buf b = {0};
	usec_t start = cpu_usec();

	buf_adds(&b, "means ftrace\n");
	for (int i = 0; b.len < 4000000; i++)
		buf_addf(&b, "hits f%d 1\n", i);
	is_int(traced_parse(b.s, b.len, &w), -EBADMSG, "a list of more functions than anybody asked for");
	ok(cpu_usec() - start < 10 * USEC_PER_SEC, "is refused at once: %.1f s", (cpu_usec() - start) / 1e6);
}

/* ---- in the database: what was not watched is not known ---- */

static int looked(struct store *s, int64_t build, const char *name, uint64_t *n)
{
	struct db_profile p = {0};
	struct reach_source src = {s, &p};
	int r = store_profile_get(s, build, "0123456789abcdef", "g", &p);

	r = r < 0 ? r - 100 : reach_look_up(&src, name, n);
	db_profile_release(&p);
	return r;
}

static void put(struct store *s, int64_t build, const char *text)
{
	_cleanup_(traced_release) struct traced w = {0};

	if (traced_parse(text, strlen(text), &w) < 0)
		ok(false, "%s", err_msg());
	is_int(traced_store(s, build, "0123456789abcdef", "g", 10, &w), 0, "stored");
}

static void test_store(void)
{
	struct db_tree t = {.name = (char *)"t", .url = (char *)"https://git.example.org/t", .enabled = true};
	struct db_job j = {(char *)"0123456789abcdef", (char *)"job", (char *)"command", (char *)"{}", (char *)"{}",
			   (char *)"#!/bin/sh\n"};
	struct db_build b = {.commit = (char *)"1234567890123456789012345678901234567890",
			     .kconfig = (char *)"k",
			     .state = BUILD_OK};
	struct db_profile all = {.job = j.id, .tbox_group = (char *)"g", .operations = 1, .instructions = 1};
	struct db_reach reach = {(char *)"jumped_into", 0, 12};
	struct store *s = NULL;
	uint64_t n = 0;
	int64_t build = 0;

	is_int(store_open(":memory:", false, &s), 0, "a database");
	store_tree_put(s, &t, &b.tree);
	store_job_put(s, &j);
	is_int(store_build_put(s, &b, &build), 0, "a build");
	put(s, build, "means ftrace\nhits f 30\nhits g 0\n");
	ok(looked(s, build, "f", &n) == 1 && n == 30, "it ran 30 times");
	is_int(looked(s, build, "g", &n), 0, "it did not run");
	is_int(looked(s, build, "h", &n), -1, "nobody watched it");
	put(s, build, "means ftrace\nhits h 7\n");
	ok(looked(s, build, "h", &n) == 1 && looked(s, build, "f", &n) == 1, "a later run adds to it");
	put(s, build, "means perf\nseen f 2\n");
	ok(looked(s, build, "f", &n) == 1, "a sample is proof");
	is_int(looked(s, build, "h", &n), -1, "no sample says nothing, and other means are not mixed");
	all.build = build;
	is_int(store_profile_put(s, &all, &reach, 1, NULL), 0, "all instructions counted");
	is_int(looked(s, build, "jumped_into", &n), 1, "ran, though not from its start");
	is_int(looked(s, build, "f", &n), 0, "what is not there did not run");
	store_close(s);
}

int main(void)
{
	test_parse();
	test_many();
	test_store();
	return tap_done();
}
