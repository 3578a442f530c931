/* SPDX-License-Identifier: GPL-2.0-or-later */
/* neper with its substitutes, and the UDP sink: what the real tools printed, and what they print when they fail. */
#include "tests/unit/parsed.h"

#define JOB(test, rest) "monitors: []\nneper: {test: " test ", " rest "}\n"

static const struct { const char *file, *job, *metric; double want; } good[] = {
	{"neper-tcp_rr.txt", JOB("tcp_rr", "length: 4s"), "neper.tcp_rr.throughput", 29634.63},
	{"neper-tcp_rr.txt", JOB("tcp_rr", "length: 4s"), "neper.tcp_rr.transactions", 118551},
	{"neper-tcp_rr.txt", JOB("tcp_rr", "length: 4s"), "neper.tcp_rr.latency_p50", 197.110},
	{"neper-tcp_rr.txt", JOB("tcp_rr", "length: 4s"), "neper.tcp_rr.latency_p90", 394.230},
	{"neper-tcp_rr.txt", JOB("tcp_rr", "length: 4s"), "neper.tcp_rr.latency_p99", 1218.550},
	{"neper-tcp_rr.txt", JOB("tcp_rr", "length: 4s"), "neper.tcp_rr.latency_max", 130002.901},
	{"neper-tcp_rr.txt", JOB("tcp_rr", "length: 4s"), "neper.tcp_rr.client_cpu_s", 2.364128},
	{"neper-tcp_rr-A.txt", JOB("tcp_rr", "length: 3s"), "neper.tcp_rr.latency_p99", 655.350},
	{"neper-tcp_crr.txt", JOB("tcp_crr", "length: 3s"), "neper.tcp_crr.latency_p99.9", 9338.870},
	{"neper-tcp_crr.txt", JOB("tcp_crr", "length: 3s"), "neper.tcp_crr.throughput", 9394.66},
	{"neper-udp_rr.txt", JOB("udp_rr", "length: 4s"), "neper.udp_rr.throughput", 28416.26},
	{"neper-tcp_stream.txt", JOB("tcp_stream", "length: 4s"), "neper.tcp_stream.throughput", 5482.371972},
	{"neper-udp_stream.txt", JOB("udp_stream", "length: 3s"), "neper.udp_stream.throughput", 512.367231},
	{"netperf-tcp_stream.txt", JOB("tcp_stream", "length: 2s, engine: netperf"), "neper.tcp_stream.throughput",
	 9590.97},
	{"netperf-udp_stream.txt", JOB("udp_stream", "length: 2s, engine: netperf"), "neper.udp_stream.throughput",
	 35.24},
	{"netperf-tcp_rr-k.txt", JOB("tcp_rr", "length: 2s, engine: netperf"), "neper.tcp_rr.throughput", 38590.67},
	{"netperf-tcp_rr-k.txt", JOB("tcp_rr", "length: 2s, engine: netperf"), "neper.tcp_rr.latency_p99", 129},
	{"netperf-tcp_rr-o.txt", JOB("tcp_rr", "length: 2s, engine: netperf"), "neper.tcp_rr.latency_p90", 20},
	{"netperf-tcp_rr-o.txt", JOB("tcp_rr", "length: 2s, engine: netperf"), "neper.tcp_rr.latency_mean", 20.85},
	{"iperf3-tcp.txt", JOB("tcp_stream", "length: 2s, engine: iperf3"), "neper.tcp_stream.throughput",
	 9824.82128669741},
	{"iperf3-tcp.txt", JOB("tcp_stream", "length: 2s, engine: iperf3"), "neper.tcp_stream.retransmits", 1},
	{"iperf3-udp.txt", JOB("udp_stream", "length: 2s, engine: iperf3"), "neper.udp_stream.throughput",
	 37.034250551491924},
	{"iperf3-udp.txt", JOB("udp_stream", "length: 2s, engine: iperf3"), "neper.udp_stream.lost",
	 30.773999713863322},
	{"sockperf-pp.txt", JOB("udp_rr", "length: 2s, engine: sockperf"), "neper.udp_rr.latency_p99", 2 * 52.278},
	{"sockperf-pp.txt", JOB("udp_rr", "length: 2s, engine: sockperf"), "neper.udp_rr.latency_p99.9", 2 * 2177.443},
	{"sockperf-pp.txt", JOB("udp_rr", "length: 2s, engine: sockperf"), "neper.udp_rr.throughput", 38443 / 1.553},
	{"real-sockperf-tcp_rr.txt", JOB("tcp_rr", "length: 2s, engine: sockperf"), "neper.tcp_rr.latency_p50", 7.513},
	{"real-sockperf-tcp_rr.txt", JOB("tcp_rr", "length: 2s, engine: sockperf"), "neper.tcp_rr.latency_min", 6.647},
	{"sockperf-tp.txt", JOB("udp_stream", "length: 2s, engine: sockperf"), "neper.udp_stream.throughput",
	 34.968 * 1.048576},
	{"qperf-tcp_rr.txt", JOB("tcp_rr", "length: 2s, engine: qperf"), "neper.tcp_rr.latency_mean", 300},
	{"qperf-udp_rr.txt", JOB("udp_rr", "length: 2s, engine: qperf"), "neper.udp_rr.throughput", 1e6 / 34.4},
	{"qperf-tcp_stream.txt", JOB("tcp_stream", "length: 2s, engine: qperf"), "neper.tcp_stream.throughput", 5312},
	{"qperf-udp_stream.txt", JOB("udp_stream", "length: 2s, engine: qperf"), "neper.udp_stream.throughput", 4488},
	{"qperf-uu.txt", JOB("tcp_rr", "length: 2s, engine: qperf"), "neper.tcp_rr.latency_mean", 49.268},
	{"real-qperf-tcp_rr.txt", JOB("tcp_rr", "length: 2s, engine: qperf"), "neper.tcp_rr.latency_mean", 14.746},
	{"real-qperf-udp_stream.txt", JOB("udp_stream", "length: 2s, engine: qperf"), "neper.udp_stream.throughput",
	 677609472 * 8e-6},
};

