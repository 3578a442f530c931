/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers, on what the real tools printed: right numbers, and never a number from what is missing or cut off. */
#include "jobs/expand.h"
#include "lib/fs.h"
#include "tests/tap.h"

struct parsed { struct metric_set m; struct parse_ctx c; struct job_list l; struct buf text; int r; };

static void parsed_release(struct parsed *p)
{
	metric_set_release(&p->m);
	job_list_release(&p->l);
	buf_release(&p->text);
	free(p->c.cause);
}
#define PARSED _cleanup_(parsed_release) struct parsed

/* Parses the first n bytes (0: all) of a fixture with ops for the job of this text. */
static void parse(struct parsed *p, const struct program_ops *ops, const char *job, const char *file, size_t n,
		  double ns)
{
	static struct run_facts facts;
	_cleanup_free_ char *path = xasprintf("tests/fixtures/jobs/%s", file);

	facts = (struct run_facts){.ns_per_insn = ns, .nr_cpu = 2};
	*p = (struct parsed){0};
	if (job_load_text("x.yaml", job, strlen(job), NULL, &p->l) < 0 || fs_read(path, 0, &p->text) < 0) {
		ok(false, "%s: %s", file, err_msg());
		return;
	}
	p->c = (struct parse_ctx){
		.job = &p->l.v[0], .facts = &facts, .result_dir = "/nonexistent", .out = &p->m, .verdict = RUN_OK};
	p->r = ops->parse(&p->c, buf_str(&p->text), n ? MIN(n, p->text.len) : p->text.len);
}

static double value(const struct parsed *p, const char *name)
{
	const struct metric_value *v = metric_set_get(&p->m, name);

	return v ? v->value : NAN;
}

#define SOCKFD "testtime: 3s\nmonitors: []\nstress-ng: {test: sockfd}\n"

static void test_stress_ng(void)
{
	const struct program_ops *ops = program_find("stress-ng");
	const struct metric_value *kpi;
	PARSED p;

	parse(&p, ops, SOCKFD, "stress-ng-sockfd-lkp.txt", 0, 8);
	is_int(p.r, 0, "sockfd as lkp-tests calls it");
	is_near(value(&p, "stress-ng.sockfd.ops"), 224047, 0, "operations");
	is_near(value(&p, "stress-ng.sockfd.ops_per_sec"), 73116.54, 1e-9, "rate by wall time");
	is_near(value(&p, "stress-ng.sockfd.ops_per_sec_usr_sys"), 52841.61, 1e-9, "rate by CPU time");
	is_near(value(&p, "icount.instructions_per_op"), 1e9 / 52841.61 / 8, 1e-9,
		"instructions an operation at shift 3");
	is_near(value(&p, "icount.instructions"), 224047 / 52841.61 * 1e9 / 8, 1e-3, "instructions");
	kpi = metric_set_get(&p.m, "stress-ng.sockfd.ops_per_sec");
	ok(kpi && kpi->kpi && kpi->direction == 1, "the rate is a KPI, higher is better");
	kpi = metric_set_get(&p.m, "icount.instructions_per_op");
	ok(kpi && kpi->kpi && kpi->direction == -1, "the path length is a KPI, lower is better");
	kpi = metric_set_get(&p.m, "stress-ng.sockfd.ops");
	ok(kpi && !kpi->kpi, "operations are none");
}

