/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "sh SCRIPT kpis" prints, by awk, what the robot's own parsers read out of the same real outputs; and nothing where
 * they refuse. */
#include "jobs/expand.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/unit.h"
#include "tests/tap.h"

#define XDP(mode, warmup, runtime, file) {"xdp-bench-" mode, {"threads=1", "cpufreq_governor=", "warmup=" warmup, "runtime=" runtime}, "xdp-bench/" file, 0}
#define NEPER(engine, test, length, flows, file) {"neper-tcp_rr", {"engine=" engine, "test=" test, "length=" length, "threads=1", "flows=" flows}, "net/" file, 0}
#define COMMAND(kpi, file) {"tests/fixtures/jobs/command.yaml", {"kpi=" kpi}, "jobs/" file, 0}
static const struct { const char *job, *set[6], *file; double ns; } cases[] = {
	{"stress-ng-sockfd", {"test=sockfd", "testtime=1s"}, "jobs/stress-ng-sockfd-lkp.txt", 0},
	{"stress-ng-sockfd", {"test=sockfd", "testtime=1s"}, "jobs/stress-ng-sockfd-metrics-times-perf.txt", 8},
	{"stress-ng-sockfd", {"test=sockfd", "testtime=1s"}, "jobs/stress-ng-sockfd-metrics-brief.txt", 0},
	{"stress-ng-sockfd", {"test=sock", "testtime=1s"}, "jobs/stress-ng-sock.txt", 0},
	{"stress-ng-sockfd", {"test=udp-flood", "testtime=1s"}, "jobs/stress-ng-udp-flood.txt", 0},
	{"stress-ng-sockfd", {"test=sctp", "testtime=1s"}, "jobs/stress-ng-sctp.txt", 0},
	{"stress-ng-sockfd", {"test=dccp", "testtime=1s"}, "jobs/stress-ng-dccp.txt", 0},
	{"stress-ng-sockfd", {"test=sockfd", "testtime=1s"}, "jobs/stress-ng-badopt.txt", 0},
	{"stress-ng-sockfd", {"test=longjmp", "testtime=1s"}, "jobs/stress-ng-longjmp.txt", 8},
	{"stress-ng-sockfd", {"test=longjmp", "testtime=1s"}, "jobs/stress-ng-info-longjmp.txt", 8},
	{"stress-ng-sockfd", {"test=zlib", "testtime=1s"}, "jobs/stress-ng-zlib.txt", 0},
	{"stress-ng-sockfd", {"test=rdrand", "testtime=1s"}, "jobs/stress-ng-rdrand.txt", 0},
	{"stress-ng-sockfd", {"test=efivar", "testtime=1s"}, "jobs/stress-ng-efivar.txt", 0},
	{"udp-sink-rps", {"rps=off", "runtime=2s"}, "net/udp-sink-rps-off.txt", 0},
	{"udp-sink-rps", {"rps=on", "runtime=2s"}, "net/udp-sink-rps-on.txt", 0},
	{"udp-sink-rps", {"rps=off", "runtime=1s"}, "net/udp-sink-icount.txt", 8},
	XDP("drop", "3s", "5s", "guest-drop.txt"),
	XDP("redirect-cpu", "3s", "5s", "guest-redirect-cpu.txt"),
	XDP("drop", "0", "3s", "131-drop.txt"),
	XDP("drop", "0", "3s", "163-drop-enUS.txt"),
	XDP("drop", "0", "3s", "131-on-6.18-fails.txt"),
	NEPER("neper", "tcp_rr", "4s", "8", "neper-tcp_rr.txt"),
	NEPER("neper", "tcp_rr", "4s", "8", "neper-tcp_rr-refused.txt"),
	NEPER("neper", "tcp_crr", "2s", "8", "neper-tcp_crr.txt"),
	NEPER("neper", "udp_rr", "2s", "8", "neper-udp_rr.txt"),
	NEPER("neper", "tcp_stream", "2s", "8", "neper-tcp_stream.txt"),
	NEPER("netperf", "tcp_rr", "2s", "1", "netperf-tcp_rr-k.txt"),
	NEPER("netperf", "tcp_rr", "2s", "1", "netperf-refused.txt"),
	NEPER("iperf3", "tcp_stream", "2s", "4", "iperf3-tcp.txt"),
	NEPER("iperf3", "udp_stream", "2s", "4", "iperf3-udp.txt"),
	NEPER("iperf3", "tcp_stream", "2s", "4", "real-iperf3-tcp_stream.txt"),
	NEPER("iperf3", "udp_stream", "2s", "4", "real-iperf3-udp_stream.txt"),
	NEPER("iperf3", "tcp_stream", "2s", "4", "iperf3-refused.txt"),
	NEPER("sockperf", "tcp_rr", "2s", "1", "real-sockperf-tcp_rr.txt"),
	NEPER("sockperf", "udp_rr", "2s", "1", "real-sockperf-udp_rr.txt"),
	NEPER("sockperf", "udp_rr", "2s", "1", "sockperf-pp.txt"),
	NEPER("sockperf", "tcp_stream", "2s", "1", "real-sockperf-tcp_stream.txt"),
	NEPER("qperf", "tcp_rr", "2s", "1", "real-qperf-tcp_rr.txt"),
	NEPER("qperf", "udp_rr", "2s", "1", "qperf-udp_rr.txt"),
	NEPER("qperf", "tcp_stream", "2s", "1", "qperf-tcp_stream.txt"),
	NEPER("qperf", "udp_stream", "2s", "1", "real-qperf-udp_stream.txt"),
	COMMAND("ops_per_sec", "command-terminal.txt"), COMMAND("latency", "command-terminal.txt"),
	COMMAND("ops_per_sec", "command-none.txt"), COMMAND("ops_per_sec", "command-mixed.txt"),
	COMMAND("bw", "command-mixed.txt"),
	COMMAND("kpi", "command-first-nan.txt"), COMMAND("kpi", "command-first.txt"),
};

