/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Job files: what loads and to what it expands, identities, refusals with their place, the rendered script. */
#include "bot/engine/points.h"
#include "jobs/expand.h"
#include "tests/tap.h"

#define JOBS _cleanup_(job_list_release) struct job_list

static int load(const char *text, struct job_list *ret)
{
	return job_load_text("x.yaml", text, strlen(text), NULL, ret);
}

static void test_sockfd(void)
{
	_cleanup_(db_job_release) struct db_job d = {0};
	_cleanup_(job_release) struct job again = {0};
	JOBS l = {0};

	is_int(job_load("stress-ng-sockfd", NULL, NULL, &l), 0, "the LKP-shaped sockfd job loads");
	is_int(l.n, 1, "it is one job");
	if (l.n != 1)
		return;
	is_str(l.v[0].name, "stress-ng-sockfd-100%-sockfd-60s", "split job name as lkp-tests has it");
	is_str(l.v[0].program, "stress-ng", "program");
	is_str(job_param(&l.v[0], "nr_threads"), "100%", "nr_threads stays text");
	is_str(l.v[0].param[2].key, "test", "parameters keep the order of the file");
	is_str(job_kpis(&l.v[0])[0], "stress-ng.sockfd.ops_per_sec", "main KPI");
	is_str(job_kpis(&l.v[0])[1], "icount.instructions_per_op", "second KPI");
	ok(!job_kpis(&l.v[0])[2], "list of KPIs ends");
	is_near(job_kpi_threshold(&l.v[0], "icount.instructions_per_op"), 0.001, 1e-12, "threshold of program.yaml");
	ok(l.v[0].monitors.n == 3, "category benchmark has the usual monitors");
	ok(l.v[0].time_limit_s > 60, "time limit is %g s", l.v[0].time_limit_s);
	is_int(job_to_db(&l.v[0], &d), 0, "goes to the database");
	is_int(job_from_canonical(d.name, d.canonical, &again), 0, "comes back from its canonical form");
	is_str(again.id, l.v[0].id, "with the same identity");
}

static void test_expand(void)
{
	JOBS l = {0};
	const char *const want[] = {"network-100%-sockfd-60s", "network-100%-udp-60s", "network-100%-udp-flood-60s",
				    "network-100%-sock-60s-dgram", "network-100%-sock-60s-seqpacket",
				    "network-100%-sock-60s-stream"};

	is_int(job_load("tests/fixtures/jobs/network.yaml", NULL, NULL, &l), 0, "a file of three documents loads");
	is_int(l.n, ARRAY_SIZE(want), "documents inherit from the first; lists expand");
	for (size_t i = 0; i < l.n && i < ARRAY_SIZE(want); i++)
		is_str(l.v[i].name, want[i], "point %zu", i);
}

static void test_matrix_order(void)
{
	JOBS l = {0}, m = {0}, t = {0};

	is_int(load("nr_threads: [1, 2]\nstress-ng: {test: [a, b]}\nmonitors: [time, vmstat]\ntesttime: 5s\n", &l), 0,
	       "two lists");
	is_int(l.n, 4, "two by two");
	if (l.n == 4) {
		is_str(l.v[1].name, "x-1-b-5s", "the later list turns faster");
		is_int(l.v[0].monitors.n, 2, "a list that is no dimension stays a list");
	}
	is_int(load("stress-ng:\n- {test: a, method: x}\n- {test: b}\n", &m), 0, "a list of blocks");
	is_int(m.n, 2, "is two jobs");
	is_int(load("b: &b {testtime: 5s}\n", &t), -EINVAL, "an unknown key is refused");
	is_int(load("nr_threads: 3\nstress-ng: &s {test: a}\n---\nstress-ng: {test: a, warmup: 2s}\n", &t), 0,
	       "anchor");
	is_int(t.n, 2, "the base alone is a job too");
}