static void test_stress_ng_variants(void)
{
	static const struct { const char *file, *job, *metric; double want; } good[] = {
		{"stress-ng-sockfd-metrics-brief.txt", SOCKFD, "stress-ng.sockfd.ops_per_sec", 75602.64},
		{"stress-ng-sockfd-metrics-times-perf.txt", "testtime: 5s\nstress-ng: {test: sockfd}\n",
		 "stress-ng.sockfd.ops", 351768},
		{"stress-ng-sockfd-port.txt", "testtime: 2s\nstress-ng: {test: sockfd}\n", "stress-ng.sockfd.ops",
		 59793},
		{"stress-ng-lowfd.txt", "testtime: 2s\nstress-ng: {test: sockfd}\n", "stress-ng.sockfd.ops_per_sec",
		 32310.48},
		{"stress-ng-sock.txt", "testtime: 2s\nstress-ng: {test: sock}\n", "stress-ng.sock.ops_per_sec", 134.41},
		{"stress-ng-udp.txt", "testtime: 2s\nstress-ng: {test: udp}\n", "stress-ng.udp.ops_per_sec_usr_sys",
		 46658.93},
		{"stress-ng-udp-flood.txt", "testtime: 2s\nstress-ng: {test: udp-flood}\n",
		 "stress-ng.udp-flood.sendto_calls_per_sec", 35127.25},
		{"stress-ng-udp-flood.txt", "testtime: 2s\nstress-ng: {test: udp-flood}\n",
		 "stress-ng.udp-flood.MB_per_sec_sendto_rate", 0.39},
		/* other metrics with as many words as the stressor's row */
		{"stress-ng-longjmp.txt", "testtime: 1s\nstress-ng: {test: longjmp}\n", "stress-ng.longjmp.ops", 5804},
		{"stress-ng-longjmp.txt", "testtime: 1s\nstress-ng: {test: longjmp}\n",
		 "stress-ng.longjmp.nanosecs_per_longjmp_call", 91.32},
		{"stress-ng-vdso.txt", "testtime: 1s\nstress-ng: {test: vdso}\n", "stress-ng.vdso.ops_per_sec",
		 45403243.76},
		{"stress-ng-vdso.txt", "testtime: 1s\nstress-ng: {test: vdso}\n",
		 "stress-ng.vdso.nanosecs_for_test_overhead", 2.36},
		{"stress-ng-mutex.txt", "testtime: 1s\nstress-ng: {test: mutex}\n",
		 "stress-ng.mutex.nanosecs_per_mutex", 5441.15},
		{"stress-ng-zlib.txt", "testtime: 1s\nstress-ng: {test: zlib}\n", "stress-ng.zlib.ops", 18},
		{"stress-ng-zlib.txt", "testtime: 1s\nstress-ng: {test: zlib}\n", "stress-ng.zlib.%_compression_ratio",
		 48.31},
		{"stress-ng-cache.txt", "testtime: 1s\nstress-ng: {test: cache}\n", "stress-ng.cache.ops", 307030},
		{"stress-ng-cache.txt", "testtime: 1s\nstress-ng: {test: cache}\n",
		 "stress-ng.cache.cache_ops_per_second", 431074384.49},
		{"stress-ng-info-longjmp.txt", "testtime: 60s\nstress-ng: {test: longjmp}\n", "stress-ng.longjmp.ops",
		 29475415},
		{"stress-ng-info-longjmp.txt", "testtime: 60s\nstress-ng: {test: longjmp}\n",
		 "stress-ng.longjmp.ops_per_sec_usr_sys", 246576.06},
		{"stress-ng-info-longjmp.txt", "testtime: 60s\nstress-ng: {test: longjmp}\n",
		 "stress-ng.longjmp.nanoseconds_per_longjmp_call", 53.66},
	};
	static const struct { const char *file, *job, *verdict, *cause; } bad[] = {
		{"stress-ng-sctp.txt", "testtime: 2s\nstress-ng: {test: sctp}\n", "incomplete",
		 "SCTP protocol not supported"},
		{"stress-ng-dccp.txt", "testtime: 2s\nstress-ng: {test: dccp}\n", "incomplete",
		 "DCCP protocol not supported"},
		{"stress-ng-rdrand.txt", "testtime: 1s\nstress-ng: {test: rdrand}\n", "incomplete",
		 "rdrand stressor will be skipped, not a recognised Intel CPU"},
		{"stress-ng-smi.txt", "testtime: 1s\nstress-ng: {test: smi}\n", "incomplete",
		 "smi stressor will be skipped, CPU cannot read model specific registers (MSR)"},
		{"stress-ng-gpu.txt", "testtime: 1s\nstress-ng: {test: gpu}\n", "incomplete",
		 "cannot open GPU device '/dev/dri/renderD128'"},
		{"stress-ng-cpu-online.txt", "testtime: 1s\nstress-ng: {test: cpu-online}\n", "incomplete",
		 "disabled 'cpu-online' as it may hang or reboot the machine"},
		{"stress-ng-efivar.txt", "testtime: 1s\nstress-ng: {test: efivar}\n", "incomplete",
		 "efivar: cannot read EFI vars in /sys/firmware/efi/efivars"},
		{"stress-ng-badopt.txt", SOCKFD, "failed", "unrecognized option '--nosuch'"},
		{"stress-ng-sockfd-reuse.txt", SOCKFD, "failed", "unrecognized option '--sockfd-reuse'"},
		{"stress-ng-sockfd-ops.txt", SOCKFD, "failed", "ran 0.16 s of 3 s"},
		{"stress-ng-udp.txt", SOCKFD, "failed", "no figures for 'sockfd'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		PARSED p;

		parse(&p, program_find("stress-ng"), good[i].job, good[i].file, 0, 0);
		is_int(p.r, 0, "%s parses", good[i].file);
		is_near(value(&p, good[i].metric), good[i].want, 1e-9, "%s", good[i].metric);
		ok(!metric_set_get(&p.m, "icount.instructions"), "no instructions where time is no count of them");
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		PARSED p;

		parse(&p, program_find("stress-ng"), bad[i].job, bad[i].file, 0, 0);
		is_int(p.r, -EBADMSG, "%s does not", bad[i].file);
		is_str(run_verdict_word(p.c.verdict), bad[i].verdict, "verdict");
		ok(p.c.cause && strstr(p.c.cause, bad[i].cause), "cause: %s", p.c.cause ? p.c.cause : "(none)");
		is_int(p.m.n, 0, "and gives no values");
	}
}

/* Whatever is left of a file that was cut off somewhere: its values in full, or none. */
static void test_cut_off(const char *name, const struct program_ops *ops, const char *file, size_t whole_from)
{
	size_t good = 0, n;
	PARSED all;

	parse(&all, ops, SOCKFD, file, 0, 0);
	n = all.text.len;
	is_int(all.r, 0, "%s: the whole file parses", name);
	for (size_t i = 1; i < n; i++) {
		PARSED p;

		parse(&p, ops, SOCKFD, file, i, 0);
		if (p.r == 0 && i < n - whole_from)
			good++;
	}
	is_int(good, 0, "%s: cut off before its end it never does", name);
}

static void test_time(void)
{
	PARSED p, b;

	parse(&p, monitor_find("time"), SOCKFD, "time-gnu.txt", 0, 0);
	is_int(p.r, 0, "GNU time");
	ok(value(&p, "stress-ng.time.elapsed_time") >= 2 && value(&p, "stress-ng.time.elapsed_time") < 3,
	   "elapsed_time");
	ok(value(&p, "stress-ng.time.voluntary_context_switches") > 0, "voluntary_context_switches");
	ok(!metric_set_get(&p.m, "stress-ng.time.swaps"), "what Linux does not count is left out");
	parse(&b, monitor_find("time"), SOCKFD, "time-busybox.txt", 0, 0);
	is_int(b.r, 0, "busybox time");
	is_near(value(&b, "stress-ng.time.elapsed_time"), 3723, 1e-9, "1h 2m 03s");
	is_near(value(&b, "stress-ng.time.percent_of_cpu_this_job_got"), 97, 1e-9, "per cent");
	is_near(value(&b, "stress-ng.time.maximum_resident_set_size"), 5568, 1e-9, "resident set");
}

static void test_vmstat(void)
{
	PARSED p;

	parse(&p, monitor_find("vmstat"), SOCKFD, "vmstat.txt", 0, 0);
	is_int(p.r, 0, "vmstat");
	is_near(value(&p, "vmstat.cpu.id"), 100, 1e-9, "the first row, since boot, is not in the mean");
	is_near(value(&p, "vmstat.system.cs"), 64, 1e-9, "mean of two rows");
	is_near(value(&p, "vmstat.io.bo"), 6, 1e-9, "io.bo");
}

/* A cell that is no value is no zero: rates and sums are those of the other intervals. */
static void test_perf_cells(void)
{
	static const char *const cells[] = {"nan", "-nan", "inf", "", "<not counted>", "<not supported>"};

	for (size_t i = 0; i < ARRAY_SIZE(cells); i++) {
		_cleanup_free_ char *text =
			xasprintf("     1.0,1000,,page-faults,1000,100.00,,\n     1.0,,,,,,80.5,a ratio\n"
				  "     2.0,%s,,page-faults,0,%s,,\n     3.0,3000,,page-faults,1000,100.00,,\n",
				  cells[i], i == 1 ? "-nan" : "0.00");
		struct check_set checks = {0};
		const struct check *k;
		PARSED p;

		parse(&p, monitor_find("perf-stat"), SOCKFD, "perf-stat-csv-I.txt", 0, 0);
		metric_set_release(&p.m);
		p.c.checks = &checks;
		p.r = monitor_find("perf-stat")->parse(&p.c, text, strlen(text));
		k = check_set_get(&checks, "figures");
		is_int(p.r, 0, "a cell '%s'", cells[i]);
		is_near(value(&p, "perf-stat.total.page-faults"), 4000, 0, "the sum of the others");
		is_near(value(&p, "perf-stat.ps.page-faults"), 2000, 1e-9, "and their rate");
		ok(cells[i][0] == '<' ? !k : k && strstr(k->evidence, "page-faults"), "said: %s",
		   k ? k->evidence : "nothing");
		check_set_release(&checks);
	}
}

static void test_perf_stat(void)
{
	const struct program_ops *ops = monitor_find("perf-stat");
	PARSED p, hw, bad, none;

	parse(&p, ops, SOCKFD, "perf-stat-csv-I.txt", 0, 0);
	is_int(p.r, 0, "perf stat on a machine without a PMU");
	ok(!metric_set_get(&p.m, "perf-stat.i.cycles") && !metric_set_get(&p.m, "perf-stat.total.cycles"),
	   "what is not supported is left out, not zero");
	is_near(value(&p, "perf-stat.total.context-switches"), 100 + 174 + 65, 1e-9, "total has all intervals");
	is_near(value(&p, "perf-stat.ps.context-switches"), 339 / 0.518424492, 1e-6, "ps divides by just their time");
	is_near(value(&p, "perf-stat.i.context-switches"),
		(100 / 0.200771461 + 174 / (0.401980241 - 0.200771461) + 65 / (0.518424492 - 0.401980241)) / 3, 1e-6,
		"i is the mean of the rates");
	parse(&hw, ops, SOCKFD, "perf-stat-hw.txt", 0, 0);
	is_int(hw.r, 0, "with hardware events");
	is_near(value(&hw, "perf-stat.i.ipc"), (0.5 + 1) / 2, 1e-9,
		"i.ipc: mean of ratios, without the short last interval");
	is_near(value(&hw, "perf-stat.overall.ipc"), 6000.0 / 9000, 1e-9,
		"overall.ipc: ratio of sums, hybrid name included");
	is_near(value(&hw, "perf-stat.overall.MPKI"), 60 / 6000.0 * 1000, 1e-9, "overall.MPKI");
	is_near(value(&hw, "perf-stat.overall.cache-miss-rate%"), 60 / 250.0 * 100, 1e-9, "overall.cache-miss-rate%%");
	is_near(value(&hw, "perf-stat.overall.cycles-between-cache-misses"), 150, 1e-9, "cycles between cache misses");
	is_near(value(&hw, "perf-stat.ps.instructions"), 6000 / 2.4, 1e-9, "ps.instructions");
	is_near(value(&hw, "perf-stat.total.instructions"), 6000, 1e-9, "total.instructions");
	ok(!metric_set_get(&hw.m, "perf-stat.i.node-loads"), "counted a twentieth of the time is not counted");
	ok(!metric_set_get(&hw.m, "perf-stat.i.node-load-miss-rate%"), "no ratio from a missing count");
	test_perf_cells();
	parse(&bad, ops, SOCKFD, "perf-stat-bad.txt", 0, 0);
	is_int(bad.r ? bad.c.verdict : RUN_OK, RUN_INCOMPLETE, "an error of perf: %s", bad.c.cause ? bad.c.cause : "");
	parse(&none, ops, SOCKFD, "perf-stat-notcounted.txt", 0, 0);
	ok(none.r == -EBADMSG && none.m.n == 0, "another format gives no values");
}

static const char *cause(const struct parsed *p) { return p->c.cause ? p->c.cause : ""; }

static void command(struct parsed *p, const char *job, const char *text)
{
	static struct run_facts facts;

	*p = (struct parsed){0};
	if (job_load_text("x.yaml", job, strlen(job), NULL, &p->l) < 0) {
		ok(false, "%s", err_msg());
		return;
	}
	p->c = (struct parse_ctx){
		.job = &p->l.v[0], .facts = &facts, .result_dir = "/nonexistent", .out = &p->m, .verdict = RUN_OK};
	p->r = program_find("command")->parse(&p->c, text, strlen(text));
}

static void test_command(void)
{
	const struct metric_value *v;
	PARSED p, first, zero, none, few;

	command(&p, "command: {run: x, kpi: lat, better: lower, repeat: 2}\n",
		"hello world\nlat: 10 us\nops=7\nlat: 20 us\nops = 9\nops=9\x1b\nx: 3 4 5\n");
	is_int(p.r, 0, "figures among other text");
	v = metric_set_get(&p.m, "command.lat");
	ok(v && v->kpi && v->direction == -1 && streq(v->unit, "us"), "the named KPI, lower is better, unit us");
	is_near(value(&p, "command.lat"), 15, 0, "mean of the repeats");
	is_near(value(&p, "command.ops"), 7, 0, "only lines of the exact form count");
	is_int(p.m.n, 2, "and nothing else");
	command(&first, "command: {run: x}\n", "a: 1\nb: 2\n");
	is_near(value(&first, "command.kpi"), 1, 0, "without a name the first figure is the KPI");
	is_str(job_kpis(first.c.job)[0], "command.kpi", "under the name that the job tells beforehand");
	command(&zero, "command: {run: x}\n", "ops: 0\n");
	ok(zero.r == -EBADMSG && strstr(cause(&zero), "did nothing"), "a KPI of 0 is no result");
	command(&none, "command: {run: x, kpi: ops}\n", "Segmentation fault\n");
	ok(none.r == -EBADMSG && strstr(cause(&none), "Segmentation fault"), "no figure: %s", cause(&none));
	command(&few, "command: {run: x, kpi: ops, repeat: 3}\n", "ops: 1\nops: 2\n");
	ok(few.r == -EBADMSG && few.m.n == 0, "fewer figures than repeats: %s", cause(&few));
}

/* One line of each kind; the KPI is what comes of it. */
static void test_command_figures(void)
{
	static const struct { const char *text; double want; const char *unit; } good[] = {
		{"\x1b[32mkpi:\x1b[0m \x1b[1m12\x1b[0m ops/s\n", 12, "ops/s"}, {" 1%\r99%\rkpi: 12\r\n", 12, ""},
		{"kpi: 1,234,567\n", 1234567, ""}, {"kpi: 1,234.5 ms\n", 1234.5, "ms"}, {"kpi: 12.3K\n", 12300, ""},
		{"kpi: 12.3M ops/s\n", 12.3e6, "ops/s"}, {"kpi: 12.3 Mops/s\n", 12.3e6, "ops/s"},
		{"kpi: 3 G\n", 3e9, ""},
		{"kpi: 100 Kb/s\n", 1e5, "bit/s"}, {"kpi: 100 KB/s\n", 1e5, "B/s"}, {"kpi: 100KiB/s\n", 102400, "B/s"},
		{"kpi: 45%\n", 45, "%"}, {"kpi: 12 things\n", 12, ""}, {"kpi: 900 us\nkpi: 1.1 ms\n", 1000, "us"},
		{"kpi: 1 GB/s\nkpi: 500 MB/s\n", .75, "GB/s"}, {"kpi: 900K\nkpi: 1.1M\n", 1e6, ""},
	};
	static const struct { const char *text, *says; } bad[] = {
		{"kpi: nan\n", "but: kpi: nan"}, {"kpi: inf ops/s\n", "but: kpi: inf ops/s"},
		{"kpi: 12,5 ms\n", "but: kpi: 12,5 ms"},
		{"kpi: 1 234 567\n", "but: kpi: 1 234 567"}, {"kpi: 1 234\n", "but: kpi: 1 234"},
		{"kpi: 1.234.567\n", "but: kpi"},
		{"kpi: \xd9\xa1\xd9\xa2\n", "but: kpi"}, {"kpi: 12abc\n", "but: kpi"}, {"kpi:\n", "but: kpi:"},
		{"kpi: 900 us\nkpi: 3 MB/s\n", "cannot be laid side by side, 'us' and 'MB/s'"},
		{"kpi: 9 KB/s\nkpi: 9 Kb/s\n", "cannot be laid side by side"},
		{"kpi: 9 us\nkpi: 9\n", "'us' and 'none'"},
		{"kpi: 9 cows\nkpi: 9 pigs\n", "'cows' and 'pigs'"},
	};
	/* the second figure must not stand in for the first one where that is nan */
	static const struct { const char *text, *says; } unnamed[] = {
		{"lat: nan\nops: 5\n", "but: lat: nan"}, {"ops: 5\nkpi: nan\n", "but: kpi: nan"},
		{"ops: 5\nlat: nan\n", ""},
		{"warnings: none\nops: 5\n", ""}, {"lat: nan\nkpi: 5\n", ""}, {"Results:\nops: 5\n", ""},
	};
	PARSED few;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		const struct metric_value *v;
		PARSED p;

		command(&p, "command: {run: x, kpi: kpi}\n", good[i].text);
		v = metric_set_get(&p.m, "command.kpi");
		ok(p.r == 0 && v, "case %zu is a figure (%s)", i, cause(&p));
		is_near(v ? v->value : NAN, good[i].want, 1e-9 * good[i].want, "its value");
		is_str(v ? v->unit : "", good[i].unit, "its unit");
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		PARSED p;

		command(&p, "command: {run: x, kpi: kpi}\n", bad[i].text);
		ok(p.r == -EBADMSG && !p.m.n && strstr(cause(&p), bad[i].says), "case %zu is none: %s", i, cause(&p));
	}
	for (size_t i = 0; i < ARRAY_SIZE(unnamed); i++) {
		PARSED p;

		command(&p, "command: {run: x}\n", unnamed[i].text);
		if (*unnamed[i].says)
			ok(p.r == -EBADMSG && strstr(cause(&p), unnamed[i].says), "no name: %s", cause(&p));
		else
			is_near(value(&p, "command.kpi"), 5, 0, "no name: the first, or the one called kpi");
	}
	command(&few, "command: {run: x, kpi: ops, repeat: 2}\n", "ops: 1\nops: nan\n");
	ok(few.r == -EBADMSG && strstr(cause(&few), "ops: nan"), "one of two is no value: %s", cause(&few));
}

