/* SPDX-License-Identifier: GPL-2.0-or-later */
/* git on what strangers made: no hooks, no configuration of the user's, and limits that end it. */
#include "lib/git.h"
#include "lib/fs.h"
#include "tests/tap.h"

#include <signal.h>

static char top[] = "/tmp/kpb-git-XXXXXX";

#define GIT(...) git(&(struct git_spec){__VA_ARGS__})
static int git(const struct git_spec *g)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	int e = git_exec(g, &r);

	return e < 0 ? e : git_status(&r);
}

static bool says(const struct git_spec *g, const char *want)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	bool yes = git_exec(g, &r) == 0 && git_status(&r) == 0 && streq(buf_str(&r.out), want);

	if (!yes)
		printf("# %s%s\n", buf_str(&r.out), buf_str(&r.err));
	return yes;
}

static void test_hooks(void)
{
	_cleanup_free_ char *hook = xasprintf("%s/repo/.git/hooks/post-commit", top), *ran = xasprintf("%s/ran", top);
	_cleanup_free_ char *script = xasprintf("#!/bin/sh\ntouch '%s'\n", ran);

	fs_mkdir_parent(hook);
	fs_write_atomic(hook, script, strlen(script));
	proc_ok(ARGV("chmod", "+x", hook), NULL, NULL);
	is_int(GIT(.args = ARGV("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty",
				"-m", "x"),
		   .cwd = "repo"),
	       0, "a commit");
	ok(!fs_exists(ran), "runs no hook");
}

static void test_configuration(void)
{
	_cleanup_free_ char *home = xasprintf("HOME=%s/home", top), *dir = xasprintf("%s/repo/.git", top);
	const char *const env[] = {home, NULL};

	fs_mkdir_p("home");
	fs_write_atomic("home/.gitconfig", "[user]\n\tname = from home\n", 24);
	is_int(GIT(.args = ARGV("config", "user.name"), .cwd = "repo", .env_add = env), -EIO,
	       "no configuration of the user's");
	ok(says(
		   &(struct git_spec){
			   .args = ARGV("config", "user.name"), .cwd = "repo", .env_add = env, .user_config = true},
		   "from home\n"),
	   "but where it is asked for");
	ok(says(&(struct git_spec){.args = ARGV("rev-list", "--count", "HEAD"), .git_dir = dir}, "1\n"),
	   "a repository by its folder");
	setenv("GIT_DIR", "/nowhere", 1);
	ok(says(&(struct git_spec){.args = ARGV("rev-list", "--count", "HEAD"), .git_dir = dir}, "1\n"),
	   "whatever our environment says");
	unsetenv("GIT_DIR");
	ok(says(&(struct git_spec){.args = ARGV("hash-object", "--stdin"), .cwd = "repo", .input = "abc"},
		"f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f\n"), "its input");
}

static void test_limits(void)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	int cancel = 1;

	proc_ok(ARGV("dd", "if=/dev/urandom", "of=repo/large", "bs=1M", "count=3", "status=none"), NULL, NULL);
	is_int(GIT(.args = ARGV("hash-object", "-w", "large"), .cwd = "repo", .file_size = 1 << 20), -EFBIG,
	       "no file larger than allowed");
	is_int(GIT(.args = ARGV("hash-object", "-w", "large"), .cwd = "repo"), 0, "else it is taken");
	is_int(GIT(.args = ARGV("no-such-command"), .cwd = "repo"), -EIO, "git's own errors are others");
	is_int(GIT(.args = ARGV("-c", "alias.wait=!sleep 20", "wait"), .cwd = "repo", .cancel = &cancel), -ECANCELED,
	       "it can be stopped");
	is_int(git_exec(&(struct git_spec){.args = ARGV("help", "-a"), .cwd = "repo", .max_output = 100}, &r), 0,
	       "much output");
	ok(r.truncated && r.out.len == 100, "is kept up to the limit");
}

static void test_status(void)
{
	static const struct { int status; const char *err; int want; } c[] = {
		{0, "fatal: out of memory", 0},
		{128, "fatal: Out of memory, malloc failed (tried to allocate 9 bytes)", -EFBIG},
		{128, "error: file write error: No space left on device", -ENOSPC}, {128 + SIGXFSZ, "", -EFBIG},
		{128 + SIGKILL, "", -EIO}, {128, "fatal: not a git repository", -EIO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct proc_result r = {.status = c[i].status};

		buf_adds(&r.err, c[i].err);
		is_int(git_status(&r), c[i].want, "status %d: %s", c[i].status, c[i].err);
		proc_result_release(&r);
	}
}

int main(void)
{
	char old[PATH_MAX];

	if (!getcwd(old, sizeof(old)) || !mkdtemp(top) || chdir(top) < 0)
		return 1;
	is_int(GIT(.args = ARGV("init", "-q", "repo")), 0, "a repository");
	test_hooks();
	test_configuration();
	test_limits();
	test_status();
	if (chdir(old) == 0)
		fs_rm_rf(top);
	return tap_done();
}
