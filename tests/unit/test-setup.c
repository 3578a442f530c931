/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What measured: which setups differ, in which words, and what the database keeps of it. */
#include "db/store-internal.h"
#include "db/setup.h"
#include "lib/fs.h"
#include "tests/tap.h"

static char *make(const char *compiler, const char *image, const char *bench, const char *libc)
{
	_cleanup_strv_ struct strv l = {0};

	setup_add(&l, "root image", image);
	setup_add(&l, SETUP_FILE "usr/bin/bench", bench);
	setup_add(&l, SETUP_FILE "usr/lib/libc.so.6", libc);
	setup_add(&l, SETUP_COMPILER, compiler);
	return setup_text(&l);
}

static void test_text(void)
{
	_cleanup_free_ char *a = make("gcc 12", "aaaa", "b1", "c1"), *bench = make("gcc 12", "bbbb", "b2", "c1"),
			    *gcc = make("gcc 13", "aaaa", "b1", "c1"), *old = make(NULL, "aaaa", NULL, NULL),
			    *old_b = make(NULL, "bbbb", NULL, NULL), *odd = make("x\ty\nz\033[0m", "i", NULL, NULL);
	_cleanup_buf_ struct buf w = {0}, none = {0}, both = {0};

	is_str(a, "compiler\tgcc 12\nfile usr/bin/bench\tb1\nfile usr/lib/libc.so.6\tc1\nroot image\taaaa\n",
	       "sorted lines");
	is_int(setup_differs(a, a, NULL), 0, "the same");
	is_int(setup_differs(a, bench, NULL), 1, "another benchmark: the image's own hash says no more");
	is_int(setup_differs(a, gcc, NULL), 1, "another compiler");
	is_int(setup_differs(a, gcc, SETUP_COMPILER), 0, "... which may not count");
	is_int(setup_differs(a, old, NULL), 0, "what is not known differs in nothing");
	is_int(setup_differs(a, old_b, NULL), 1, "but for the image that both know");
	is_int(setup_differs(NULL, a, NULL) + setup_differs(a, "", NULL), 0, "nothing known");
	setup_words(a, bench, &w);
	is_str(buf_str(&w), "files that measure: usr/bin/bench b1 -> b2", "in words");
	setup_words(a, a, &none);
	is_int((int64_t)none.len, 0, "no words");
	setup_words(gcc, old_b, &both);
	is_str(buf_str(&both), "root image aaaa -> bbbb", "in words");
	ok(!strchr(odd, '\033') && setup_differs(odd, odd, NULL) == 0, "nothing invisible");
}

static void test_many_files(void)
{
	struct strv a = {0}, b = {0};
	_cleanup_free_ char *x = NULL, *y = NULL;
	_cleanup_buf_ struct buf w = {0};

	setup_add(&a, SETUP_FILE "init", "1");
	setup_add(&b, SETUP_FILE "init", "2");
	for (int i = 0; i < 40; i++) {
		_cleanup_free_ char *name = xasprintf(SETUP_FILE "usr/lib/%02d", i);

		setup_add(&a, name, "1");
		setup_add(&b, name, "2");
	}
	x = setup_text(&a);
	y = setup_text(&b);
	setup_words(x, y, &w);
	is_str(buf_str(&w),
	       "files that measure: the bot's agent 1 -> 2, usr/lib/00 1 -> 2, usr/lib/01 1 -> 2 and 38 more",
	       "forty files in a line");
	strv_release(&a);
	strv_release(&b);
}

static int64_t a_run(struct store *s, int64_t build, const char *boot, const char *setup)
{
	struct db_run r = {.build = build,
			   .machine = 1,
			   .job = (char *)"j",
			   .boot = (char *)boot,
			   .verdict = RUN_OK,
			   .started = 1};
	int64_t id = 0;

	is_int(store_run_put(s, &r, NULL, &id), 0, "a run");
	is_int(store_setup_put(s, id, setup), 0, "its setup");
	return id;
}

