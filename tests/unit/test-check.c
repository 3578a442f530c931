/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of a test's validity, and how they are kept and counted. */
#include "jobs/check.h"
#include "jobs/expand.h"
#include "lib/fs.h"
#include "tests/tap.h"

static struct check_set checks;
static struct parse_ctx ctx = {.checks = &checks};

static const char *verdict(const char *name)
{
	const struct check *c = check_set_get(&checks, name);

	return c ? check_verdict_word(c->verdict) : "(none)";
}

static const char *evidence(const char *name)
{
	const struct check *c = check_set_get(&checks, name);

	return c ? c->evidence : "";
}

#define FRESH check_set_release(&checks)

static void test_set(void)
{
	check_say(&ctx, "a", CHECK_PASS, "first %d", 1);
	check_say(&ctx, "a", CHECK_UNKNOWN, "second");
	is_str(verdict("a"), "unknown", "a worse result replaces a better one");
	check_say(&ctx, "a", CHECK_PASS, "third");
	is_str(evidence("a"), "second", "a better one does not");
	check_say(&ctx, "a", CHECK_FAIL, "x\033[31my\n");
	is_str(verdict("a"), "fail", "a failure stays");
	ok(!strpbrk(evidence("a"), "\033\n"), "evidence cannot drive a terminal");
	check_say((&(struct parse_ctx){0}), "a", CHECK_FAIL, "nobody asks");
	FRESH;
}

static void test_steady(void)
{
	const double flat[] = {100, 103, 98, 101, 99, 102, 97, 100}, falling[] = {120, 117, 112, 109, 104, 101, 97, 93},
		     noisy[] = {100, 140, 80, 120, 70, 130, 90, 110}, hole[] = {100, 100, 0, 100, 100, 100};

	check_steady(&ctx, flat, ARRAY_SIZE(flat), "pkt/s");
	is_str(verdict("steady"), "pass", "noise is no drift");
	FRESH;
	check_steady(&ctx, noisy, ARRAY_SIZE(noisy), "pkt/s");
	is_str(verdict("steady"), "pass", "nor is a lot of it");
	FRESH;
	check_steady(&ctx, falling, ARRAY_SIZE(falling), "pkt/s");
	is_str(verdict("steady"), "fail", "a steady fall is one: %s", evidence("steady"));
	FRESH;
	check_steady(&ctx, hole, ARRAY_SIZE(hole), "pkt/s");
	is_str(verdict("steady"), "fail", "an empty interval is not steady");
	FRESH;
	check_steady(&ctx, flat, 4, "pkt/s");
	is_str(verdict("steady"), "unknown", "four intervals tell nothing");
	FRESH;
	check_steady(&ctx, NULL, 0, "pkt/s");
	is_str(verdict("steady"), "unknown", "none neither");
	FRESH;
}

