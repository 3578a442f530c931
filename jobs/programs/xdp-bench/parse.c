/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse.c - one text with facts ("# key: value") and sections: before and after (counters), stdout and stderr of
 * xdp-bench, generator (pktgen's results), end. xdp-bench ends with status 0 when told to, also if not one packet got
 * through: what it printed decides. Each interval is a second; those of the warm-up are left out.
 */
#include "jobs/programs/xdp-bench/xdp.h"

#define MAX_LOST 0.01           /* part of the packets */

enum xdp_section { S_FACTS, S_STDOUT, S_STDERR, S_GENERATOR, S_BEFORE, S_AFTER, S_END };
static const char *const sections[] = {[S_STDOUT] = "stdout", [S_STDERR] = "stderr", [S_GENERATOR] = "generator",
				       [S_BEFORE] = "before", [S_AFTER] = "after", [S_END] = "end"};

struct output {
	struct xdp_lines x;
	struct xdp_counters k;
	char role[16], rx_driver[32], gen_driver[32], attached[16], last_error[300];
	double status, speed, rx_cpu, gen_cpu, threads, cpus, attached_at, begin, end; /* NAN: not told; cpus: online */
	size_t asked;                   /* seconds that the job wants */
	bool ended, chat;               /* chat: last_error is a library's */
};

/* ---- reading ---- */

/* "receiver: kpbr0 driver veth speed 10000 mode native cpu 1": the word behind key. */
static const char *fact(char *const *w, size_t n, const char *key)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (!strcmp(w[i], key))
			return w[i + 1];
	return "";
}

static double fact_number(char *const *w, size_t n, const char *key)
{
	double v;

	return number(fact(w, n, key), &v) ? v : NAN;
}

static void read_fact(struct output *o, char *line)
{
	char *w[24];
	size_t n;

	if (startswith(line, "# exit status: ")) {
		if (!number(line + strlen("# exit status: "), &o->status))
			o->status = 255;
		return;
	}
	n = split(line, w, ARRAY_SIZE(w));
	if (n < 3)
		return;
	if (!strcmp(w[1], "role:"))
		metric_word(o->role, sizeof(o->role), w[2]);
	if (!strcmp(w[1], "cpus:"))
		o->cpus = fact_number(w, n, "cpus:");
	if (!strcmp(w[1], "receiver:")) {
		metric_word(o->rx_driver, sizeof(o->rx_driver), fact(w, n, "driver"));
		metric_word(o->attached, sizeof(o->attached), fact(w, n, "mode"));
		o->speed = fact_number(w, n, "speed");
		o->rx_cpu = fact_number(w, n, "cpu");
	}
	if (!strcmp(w[1], "times:")) {
		o->attached_at = fact_number(w, n, "attached");
		o->begin = fact_number(w, n, "begin");
		o->end = fact_number(w, n, "end");
	}
	if (!strcmp(w[1], "generator:")) {
		metric_word(o->gen_driver, sizeof(o->gen_driver), fact(w, n, "driver"));
		o->gen_cpu = fact_number(w, n, "cpu");
		o->threads = fact_number(w, n, "threads");
	}
}

static enum xdp_section section_of(const char *line, enum xdp_section now)
{
	for (size_t i = S_STDOUT; startswith(line, "# ---- ") && i < ARRAY_SIZE(sections); i++)
		if (!strcmp(line + 7, sections[i]))
			return (enum xdp_section)i;
	return now;
}

/* The last line that says something; what the libraries chat is taken only where nothing else is said. */
static void note_error(struct output *o, const char *line)
{
	bool chat = startswith(line, "libbpf:") || startswith(line, "libxdp:") || startswith(line, "Cannot proceed");

	if (*line && (!chat || !*o->last_error || o->chat)) {
		snprintf(o->last_error, sizeof(o->last_error), "%.299s", line);
		o->chat = chat;
	}
}

/* Line k ends k seconds after the start. Those in which the measured part begins and ends are not of it. When it
 * started is known to some tenths of a second only: it was looked for five times a second. */
static void set_window(struct output *o)
{
	double from = ceil(o->begin - o->attached_at + 0.5), to = floor(o->end - o->attached_at - 0.2);

	if (!(from >= 0 && from < MAX_RATES) || o->x.seen) /* run.sh tells the times first */
		return;
	o->x.skip = (size_t)from;
	if (to >= from)
		o->x.want = MIN(o->asked, (size_t)MIN(to - from, MAX_RATES));
}

