/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children that do not end, take what they like, or leave somebody behind; what they get, and what they say. */
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/tap.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

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

static void test_status(void)
{
	static const struct { const char *script; int want; } c[] = {
		{"exit 0", 0}, {"exit 7", 7}, {"kill -TERM $$", 128 + SIGTERM}, {"kill -KILL $$", 128 + SIGKILL},
		{"no-such-command", 127},
	};
	_cleanup_(proc_result_release) struct proc_result none = {0};
	_cleanup_buf_ struct buf out = {0};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		_cleanup_(proc_result_release) struct proc_result r = {0};

		is_int(run(c[i].script, (struct proc_spec){.timeout_s = 20}, &r), 0, "%s", c[i].script);
		is_int(r.status, c[i].want, "its status");
	}
	ok(proc_run(&(struct proc_spec){.argv = ARGV("no-such-program-of-anybody")}, &none) < 0, "%s", err_msg());
	is_int(proc_ok(ARGV("sh", "-c", "echo out; echo one >&2; echo 'the last\033[2J' >&2; exit 3"), NULL, &out),
	       -EIO, "%s", err_msg());
	ok(strstr(err_msg(), "status 3") && strstr(err_msg(), "the last") && !strstr(err_msg(), "one"),
	   "the last line tells why");
	ok(proc_have("sh") && !proc_have("no-such-program-of-anybody"), "what is in PATH");
}

static void test_surroundings(void)
{
	_cleanup_(proc_result_release) struct proc_result r = {0}, e = {0}, closed = {0};
	_cleanup_buf_ struct buf log = {0};
	char path[] = "/tmp/kpb-proc-XXXXXX";
	int fd = mkstemp(path);

	setenv("KPB_TEST", "ours", 1);
	is_int(run("cat; pwd; echo $KPB_TEST $MORE; echo err >&2",
		   (struct proc_spec){.input = "in\n", .cwd = "/", .env_add = ARGV("MORE=more")}, &r), 0, "a child");
	is_str(buf_str(&r.out), "in\n/\nours more\n", "has its input, folder and environment");
	is_str(buf_str(&r.err), "err\n", "and two outputs");
	is_int(run("echo \"$KPB_TEST-$LC_ALL\"", (struct proc_spec){.env_clear = true}, &e), 0,
	       "with an environment of its own");
	is_str(buf_str(&e.out), "-C.UTF-8\n", "nothing of ours");
	is_int(run("cat; ls /proc/self/fd | wc -l", (struct proc_spec){0}, &closed), 0, "without input");
	is_str(buf_str(&closed.out), "4\n", "it has no file of ours but its three");
	is_int(run("echo one; echo two >&2", (struct proc_spec){.out_path = path}, &closed), 0, "into a file");
	fs_read(path, 0, &log);
	is_str(buf_str(&log), "one\ntwo\n", "both in order");
	close(fd);
	unlink(path);
}

/* Whoever starts it may be killed: nothing is left running. */
static void test_parent(void)
{
	char path[] = "/tmp/kpb-proc-XXXXXX", text[32] = "";
	int fd = mkstemp(path), child = 0, status;
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1); /* its end is told to us */
	pid = fork();
	if (pid == 0) {
		_cleanup_(proc_result_release) struct proc_result r = {0};

		run("echo $$; exec sleep 60", (struct proc_spec){.out_path = path}, &r);
		_exit(0);
	}
	for (int i = 0; i < 60000 && !strchr(text, '\n'); i++) {
		usleep(1000);
		if (pread(fd, text, sizeof(text) - 1, 0) < 0)
			break;
	}
	ok(sscanf(text, "%d", &child) == 1 && child > 1, "a child of a child runs");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ok(child > 1 && waitpid(child, &status, 0) == child && WIFSIGNALED(status), "and goes with its parent");
	close(fd);
	unlink(path);
}

static void test_lines(void)
{
	static const struct { const char *text, *want; } c[] = {
		{"", ""}, {"\n\n", ""}, {"one", "one"}, {"one\ntwo\n", "two"}, {"one\n\n \n", "one"},
		{"one\r\n", "one"},
	};
	char text[2000];
	_cleanup_free_ char *cut = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		_cleanup_free_ char *got = last_line(c[i].text);

		is_str(got, c[i].want, "the last line of text %zu", i);
	}
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	cut = last_line(text);
	ok(strlen(cut) <= 300, "is cut: %zu", strlen(cut));
}

int main(void)
{
	test_ends();
	test_memory();
	test_status();
	test_surroundings();
	test_parent();
	test_lines();
	return tap_done();
}
