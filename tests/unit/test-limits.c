/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attacks by the objects of a repository (tests/make-bombs.py) on all that reads them, with little memory and a
 * clock. */
#include "kernels/patches.h"
#include "kernels/touched.h"
#include "kernels/tree-internal.h"
#include "lib/fs.h"
#include "lib/git.h"
#include "tests/tap.h"

#include <sys/resource.h>

#define SLOW_S 60       /* of computing, with sanitizers; without each takes some seconds */

static char *top, *repo;

static char *id(const char *ref)
{
	_cleanup_buf_ struct buf b = {0};

	if (proc_ok(ARGV("git", "--git-dir", repo, "rev-parse", ref), NULL, &b) < 0)
		return xstrdup(ref);
	return xstrndup(b.s, strcspn(b.s, "\n"));
}

static usec_t started;
static void start(void) { started = cpu_usec(); }

static void held(int r, bool good, const char *what, const char *ref)
{
	double s = (cpu_usec() - started) / 1e6;

	ok(good && s < SLOW_S, "%s of %s: %d in %.1f s", what, ref, r, s);
	printf("# %s\n", r < 0 ? err_msg() : "went on");
}

static void test_files(const char *ref)
{
	_cleanup_free_ char *oid = id(ref);
	_cleanup_strv_ struct strv paths = {0};
	struct touched t = {0};
	int r;

	start();
	r = tree_check(repo, oid);
	held(r, tree_fault(r), "the check", ref);
	start();
	r = tree_changed_paths(repo, oid, &paths);
	held(r, tree_fault(r), "the list of changed files", ref);
	start();
	r = touched_functions(repo, oid, &t);
	held(r, r == 0 || tree_fault(r), "the search for changed functions", ref);
	touched_release(&t);
}

static void test_revert(const char *ref)
{
	_cleanup_free_ char *oid = id(ref), *made = NULL, *head = id("refs/heads/head");
	int r;

	start();
	r = tree_revert(repo, oid, head, &made);
	held(r, r == 0 || r == -ENOTSUP || tree_fault(r), "the revert", ref);
}

static void test_source(void)
{
	_cleanup_free_ char *oid = id("refs/heads/code");
	struct touched t = {0};
	int r;

	start();
	r = touched_functions(repo, oid, &t);
	held(r, r == 0 && t.cut, "the search for changed functions", "a source file of 24 MiB");
	touched_release(&t);
}

static void test_commit(const char *ref)
{
	_cleanup_free_ char *oid = id(ref), *base = id("refs/heads/base");
	struct commit_info c = {0};
	int r;

	start();
	r = tree_commit(repo, oid, &c);
	held(r, tree_fault(r), "reading", ref);
	commit_info_release(&c);
	start();
	r = tree_is_ancestor(repo, base, oid);
	held(r, r == 1 || tree_fault(r), "the walk", ref);
}

static void test_ident(void)
{
	struct commit_info c = {0};
	_cleanup_free_ char *oid = id("refs/heads/no-end");
	int r;

	start();
	r = tree_commit(repo, oid, &c);
	held(r, r < 0 || strlen(c.author_name) <= 320, "reading", "an author without an end");
	commit_info_release(&c);
}

static void test_file(const char *ref)
{
	_cleanup_free_ char *oid = id(ref);
	_cleanup_buf_ struct buf b = {0};
	int r;

	start();
	r = tree_file_at(repo, oid, "MAINTAINERS", &b);
	held(r, tree_fault(r), "MAINTAINERS", ref);
}

/* A line of all of them, and an honest change at its end. */
static void test_line(void)
{
	_cleanup_free_ char *base = id("refs/heads/start"), *head = id("refs/heads/head"), *merge = NULL;
	struct tree_range range = {0};
	struct touched t = {0};
	_cleanup_buf_ struct buf b = {0};
	int r;

	start();
	r = tree_range(repo, base, head, 1000, &range);
	held(r, r == 0 && range.dag.n == 9, "the range", "all of them");
	for (uint32_t i = 1; r == 0 && i < range.dag.n; i++)
		printf("# %.12s %s\n", range.oid[i], dropped_text(range.why[i]));
	tree_range_release(&range);
	start();
	is_int(tree_is_ancestor(repo, base, head), 1, "the base is an ancestor of the head");
	is_int(tree_merge_base(repo, base, head, &merge), 0, "they have a merge base");
	is_int(tree_file_at(repo, head, "f.c", &b), 0, "the head's file is read");
	is_int(touched_between(repo, base, head, &t), 0, "what differs between base and head is found");
	is_int(t.n, 1, "one function");
	touched_release(&t);
}

