/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children that do not end, take what they like, or leave somebody behind; and git under its limits. */
#include "lib/fs.h"
#include "lib/git.h"
#include "tests/tap.h"

#include <signal.h>

static volatile int stop;

static void on_alarm(int sig _unused_) { stop = 1; }

static int run(const char *script, struct proc_spec s, struct proc_result *r)
{
	s.argv = ARGV("sh", "-c", script);
	return proc_run(&s, r);
}

static void test_ends(void)
{
	_cleanup_(proc_result_release) struct proc_result r = {0}, w = {0}, c = {0};

	is_int(run("sleep 30", (struct proc_spec){.timeout_s = 0.3}, &r), -ETIMEDOUT, "a deadline ends a child");
	is_int(run("setsid sh -c 'while :; do echo x; done' & sleep 0.3",
		   (struct proc_spec){.timeout_s = 20, .max_output = 100}, &w), 0,
	       "a child that leaves a writer behind");
	ok(w.seconds < 10, "is not waited for: %.1f s", w.seconds);
	ok(w.truncated && w.out.len == 100, "its output is cut");
	signal(SIGALRM, on_alarm);
	alarm(1);
	proc_cancel_on(&stop);
	is_int(run("sleep 30", (struct proc_spec){0}, &c), -ECANCELED,
	       "the program's flag stops a child that has none");
	ok(proc_cancelled(), "and is seen by who asks");
	proc_cancel_on(NULL);
}

static void test_memory(void)
{
	static const char eat[] = "python3 -c 'b = bytearray(400 << 20); print(len(b))'";
	_cleanup_(proc_result_release) struct proc_result r = {0}, g = {0};

	is_int(run(eat, (struct proc_spec){.timeout_s = 60, .limit_data = 200u << 20}, &r), 0,
	       "a child under a limit on its data");
	ok(r.status != 0, "does not get 400 MiB of 200: %d", r.status);
	is_int(run(eat, (struct proc_spec){.timeout_s = 60, .limit_data = 800u << 20}, &g), 0, "with more room");
	is_int(g.status, 0, "it does");
}

static void test_git(void)
{
	char dir[] = "/tmp/kperfbot-proc-XXXXXX";
	_cleanup_(proc_result_release) struct proc_result r = {0}, big = {0}, hook = {0};
	_cleanup_free_ char *repo = NULL, *file = NULL;

	if (!mkdtemp(dir))
		return;
	repo = xasprintf("%s/r.git", dir);
	file = xasprintf("%s/zeros", dir);
	is_int(git_exec(&(struct git_spec){.args = ARGV("init", "-q", "--bare", repo)}, &r), 0, "git runs");
	is_int(git_status(&r), 0, "and succeeds");
	is_int(proc_ok(ARGV("truncate", "-s", "300M", file), NULL, NULL), 0, "a sparse file of 300 MiB");
	is_int(git_exec(&(struct git_spec){.git_dir = repo, .args = ARGV("-c", "core.bigFileThreshold=1g",
									 "hash-object", "-w", file),
					   .file_size = 64 << 10}, &big), 0, "git that writes more than it may");
	is_int(git_status(&big), -EFBIG, "ran into a limit: %d %s", big.status, buf_str(&big.err));
	is_int(git_exec(&(struct git_spec){.git_dir = repo, .args = ARGV("config", "--get", "core.hooksPath")}, &hook),
	       0, "git config");
	is_str(buf_str(&hook.out), "/dev/null\n", "there are no hooks");
	fs_rm_rf(dir);
}

int main(void)
{
	test_ends();
	test_memory();
	test_git();
	return tap_done();
}