static void test_store(void)
{
	_cleanup_store_ struct store *s = NULL;
	_cleanup_free_ char *a = make("gcc 12", "aaaa", "b1", "c1"), *b = make("gcc 13", "bbbb", "b2", "c1"),
			    *got = NULL;
	_cleanup_strv_ struct strv boots = {0};
	struct db_tree t = {.name = (char *)"t", .url = (char *)"u", .enabled = true};
	struct db_job j = {(char *)"j", (char *)"j", (char *)"p", (char *)"{}", (char *)"{}", (char *)"true"};
	struct db_machine m = {.name = (char *)"m", .driver = (char *)"local", .tbox_group = (char *)"g"};
	struct db_build bd = {.tree = 1, .commit = (char *)"c", .kconfig = (char *)"k", .state = BUILD_OK};
	struct db_setup *list = NULL;
	int64_t id, build;
	size_t n = 0;

	is_int(store_open(":memory:", false, &s), 0, "a database");
	is_int(store_tree_put(s, &t, &id) + store_job_put(s, &j) + store_machine_put(s, &m, &id) +
		       store_build_put(s, &bd, &build),
	       0, "a build");
	is_int(store_setup_newest(s, 1, "k", "j", 1, &got), -ENOENT, "nothing is known");
	a_run(s, build, "1", a);
	a_run(s, build, "2", a);
	a_run(s, build, "3", b);
	a_run(s, build, "4", NULL);
	is_int(store_setups(s, build, "j", "g", &list, &n), 0, "its setups");
	ok(n == 2 && streq(list[0].text, b) && list[0].runs == 1 && list[1].runs == 2, "the newest first");
	DB_LIST_RELEASE(list, n, db_setup_release);
	is_int(store_setup_newest(s, 1, "k", "j", 1, &got), 0, "the newest of the place");
	is_str(got, b, "is the last known one");
	is_int(store_foreign_boots(s, build, "j", "g", got, &boots), 0, "boots of others");
	ok(boots.n == 2 && streq(boots.v[0], "1") && streq(boots.v[1], "2"), "are the first two");
}

/* Old files know the root image, and the compiler where the commit was not built again. */
static void test_old_file(void)
{
	static const char rows[] =
		"INSERT INTO build (id, tree, commit_oid, kconfig, state, toolchain, time) VALUES (11, 1, 'a', 'k', 'ok', 'gcc 12', 5),"
		" (12, 1, 'b', 'k', 'ok', 'gcc 13', 50);"
		"INSERT INTO run (id, build, job, machine, boot, replicate, verdict, started, seconds, root_image) VALUES"
		" (11, 11, 'j', 1, '1', 1, 'ok', 9, 1, 'aaaa'), (12, 11, 'j', 1, '2', 2, 'ok', 10, 1, 'aaaa'),"
		" (13, 12, 'j', 1, '3', 1, 'ok', 11, 1, 'aaaa'), (14, 12, 'j', 1, '4', 2, 'ok', 60, 1, NULL)";
	char tmp[] = "/tmp/kperfbot-setup-XXXXXX";
	_cleanup_free_ char *path = xasprintf("%s/old.db", mkdtemp(tmp));
	_cleanup_buf_ struct buf sql = {0};
	struct store *s = NULL;
	struct db_setup *list = NULL;
	sqlite3 *db;
	size_t n = 0;

	is_int(fs_read("tests/fixtures/db/format-1.sql", 0, &sql), 0, "a database of format 1");
	sqlite3_open(path, &db);
	ok(sqlite3_exec(db, sql.s, NULL, NULL, NULL) == SQLITE_OK &&
		   sqlite3_exec(db, rows, NULL, NULL, NULL) == SQLITE_OK,
	   "an old file: %s", sqlite3_errmsg(db));
	sqlite3_close(db);
	is_int(store_open(path, false, &s), 0, "opens: %s", err_msg());
	is_int(store_setups(s, 11, "j", "local", &list, &n), 0, "setups of the first build");
	ok(n == 1 && list[0].runs == 2 && streq(list[0].text, "compiler\tgcc 12\nroot image\taaaa\n"),
	   "compiler and image");
	DB_LIST_RELEASE(list, n, db_setup_release);
	is_int(store_setups(s, 12, "j", "local", &list, &n), 0, "setups of the second build");
	ok(n == 2 && streq(list[0].text, "compiler\tgcc 13\n") && streq(list[1].text, "root image\taaaa\n"),
	   "built again since: its old run's compiler is not known");
	DB_LIST_RELEASE(list, n, db_setup_release);
	store_close(s);
	fs_rm_rf(tmp);
}

int main(void)
{
	test_text();
	test_many_files();
	test_store();
	test_old_file();
	return tap_done();
}