static void test_patch(void)
{
	static const char mail[] = "From x Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\n"
				   "Date: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] two\n\ntext\n---\n"
				   "diff --git a/f.c b/f.c\n--- a/f.c\n+++ b/f.c\n@@ -3 +3 @@\n"
				   "-\treturn 1;\n+\treturn 2;\n";
	static const char *const bases[] = {"refs/heads/nested", "refs/heads/broad", "refs/heads/wide",
					    "refs/heads/deep"};
	_cleanup_free_ char *path = xasprintf("%s/one.patch", top);
	struct patches s = {0};

	fs_write_atomic(path, mail, strlen(mail));
	is_int(patches_read(path, &s), 0, "a patch");
	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		_cleanup_free_ char *oid = id(bases[i]);
		struct patched p = {0};
		int r;

		start();
		r = patches_apply(repo, oid, &s, true, &p);
		held(r, tree_fault(r), "a patch on top", bases[i]);
		patched_release(&p);
	}
	patches_release(&s);
}

/* All of it from a remote, and what git itself does with it. */
static void test_fetch(void)
{
	_cleanup_free_ char *mirror = xasprintf("%s/mirror.git", top), *oid = id("refs/heads/head"),
			    *nested = id("refs/heads/nested"), *message = id("refs/heads/message"),
			    *parents = id("refs/heads/parents"), *name = id("refs/heads/name"), *got = NULL;
	struct tree_ref ref[] = {{(char *)"head", oid}, {(char *)"nested", nested}, {(char *)"message", message},
				 {(char *)"parents", parents}, {(char *)"name", name}};
	const struct tree_refs heads = {ref, ARRAY_SIZE(ref), ARRAY_SIZE(ref)};
	int r;

	start();
	r = tree_fetch(repo, NULL, mirror, &heads, 60);
	held(r, r == 0 && tree_resolve(mirror, "head", &got) == 0, "the fetch", "all of them");
}

/* A branch over a limit is left out, and its limit is not the reason for what fails behind it. */
static void test_reason(void)
{
	_cleanup_free_ char *message = id("refs/heads/message");
	struct tree_ref ref[] = {{(char *)"message", message},
				 {(char *)"gone", (char *)"00000000000000000000000000000000000000ff"}};
	const struct tree_refs heads = {ref, ARRAY_SIZE(ref), ARRAY_SIZE(ref)};

	is_int(mirror_note_heads(repo, &heads), -EAGAIN, "a branch that went away behind one over a limit");
	ok(strstr(err_msg(), "'gone' was moved away"), "is named: %s", err_msg());
}

/* First of all: what a child has taken is counted from what we have ourselves. */
static void test_git(void)
{
	_cleanup_(proc_result_release) struct proc_result res = {0};
	_cleanup_free_ char *oid = id("refs/heads/nested"), *index = xasprintf("GIT_INDEX_FILE=%s/index", top);
	int r;

	start();
	r = git_exec(&(struct git_spec){.git_dir = repo, .args = ARGV("read-tree", oid), .env_add = ARGV(index),
					.timeout_s = 8, .memory = 256u << 20}, &res);
	held(r, r == -ETIMEDOUT || git_status(&res) == -EFBIG, "git read-tree", "nested folders");
	ok(res.max_rss_kb < 400 << 10, "it took %ld KiB", res.max_rss_kb);
}

static long peak_kb(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

int main(void)
{
	static const char *const folders[] = {"refs/heads/nested", "refs/heads/broad", "refs/heads/wide",
					      "refs/heads/deep", "refs/heads/name"};
	static const char *const commits[] = {"refs/heads/message", "refs/heads/parents", "refs/heads/ident"};
	char tmp[] = "/tmp/kperfbot-limits-XXXXXX";

	top = mkdtemp(tmp);
	repo = xasprintf("%s/b.git", top);
	is_int(proc_ok(ARGV("python3", "tests/make-bombs.py", repo), NULL, NULL), 0, "bombs are made");
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_DATA, &(struct rlimit){1800u << 20, RLIM_INFINITY});
#endif
	test_git();
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		test_files(folders[i]);
	for (size_t i = 0; i < 3; i++)
		test_revert(folders[i]);
	for (size_t i = 0; i < ARRAY_SIZE(commits); i++)
		test_commit(commits[i]);
	test_ident();
	test_file("refs/heads/blob");
	test_file("refs/heads/delta");
	test_source();
	test_line();
	test_patch();
	ok(peak_kb() < 1600 << 10 || getenv("ASAN_OPTIONS"), "all of it took %ld KiB", peak_kb());
	test_reason();
	test_fetch();
	fs_rm_rf(top);
	free(top == tmp ? NULL : top);
	free(repo);
	return tap_done();
}