static void test_identity(void)
{
	JOBS a = {0}, b = {0}, c = {0}, d = {0};

	is_int(load("nr_threads: 2\ntesttime: 5s\nmonitors: [time, vmstat]\nstress-ng: {test: a, method: m}\n", &a), 0,
	       "a");
	is_int(load("stress-ng: {method: m, test: a}\nmonitors: [vmstat, time]\ntesttime: 5s\nnr_threads: 2\n", &b), 0,
	       "b");
	is_int(load("stress-ng: {method: m, test: a, warmup: 0}\nmonitors: [vmstat, time]\ntesttime: 5s\nnr_threads: 2\n",
		    &c),
	       0, "c");
	is_int(load("stress-ng: {method: n, test: a}\nmonitors: [vmstat, time]\ntesttime: 5s\nnr_threads: 2\n", &d), 0,
	       "d");
	if (!a.n || !b.n || !c.n || !d.n)
		return;
	is_str(a.v[0].canonical,
	       "{\"monitors\":[\"time\",\"vmstat\"],\"params\":{\"method\":\"m\",\"nr_threads\":\"2\","
	       "\"test\":\"a\",\"testtime\":\"5s\"},\"program\":\"stress-ng\"}",
	       "canonical form");
	is_str(b.v[0].id, a.v[0].id, "identity does not depend on the order of keys");
	is_str(c.v[0].id, a.v[0].id, "nor on writing down a default");
	ok(strcmp(d.v[0].id, a.v[0].id), "another value is another job");
}

static void test_overrides(void)
{
	const char *const good[] = {"testtime=2s", "nr_threads=[1, 2]", "monitors=", NULL};
	const char *const key[] = {"testtim=2s", NULL}, *const value[] = {"testtime=soon", NULL};
	JOBS l = {0}, m = {0};

	is_int(job_load("stress-ng-sockfd", NULL, good, &l), 0, "key=value");
	is_int(l.n, 2, "a list given so expands");
	if (l.n == 2)
		ok(streq(job_param(&l.v[1], "testtime"), "2s") && l.v[1].monitors.n == 0,
		   "values and monitors replaced");
	is_int(job_load("stress-ng-sockfd", NULL, key, &m), -EINVAL, "unknown key=value");
	is_str(err_msg(), "'testtim=2s': unknown parameter 'testtim'; did you mean 'testtime'?", "says so");
	is_int(job_load("stress-ng-sockfd", NULL, value, &m), -EINVAL, "wrong value");
	ok(strstr(err_msg(), "'testtime' wants a time"), "says what is wanted: %s", err_msg());
	is_int(job_load("stress-ng-sokfd", NULL, NULL, &m), -ENOENT, "no such job");
	ok(strstr(err_msg(), "did you mean 'stress-ng-sockfd'"), "names the nearest: %s", err_msg());
	is_int(job_load("stress-ng-sockfd-100%-sockfd-60s", NULL, NULL, &m), 0, "one point by its name");
}