/* What is no value is left out, and that is said. */
static void test_command_absent(void)
{
	static const char text[] = "ops: 5\nlat: nan\nbw: 1 KB/s\nbw: 1 s\n";
	struct check_set checks = {0};
	const struct check *k;
	PARSED p;

	command(&p, "command: {run: x, kpi: ops}\n", "");
	free(TAKE_PTR(p.c.cause));
	p.c.checks = &checks;
	p.c.verdict = RUN_OK;
	p.r = program_find("command")->parse(&p.c, text, strlen(text));
	k = check_set_get(&checks, "figures");
	ok(p.r == 0 && p.m.n == 1 && k && k->verdict == CHECK_UNKNOWN && strstr(k->evidence, "lat: nan"), "%s",
	   k ? k->evidence : "nothing said");
	check_set_release(&checks);
}

static void put(const char *dir, const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);

	if (fs_write_atomic(path, text, strlen(text)) < 0)
		ok(false, "%s", err_msg());
}

/* stress-ng ended with another status than 0: which of its lines is the reason. */
static void test_stress_ng_reason(void)
{
	static const struct { const char *text, *want; } cases[] = {
		{"stress-ng: fail:  [7] vm: detected 3 bit errors\nstress-ng: info:  [7] unsuccessful run completed in 3s\n",
		 "vm: detected 3 bit errors"},
		{"stress-ng: error: [7] vm: gave up\nstress-ng: fail:  [7] process 8 (stress-ng-vm) terminated with an error\n", "vm: gave up"},
		{"stress-ng: unrecognized option '--nosuch'\nTry 'stress-ng --help' for more information.\n",
		 "stress-ng: unrecognized option '--nosuch'"},
		{"vm-method must be one of: all flip\nTry 'stress-ng --help' for more information.\n",
		 "vm-method must be one of: all flip"},
		{"stress-ng: info:  [7] vm: using 4 pages\nstress-ng: info:  [7] vm: no memory\nstress-ng: info:  [7] load average: 1 1 1\n",
		 "vm: no memory"},
		{"stress-ng: info:  [7] disabled 'vm' as it may hang\nstress-ng: error: [7] No stress workers invoked\n",
		 "disabled 'vm' as it may hang"},
		{"stress-ng: info:  [7] load average: 1 1 1\n", "stress-ng: info:  [7] load average: 1 1 1"}, {"", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *why = NULL;
		PARSED p;

		command(&p, "stress-ng: {test: vm}\n", "");
		why = program_find("stress-ng")->reason(&p.c, cases[i].text, strlen(cases[i].text));
		is_str(why, cases[i].want, "reason %zu", i);
	}
}

/* What follows the message of the one are the figures of the other. */
static void test_udp_reason(void)
{
	static const char text[] =
		"rps=off\nkpb-udp-sink: cannot bind: Address already in use\nsent=5\nsender_done=1\n";
	_cleanup_free_ char *why = NULL;
	PARSED p;

	command(&p, "udp-sink: {rps: 'off'}\n", "");
	why = program_find("udp-sink")->reason(&p.c, text, strlen(text));
	is_str(why, "kpb-udp-sink: cannot bind: Address already in use", "udp-sink's reason");
}

/* Whole result folders: the script's exit status and what it left. */
static void test_folder(void)
{
	static const char good[] = "ops: 4 ops/s\n", job[] = "monitors: [time]\ncommand: {run: x, kpi: ops}\n";
	static const struct { int status; const char *started, *out, *time, *cause, *verdict, *want; } cases[] = {
		{0, "", good, "\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:01.50\n\tExit status: 0\n", NULL, "ok",
		 NULL},
		{99, NULL, NULL, NULL, "missing program: perf\n", "incomplete", "missing program: perf"},
		{99, "", NULL, NULL, "the link went \x1b[1mdown\x1b[0m\n\n", "incomplete", "the link went down"},
		{99, "", "starting\ncannot open /dev/x\n\n", NULL, NULL, "failed",
		 "exit status 99: cannot open /dev/x"},
		{1, "", "why\n\x1b[0m\n----\n}\n", NULL, NULL, "failed", "exit status 1: why"},
		{99, NULL, NULL, NULL, NULL, "incomplete", "set-up failed and did not say why"},
		{3, "", "Segmentation \x1b[31mfault\n", NULL, NULL, "failed", "exit status 3: Segmentation fault"},
		{0, NULL, good, NULL, NULL, "incomplete", "the measured part never began"},
		{0, "", NULL, NULL, NULL, "incomplete", "no output of command"},
		{0, "", good, NULL, NULL, "incomplete", "no output of time"},
		{0, "", good, "\tUser time (seconds): 0.1\n", NULL, "failed",
		 "the output of time is cut off after: User time (seconds): 0.1"},
	};
	_cleanup_(job_list_release) struct job_list l = {0};

	is_int(job_load_text("x.yaml", job, strlen(job), NULL, &l), 0, "a job to parse for");
	for (size_t i = 0; l.n && i < ARRAY_SIZE(cases); i++) {
		const struct run_facts facts = {.exit_status = cases[i].status, .nr_cpu = 1};
		_cleanup_(metric_set_release) struct metric_set m = {0};
		char dir[] = "/tmp/kpb-test-XXXXXX";
		_cleanup_free_ char *why = NULL;
		enum run_verdict verdict = RUN_INFRA;

		if (!mkdtemp(dir))
			abort();
		if (cases[i].started)
			put(dir, "started", "");
		if (cases[i].out)
			put(dir, "command", cases[i].out);
		if (cases[i].time)
			put(dir, "time", cases[i].time);
		if (cases[i].cause)
			put(dir, "cause", cases[i].cause);
		is_int(job_parse(&l.v[0], dir, &facts, &m, &verdict, &why), 0, "folder %zu is looked at", i);
		is_str(run_verdict_word(verdict), cases[i].verdict, "verdict");
		if (cases[i].want)
			is_str(why, cases[i].want, "cause");
		else
			ok(!why && metric_set_get(&m, "command.ops") && metric_set_get(&m, "command.time.elapsed_time"),
			   "values of program and monitor");
		fs_rm_rf(dir);
	}
}

int main(void)
{
	test_folder();
	test_stress_ng();
	test_stress_ng_variants();
	test_time();
	test_vmstat();
	test_perf_stat();
	test_command();
	test_stress_ng_reason();
	test_udp_reason();
	test_command_figures();
	test_command_absent();
	test_cut_off("stress-ng", program_find("stress-ng"), "stress-ng-sockfd-lkp.txt", 0);
	test_cut_off("time", monitor_find("time"), "time-gnu.txt", 0);
	return tap_done();
}