/* Known limits (network-testing's and the mails' figures) at 64 to 1518 bytes with FCS. */
static void test_line_rate(void)
{
	static const struct { double mbit, frame, want; } limits[] = {
		{10000, 60, 14880952}, {10000, 1514, 812743}, {1000, 60, 1488095}, {25000, 252, 11322463},
		{100000, 60, 148809523},
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		is_near(floor(line_rate(limits[i].mbit, limits[i].frame)), limits[i].want, 0, "%g Mb/s, %g bytes",
			limits[i].mbit, limits[i].frame);
	is_near(floor(line_rate(10000, 20)), 14880952, 0, "short frames are padded");
	check_line_rate(&ctx, "ixgbe", 10000, 60, 14854233);
	is_str(verdict("line-rate"), "unknown", "14,854,233 pkt/s at 10 Gb/s are the link");
	ok(check_set_get(&checks, "line-rate")->capped, "said so: %s", evidence("line-rate"));
	FRESH;
	check_line_rate(&ctx, "ixgbe", 10000, 60, 8732508);
	is_str(verdict("line-rate"), "pass", "8,732,508 are not");
	ok(!check_set_get(&checks, "line-rate")->capped, "nor is it said");
	FRESH;
	check_line_rate(&ctx, "veth", 10000, 60, 20e6);
	is_str(verdict("line-rate"), "pass", "a veth's speed means nothing");
	FRESH;
	check_line_rate(&ctx, "ixgbe", -1, 60, 8e6);
	is_str(verdict("line-rate"), "unknown", "a link without speed");
	FRESH;
}

static void test_generator(void)
{
	check_generator(&ctx, 14876602, 0, 8732508, false, false);
	is_str(verdict("generator"), "pass", "14.9 M sent, 8.7 M received");
	FRESH;
	check_generator(&ctx, 10642900, 0, 10642895, false, false);
	is_str(verdict("generator"), "fail", "as many received as sent: the number is the generator's");
	FRESH;
	check_generator(&ctx, 14e6, 1e6, 8e6, false, false);
	is_str(verdict("generator"), "fail", "a sending NIC with errors");
	FRESH;
	check_generator(&ctx, 30000, 10000, 30000, true, false);
	is_str(verdict("generator"), "pass", "a full ring of a veth is the receiver's limit");
	FRESH;
	check_generator(&ctx, 30000, 0, 30000, true, true);
	is_str(verdict("generator"), "unknown", "both on one CPU");
	FRESH;
	check_generator(&ctx, NAN, NAN, 30000, false, false);
	is_str(verdict("generator"), "unknown", "a generator elsewhere");
	FRESH;
}

static void test_cpus(void)
{
	static struct cpu_use u;
	static const char *const before[] = {"cpu  1 2 3", "cpu0 100 0 100 800 0 0 0 0 0 0",
					     "cpu1 0 0 0 1000 0 0 0 0 0 0", "cpuX 1 1 1 1 1 1 1 1 1",
					     "cpu99999 1 1 1 1 1 1 1 1 1", "cpu1.5 1 1 1 1 1 1 1 1 1", "intr 5"},
			  *const after[] = {"cpu0 200 0 300 800 0 0 700 0 0 0", "cpu1 0 0 0 1900 0 0 0 100 0 0"};
	double soft;

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		_cleanup_free_ char *line = xstrdup(before[i]);

		cpu_use_line(&u, false, line);
	}
	for (size_t i = 0; i < ARRAY_SIZE(after); i++) {
		_cleanup_free_ char *line = xstrdup(after[i]);

		cpu_use_line(&u, true, line);
	}
	is_near(cpu_busy(&u, 0, &soft), 1, 1e-12, "CPU 0 had no idle time");
	is_near(soft, 0.7, 1e-12, "70 %% of it in softirqs");
	is_near(cpu_busy(&u, 1, &soft), 0.1, 1e-12, "CPU 1 was stolen from");
	ok(isnan(cpu_busy(&u, 2, &soft)) && isnan(cpu_busy(&u, -1, &soft)) && isnan(cpu_busy(&u, 1 << 20, &soft)),
	   "no such CPUs");
	/* CPU 3 was off line in between: its idle time fell, or jumped */
	for (int jump = 0; jump < 2; jump++) {
		_cleanup_free_ char *a = xstrdup("cpu3 10 0 0 9000 0 0 0 0 0 0"),
				    *b = xstrdup(jump ? "cpu3 20 0 0 90 0 0 0 0 0 0" : "cpu3 9920 0 0 90 0 0 0 0 0 0");

		cpu_use_line(&u, false, a);
		cpu_use_line(&u, true, b);
		ok(isnan(cpu_busy(&u, 3, &soft)), "a CPU whose idle time fell has no load");
	}
	check_interference(&ctx, &u, NULL);
	is_str(verdict("interference"), "fail", "100 of 2000 ticks stolen: %s", evidence("interference"));
	FRESH;
	check_interference(&ctx, &(struct cpu_use){0}, NULL);
	is_str(verdict("interference"), "unknown", "without CPU times");
	FRESH;
}

static void lines(struct cpu_use *u, bool after, const char *const *line)
{
	for (; *line; line++) {
		_cleanup_free_ char *copy = xstrdup(*line);

		cpu_use_line(u, after, copy);
	}
}

static void test_interference(void)
{
	static const char *const before[] = {"khz 0 2400000", "cpu0 0 0 0 0 0 0 0 0", "cpu1 0 0 0 0 0 0 0 0",
					     "throttled 5", NULL},
			  *const idle[] = {"cpu0 0 0 100 0 0 0 0 0", "cpu1 0 0 5 95 0 0 0 0", "khz 0 2410000",
					   "throttled 5", NULL},
			  *const load[] = {"cpu0 0 0 100 0 0 0 0 0", "cpu1 50 0 0 50 0 0 0 0", "throttled 5", NULL},
			  *const slow[] = {"cpu0 0 0 100 0 0 0 0 0", "khz 0 1200000", NULL},
			  *const hot[] = {"cpu0 0 0 100 0 0 0 0 0", "throttled 9", NULL};
	static const struct { const char *const *after; const char *verdict, *words; } cases[] = {
		{idle, "pass", "0.00%"}, {load, "unknown", "CPU 1 had nothing to do and was 50% busy"},
		{slow, "unknown", "CPU 0 went from 2400 to 1200 MHz"}, {hot, "fail", "throttled 4 times"},
	};
	static bool works[CHECK_MAX_CPUS] = {true};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cpu_use *u = xcalloc(1, sizeof(*u));

		lines(u, false, before);
		lines(u, true, cases[i].after);
		check_interference(&ctx, u, works);
		is_str(verdict("interference"), cases[i].verdict, "%s", evidence("interference"));
		ok(strstr(evidence("interference"), cases[i].words) != NULL, "and why");
		free(u);
		FRESH;
	}
}

