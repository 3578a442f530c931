/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report says of the hosts: where the two sides' runs differ, and their warnings. */
#include "lib/fs.h"
#include "reporters/facts.h"
#include "tests/tap.h"

#define JOB "0123456789abcdef"
static char dir[] = "/tmp/kperfbot-host-XXXXXX";
static struct store *s;
static int64_t build[2], machine;
static int runs;

static void run(int side, const char *facts)
{
	_cleanup_free_ char *folder = xasprintf("%s/%d", dir, ++runs),
			    *path = xasprintf("%s/result/host-facts", folder), *boot = xasprintf("%d", runs);
	struct db_run r = {.build = build[side],
			   .machine = machine,
			   .job = (char *)JOB,
			   .boot = boot,
			   .verdict = RUN_OK,
			   .replicate = runs,
			   .result_dir = folder,
			   .started = (usec_t)runs,
			   .seconds = 1};
	struct metric_set none = {0};

	fs_mkdir_parent(path);
	fs_write_atomic(path, facts, strlen(facts));
	is_int(store_run_put(s, &r, &none, NULL), 0, "a run");
}

static void world(void)
{
	struct db_tree t = {.name = (char *)"t", .url = (char *)"https://git.example.org/t", .enabled = true};
	struct db_machine m = {.name = (char *)"m", .driver = (char *)"qemu", .tbox_group = (char *)"g"};
	struct db_job j = {(char *)JOB,	 (char *)"job", (char *)"command",
			   (char *)"{}", (char *)"{}",	(char *)"#!/bin/sh\n"};
	struct db_build b = {.kconfig = (char *)"k", .state = BUILD_OK};

	is_int(store_open(":memory:", false, &s), 0, "a database");
	store_tree_put(s, &t, &b.tree);
	store_machine_put(s, &m, &machine);
	store_job_put(s, &j);
	for (int k = 0; k < 2; k++) {
		b.commit = (char *)(k ? "2222222222222222222222222222222222222222"
				      : "1111111111111111111111111111111111111111");
		is_int(store_build_put(s, &b, &build[k]), 0, "a build");
	}
}

static void has_lines(const char *const *want, const char *title)
{
	struct facts f = {.good_build = {.id = build[0]}, .bad_build = {.id = build[1]}, .cmp = {.job = (char *)JOB},
			  .machine = {.tbox_group = (char *)"g"}};
	_cleanup_strv_ struct strv l = {0};
	size_t n = 0;

	is_int(report_host(s, &f, &l), 0, "%s", title);
	for (; want[n]; n++)
		is_str(n < l.n ? l.v[n] : "(none)", want[n], "line %zu", n + 1);
	is_int(l.n, n, "and no more");
}

int main(void)
{
	static const char same[] =
		"kernel: 6.1.0\nkernel_command_line: console=ttyS0 nokaslr\ngovernor: performance\nload_average: 0.1 0 0\n"
		"mitigation.retbleed: Mitigation: IBRS\n";
	static const char other[] =
		"kernel: 6.1.0-g123\nkernel_command_line: console=ttyS0 nokaslr\ngovernor: performance\nload_average: 0.2 0 0\n"
		"mitigation.retbleed: Mitigation: IBRS\n";

	if (!mkdtemp(dir))
		return 1;
	world();
	has_lines((const char *const[]){NULL}, "no runs");
	run(0, same);
	run(1, other);
	has_lines((const char *const[]){NULL},
		  "what is another in each run, or is the kernel under test, is no difference");
	run(0,
	    "kernel_command_line: console=ttyS0 nokaslr\ngovernor: powersave\nmitigation.retbleed: Mitigation: IBRS\nturbo: \033[31m1\n"
	    "warning: turbo: no boost here\n");
	run(1,
	    "kernel_command_line: console=ttyS0 nokaslr mitigations=off\ngovernor: performance\nmitigation.retbleed: Vulnerable\n"
	    "warning: turbo: no boost here\nwarning: not idle: 40 % busy before the test\nno colon at all\n");
	has_lines((const char *const[]){
		"governor: performance in 1 of 2 runs, powersave in 1 of 2 runs -> performance",
		"turbo: \\x1b[31m1 in 1 of 2 runs -> not told",
		"kernel_command_line: console=ttyS0 nokaslr -> console=ttyS0 nokaslr in 1 of 2 runs, console=ttyS0 nokaslr mitigations=off in 1 of 2 runs",
		"mitigation.retbleed: Mitigation: IBRS -> Mitigation: IBRS in 1 of 2 runs, Vulnerable in 1 of 2 runs",
		"warning in 1 of 2 runs before and 1 of 2 after: turbo: no boost here",
		"warning in 0 of 2 runs before and 1 of 2 after: not idle: 40 % busy before the test", NULL},
		"differences and warnings");
	store_close(s);
	fs_rm_rf(dir);
	return tap_done();
}
