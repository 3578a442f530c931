/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles in the database, and the block of a mail that is made of two of them. */
#include "lib/fs.h"
#include "lib/proc.h"
#include "kernels/profile.h"
#include "reporters/facts.h"
#include "tests/tap.h"

#define JOB "0123456789abcdef"
#define GROUP "vm-icount-1p"
static char dir[] = "/tmp/kperfbot-executed-XXXXXX", *oid[2];
static struct store *s;
static int64_t build[2];

static char *in_dir(const char *name) { return xasprintf("%s/%s", dir, name); }

static void write_file(const char *name, const char *text)
{
	_cleanup_free_ char *path = in_dir(name);

	fs_mkdir_parent(path);
	fs_write_atomic(path, text, strlen(text));
}

static void git(const char *const *args, struct buf *out)
{
	_cleanup_strv_ struct strv a = {0};

	strv_addv(&a, ARGV("git", "-c", "user.name=A", "-c", "user.email=a@example.org"));
	strv_addv(&a, args);
	if (proc_ok((const char *const *)a.v, dir, out) < 0)
		printf("Bail out! %s\n", err_msg());
}

static char *commit(const char *text)
{
	struct buf out = {0};

	write_file("net/core/scm.c", text);
	git(ARGV("add", "net"), NULL);
	git(ARGV("commit", "-q", "-m", "x"), NULL);
	git(ARGV("rev-parse", "HEAD"), &out);
	out.s[strcspn(out.s, "\n")] = 0;
	return buf_take(&out);
}

static void make_world(void)
{
	struct db_tree t = {.name = (char *)"t", .url = (char *)"https://git.example.org/t", .enabled = true};
	struct db_machine m = {.name = (char *)"vm", .driver = (char *)"qemu-icount", .tbox_group = (char *)GROUP};
	struct db_job j = {(char *)JOB,	 (char *)"sockfd", (char *)"stress-ng",
			   (char *)"{}", (char *)"{}",	   (char *)"#!/bin/sh\n"};
	_cleanup_free_ char *image = in_dir("k/bzImage");
	int64_t tree = 0;

	git(ARGV("init", "-q"), NULL);
	oid[0] = commit("int __scm_send(int a)\n{\n\treturn a;\n}\n\nint unused(void)\n{\n\treturn 1;\n}\n");
	oid[1] = commit(
		"static int count(int a)\n{\n\treturn 3;\n}\n\nint __scm_send(int a)\n{\n\treturn a + count(a);\n}\n\n"
		"int unused(void)\n{\n\treturn 2;\n}\n");
	write_file("k/System.map",
		   "ffffffff81000100 T __scm_send\nffffffff81000200 T unused\nffffffff81000300 T kfree\n");
	is_int(store_open(":memory:", false, &s), 0, "a database");
	is_int(store_tree_put(s, &t, &tree), 0, "a tree");
	is_int(store_machine_put(s, &m, NULL), 0, "a machine");
	is_int(store_job_put(s, &j), 0, "a job");
	for (int k = 0; k < 2; k++) {
		struct db_build b = {.tree = tree, .commit = oid[k], .kconfig = (char *)"vm-min", .state = BUILD_OK,
				     .image_path = image, .seconds = 1};

		is_int(store_build_put(s, &b, &build[k]), 0, "a build");
	}
}

/* A profile of 1000 operations, as file and as rows. */
static void put_profile(int k, int64_t send_insns)
{
	struct profile_fn fn[] = {{(char *)"__scm_send", 2000, (uint64_t)send_insns, 0},
				  {(char *)"kfree", 3000, 9000, 0}};
	const struct profile p = {
		.fn = fn, .n = 2, .insns = (uint64_t)send_insns + 9000 + 500, .user = 500, .operations = 1000};
	_cleanup_free_ char *name = xasprintf("%d.zst", k), *path = in_dir(name);
	const struct db_profile row = {.build = build[k], .job = (char *)JOB, .tbox_group = (char *)GROUP, .path = path,
				       .operations = 1000, .instructions = (int64_t)p.insns, .user = 500};
	const struct db_reach reach[] = {{(char *)"__scm_send", 2000, send_insns}, {(char *)"kfree", 3000, 9000}};

	is_int(profile_write(&p, path), 0, "a profile is written");
	is_int(store_profile_put(s, &row, reach, 2, NULL), 0, "and stored");
}

