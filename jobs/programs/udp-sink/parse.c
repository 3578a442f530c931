/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kpb-udp-sink and kpb-udp-send print: "key=value" lines, all counts are those of the measured window.
 *
 *	sink.pps                    datagrams that the workers got / s
 *	sink.percent                of those that reached the host: got / (got + dropped at a socket + dropped at a backlog)
 *	sink.cpu_all, _irq, _app    per cent of the CPUs' time that was neither idle nor stolen: all, the one that packets
 *	                            arrive on, the first one with a worker
 *	sink.cpu_us_per_packet      the same of all CPUs, in microseconds a datagram (the sender's included with veth)
 *	sink.cpuN.*                 softirqs, packets from the backlog, and interrupts for steered packets (received_rps)
 *	send.pps                    what the sender got rid of
 *	icount.instructions_per_op  machine qemu-icount, where time is a count of instructions and there is one CPU that was
 *	                            never idle: all that it executed, the sender included, for each datagram received
 *
 * With RPS on and another CPU in its mask, packets must have been steered, or nothing was measured that the job is for.
 */
#include "jobs/program.h"
#include "lib/text.h"

#define MAX_CPUS 1024
#define TICK_US 10000.0         /* /proc/stat counts in 1/100 s on every architecture (USER_HZ) */

static const char *const field[] = {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "net_rx", "net_tx",
				    "processed", "backlog_dropped", "squeezed", "rps"};
enum { F_IDLE = 3, F_IOWAIT = 4, F_STEAL = 7, F_TIMES = 8, F_NET_RX = 8, F_NET_TX, F_PROCESSED, F_DROPPED, F_SQUEEZED, F_RPS, N_FIELDS };
struct cpu_row { double v[N_FIELDS]; bool seen; };
static const char *const plain[] = {"seconds", "packets", "bytes", "udp.in", "udp.no_port", "udp.in_errors", "udp.rcvbuf_errors",
				    "sent", "refused", "errors", "send_seconds", "irq_cpu", "app_cpu", "sender_done"};
enum { P_SECONDS, P_PACKETS, P_BYTES, P_IN, P_NO_PORT, P_IN_ERRORS, P_RCVBUF, P_SENT, P_REFUSED, P_ERRORS, P_SEND_SECONDS,
       P_IRQ_CPU, P_APP_CPU, P_SENDER_DONE, N_PLAIN };
struct result {
	double v[N_PLAIN];
	struct cpu_row *cpu;
	size_t n_cpus;          /* the highest seen and one */
	bool done, rps_on, elsewhere;
};

/* "cpu12.softirq" */
static void read_cpu(struct result *r, const char *key, double v)
{
	char *end;
	unsigned long n = strtoul(key + 3, &end, 10);

	if (end == key + 3 || *end != '.' || n >= MAX_CPUS)
		return;
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (strcmp(end + 1, field[i]))
			continue;
		r->cpu[n].v[i] = v;
		r->cpu[n].seen = true;
		r->n_cpus = MAX(r->n_cpus, n + 1);
	}
}

static void read_line(struct result *r, char *line)
{
	char *value = strchr(line, '=');
	double v;

	r->done |= !strcmp(line, "done");
	if (!value)
		return;
	*value++ = 0;
	if (!strcmp(line, "rps"))
		r->rps_on = !strcmp(value, "on");
	if (!number(value, &v) || v > 1e18)
		return;
	if (startswith(line, "cpu"))
		read_cpu(r, line, v);
	for (size_t i = 0; i < N_PLAIN; i++)
		if (!strcmp(line, plain[i]))
			r->v[i] = v;
}

static double busy(const struct cpu_row *c, double *total)
{
	double sum = 0, idle = c->v[F_IDLE] + c->v[F_IOWAIT];

	for (size_t i = 0; i < F_TIMES; i++)
		sum += c->v[i];
	*total = sum;
	return sum - idle - c->v[F_STEAL];
}

static void add(struct parse_ctx *c, const char *name, double v, const char *unit, int dir, bool kpi)
{
	if (isfinite(v))
		metric_set_add(c->out, name, v, unit, dir, kpi);
}

static void add_cpu_share(struct parse_ctx *c, const struct result *r, const char *name, double which)
{
	double total, used;

	if (which < 0 || which >= (double)r->n_cpus || !r->cpu[(size_t)which].seen)
		return;
	used = busy(&r->cpu[(size_t)which], &total);
	if (total > 0)
		add(c, name, 100 * used / total, "%", 0, false);
}

static void add_cpus(struct parse_ctx *c, const struct result *r)
{
	static const struct { size_t field; const char *name; } per_cpu[] = {
		{F_NET_RX, "net_rx_per_sec"}, {F_NET_TX, "net_tx_per_sec"}, {F_PROCESSED, "processed_per_sec"},
		{F_SQUEEZED, "squeezed_per_sec"}, {F_RPS, "rps_per_sec"},
	};
	double all = 0, time = 0, steal = 0;

	for (size_t n = 0; n < r->n_cpus; n++) {
		double total;

		if (!r->cpu[n].seen)
			continue;
		all += busy(&r->cpu[n], &total);
		time += total;
		steal += r->cpu[n].v[F_STEAL];
		for (size_t i = 0; i < ARRAY_SIZE(per_cpu); i++) {
			_cleanup_free_ char *name = xasprintf("sink.cpu%zu.%s", n, per_cpu[i].name);

			add(c, name, r->cpu[n].v[per_cpu[i].field] / r->v[P_SECONDS], "/s", 0, false);
		}
	}
	if (time > 0) {
		add(c, "sink.cpu_all", 100 * all / time, "%", 0, false);
		add(c, "sink.cpu_steal", 100 * steal / time, "%", 0, false);
	}
	if (all > 0)
		add(c, "sink.cpu_us_per_packet", all * TICK_US / r->v[P_PACKETS], "us", -1, true);
	add_cpu_share(c, r, "sink.cpu_irq", r->v[P_IRQ_CPU]);
	add_cpu_share(c, r, "sink.cpu_app", r->v[P_APP_CPU]);
}