static void read_all(struct output *o, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	enum xdp_section s = S_FACTS;

	while (next_line(&it)) {
		if (!it.ended) /* cut off: half a number is no number */
			break;
		if (it.line[0] == '#') {
			s = section_of(it.line, s);
			o->ended |= s == S_END;
			read_fact(o, it.line);
			set_window(o);
		} else if (s == S_STDOUT) {
			xdp_line(&o->x, it.line);
		} else if (s == S_STDERR) {
			note_error(o, it.line + strspn(it.line, " \t"));
		} else if (s == S_GENERATOR) {
			xdp_generator_line(&o->k, it.line);
		} else if (s == S_BEFORE || s == S_AFTER) {
			xdp_counter_line(&o->k, s == S_AFTER, it.line);
		}
	}
}

/* ---- can it be used? ---- */

static bool transmits(const char *mode)
{
	return streq(mode, "redirect") || streq(mode, "redirect-map") || streq(mode, "redirect-multi");
}

static double at_least_0(double v) { return v > 0 ? v : 0; }

static int check_ran(struct parse_ctx *c, const struct output *o, const char *mode)
{
	const struct xdp_lines *x = &o->x;
	double rx = xdp_mean(x, X_RX), failed = at_least_0(xdp_mean(x, X_REDIRECT_ERR)) +
						at_least_0(xdp_mean(x, X_XMIT_ERR)) +
						at_least_0(xdp_mean(x, X_EXCEPTION));

	if (o->status > 0)
		return parse_fail(c, x->seen ? RUN_FAILED : RUN_INCOMPLETE, "xdp-bench ended with status %g%s%s",
				  o->status, *o->last_error ? ": " : "", o->last_error);
	if (!o->ended)
		return parse_fail(c, RUN_FAILED, "the output is cut off");
	if (!x->seen)
		return parse_fail(c, RUN_INCOMPLETE, "xdp-bench measured nothing%s%s", *o->last_error ? ": " : "",
				  o->last_error);
	if (x->used + 1 + o->asked / 10 < o->asked || !x->used)
		return parse_fail(c, RUN_FAILED,
				  "xdp-bench printed %zu intervals, %zu of the warm-up and %zu were wanted", x->seen,
				  x->skip, o->asked);
	if (!(rx > 0))
		return parse_fail(c, RUN_FAILED, "xdp-bench ended with status 0, but no packet arrived%s%s",
				  *o->k.trouble ? "; pktgen: " : "", o->k.trouble);
	if (!x->finished)
		return parse_fail(c, RUN_FAILED, "xdp-bench printed no totals: it did not end by itself");
	if (transmits(mode) && !(xdp_mean(x, X_XMIT) > 0))
		return parse_fail(
			c, RUN_FAILED,
			"xdp-bench ended with status 0, but sent nothing on: %.0f pkt/s received, %.0f errors/s%s%s%s",
			rx, xdp_mean(x, X_ERR), *x->why ? " (" : "", x->why, *x->why ? ")" : "");
	if (failed > rx / 2)
		return parse_fail(
			c, RUN_FAILED,
			"xdp-bench ended with status 0, but most packets failed: %.0f pkt/s received, %.0f errors/s%s%s%s",
			rx, failed, *x->why ? " (" : "", x->why, *x->why ? ")" : "");
	return 0;
}

/* ---- was it valid? ---- */

/* Packets that should have been worked on and were not. Dropping is no error where it is the work: in drop mode
 * xdp-bench counts it apart. Short output has one number for all, in which what two counters saw is there twice. */
static void check_errors(struct parse_ctx *c, const struct output *o)
{
	static const struct { enum xdp_figure f; const char *what; } kinds[] = {
		{X_RX_ERROR, "receive errors"}, {X_REDIRECT_ERR, "redirect errors"}, {X_EXCEPTION, "XDP exceptions"},
		{X_ENQUEUE_DROP, "dropped at the full queue to the other CPU"},
		{X_KTHREAD_DROP, "dropped by the other CPU"}, {X_XMIT_DROP, "dropped by the sending device"},
		{X_XMIT_ERR, "refused by the sending device"}, {X_ERR, "errors or drops"},
	};
	double at[2] = {0, 1}, rx = xdp_mean(&o->x, X_RX),
	       lost = xdp_receiver_count(&o->k, "rx_queue_*_xdp_tx_errors", at);
	double worst = at_least_0(lost / (at[1] - at[0]));
	const char *what = worst > 0 ? "could not be sent back" : "lost or failed";

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		double v = kinds[i].f == X_ERR && o->x.n[X_RX_ERROR] ? 0 : xdp_mean(&o->x, kinds[i].f);

		if (v > worst) {
			worst = v;
			what = kinds[i].what;
		}
	}
	check_say(c, "errors", worst > MAX_LOST * rx ? CHECK_FAIL : CHECK_PASS, "%.0f of %.0f pkt/s %s", worst, rx,
		  what);
}

