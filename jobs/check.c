/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.c - the checks that programs and monitors have in common. Limits are the ones that experience with these tests
 * gives: a link is full from 98 % on, a generator within 5 % of the receiver is the bottleneck itself. */
#include "jobs/check.h"
#include "lib/text.h"

#define MAX_DRIFT 0.05
#define MAX_T 4.0
#define MIN_INTERVALS 5
#define LINE_FULL 0.98
#define GENERATOR_MARGIN 1.05
#define MAX_STEAL 0.01
#define MAX_OTHER_LOAD 0.2
#define MAX_CLOCK_CHANGE 0.02

/* ---- steady ---- */

/* Slope of y over 0..n-1 and its t value (y = a + b i, ordinary least squares). */
static double slope(const double *y, size_t n, double mean, double *ret_t)
{
	double mid = (n - 1) / 2.0, sxx = 0, sxy = 0, rest = 0, b;

	for (size_t i = 0; i < n; i++) {
		sxx += (i - mid) * (i - mid);
		sxy += (i - mid) * (y[i] - mean);
	}
	b = sxy / sxx;
	for (size_t i = 0; i < n; i++) {
		double d = y[i] - mean - b * (i - mid);

		rest += d * d;
	}
	*ret_t = rest > 0 ? fabs(b) / sqrt(rest / (n - 2) / sxx) : b != 0 ? INFINITY : 0;
	return b;
}

void check_steady(struct parse_ctx *c, const double *rate, size_t n, const char *unit)
{
	double mean = 0, least = INFINITY, most = 0, t, drift;

	for (size_t i = 0; i < n; i++) {
		mean += rate[i] / n;
		least = MIN(least, rate[i]);
		most = MAX(most, rate[i]);
	}
	if (n && !(least > 0)) {
		check_say(c, "steady", CHECK_FAIL, "nothing happened in one of %zu intervals (up to %.0f %s in others)",
			  n, most, unit);
		return;
	}
	if (n < MIN_INTERVALS) {
		check_say(c, "steady", CHECK_UNKNOWN, "%zu intervals are too few to see a drift", n);
		return;
	}
	drift = slope(rate, n, mean, &t) * (n - 1) / mean;
	check_say(c, "steady", fabs(drift) > MAX_DRIFT && t > MAX_T ? CHECK_FAIL : CHECK_PASS,
		  "%+.1f%% from the first to the last of %zu intervals (|t| = %.1f), %.0f to %.0f %s", 100 * drift, n,
		  MIN(t, 999.9),
		  least, most, unit);
}

/* ---- line rate ---- */

static bool no_wire(const char *driver)
{
	static const char *const drivers[] = {"veth", "virtio_net", "tun", "dummy", "bridge", "ifb", "vmxnet3",
					      "netdevsim"};

	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (streq(drivers[i], driver))
			return true;
	return false;
}

double line_rate(double mbit, double frame_bytes) { return mbit * 1e6 / (8 * (MAX(frame_bytes + 4, 64) + 20)); }

void check_line_rate(struct parse_ctx *c, const char *driver, double mbit, double frame_bytes, double rate)
{
	double limit = line_rate(mbit, frame_bytes), share = rate / limit;
	bool capped = share >= LINE_FULL;
	struct check *k;

	if (no_wire(driver)) {
		check_say(c, "line-rate", CHECK_PASS, "%s has no wire, so there is no such limit", driver);
		return;
	}
	if (!(mbit > 0) || !isfinite(share)) {
		check_say(c, "line-rate", CHECK_UNKNOWN, "the speed of the link is not known (driver '%s')",
			  driver ? driver : "");
		return;
	}
	if (!c->checks)
		return;
	k = check_set_add(c->checks, "line-rate", capped ? CHECK_UNKNOWN : CHECK_PASS,
			  "%s%.0f pkt/s are %.1f%% of the %.0f that %.0f Mb/s carry at %.0f bytes",
			  capped ? "at the limit: " : "", rate,
			  100 * share, floor(limit), mbit, MAX(frame_bytes + 4, 64));
	if (k)
		k->capped = capped;
}

/* ---- generator ---- */

void check_generator(struct parse_ctx *c, double sent, double refused, double received, bool is_virtual,
		     bool shared_cpu)
{
	double offered = sent + (refused > 0 ? refused : 0);

	if (!isfinite(offered) || !(received > 0)) {
		check_say(c, "generator", CHECK_UNKNOWN, "what the generator sent is not known here");
	} else if (shared_cpu) {
		check_say(c, "generator", CHECK_UNKNOWN,
			  "sent %.0f, received %.0f pkt/s: they took turns on one CPU, so the rate is that of both together", offered,
			  received);
	} else if (!is_virtual && refused > 0.001 * sent) {
		check_say(c, "generator", CHECK_FAIL, "the sending NIC refused %.0f of %.0f pkt/s", refused, offered);
	} else {
		check_say(c, "generator", offered >= GENERATOR_MARGIN * received ? CHECK_PASS : CHECK_FAIL,
			  "offered %.0f pkt/s%s, received %.0f (%.3g times; at least %g is wanted)", offered,
			  refused > 0 ? " (with those refused by a full ring)" : "", received, offered / received,
			  GENERATOR_MARGIN);
	}
}

/* ---- CPUs ---- */