static const struct { const char *text, *want; } refused[] = {
	{"suite: x\nstres-ng: {test: a}\n", "x.yaml:2:1: unknown key or program 'stres-ng'; did you mean 'stress-ng'?"},
	{"testtime: 5s\nstress-ng:\n  test: a\n  metod: b\n",
	 "x.yaml:4:3: unknown parameter of 'stress-ng': 'metod'; did you mean 'method'?"},
	{"tesstime: 5s\nstress-ng: {test: a}\n",
	 "x.yaml:1:1: unknown key or program 'tesstime'; did you mean 'testtime'?"},
	{"testtime: <%= 5 %>\n", "x.yaml:1:11: ERB ('<% %>') is not supported: write the values down"},
	{"command: {run: x}\nmonitors: [time, null]\n",
	 "x.yaml:2:18: no monitor is named; the one called null is written \"null\""},
	{"suite: a\n% 3.times do\n", "x.yaml:2:1: a line of Ruby ('%') is not supported: write the values down"},
	{"suite: a\n<<: other.yaml\n",
	 "x.yaml:2:1: '<<' with a file name (include) is not supported: copy the keys here; "
	 "'<<: *anchor' works"},
	{"suite: a\nstress-ng: {test: a}\nif role server:\n  netserver:\n",
	 "x.yaml:3:1: shell key 'if role server' is not "
	 "supported: put shell code into a program (docs/JOBS.md)"},
	{"stress-ng: {test: a}\nfunction f: echo\n",
	 "x.yaml:2:1: shell key 'function f' is not supported: put shell code "
	 "into a program (docs/JOBS.md)"},
	{"stress-ng: {test: a}\ntesttime: 5 parsecs\n",
	 "x.yaml:2:11: 'testtime' wants a time of whole seconds like 60s, 5m or "
	 "1h, not '5 parsecs'"},
	{"stress-ng: {test: a}\nnr_threads: 0%\n",
	 "x.yaml:2:13: 'nr_threads' wants a number like 4, or a part of the CPUs like "
	 "50%, not '0%'"},
	{"stress-ng:\n  test: a; reboot\n",
	 "x.yaml:2:9: 'test' wants one word of letters, digits and -_.+:, not 'a; reboot'"},
	{"stress-ng:\n  nr_threads: 2\n",
	 "x.yaml:1:1: 'stress-ng' needs the parameter 'test' (the stressor, as 'stress-ng "
	 "--NAME' knows it)"},
	{"stress-ng: {test: a}\ncommand: {run: b}\n",
	 "x.yaml:2:1: a job runs one program: 'stress-ng' or 'command', not both"},
	{"stress-ng: {test: a}\nmonitors: [tim]\n", "x.yaml:2:12: no monitor 'tim'; did you mean 'time'?"},
	{"stress-ng: {test: a}\nneed_memory+: 1G\n",
	 "x.yaml:2:1: incremental key 'need_memory+' is not supported: write the "
	 "whole value"},
	{"stress-ng: {test: [a, {b: c}]}\n", "x.yaml:1:24: 'test' takes one text or a list of texts"},
	{"stress-ng: {test: []}\n", "x.yaml:1:13: the list of 'test' is empty"},
	{"suite: [a]\nstress-ng: {test: a}\n", "x.yaml:1:9: 'suite' takes one text"},
	{"suite: a\n", "x.yaml:1:1: no program in this job: one of the keys must be a folder of jobs/programs"},
	{"- a\n", "x.yaml:1:3: a job file is 'key: value' lines"},
	{"", "x.yaml: no job in it"},
};

static void test_refusals(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		JOBS l = {0};

		ok(load(refused[i].text, &l) < 0, "refused: %.*s", (int)strcspn(refused[i].text, "\n"),
		   refused[i].text);
		is_str(err_msg(), refused[i].want, "with its place");
	}
}

static void test_render(void)
{
	_cleanup_buf_ struct buf s = {0}, nasty = {0};
	JOBS l = {0}, m = {0};

	is_int(job_load("stress-ng-sockfd", NULL, NULL, &l), 0, "load");
	is_int(l.n ? job_render(&l.v[0], &s) : -1, 0, "render");
	ok(startswith(buf_str(&s), "#!/bin/sh\n"), "it is a shell script");
	ok(strstr(buf_str(&s), "\nnr_threads=100%\n"), "a percentage stays one");
	ok(strstr(buf_str(&s), "stress-ng --timeout \"$seconds\" --times --verify --metrics"),
	   "lkp-tests' command line");
	is_int(load("command:\n  run: \"echo 'x'\\n$(reboot)\"\n", &m), 0, "a command with quotes, newline and $()");
	is_int(m.n ? job_render(&m.v[0], &nasty) : -1, 0, "render");
	ok(strstr(buf_str(&nasty), "\nrun='echo '\\''x'\\''\n$(reboot)'\n"), "gets into the script as one quoted word");
}

int main(void)
{
	test_sockfd();
	test_expand();
	test_matrix_order();
	test_identity();
	test_overrides();
	test_refusals();
	test_render();
	return tap_done();
}