static void test_store(void)
{
	struct db_profile p = {0}, *list = NULL;
	struct db_reach r = {0};
	size_t n = 0;

	put_profile(0, 1);
	put_profile(0, 230000);
	is_int(store_profiles(s, NULL, &list, &n), 0, "list");
	is_int(n, 1, "a new profile replaces the old one of the same place");
	is_str(list[0].commit, oid[0], "it names its commit");
	is_str(list[0].job_name, "sockfd", "and its job");
	DB_LIST_RELEASE(list, n, db_profile_release);
	is_int(store_profile_get(s, build[0], JOB, GROUP, &p), 0, "by place");
	is_int(store_reach(s, p.id, "__scm_send", &r), 0, "reach of a function");
	ok(r.entries == 2000 && r.instructions == 230000, "entries and instructions, of the new one");
	db_reach_release(&r);
	is_int(store_reach(s, p.id, "unused", &r), -ENOENT, "a function that did not run");
	db_profile_release(&p);
	is_int(store_profile_get(s, build[1], JOB, GROUP, &p), -ENOENT, "no profile of the other build");
	put_profile(1, 283000);
	is_int(store_known_reach(s, "t", &list, &n), 0, "what jobs are known to reach");
	ok(n == 1 && streq(list[0].commit, oid[1]), "by the newest profile of each");
	DB_LIST_RELEASE(list, n, db_profile_release);
	is_int(store_known_reach(s, "u", &list, &n), 0, "another tree");
	is_int(n, 0, "has none");
	DB_LIST_RELEASE(list, n, db_profile_release);
}

static void test_block(void)
{
	static const char want[] =
		"Each executed instruction was counted in one more boot of both commits, from outside of the guest:\n\n"
		"functions this commit touches:\n"
		"  count (net/core/scm.c, static): inlined, in __scm_send, entered 2 times per operation\n"
		"  __scm_send (net/core/scm.c): entered 2 times per operation\n"
		"  unused (net/core/scm.c): never executed\n\n"
		"instructions per operation:\n"
		"        parent         commit         change\n"
		"         230.0          283.0          +53.0  __scm_send\n"
		"           9.0            9.0           +0.0  everything else\n"
		"           0.5            0.5           +0.0  user space\n"
		"         239.5          292.5          +53.0  all\n";
	_cleanup_free_ char *git_dir = in_dir(".git"), *image = in_dir("k/bzImage");
	struct facts f = {.single = true, .good = oid[0], .bad = oid[1], .good_build = {.id = build[0]},
			  .bad_build = {.id = build[1], .image_path = image}, .cmp = {.job = (char *)JOB},
			  .machine = {.tbox_group = (char *)GROUP}};
	_cleanup_buf_ struct buf out = {0}, none = {0};

	is_int(report_executed(s, &f, git_dir, &out), 0, "the block");
	is_str(buf_str(&out), want, "its text");
	f.cmp.job = (char *)"other";
	is_int(report_executed(s, &f, git_dir, &none), -ENOENT, "without profiles there is none");
	is_int(none.len, 0, "and nothing is added");
	f.cmp.job = (char *)JOB;
	f.single = false;
	is_int(report_executed(s, &f, git_dir, &none), 0, "of a set of commits");
	ok(!strstr(buf_str(&none), "touches") && strstr(buf_str(&none), "+53.0  __scm_send"), "only the difference");
}

int main(void)
{
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	if (!mkdtemp(dir))
		return 1;
	make_world();
	test_store();
	test_block();
	store_close(s);
	fs_rm_rf(dir);
	free(oid[0]);
	free(oid[1]);
	return tap_done();
}