/* cpuN user nice system idle iowait irq softirq steal guest guest_nice; user and nice hold the guests' */
static bool stat_times(char *const *w, size_t n, struct cpu_times *t)
{
	double v;

	if (n < 9)
		return false;
	for (size_t i = 1; i < 9; i++) {
		if (!number(w[i], &v))
			return false;
		t->total += v;
		t->idle += i == 4 || i == 5 ? v : 0;
		t->softirq += i == 7 ? v : 0;
		t->steal += i == 8 ? v : 0;
	}
	t->has = true;
	return true;
}

static bool cpu_index(const char *s, int *ret)
{
	double v;

	if (!number(s, &v) || v >= CHECK_MAX_CPUS || v != floor(v))
		return false;
	*ret = (int)v;
	return true;
}

void cpu_use_line(struct cpu_use *u, bool after, char *line)
{
	struct cpu_times *cpus = after ? u->after : u->before, t = {0};
	char *w[12];
	size_t n = split(line, w, ARRAY_SIZE(w));
	double v;
	int i;

	if (n >= 2 && !strcmp(w[0], "throttled") && number(w[1], &v)) {
		u->throttled[after] = v;
		u->has_throttled[after] = true;
	} else if (n >= 3 && !strcmp(w[0], "khz") && cpu_index(w[1], &i) && number(w[2], &v)) {
		cpus[i].khz = v;
	} else if (n && !strncmp(w[0], "cpu", 3) && cpu_index(w[0] + 3, &i) && stat_times(w, n, &t)) {
		t.khz = cpus[i].khz;
		cpus[i] = t;
	}
}

/* Was there twice and counted on. An idle time that fell is that of a CPU that was off line in between. */
static bool counted_on(const struct cpu_use *u, int cpu)
{
	const struct cpu_times *a = &u->before[cpu], *b = &u->after[cpu];

	return a->has && b->has && b->total > a->total && b->idle >= a->idle - 1 &&
	       b->idle - a->idle <= b->total - a->total + 1;
}

double cpu_busy(const struct cpu_use *u, int cpu, double *ret_softirq)
{
	double total;

	*ret_softirq = NAN;
	if (cpu < 0 || cpu >= CHECK_MAX_CPUS || !counted_on(u, cpu))
		return NAN;
	total = u->after[cpu].total - u->before[cpu].total;
	*ret_softirq = (u->after[cpu].softirq - u->before[cpu].softirq) / total;
	return 1 - MAX(u->after[cpu].idle - u->before[cpu].idle, 0) / total;
}

/* What is odd about a CPU; false: nothing. */
static bool odd_cpu(struct parse_ctx *c, const struct cpu_use *u, int cpu, bool works)
{
	double soft, busy = cpu_busy(u, cpu, &soft), from = u->before[cpu].khz, to = u->after[cpu].khz;

	if (!works && busy > MAX_OTHER_LOAD)
		check_say(c, "interference", CHECK_UNKNOWN, "CPU %d had nothing to do and was %.0f%% busy", cpu,
			  100 * busy);
	else if (works && from > 0 && to > 0 && fabs(to / from - 1) > MAX_CLOCK_CHANGE)
		check_say(c, "interference", CHECK_UNKNOWN, "the clock of CPU %d went from %.0f to %.0f MHz", cpu,
			  from / 1000, to / 1000);
	else
		return false;
	return true;
}

void check_interference(struct parse_ctx *c, const struct cpu_use *u, const bool *works)
{
	double total = 0, steal = 0,
	       throttled = u->has_throttled[0] && u->has_throttled[1] ? u->throttled[1] - u->throttled[0] : 0;
	bool odd = false;

	for (int i = 0; i < CHECK_MAX_CPUS; i++) {
		if (!counted_on(u, i))
			continue;
		total += u->after[i].total - u->before[i].total;
		steal += u->after[i].steal - u->before[i].steal;
		odd = odd || odd_cpu(c, u, i, !works || works[i]);
	}
	if (!(total > 0))
		check_say(c, "interference", CHECK_UNKNOWN, "no CPU times were recorded");
	else if (throttled > 0)
		check_say(c, "interference", CHECK_FAIL, "CPUs were throttled %.0f times", throttled);
	else
		check_say(c, "interference", steal > MAX_STEAL * total ? CHECK_FAIL : CHECK_PASS,
			  "%.2f%% of the CPU time stolen (at most %g%%)", 100 * steal / total, 100 * MAX_STEAL);
}

/* ---- counters ---- */

void counter_seen(struct counter_use *u, const char *event, double share)
{
	bool first = !u->events++;

	if (isnan(share)) {
		u->missing++;
		share = 0;
	}
	if (first || share < u->least) {
		u->least = share;
		metric_word(u->worst, sizeof(u->worst), event);
	}
}

/* An event that never ran gives no value, so nothing false is stored: that is not known, not wrong. */
void check_counters(struct parse_ctx *c, const struct counter_use *u, double lost)
{
	if (lost > 0)
		check_say(c, "counters", CHECK_UNKNOWN, "%.0f samples lost", lost);
	if (!u->events)
		return;
	if (u->missing)
		check_say(c, "counters", CHECK_UNKNOWN, "%zu of %zu events were never counted, as '%s'", u->missing,
			  u->events, u->worst);
	else
		check_say(c, "counters", u->least >= 0.5 ? CHECK_PASS : CHECK_UNKNOWN,
			  "each of %zu events ran at least %.0f%% of the time ('%s')%s", u->events, 100 * u->least,
			  u->worst,
			  u->least >= 0.5 ? "" : ": the rest is extrapolated");
}