static char tmp[] = "/tmp/kpb-kpis-XXXXXX";

/* Monitors have no part in it: their files are not there. */
static bool load(size_t i, struct job_list *l)
{
	const char *set[8] = {"monitors="};

	for (size_t k = 0; k < ARRAY_SIZE(cases[i].set) && cases[i].set[k]; k++)
		set[k + 1] = cases[i].set[k];
	return ok(job_load(cases[i].job, NULL, set, l) == 0 && l->n == 1, "%s", cases[i].file);
}

/* The value that the script printed for metric, NAN for none. */
static double printed(const char *text, const char *metric)
{
	_cleanup_free_ char *end = xasprintf(" %s\n", metric), *copy = xasprintf("%s\n", text);
	char *at = strstr(copy, end), *line;

	if (!at)
		return NAN;
	*at = 0;
	line = strrchr(copy, '\n');
	return strtod(line ? line + 1 : copy, NULL);
}

static void compare(const struct job *j, const struct metric_set *m, const char *text)
{
	for (const char *const *k = job_kpis(j); *k; k++) {
		const struct metric_value *v = metric_set_get(m, *k);
		struct unit u = {.scale = 1};

		/* any command's figures are printed in base units, so that runs of other sizes can be laid beside
		 * them */
		if (v && streq(j->program, "command"))
			(void)unit_parse(v->unit, &u);
		if (v)
			is_near(printed(text, *k), v->value * u.scale, 1e-8 * fabs(v->value * u.scale), *k);
		else
			ok(isnan(printed(text, *k)), "no %s", *k);
	}
}

static void check(size_t i)
{
	const struct run_facts facts = {.ns_per_insn = cases[i].ns, .nr_cpu = 2};
	_cleanup_free_ char *from = xasprintf("tests/fixtures/%s", cases[i].file), *to = NULL, *line = NULL,
			    *cause = NULL;
	_cleanup_(job_list_release) struct job_list l = {0};
	_cleanup_(metric_set_release) struct metric_set m = {0};
	_cleanup_buf_ struct buf script = {0}, out = {0};
	enum run_verdict verdict = RUN_INFRA;
	bool used;
	int r;

	if (!load(i, &l))
		return;
	to = xasprintf("%s/%s", tmp, l.v[0].program);
	line = xasprintf("RESULT_DIR=%s KPB_NS_PER_INSN=%g sh %s/job.sh kpis", tmp, cases[i].ns, tmp);
	is_int(job_render(&l.v[0], &script), 0, "renders");
	_cleanup_free_ char *job = xasprintf("%s/job.sh", tmp);
	fs_write_atomic(job, script.s, script.len);
	_cleanup_free_ char *started = xasprintf("%s/started", tmp);
	fs_write_atomic(started, "", 0);
	is_int(fs_copy(from, to), 0, "a real output");
	is_int(job_parse(&l.v[0], tmp, &facts, &m, &verdict, &cause), 0, "the robot reads it");
	used = verdict == RUN_OK || verdict == RUN_UNTRUSTED;
	r = proc_ok(ARGV("sh", "-c", line), NULL, &out);
	if (!ok((r == 0) == used, "the script prints figures if the robot has any (%s%s%s)", run_verdict_word(verdict),
		cause ? ": " : "", cause ? cause : ""))
		printf("# %s\n", buf_str(&out));
	if (used)
		compare(&l.v[0], &m, buf_str(&out));
	fs_rm_rf(to);
}

int main(void)
{
	if (!mkdtemp(tmp))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(i);
	fs_rm_rf(tmp);
	return tap_done();
}