static const struct { const char *file, *job, *cause; } bad[] = {
	{"neper-tcp_rr-refused.txt", JOB("tcp_rr", "length: 2s"), "status 124: connect: Connection refused"},
	{"neper-tcp_stream-err.txt", JOB("tcp_stream", "length: 3s"),
	 "different numbers of threads or flows (2 and 2, 8 and 4)"},
	{"neper-tcp_rr.txt", JOB("udp_rr", "length: 4s"), "the output of 'tcp_rr', not of 'udp_rr'"},
	{"neper-tcp_rr.txt", JOB("tcp_rr", "length: 30s"), "ran 4.00 s of 30 s"},
	{"netperf-refused.txt", JOB("tcp_rr", "length: 2s, engine: netperf"),
	 "status 255: establish_control could not"},
	{"iperf3-refused.txt", JOB("tcp_stream", "length: 2s, engine: iperf3"),
	 "iperf3: unable to connect to server: Connection refused"},
	{"iperf3-tcp.txt", JOB("tcp_stream", "length: 30s, engine: iperf3"), "ran 2.00 s of 30 s"},
};

/* "-nan", where neper had too few samples for a line, is no straight one. */
static void test_correlation(void)
{
	static const char key[] = "correlation_coefficient=";
	const struct program_ops *ops = program_find("neper");
	PARSED p = {0};
	char *at;

	parse_fixture(&p, ops, JOB("tcp_rr", "length: 4s"), "net/neper-tcp_rr.txt", 0, NULL);
	at = strstr(buf_str(&p.text), key);
	memcpy(at + strlen(key), "-nan", 4); /* it is 1.00 */
	_cleanup_free_ char *text = xstrdup(buf_str(&p.text));

	parse_again(&p, ops, text, strlen(text), 0);
	ok(p.r == -EBADMSG && strstr(p.c.cause, "not steady"), "%s", p.c.cause ? p.c.cause : "(none)");
}

static void test_neper(void)
{
	const struct program_ops *ops = program_find("neper");

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_free_ char *file = xasprintf("net/%s", good[i].file);
		const struct metric_value *kpi;
		PARSED p = {0};

		parse_fixture(&p, ops, good[i].job, file, 0, NULL);
		is_int(p.r, 0, "%s parses%s%s", good[i].file, p.c.cause ? ": " : "", p.c.cause ? p.c.cause : "");
		is_near(value(&p, good[i].metric), good[i].want, 1e-6 * good[i].want, "%s", good[i].metric);
		kpi = p.l.n ? metric_set_get(&p.m, job_kpis(&p.l.v[0])[0]) : NULL;
		ok(kpi && kpi->kpi && kpi->direction == 1, "its KPI is there");
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_free_ char *file = xasprintf("net/%s", bad[i].file);
		PARSED p = {0};

		parse_fixture(&p, ops, bad[i].job, file, 0, NULL);
		is_int(p.r, -EBADMSG, "%s does not", bad[i].file);
		ok(p.c.cause && strstr(p.c.cause, bad[i].cause), "cause: %s", p.c.cause ? p.c.cause : "(none)");
		is_int((long)p.m.n, 0, "and gives no values");
	}
	never_cut_off(ops, JOB("tcp_rr", "length: 4s"), "net/neper-tcp_rr.txt", 1, 7);
	never_cut_off(ops, JOB("tcp_stream", "length: 2s, engine: iperf3"), "net/iperf3-tcp.txt", 1, 13);
	never_cut_off(ops, JOB("udp_rr", "length: 2s, engine: sockperf"), "net/sockperf-pp.txt", 1, 5);
	never_cut_off(ops, JOB("tcp_rr", "length: 2s, engine: qperf"), "net/qperf-uu.txt", 1, 3);
}