static void test_counters(void)
{
	struct counter_use u = {0};

	counter_seen(&u, "instructions", 1);
	counter_seen(&u, "cache-misses", 0.83);
	check_counters(&ctx, &u, 0);
	is_str(verdict("counters"), "pass", "83 %% of the time");
	FRESH;
	counter_seen(&u, "dTLB-loads", 0.166);
	check_counters(&ctx, &u, 0);
	is_str(verdict("counters"), "unknown", "16.6 %% are extrapolated");
	ok(strstr(evidence("counters"), "dTLB-loads"), "and which it was");
	FRESH;
	counter_seen(&u, "cycles", NAN);
	check_counters(&ctx, &u, 0);
	is_str(verdict("counters"), "unknown", "never counted");
	FRESH;
	check_counters(&ctx, &(struct counter_use){0}, 0);
	is_str(verdict("counters"), "(none)", "no events, no check");
	check_counters(&ctx, &(struct counter_use){0}, 12);
	is_str(verdict("counters"), "unknown", "lost samples");
	FRESH;
}

static void load(const char *text, struct job_list *l)
{
	if (!ok(job_load_text("x.yaml", text, strlen(text), NULL, l) == 0, "a job"))
		printf("# %s\n", err_msg());
}

/* Multiplexed and never counted events, as perf stat tells of them. */
static void test_perf_stat(void)
{
	_cleanup_buf_ struct buf b = {0};
	struct metric_set m = {0};
	struct job_list l = {0};
	struct parse_ctx c = {.out = &m, .verdict = RUN_OK, .checks = &checks};

	load("stress-ng: {test: sockfd}\n", &l);
	c.job = l.v;
	is_int(fs_read("tests/fixtures/jobs/perf-stat-hw.txt", 0, &b), 0, "perf stat's output");
	is_int(monitor_find("perf-stat")->parse(&c, buf_str(&b), b.len), 0, "parses");
	is_str(verdict("counters"), "unknown", "%s", evidence("counters"));
	ok(strstr(evidence("counters"), "1 of 6 events were never counted, as 'node-load-misses'") != NULL,
	   "which one");
	metric_set_release(&m);
	job_list_release(&l);
	FRESH;
}

/* A sample, with the end that run.sh prints, as a file of the folder; without a sample an empty file. */
static void put(const char *dir, const char *name, const char *sample)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name),
			    *from = xasprintf("tests/fixtures/xdp-bench/%s", sample ? sample : "");
	_cleanup_buf_ struct buf b = {0};

	if (sample) {
		is_int(fs_read(from, 0, &b), 0, "%s", sample);
		buf_adds(&b, "# ---- end\n");
	}
	is_int(fs_write_atomic(path, buf_str(&b), b.len), 0, "%s", name);
}

/* A whole result folder: what a failed check does to a run that ended well. */
static void test_untrusted(void)
{
	char dir[] = "/tmp/kpb-test-check.XXXXXX";
	const struct run_facts facts = {.nr_cpu = 3};
	struct metric_set m = {0}, again = {0};
	struct job_list l = {0};
	enum run_verdict what = RUN_INFRA;
	char *cause = NULL;

	load("warmup: 4s\nruntime: 3s\nmonitors: []\nxdp-bench: {mode: redirect-cpu}\n", &l);
	if (!ok(mkdtemp(dir) != NULL, "a folder"))
		return;
	put(dir, "started", NULL);
	put(dir, "xdp-bench", "131-redirect-cpu0-toggle.txt");
	is_int(job_parse_checked(l.v, dir, &facts, &m, &checks, &what, &cause), 0, "it is read");
	is_int(what, RUN_UNTRUSTED, "packets went to the CPU that received them");
	ok(cause && startswith(cause, "placement: 100% of the packets went to the CPU that received them"),
	   "and says why: %s", cause ? cause : "");
	ok(metric_set_get(&m, "xdp-bench.rx_pps") != NULL, "its values are kept");
	is_str(verdict("placement"), "fail", "with the check");
	is_str(verdict("errors"), "pass", "and the others");
	free(cause);
	is_int(job_parse(l.v, dir, &facts, &again, &what, &cause), 0, "without asking for the checks");
	is_int(what, RUN_UNTRUSTED, "the verdict is the same");
	free(cause);
	metric_set_release(&m);
	metric_set_release(&again);
	FRESH;
	put(dir, "xdp-bench", "131-redirect-nopeer-e.txt");
	is_int(job_parse_checked(l.v, dir, &facts, &m, &checks, &what, &cause), 0, "a run in which all failed");
	ok(what == RUN_FAILED && m.n == 0, "has no values to keep");
	free(cause);
	metric_set_release(&m);
	job_list_release(&l);
	fs_rm_rf(dir);
	FRESH;
}

int main(void)
{
	test_set();
	test_steady();
	test_line_rate();
	test_generator();
	test_cpus();
	test_interference();
	test_counters();
	test_perf_stat();
	test_untrusted();
	return tap_done();
}