static int busiest(const double *sum)
{
	int best = -1;

	for (int i = 0; i < CHECK_MAX_CPUS; i++)
		if (sum[i] > (best < 0 ? 0 : sum[best]))
			best = i;
	return best;
}

static void add_cpu(const struct output *o, const char *what, int cpu, struct buf *out)
{
	double soft, busy = o->k.cpus ? cpu_busy(o->k.cpus, cpu, &soft) : NAN;

	if (cpu < 0)
		return;
	buf_addf(out, "%s%s CPU %d", out->len ? ", " : "", what, cpu);
	if (isfinite(busy))
		buf_addf(out, " (%.0f%% busy, %.0f%% in softirqs%s)", 100 * busy, 100 * soft,
			 busy > 0.95 ? ": saturated" : "");
}

static bool generates_on(const struct output *o, int cpu)
{
	return cpu >= 0 && cpu >= o->gen_cpu && cpu < o->gen_cpu + o->threads;
}

static void check_placement(struct parse_ctx *c, const struct output *o)
{
	const struct xdp_lines *x = &o->x;
	int rx = busiest(x->cpu_rx), remote = busiest(x->cpu_kthread);
	double same = 0, all = 0;
	_cleanup_buf_ struct buf t = {0};

	add_cpu(o, "received on", rx, &t);
	add_cpu(o, "redirected to", remote, &t);
	add_cpu(o, "sent from", isnan(o->gen_cpu) ? -1 : (int)MIN(o->gen_cpu, CHECK_MAX_CPUS), &t);
	for (size_t i = 0; i < x->n_pairs; i++) {
		all += x->pair[i].sum;
		same += x->pair[i].from == x->pair[i].to ? x->pair[i].sum : 0;
	}
	if (rx < 0)
		check_say(c, "placement", CHECK_UNKNOWN, "xdp-bench printed no rates by CPU%s%s", t.len ? "; " : "",
			  buf_str(&t));
	else if (o->cpus == 1)
		check_say(c, "placement", CHECK_UNKNOWN, "%s: this machine has no other, all take turns", buf_str(&t));
	else if (same > 0.01 * all)
		check_say(c, "placement", CHECK_FAIL, "%.0f%% of the packets went to the CPU that received them; %s",
			  100 * same / all, buf_str(&t));
	else if (isfinite(o->rx_cpu) && rx != o->rx_cpu)
		check_say(c, "placement", CHECK_FAIL, "%s, not CPU %g as wanted", buf_str(&t), o->rx_cpu);
	else if (remote >= 0 && generates_on(o, remote))
		check_say(c, "placement", CHECK_FAIL, "the CPU redirected to also generates; %s", buf_str(&t));
	else
		check_say(c, "placement", generates_on(o, rx) ? CHECK_UNKNOWN : CHECK_PASS, "%s%s", buf_str(&t),
			  generates_on(o, rx) ? ": too few CPUs to part them" : "");
}

/* The driver's own count of packets that met XDP, against what xdp-bench saw in the same time. The two clocks are read
 * at somewhat different times: a second's worth may be missing. */
static void check_cross(struct parse_ctx *c, const struct output *o)
{
	double at[2], most, seen, counted = xdp_receiver_count(&o->k, "rx_queue_*_xdp_packets", at);

	if (isnan(counted))
		counted = xdp_receiver_count(&o->k, "rx_xdp_packets", at);
	if (isnan(counted) || isnan(o->attached_at) || streq(o->attached, "skb")) {
		check_say(c, "cross-check", CHECK_UNKNOWN, "driver '%s' does not count these packets", o->rx_driver);
		return;
	}
	seen = xdp_received(&o->x, at[0] - o->attached_at, at[1] - o->attached_at, &most);
	check_say(c, "cross-check", fabs(counted - seen) <= 0.02 * seen + most ? CHECK_PASS : CHECK_FAIL,
		  "in %.1f s the driver counted %.0f packets, xdp-bench %.0f (%+.1f%%)", at[1] - at[0], counted, seen,
		  100 * (counted / seen - 1));
}

/* CPUs that have something to do in this test, and the first one, on which xdp-bench itself may be. */
static void works(const struct output *o, bool *ret)
{
	for (int i = 0; i < CHECK_MAX_CPUS; i++)
		ret[i] = !i || o->x.cpu_rx[i] > 0 || o->x.cpu_kthread[i] > 0 || generates_on(o, i);
}

