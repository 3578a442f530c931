/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patch series. The first byte says what the input is: 'a': as a file, 'l': a list beside a patch, 's': a folder with
 * "series", and 'g': an mbox that is applied on a small commit by git (slow). Nothing is read outside of the folder,
 * and what applies is a commit that can be read.
 */
#include "kernels/patches.h"
#include "kernels/tree.h"
#include "lib/git.h"
#include "tests/fuzz/check.h"

static char *repo, *base;

static void git(struct git_spec s)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};

	FUZZ_CHECK(git_exec(&s, &r) == 0 && !r.status);
}

static void make_repo(void)
{
	static const char stream[] = "blob\nmark :1\ndata 27\nint f(void)\n{\n\treturn 1;\n}\n\n"
				     "commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nx\n"
				     "M 644 :1 f.c\n";

	repo = xasprintf("%s/r.git", fuzz_folder());
	git((struct git_spec){.args = ARGV("init", "-q", "--bare", "-b", "main", repo)});
	git((struct git_spec){.git_dir = repo, .args = ARGV("fast-import", "--quiet"), .input = stream});
	FUZZ_CHECK(tree_resolve(repo, "main", &base) == 0);
}

static void apply(const struct patches *s)
{
	struct patched p = {0};
	struct commit_info c = {0};
	int r;

	if (!repo)
		make_repo();
	r = patches_apply(repo, base, s, true, &p);
	FUZZ_CHECK(r == 0 || (r == -ENOTSUP && fuzz_plain(err_msg())));
	if (r < 0)
		return;
	FUZZ_CHECK(p.patches && tree_commit(repo, p.oid, &c) == 0 && tree_is_ancestor(repo, base, p.oid) == 1);
	commit_info_release(&c);
	patched_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char one[] = "From: A <a@example.org>\nSubject: one\n\n---\n";
	static const char *const names[] = {"a.mbox", "list", "folder/series"};
	char kind = size ? (char)data[0] : 'a';
	_cleanup_free_ char *path = NULL, *folder = xasprintf("%s/folder", fuzz_folder());
	struct patches s = {0};
	int r;

	FUZZ_CHECK(fs_mkdir_p(folder) == 0);
	fuzz_put("one.patch", one, strlen(one));
	fuzz_put("folder/one.patch", one, strlen(one));
	fuzz_put(names[kind == 's' ? 2 : kind == 'l'], data + (size > 0), size - (size > 0));
	path = xasprintf("%s/%s", fuzz_folder(), kind == 's' ? "folder" : names[kind == 'l']);
	r = patches_read(path, &s);
	FUZZ_CHECK(r == 0 || (*err_msg() && fuzz_plain(err_msg())));
	if (r < 0)
		return 0;
	FUZZ_CHECK(s.n && strlen(s.hash) == 64);
	for (size_t i = 0; i < s.n; i++)
		FUZZ_CHECK(s.v[i].text.len == strlen(buf_str(&s.v[i].text)));
	if (kind == 'g')
		apply(&s);
	patches_release(&s);
	return 0;
}