/* Several clients: rates add up, latencies are averaged. */
static void test_instances(void)
{
	static const char one[] =
		"### kperfbot netperf tcp_rr client\nTHROUGHPUT=%d\nP50_LATENCY=%d\nELAPSED_TIME=2.00\n### stderr\n### rc=%d\n";
	const struct program_ops *ops = program_find("neper");

	for (int status = 0; status < 2; status++) {
		_cleanup_buf_ struct buf b = {0};
		PARSED p = {0};

		parse_fixture(&p, ops, JOB("tcp_rr", "length: 2s, engine: netperf, flows: 2"),
			      "net/netperf-tcp_rr-k.txt", 0, NULL);
		metric_set_release(&p.m);
		buf_addf(&b, one, 1000, 20, 0);
		buf_addf(&b, one, 3000, 30, status);
		buf_adds(&b, "### end\n");
		p.r = ops->parse(&p.c, b.s, b.len);
		if (!status) {
			is_near(value(&p, "neper.tcp_rr.throughput"), 4000, 1e-9, "two clients: the sum of the rates");
			is_near(value(&p, "neper.tcp_rr.latency_p50"), 25, 1e-9, "the mean of the latencies");
		} else {
			is_int(p.r, -EBADMSG, "one of them failed: no value");
			is_int((long)p.m.n, 0, "at all");
		}
	}
}

#define SINK "monitors: []\nruntime: 2s\nudp-sink: {rps: \"on\"}\n"
#define SINK_OFF "monitors: []\nruntime: 2s\nudp-sink: {rps: \"off\"}\n"

static void test_sink(void)
{
	const struct program_ops *ops = program_find("udp-sink");
	_cleanup_buf_ struct buf b = {0};
	char *at;
	PARSED p = {0}, off = {0};

	parse_fixture(&p, ops, SINK, "net/udp-sink-rps-on.txt", 0, NULL);
	is_int(p.r, 0, "udp-sink with RPS");
	is_near(value(&p, "sink.pps"), 403253 / 2.000331, 1e-3, "packets a second");
	is_near(value(&p, "sink.percent"), 100.0 * 403253 / (403253 + 30137), 1e-9, "share that was not dropped");
	is_near(value(&p, "sink.cpu_irq"), 100.0 * (71 + 39 + 66 + 22) / (71 + 39 + 66 + 22), 1e-9,
		"the interrupt CPU's time");
	is_near(value(&p, "sink.cpu1.rps_per_sec"), 118225 / 2.000331, 1e-3, "steered to CPU 1");
	is_near(value(&p, "sink.cpu_us_per_packet"), (198.0 + 201) * 10000 / 403253, 1e-6, "CPU time a packet");
	is_near(value(&p, "send.pps"), 619328 / 3.025104, 1e-3, "sent");
	parse_fixture(&off, ops, SINK_OFF, "net/udp-sink-rps-off.txt", 0, NULL);
	is_int(off.r, 0, "and without");
	is_near(value(&off, "sink.cpu1.rps_per_sec"), 0, 0, "nothing steered");
	is_near(value(&off, "sink.cpu_steal"), 100.0 / 401, 1e-9, "stolen time is told");
	ok(job_kpis(&p.l.v[0])[0] && !strcmp(job_kpis(&p.l.v[0])[0], "sink.pps"), "the KPI");
	never_cut_off(ops, SINK, "net/udp-sink-rps-on.txt", 1, 5);

	/* RPS that did nothing */
	buf_add(&b, buf_str(&p.text), p.text.len);
	at = strstr(b.s, "cpu1.rps=118225");
	memcpy(at, "cpu1.rps=000000", 15);
	metric_set_release(&p.m);
	p.r = ops->parse(&p.c, b.s, b.len);
	is_int(p.r, -EBADMSG, "RPS on, but nothing steered");
	ok(p.c.cause && strstr(p.c.cause, "no CPU was handed a packet"), "cause: %s", p.c.cause);
	is_int((long)p.m.n, 0, "gives no value");
	/* the only other CPU is the receiving one: nothing can be steered */
	at = strstr(b.s, "rps_mask=2");
	at[9] = '1';
	p.r = ops->parse(&p.c, b.s, b.len);
	is_int(p.r, 0, "with one CPU that is no fault");
}

/* One emulated CPU that counts instructions: what it executed for each datagram. */
static void test_sink_icount(void)
{
	const struct program_ops *ops = program_find("udp-sink");
	PARSED p = {0};

	parse_fixture(&p, ops, SINK, "net/udp-sink-icount.txt", 0, NULL);
	is_int(p.r, 0, "the sink on one CPU, steering to itself");
	ok(!metric_set_get(&p.m, "icount.instructions_per_op"), "no instructions where time is no count of them");
	parse_again(&p, ops, buf_str(&p.text), p.text.len, 8);
	is_near(value(&p, "icount.instructions_per_op"), 1001899e3 / 8 / 6897, 1, "instructions a datagram");
	ok(metric_set_get(&p.m, "icount.instructions_per_op")->kpi, "are a KPI");
	parse_fixture(&p, ops, SINK, "net/udp-sink-rps-on.txt", 0, NULL);
	parse_again(&p, ops, buf_str(&p.text), p.text.len, 8);
	ok(p.r == 0 && !metric_set_get(&p.m, "icount.instructions_per_op"), "but not with several CPUs");
}

int main(void)
{
	test_neper();
	test_correlation();
	test_instances();
	test_sink();
	test_sink_icount();
	return tap_done();
}