/* On a full link nobody can offer more than is received: then it is the link's number, and not the generator's. */
static bool at_limit(const struct parse_ctx *c)
{
	const struct check *k = c->checks ? check_set_get(c->checks, "line-rate") : NULL;

	return k && k->capped;
}

static void check_all(struct parse_ctx *c, const struct output *o, double frame)
{
	double refused, sent = xdp_sent(&o->k, &refused), rx = xdp_mean(&o->x, X_RX);
	static const struct cpu_use none;
	bool at_work[CHECK_MAX_CPUS];

	check_line_rate(c, o->rx_driver, o->speed, frame, MAX(rx, at_least_0(sent)));
	if (at_limit(c) && sent >= 0.98 * rx && !(refused > 0.001 * sent))
		check_say(c, "generator", CHECK_UNKNOWN, "sent %.0f, received %.0f pkt/s: the link carries no more",
			  sent, rx);
	else
		check_generator(c, sent, refused, rx, streq(o->gen_driver, "veth"),
				generates_on(o, busiest(o->x.cpu_rx)));
	if (*o->k.trouble)
		check_say(c, "generator", CHECK_FAIL, "pktgen: %s", o->k.trouble);
	check_placement(c, o);
	check_steady(c, o->x.rate + o->x.skip, o->x.used, "pkt/s");
	check_errors(c, o);
	check_cross(c, o);
	works(o, at_work);
	check_interference(c, o->k.cpus ? o->k.cpus : &none, at_work);
}

static int generator_only(struct parse_ctx *c, const struct output *o)
{
	double refused, sent = xdp_sent(&o->k, &refused);

	if (!o->ended)
		return parse_fail(c, RUN_FAILED, "the output is cut off");
	if (*o->k.trouble || !(sent > 0))
		return parse_fail(c, RUN_FAILED, "the generator sent nothing%s%s", *o->k.trouble ? ": " : "",
				  o->k.trouble);
	xdp_add_counters(c, &o->k);
	return 0;
}

/* Where time is a count of instructions and the one CPU never idles, a packet's share of it is what it takes all the
 * way: generator, receiver and what follows. */
static void add_icount(struct parse_ctx *c, const struct output *o)
{
	double soft, busy = o->k.cpus ? cpu_busy(o->k.cpus, 0, &soft) : NAN, rx = xdp_mean(&o->x, X_RX);

	if (c->facts->ns_per_insn > 0 && o->cpus == 1 && busy >= 1 && rx > 0)
		metric_set_add(c->out, "icount.instructions_per_op", 1e9 / c->facts->ns_per_insn / rx, "insns", -1,
			       true);
}

static double seconds_of(const struct parse_ctx *c, const struct program_def *d, const char *key)
{
	double v = 0;

	(void)parse_seconds(job_value(c->job, d, key), &v);
	return v;
}

static int judge(struct parse_ctx *c, struct output *o, const struct program_def *d)
{
	const char *mode = job_value(c->job, d, "mode"), *want = job_value(c->job, d, "xdp_mode");
	double frame = 60;
	int r;

	if (streq(o->role, "generator"))
		return generator_only(c, o);
	r = check_ran(c, o, mode);
	if (r < 0)
		return r;
	if (*o->attached && strcmp(o->attached, want))
		return parse_fail(c, RUN_FAILED, "the program was attached in %s mode, not in %s mode", o->attached,
				  want);
	(void)number(job_value(c->job, d, "pkt_size"), &frame);
	xdp_add_metrics(c, &o->x);
	xdp_add_counters(c, &o->k);
	add_icount(c, o);
	check_all(c, o, frame);
	return 0;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct output *o = xcalloc(1, sizeof(*o));
	const struct program_def *d;
	int r = program_def_get("xdp-bench", &d);

	if (r == 0) {
		o->status = o->speed = o->rx_cpu = o->gen_cpu = o->threads = o->cpus = o->attached_at = o->begin =
			o->end = NAN;
		o->x.skip = (size_t)seconds_of(c, d, "warmup");
		o->x.want = o->asked = (size_t)seconds_of(c, d, "runtime");
		read_all(o, text, len);
		r = judge(c, o, d);
	}
	xdp_lines_release(&o->x);
	xdp_counters_release(&o->k);
	free(o);
	return r;
}

const struct program_ops program_xdp_bench = {.name = "xdp-bench", .parse = parse, .file = "xdp-bench"};
