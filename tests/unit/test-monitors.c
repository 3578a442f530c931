/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The monitors that sample the kernel's files, turbostat and perf-profile: arithmetic, names, damage. */
#include "jobs/sample.h"
#include "lib/spread.h"
#include "tests/unit/parsed.h"

#define JOB "testtime: 4s\nmonitors: []\nstress-ng: {test: sockfd}\n"

static void parse_checked(struct parsed *p, const char *monitor, const char *text, struct check_set *checks)
{
	parse_fixture(p, monitor_find(monitor), JOB, "monitors/softirqs.txt", 0, NULL);
	metric_set_release(&p->m);
	free(p->c.cause);
	p->c.cause = NULL;
	p->c.verdict = RUN_OK;
	p->c.checks = checks;
	p->r = monitor_find(monitor)->parse(&p->c, text, strlen(text));
}

static void parse_text(struct parsed *p, const char *monitor, const char *text)
{
	parse_checked(p, monitor, text, NULL);
}

static void test_real(void)
{
	static const struct { const char *monitor, *metric; double want; } rows[] = {
		{"softirqs", "softirqs.TIMER", 195216 + 255658 - 194886 - 255296},
		{"softirqs", "softirqs.CPU1.RCU", 822117 - 819989},
		{"softirqs", "softirqs.NET_RX", 0},
		{"proc-vmstat", "proc-vmstat.drop_pagecache", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *file = xasprintf("monitors/%s.txt", rows[i].monitor);
		PARSED p = {0};

		parse_fixture(&p, monitor_find(rows[i].monitor), JOB, file, 0, NULL);
		is_int(p.r, 0, "%s parses", rows[i].monitor);
		is_near(value(&p, rows[i].metric), rows[i].want, 0, "%s", rows[i].metric);
	}
	for (const char *const *m =
		     (const char *const[]){"interrupts", "meminfo", "mpstat", "proc-vmstat", "sched_debug", NULL};
	     *m; m++) {
		_cleanup_free_ char *file = xasprintf("monitors/%s.txt", *m), *prefix = xasprintf("%s.", *m);
		PARSED p = {0};
		size_t odd = 0;

		parse_fixture(&p, monitor_find(*m), JOB, file, 0, NULL);
		is_int(p.r, 0, "%s parses", *m);
		for (size_t i = 0; i < p.m.n; i++)
			odd += !startswith(p.m.v[i].name, prefix) || !isfinite(p.m.v[i].value);
		ok(p.m.n > 5 && !odd, "%zu values, all of good name", p.m.n);
	}
}

static void test_interrupts(void)
{
	PARSED p = {0};

	parse_fixture(&p, monitor_find("interrupts"), JOB, "monitors/interrupts.txt", 0, NULL);
	ok(value(&p, "interrupts.LOC:Local_timer_interrupts") > 0, "interrupts.LOC:Local_timer_interrupts");
	is_near(value(&p, "interrupts.CPU0.LOC:Local_timer_interrupts") +
			value(&p, "interrupts.CPU1.LOC:Local_timer_interrupts"),
		value(&p, "interrupts.LOC:Local_timer_interrupts"), 0, "is the sum of its CPUs");
	is_near(value(&p, "interrupts.26:IO-APIC.4-edge.ttyS0"), 0, 0, "a device's own line");
	is_near(value(&p, "interrupts.ERR"), 0, 0, "a line without columns");
}

/* More CPUs than any line buffer holds, and one that went away. */
static void test_wide(void)
{
	_cleanup_buf_ struct buf b = {0};
	PARSED p = {0};

	for (int s = 0; s < 2; s++) {
		buf_addf(&b, "uptime: %d.5\n    ", 10 + s);
		for (int i = 0; i < 500; i++)
			buf_addf(&b, "     CPU%d", i);
		buf_adds(&b, "\n NET_RX: ");
		for (int i = 0; i < 500; i++)
			buf_addf(&b, " %10d", 1000 + s * i);
		buf_adds(&b, "\n HI: ");
		for (int i = 0; i < 500; i++)
			buf_addf(&b, " %d", s ? 1 : 2);
		buf_adds(&b, "\n");
	}
	parse_text(&p, "softirqs", buf_str(&b));
	is_near(value(&p, "softirqs.NET_RX"), 499 * 500 / 2, 0, "500 CPUs are added up");
	ok(!metric_set_get(&p.m, "softirqs.CPU3.NET_RX"), "but not shown one by one");
	ok(!metric_set_get(&p.m, "softirqs.HI"), "a counter that fell gives no value");
	is_int((long)p.m.n, 1, "and nothing else does");
}

static const char *said(const struct check_set *checks)
{
	const struct check *k = check_set_get(checks, "figures");

	return k && k->verdict == CHECK_UNKNOWN ? k->evidence : "";
}

/* CPUs that come and go while the test runs: what is subtracted belongs to one CPU. */
static void test_hotplug(void)
{
	static const struct { const char *text, *metric; double want; const char *says; } cases[] = {
		{"uptime: 1\n CPU0 CPU1\n LOC: 500 700 Local timer\nuptime: 2\n CPU0 CPU1 CPU2\n LOC: 510 720 9000 Local timer\n",
		 "interrupts.LOC:Local_timer", 30, "CPU 2 came or went"},
		{"uptime: 1\n CPU0 CPU1\n LOC: 500 700 Local timer\nuptime: 2\n CPU0 CPU1 CPU2\n LOC: 510 720 9000 Local timer\n",
		 "interrupts.CPU2.LOC:Local_timer", NAN, "CPU 2"},
		{"uptime: 1\n CPU0 CPU1 CPU2\n LOC: 500 600 700\nuptime: 2\n CPU0 CPU2\n LOC: 510 720\n",
		 "interrupts.LOC", 30, "CPU 1 came or went"},
		{"uptime: 1\n CPU0 CPU1 CPU2\n LOC: 500 600 700\nuptime: 2\n CPU0 CPU2\n LOC: 510 720\n",
		 "interrupts.CPU2.LOC", 20, "CPU 1"},
		/* as many columns as before, others */
		{"uptime: 1\n CPU0 CPU1\n LOC: 500 600\nuptime: 2\n CPU0 CPU3\n LOC: 510 99999\n", "interrupts.LOC", 10,
		 "CPU"},
		/* away in between */
		{"uptime: 1\n CPU0 CPU1\n A: 1 1\nuptime: 2\n CPU0\n A: 2\nuptime: 3\n CPU0 CPU1\n A: 3 5\n",
		 "interrupts.A", 2, "CPU 1"},
		{"uptime: 1\n CPU0\n ERR: 3\nuptime: 2\n CPU0 CPU1\n ERR: 5\n", "interrupts.ERR", NAN, ""},
		{"uptime: 1\n CPU0 CPU1\n ERR: 3\nuptime: 2\n CPU0 CPU1 CPU2\n ERR: 5\n", "interrupts.ERR", 2, ""},
		/* rows: freed, requested, freed and requested again */
		{"uptime: 1\n CPU0\n A: 1\n 24: 9 PCI eth0\nuptime: 2\n CPU0\n A: 2\n", "interrupts.24:PCI.eth0", NAN,
		 ""},
		{"uptime: 1\n CPU0\n A: 1\nuptime: 2\n CPU0\n A: 2\n 24: 9 PCI eth0\n", "interrupts.24:PCI.eth0", NAN,
		 ""},
		{"uptime: 1\n CPU0 CPU1\n 24: 9 0 PCI eth0\nuptime: 2\n CPU0 CPU1\n 24: 3 0 PCI eth0\n",
		 "interrupts.24:PCI.eth0", NAN, "fell"},
		{"uptime: 1\n CPU0 CPU1\n 24: 9 0 PCI eth0\nuptime: 2\n CPU0 CPU1\n 24: 3 0 PCI eth0\n",
		 "interrupts.CPU1.24:PCI.eth0", 0, "fell"},
		/* round at 2^32, on one CPU of two; and not what only fell */
		{"uptime: 1\n CPU0 CPU1\n LOC: 4294967290 5\nuptime: 2\n CPU0 CPU1\n LOC: 4 7\n", "interrupts.LOC", 12,
		 ""},
		{"uptime: 1\n CPU0 CPU1\n LOC: 4294967290 5\nuptime: 2\n CPU0 CPU1\n LOC: 4294967280 7\n",
		 "interrupts.LOC", NAN, "fell"},
		{"uptime: 1\n CPU0\n LOC: 5000000000\nuptime: 2\n CPU0\n LOC: 4\n", "interrupts.LOC", NAN, "fell"},
		/* a cut line, and one name twice */
		{"uptime: 1\n CPU0 CPU1 CPU2\n A: 1 1\n B: 1 1 1\nuptime: 2\n CPU0 CPU1 CPU2\n A: 2 2\n B: 2 2 2\n",
		 "interrupts.A", NAN, ""},
		{"uptime: 1\n CPU0\n A: 1\n A: 5\nuptime: 2\n CPU0\n A: 2\n A: 9\n", "interrupts.A", NAN, ""},
		{"uptime: 1\n CPU0 CPU99999 CPUx\n A: 1 1 1\nuptime: 2\n CPU0 CPU99999 CPUx\n A: 2 9 9\n",
		 "interrupts.A", 1, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct check_set checks = {0};
		double got;
		PARSED p = {0};

		parse_checked(&p, "interrupts", cases[i].text, &checks);
		got = value(&p, cases[i].metric);
		ok(isnan(cases[i].want) ? isnan(got) : got == cases[i].want, "case %zu: %s is %g", i, cases[i].metric,
		   got);
		ok(*cases[i].says ? strstr(said(&checks), cases[i].says) != NULL : !*said(&checks), "says: %s",
		   said(&checks));
		check_set_release(&checks);
	}
}

/* Real shapes: the ninth CPU came, and the last of 240 went. */
static void test_hotplug_files(void)
{
	static const struct { const char *file, *metric; double want; } cases[] = {
		{"monitors/interrupts-cpu-online.txt", "interrupts.LOC:Local_timer_interrupts", 3 * 2500},
		{"monitors/interrupts-240-offline.txt", "interrupts.24:IR-PCI-MSIX-0000:17:00.0.0-edge.eth0-TxRx-0",
		 239 * 1000},
		{"monitors/interrupts-240-offline.txt", "interrupts.LOC:Local_timer_interrupts", 239 * 100000},
		{"monitors/interrupts-240-offline.txt", "interrupts.TLB:TLB_shootdowns", 239 * 7000},
		{"monitors/interrupts-240-offline.txt", "interrupts.ERR", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		PARSED p = {0};

		parse_fixture(&p, monitor_find("interrupts"), JOB, cases[i].file, 0, NULL);
		is_near(value(&p, cases[i].metric), cases[i].want, 0, "%s: %s", cases[i].file, cases[i].metric);
	}
}

static void test_mpstat(void)
{
	PARSED p = {0};

	parse_text(&p, "mpstat", "uptime: 100.0\ncpu  100 0 100 800 0 0 0 0 10 0\ncpu0 50 0 50 400 0 0 0 0 0 0\n"
				 "uptime: 101.0\ncpu  150 0 120 920 5 0 5 0 20 0\ncpu0 100 0 50 450 0 0 0 0 0 0\n"
				 "uptime: 102.0\ncpu  150 0 120 1120 5 0 5 0 20 0\ncpu0 100 0 50 550 0 0 0 0 0 0\n"
				 "uptime: 102.1\ncpu  160 0 120 1120 5 0 5 0 20 0\ncpu0 110 0 50 550 0 0 0 0 0 0\n");
	is_int(p.r, 0, "mpstat");
	/* first interval: usr 50 - 10 guest, sys 20, idle 120, iowait 5, soft 5, guest 10: 200; the second is idle */
	is_near(value(&p, "mpstat.cpu.all.usr%"), 40.0 / 200 * 100 / 2, 1e-9,
		"mean of the shares, guest time taken out");
	is_near(value(&p, "mpstat.cpu.all.guest%"), 10.0 / 200 * 100 / 2, 1e-9, "guest time");
	is_near(value(&p, "mpstat.cpu.all.idle%"), (60 + 100) / 2.0, 1e-9, "idle time");
	is_near(value(&p, "mpstat.cpu.0.usr%"), 25, 1e-9, "one CPU");
	is_near(value(&p, "mpstat.max_utilization_pct"), 100 - 62.5, 1e-9,
		"busiest second of all CPUs together, a short rest not among them");
	is_near(value(&p, "mpstat.max_utilization.seconds"), 1, 1e-9, "and when it was");
	parse_text(&p, "mpstat", "uptime: 100.0\ncpu  100 0 100 800 0 0 0 0 10 0\n");
	is_int(p.r, -EBADMSG, "one sample says nothing");
}

/* A CPU that was off line: the kernel's own sum then has another CPU's past in it. */
static void test_mpstat_hotplug(void)
{
	static const char came[] = "uptime: 100.0\ncpu  100 0 0 900 0 0 0 0 0 0\ncpu0 100 0 0 900 0 0 0 0 0 0\n"
				   "uptime: 101.0\ncpu  150 0 0 90000950 0 0 0 0 0 0\ncpu0 150 0 0 950 0 0 0 0 0 0\ncpu1 0 0 0 90000000 0 0 0 0 0 0\n"
				   "uptime: 102.0\ncpu  250 0 0 90001050 0 0 0 0 0 0\ncpu0 200 0 0 1000 0 0 0 0 0 0\ncpu1 50 0 0 90000050 0 0 0 0 0 0\n";
	/* CPU 1 went and came back between two samples: its idle time jumps */
	static const char jumped[] =
		"uptime: 100.0\ncpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 500 0 0 0 0 0 0\ncpu1 0 0 0 700000 0 0 0 0 0 0\n"
		"uptime: 101.0\ncpu  90 0 0 10 0 0 0 0 0 0\ncpu0 75 0 0 525 0 0 0 0 0 0\ncpu1 10 0 0 300 0 0 0 0 0 0\n"
		"uptime: 102.0\ncpu  90 0 0 900010 0 0 0 0 0 0\ncpu0 150 0 0 550 0 0 0 0 0 0\ncpu1 20 0 0 900300 0 0 0 0 0 0\n";
	static const struct { const char *text; double all; const char *says; } cases[] = {
		{came, 50, "1 of 2 intervals"}, {jumped, 75, "2 of 2 intervals"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct check_set checks = {0};
		PARSED p = {0};

		parse_checked(&p, "mpstat", cases[i].text, &checks);
		is_near(value(&p, "mpstat.cpu.all.usr%"), cases[i].all, 1e-9, "all CPUs that were there all the time");
		ok(strstr(said(&checks), cases[i].says) != NULL, "says: %s", said(&checks));
		check_set_release(&checks);
	}
}

static void test_vmstat_meminfo(void)
{
	PARSED p = {0}, m = {0};

	parse_text(
		&p, "proc-vmstat",
		"uptime: 1.0\nnr_free_pages 100\npgfault 10\noom_kill 1\nnr_dirtied 5\nuptime: 2.0\nnr_free_pages 50\n"
		"pgfault 30\noom_kill 1\nnr_dirtied 9\nonly_here 3\n");
	is_near(value(&p, "proc-vmstat.nr_free_pages"), 75, 1e-9, "a gauge: the mean");
	is_near(value(&p, "proc-vmstat.pgfault"), 20, 0, "a counter: what was counted");
	is_near(value(&p, "proc-vmstat.oom_kill"), 0, 0, "a counter that lkp-tests averages");
	is_near(value(&p, "proc-vmstat.nr_dirtied"), 4, 0, "a counter among the nr_");
	ok(!metric_set_get(&p.m, "proc-vmstat.only_here"), "what was not in every sample is left out");
	parse_text(
		&m, "meminfo",
		"uptime: 1.0\nMemTotal:  1000 kB\nMemFree:  600 kB\nActive(anon):  10 kB\nuptime: 2.0\nMemTotal: 1000 kB\n"
		"MemFree:  300 kB\nActive(anon):  30 kB\n");
	is_near(value(&m, "meminfo.Memused"), 550, 1e-9, "Memused");
	is_near(value(&m, "meminfo.max_used_kB"), 700, 0, "the most of it");
	is_near(value(&m, "meminfo.Active(anon)"), 20, 1e-9, "mean");
	parse_text(&m, "meminfo", "cat: /proc/meminfo: Permission denied\n");
	is_int(m.r, -EBADMSG, "an error is no sample");
	ok(m.c.cause && strstr(m.c.cause, "Permission denied"), "cause: %s", m.c.cause);
}

static void test_sched_debug(void)
{
	PARSED p = {0};

	parse_fixture(&p, monitor_find("sched_debug"), JOB, "monitors/sched_debug.txt", 0, NULL);
	is_near(value(&p, "sched_debug.cpu.nr_running.avg"), (3.5 + 2) / 2, 1e-9, "mean over CPUs, then over samples");
	is_near(value(&p, "sched_debug.cpu.nr_running.max"), (4 + 2) / 2.0, 1e-9, "max");
	is_near(value(&p, "sched_debug.cpu.nr_running.stddev"), 0.25, 1e-9, "standard deviation over all CPUs");
	ok(metric_set_get(&p.m, "sched_debug.cfs_rq:/.load_avg.avg"), "the root queue by lkp-tests' name");
	ok(metric_set_get(&p.m, "sched_debug.cfs_rq:/.removed.load_avg.stddev"), "a field with dots");
	for (size_t i = 0; i < p.m.n; i++)
		if (strstr(p.m.v[i].name, "autogroup"))
			ok(false, "no groups: %s", p.m.v[i].name);
	ok(metric_set_get(&p.m, "sched_debug.cpu.curr->pid.max"), "curr->pid has lkp-tests' name");
	/* clocks are large and lie close together */
	parse_text(&p, "sched_debug",
		   "uptime: 1.0\ncpu#0, 2400 MHz\n  .clock : 86400000.1\n\ncpu#1, 2400 MHz\n  .clock : 86400000.5\n");
	is_near(value(&p, "sched_debug.cpu.clock.stddev"), 0.2, 1e-6, "0.2 ms between clocks of a day");
	parse_text(&p, "sched_debug",
		   "uptime: 1.0\ndl_rq[0]:\n  .dl_bw->bw : 996147\ncpu#0\n  .cpu_load[3] : 7\n  .a<b>\"c : 1\n");
	is_near(value(&p, "sched_debug.dl_rq:.dl_bw->bw.max"), 996147, 0, "an arrow");
	is_near(value(&p, "sched_debug.cpu.cpu_load[3].avg"), 7, 0, "an index");
	is_near(value(&p, "sched_debug.cpu.a_b__c.avg"), 1, 0, "nothing else");
	parse_text(&p, "sched_debug", "cat: /proc/sched_debug: No such file\n");
	is_int(p.r, -EBADMSG, "an error is no sample");
}

static void test_turbostat(void)
{
	PARSED p = {0};

	parse_fixture(&p, monitor_find("turbostat"), JOB, "monitors/turbostat.txt", 0, NULL);
	is_int(p.r, 0, "turbostat");
	is_near(value(&p, "turbostat.PkgWatt"), 105.5, 1e-9, "mean of the summary rows");
	is_near(value(&p, "turbostat.Busy%"), 45, 1e-9, "Busy%%");
	is_near(value(&p, "turbostat.C6%"), 43, 1e-9, "C6%%");
	ok(!metric_set_get(&p.m, "turbostat.CPU"), "a dash is no number");
	parse_text(&p, "turbostat", "turbostat: /dev/cpu/0/msr open failed: No such file or directory\n");
	is_int(p.r, -EBADMSG, "a refusal gives none");
	ok(p.c.cause && strstr(p.c.cause, "msr open failed"), "cause: %s", p.c.cause);
}

#define PROFILE "perf-profile.children.cpu-clock.do_syscall_64"
static void test_profile(void)
{
	static const char hw[] = "# Samples: 12K of event 'cycles:pp'\n"
				 "    52.43%     0.12%  [kernel.kallsyms]  [k] finish_task_switch.isra.0\n"
				 "10.00% a.constprop.1;b;c;d;e;f\n2.00% a.constprop.3;b;c;d;e;g\n"
				 "     1.00%     0.50%  [kernel.kallsyms]  [k] finish_task_switch.isra.1  -      -\n"
				 "     0.04%     0.04%  [kernel.kallsyms]  [k] rare\n";
	const struct program_ops *ops = monitor_find("perf-profile");
	_cleanup_free_ char *whole = xasprintf("%s# end of report\n", hw);
	PARSED p = {0}, q = {0};

	parse_fixture(&p, ops, JOB, "monitors/perf-profile.txt", 0, NULL);
	is_int(p.r, 0, "perf-profile");
	is_near(value(&p, PROFILE), 52.43, 1e-9, PROFILE);
	is_near(value(&p, "perf-profile.self.cpu-clock.do_syscall_64"), 0.12, 1e-9, "self");
	is_near(value(&p,
		      "perf-profile.calltrace.cpu-clock.do_syscall_64.entry_SYSCALL_64_after_hwframe.__libc_sendmsg"),
		18.64, 1e-9, "calltrace");
	is_near(value(&p, "perf-profile.lost_samples"), 0, 0, "lost samples");
	ok(!metric_set_get(&p.m, "perf-profile.cpu0.cpu-clock.clear_page_erms"), "no CPU's own profile was asked for");
	parse_text(&q, "perf-profile", whole);
	is_near(value(&q, "perf-profile.children.cycles-pp.finish_task_switch"), 53.43, 1e-9,
		"clones are one function");
	is_near(value(&q, "perf-profile.self.cycles-pp.finish_task_switch"), 0.62, 1e-9, "self too");
	is_near(value(&q, "perf-profile.calltrace.cycles-pp.a.b.c.d.e"), 12, 1e-9, "the first five callers, added up");
	ok(!metric_set_get(&q.m, "perf-profile.self.cycles-pp.rare"), "less than 0.05 %% is left out");
	parse_text(&q, "perf-profile", hw);
	is_int(q.r, -EBADMSG, "a report that was cut off gives no value");
	parse_text(&q, "perf-profile", "Error:\nThe cycles:pp event is not supported.\n");
	ok(q.r == -EBADMSG && strstr(q.c.cause, "not supported"), "cause: %s", q.c.cause ? q.c.cause : "(none)");
	never_cut_off(ops, JOB, "monitors/perf-profile.txt", 1, 211);
}

/* Each CPU's own profile: its rows are shares of that CPU's samples. */
static void test_profile_cpus(void)
{
	char dir[] = "/tmp/kpb-test-XXXXXX";
	_cleanup_free_ char *copy = NULL;
	double sum[2] = {0};
	PARSED p = {0};

	if (!mkdtemp(dir)) {
		ok(false, "mkdtemp");
		return;
	}
	copy = xasprintf("%s/perf-profile-cpu", dir);
	is_int(fs_copy("tests/fixtures/monitors/perf-profile-cpu.txt", copy), 0, "a report by CPU beside the other");
	parse_fixture(&p, monitor_find("perf-profile"), JOB, "monitors/perf-profile.txt", 0, dir);
	ok(value(&p, "perf-profile.cpu1.cpu-clock.pvm_irq_enable") >
		   value(&p, "perf-profile.cpu0.cpu-clock.pvm_irq_enable"),
	   "one function on two CPUs");
	for (size_t i = 0; i < p.m.n; i++)
		for (int k = 0; k < 2; k++) {
			char prefix[32];

			snprintf(prefix, sizeof(prefix), "perf-profile.cpu%d.", k);
			sum[k] += startswith(p.m.v[i].name, prefix) ? p.m.v[i].value : 0;
		}
	ok(sum[0] > 90 && sum[0] <= 100.0001 && sum[1] > 90 && sum[1] <= 100.0001,
	   "shares of a CPU come to 100: %.2f, %.2f", sum[0], sum[1]);
	fs_rm_rf(dir);
}

/* Against the variance of the offsets alone, which is exact. */
static void test_spread(void)
{
	static const double base[] = {0, 1, -1e6, 86400000.25, 1e12};
	struct spread none = {0};

	ok(isnan(spread_variance(&none)), "nothing has no variance");
	for (size_t i = 0; i < ARRAY_SIZE(base); i++) {
		struct spread s = {0};

		for (int k = 0; k < 1000; k++)
			spread_add(&s, base[i] + (k % 10) * 0.25);
		is_near(spread_variance(&s), 8.25 / 16, 1e-9 * fabs(base[i]) / 1e3 + 1e-12, "variance around %g",
			base[i]);
		is_near(s.mean - base[i], 1.125, 1e-15 * fabs(base[i]) + 1e-12, "mean around %g", base[i]);
	}
}

int main(void)
{
	test_spread();
	test_real();
	test_interrupts();
	test_wide();
	test_hotplug();
	test_hotplug_files();
	test_mpstat();
	test_mpstat_hotplug();
	test_vmstat_meminfo();
	test_sched_debug();
	test_turbostat();
	test_profile();
	test_profile_cpus();
	return tap_done();
}