static double sum_of(const struct result *r, size_t f)
{
	double sum = 0;

	for (size_t n = 0; n < r->n_cpus; n++)
		sum += r->cpu[n].v[f];
	return sum;
}

static void add_icount(struct parse_ctx *c, const struct result *r)
{
	double ns = c->facts->ns_per_insn, idle = sum_of(r, F_IDLE) + sum_of(r, F_IOWAIT);

	if (ns > 0 && r->n_cpus == 1 && r->cpu[0].seen && idle == 0)
		add(c, "icount.instructions_per_op", r->v[P_SECONDS] * 1e9 / ns / r->v[P_PACKETS], "insns", -1, true);
}

static int add_sender(struct parse_ctx *c, const struct result *r, const char *last)
{
	if (!r->v[P_SENDER_DONE])
		return parse_fail(c, RUN_FAILED, "kpb-udp-send ended early%s%s", *last ? ": " : "", last);
	if (!(r->v[P_SENT] > 0) || !(r->v[P_SEND_SECONDS] > 0.001) || r->v[P_ERRORS] > 0)
		return parse_fail(c, RUN_FAILED, "kpb-udp-send sent %.0f datagrams with %.0f errors", r->v[P_SENT],
				  r->v[P_ERRORS]);
	add(c, "send.pps", r->v[P_SENT] / r->v[P_SEND_SECONDS], "/s", 0, false);
	add(c, "send.refused_per_sec", r->v[P_REFUSED] / r->v[P_SEND_SECONDS], "/s", 0, false);
	return 0;
}

static int add_sink(struct parse_ctx *c, const struct result *r, const char *last)
{
	double dropped = sum_of(r, F_DROPPED), lost = r->v[P_RCVBUF] + dropped, s = r->v[P_SECONDS],
	       packets = r->v[P_PACKETS];

	if (!r->done)
		return parse_fail(c, RUN_FAILED, "kpb-udp-sink ended early%s%s", *last ? ": " : "", last);
	if (!(s > 0.001) || !(packets > 0))
		return parse_fail(c, RUN_FAILED, "kpb-udp-sink received nothing");
	if (r->rps_on && r->elsewhere && sum_of(r, F_RPS) == 0)
		return parse_fail(c, RUN_FAILED, "receive packet steering was on, but no CPU was handed a packet");
	add(c, "sink.pps", packets / s, "/s", 1, true);
	add(c, "sink.percent", 100 * packets / (packets + lost), "%", 1, false);
	add(c, "sink.bytes_per_sec", r->v[P_BYTES] / s, "B/s", 1, false);
	add(c, "sink.rcvbuf_errors_per_sec", r->v[P_RCVBUF] / s, "/s", -1, false);
	add(c, "sink.backlog_dropped_per_sec", dropped / s, "/s", -1, false);
	add(c, "sink.no_port_per_sec", r->v[P_NO_PORT] / s, "/s", 0, false);
	add_cpus(c, r);
	add_icount(c, r);
	return 0;
}

/* Is a CPU other than the receiving one in the mask "3,0000000c"? Groups of 32 from the right. */
static bool other_cpu(const char *mask, double irq_cpu)
{
	size_t n = strlen(mask), bit = 0;

	for (size_t i = n; i-- > 0;) {
		const char *digits = "0123456789abcdef", *d = mask[i] == ',' ? NULL : strchr(digits, mask[i]);

		if (mask[i] == ',') {
			bit = (bit + 31) / 32 * 32;
			continue;
		}
		if (!d || !*d)
			return false;
		for (unsigned k = 0; k < 4; k++)
			if ((d - digits) >> k & 1 && (double)(bit + k) != irq_cpu)
				return true;
		bit += 4;
	}
	return false;
}

/* The last message of one of the two programs; behind it are figures of the other one. */
static char *reason(const struct parse_ctx *c _unused_, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	char last[LINE_MAX_BYTES] = "";

	while (next_line(&it))
		if (startswith(it.line, "kpb-udp-"))
			memcpy(last, it.line, sizeof(last));
	return *last ? xstrdup(last) : last_words(text, len);
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct result r = {.cpu = xcalloc(MAX_CPUS, sizeof(struct cpu_row))};
	_cleanup_free_ char *last = reason(c, text, len);
	char mask[LINE_MAX_BYTES] = "";
	const char *role = job_param(c->job, "role");
	struct lines it = {.text = text, .len = len};
	int e = 0;

	while (next_line(&it) && it.ended) {
		if (startswith(it.line, "rps_mask="))
			memcpy(mask, it.line + 9, sizeof(mask) - 9);
		read_line(&r, it.line);
	}
	r.elsewhere = other_cpu(mask, r.v[P_IRQ_CPU]);
	if (!streq(role, "sender"))
		e = add_sink(c, &r, last);
	if (e == 0 && !streq(role, "receiver"))
		e = add_sender(c, &r, last);
	free(r.cpu);
	return e;
}

const struct program_ops program_udp_sink = {.name = "udp-sink", .parse = parse, .file = "udp-sink", .reason = reason};
