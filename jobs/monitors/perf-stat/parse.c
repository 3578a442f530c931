/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf stat -I 1000 -x , -a: "seconds,value,unit,event,run_ns,percent_running,..." for each event and interval, seconds
 * counted from the start. Names are lkp-tests':
 *
 *	perf-stat.i.X        rate in each interval (value / its length), mean over the intervals; for ratios likewise
 *	perf-stat.ps.X       all that was counted / the time in which it was counted
 *	perf-stat.overall.R  ratio of the sums
 *	perf-stat.total.X    the sum
 *
 * lkp-tests leaves the last interval out of its sums but keeps its time in the divisor of ps, so that ps comes out too
 * low by about one part in the number of intervals. Here each sum is divided by exactly the time it was counted in, the
 * last interval included. Only the mean i leaves out an interval much shorter than the others, since a rate over some
 * milliseconds would weigh as much as one over a second.
 *
 * <not supported>, <not counted>, nan and nothing are no values; so is what ran less than a tenth of the time
 * (multiplexed).
 */
#include "jobs/check.h"
#include "jobs/program.h"
#include "lib/text.h"

#define MAX_EVENTS 64
#define MAX_INTERVALS 200000

struct perf_interval { double end, v[MAX_EVENTS]; size_t rows; };
struct perf {
	char event[MAX_EVENTS][48];
	size_t n_events;
	double running[MAX_EVENTS], asked[MAX_EVENTS];  /* per cent, summed; intervals in which it was asked for */
	struct perf_interval *iv;
	size_t n, cap;
	char absent[120];       /* a cell that was no value, "" */
};

/* What is wanted from a / (b + c) * scale. */
static const struct { const char *name, *a, *b, *c; double scale; const char *unit; } ratios[] = {
	{"ipc", "instructions", "cpu-cycles", NULL, 1, NULL},
	{"cpi", "cpu-cycles", "instructions", NULL, 1, NULL},
	{"MPKI", "cache-misses", "instructions", NULL, 1000, NULL},
	{"cache-miss-rate%", "cache-misses", "cache-references", NULL, 100, "%"},
	{"branch-miss-rate%", "branch-misses", "branch-instructions", NULL, 100, "%"},
	{"dTLB-load-miss-rate%", "dTLB-load-misses", "dTLB-loads", "dTLB-load-misses", 100, "%"},
	{"dTLB-store-miss-rate%", "dTLB-store-misses", "dTLB-stores", "dTLB-store-misses", 100, "%"},
	{"iTLB-load-miss-rate%", "iTLB-load-misses", "iTLB-loads", "iTLB-load-misses", 100, "%"},
	{"node-load-miss-rate%", "node-load-misses", "node-loads", "node-load-misses", 100, "%"},
	{"node-store-miss-rate%", "node-store-misses", "node-stores", "node-store-misses", 100, "%"},
	{"cycles-between-cache-misses", "cpu-cycles", "cache-misses", NULL, 1, NULL},
	{"instructions-per-iTLB-miss", "instructions", "iTLB-load-misses", NULL, 1, NULL},
};

/* Cuts a line at its commas; empty fields count. */
static size_t fields(char *s, char **f, size_t max)
{
	size_t n = 0;

	while (n < max) {
		f[n++] = s;
		s = strchr(s, ',');
		if (!s)
			break;
		*s++ = 0;
	}
	return n;
}

/* Index of an event; "cpu_core/cycles/" and "cpu_atom/cycles/" of hybrid machines are one event. */
static int event_index(struct perf *p, const char *name, bool create)
{
	char plain[sizeof(p->event[0])];
	const char *slash = strchr(name, '/');

	if (slash && (startswith(name, "cpu_core/") || startswith(name, "cpu_atom/")))
		name = slash + 1;
	metric_word(plain, sizeof(plain), name);
	plain[strcspn(plain, "/")] = 0;
	for (size_t i = 0; i < p->n_events; i++)
		if (!strcmp(p->event[i], plain))
			return (int)i;
	if (!create || p->n_events == MAX_EVENTS || !*plain)
		return -1;
	memcpy(p->event[p->n_events], plain, sizeof(plain));
	return (int)p->n_events++;
}

static struct perf_interval *interval_at(struct perf *p, double end)
{
	if (p->n && p->iv[p->n - 1].end == end)
		return &p->iv[p->n - 1];
	if (p->n == MAX_INTERVALS || end <= (p->n ? p->iv[p->n - 1].end : 0))
		return NULL;
	GROW(p->iv, p->n, p->cap);
	p->iv[p->n] = (struct perf_interval){.end = end};
	for (size_t i = 0; i < MAX_EVENTS; i++)
		p->iv[p->n].v[i] = NAN;
	return &p->iv[p->n++];
}

/* false: not a line of the format */
static bool read_line(struct perf *p, char *line)
{
	double end, value, running = 100;
	struct perf_interval *iv;
	char *f[10];
	int e;

	if (fields(line + strspn(line, " "), f, ARRAY_SIZE(f)) < 6 || !number(f[0], &end))
		return false;
	if (!*f[1] && !*f[3]) /* one more ratio of the event above */
		return true;
	iv = interval_at(p, end);
	e = event_index(p, f[3], true);
	if (!iv || e < 0)
		return false;
	iv->rows++;
	p->asked[e] += strcmp(f[1], "<not supported>") != 0;
	if (no_value(f[1]) || no_value(f[5])) {
		if (f[1][0] != '<')
			snprintf(p->absent, sizeof(p->absent), "%s of %s", *f[1] ? f[1] : "nothing", f[3]);
		return true;
	}
	if (!number(f[1], &value) || !number(f[5], &running))
		return false;
	p->running[e] += running;
	if (running >= 10)
		iv->v[e] = isnan(iv->v[e]) ? value : iv->v[e] + value;
	return true;
}

static double length(const struct perf *p, size_t i) { return p->iv[i].end - (i ? p->iv[i - 1].end : 0); }

static double longest(const struct perf *p)
{
	double max = 0;

	for (size_t i = 0; i < p->n; i++)
		max = MAX(max, length(p, i));
	return max;
}

static void add(struct parse_ctx *c, const char *kind, const char *what, double v, const char *unit)
{
	_cleanup_free_ char *name = xasprintf("perf-stat.%s.%s", kind, what);

	if (isfinite(v))
		metric_set_add(c->out, name, v, unit, 0, false);
}

static void add_event(struct parse_ctx *c, const struct perf *p, size_t e)
{
	double sum = 0, time = 0, rates = 0, n = 0, full = longest(p) / 2;
	bool ms = endswith(p->event[e], "-clock");

	for (size_t i = 0; i < p->n; i++) {
		double v = p->iv[i].v[e], dt = length(p, i);

		if (isnan(v))
			continue;
		sum += v;
		time += dt;
		if (dt >= full) {
			rates += v / dt;
			n++;
		}
	}
	if (!(time > 0))
		return;
	if (n > 0)
		add(c, "i", p->event[e], rates / n, ms ? "ms/s" : "/s");
	add(c, "ps", p->event[e], sum / time, ms ? "ms/s" : "/s");
	add(c, "total", p->event[e], sum, ms ? "ms" : NULL);
}

static void add_ratio(struct parse_ctx *c, struct perf *p, size_t k)
{
	int a = event_index(p, ratios[k].a, false), b = event_index(p, ratios[k].b, false);
	int d = ratios[k].c ? event_index(p, ratios[k].c, false) : -1;
	double sum_a = 0, sum_b = 0, mean = 0, n = 0, full = longest(p) / 2;

	if (a < 0 || b < 0 || (ratios[k].c && d < 0))
		return;
	for (size_t i = 0; i < p->n; i++) {
		double va = p->iv[i].v[a], vb = p->iv[i].v[b] + (d < 0 ? 0 : p->iv[i].v[d]);

		if (isnan(va) || isnan(vb))
			continue;
		sum_a += va;
		sum_b += vb;
		if (vb > 0 && length(p, i) >= full) {
			mean += va / vb * ratios[k].scale;
			n++;
		}
	}
	if (n > 0)
		add(c, "i", ratios[k].name, mean / n, ratios[k].unit);
	if (sum_b > 0)
		add(c, "overall", ratios[k].name, sum_a / sum_b * ratios[k].scale, ratios[k].unit);
}

static int read_all(struct parse_ctx *c, struct perf *p, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	char last[LINE_MAX_BYTES] = "";

	while (next_line(&it)) {
		if (!it.line[strspn(it.line, " \t")] || it.line[0] == '#')
			continue;
		memcpy(last, it.line, sizeof(last));
		if (!it.ended || !read_line(p, it.line))
			return parse_fail(c, p->n ? RUN_FAILED : RUN_INCOMPLETE,
					  "perf stat: cut off or not understood: %s", last);
	}
	if (!p->n)
		return parse_fail(c, RUN_INCOMPLETE, "perf stat printed no counts");
	if (p->iv[p->n - 1].rows != p->iv[0].rows)
		return parse_fail(c, RUN_FAILED, "perf stat: the last interval is cut off after: %s", last);
	return 0;
}

static void check(struct parse_ctx *c, const struct perf *p)
{
	struct counter_use u = {0};

	for (size_t e = 0; e < p->n_events; e++)
		if (p->asked[e] > 0)
			counter_seen(&u, p->event[e],
				     p->running[e] > 0 ? MIN(p->running[e] / p->asked[e] / 100, 1) : NAN);
	check_counters(c, &u, 0);
	if (*p->absent)
		check_say(c, "figures", CHECK_UNKNOWN, "perf stat: left out, since it is no value: %s", p->absent);
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct perf p = {0};
	int r = read_all(c, &p, text, len);

	for (size_t e = 0; r == 0 && e < p.n_events; e++)
		add_event(c, &p, e);
	for (size_t k = 0; r == 0 && k < ARRAY_SIZE(ratios); k++)
		add_ratio(c, &p, k);
	if (r == 0)
		check(c, &p);
	free(p.iv);
	return r;
}

const struct program_ops monitor_perf_stat = {.name = "perf-stat", .parse = parse, .file = "perf-stat"};
