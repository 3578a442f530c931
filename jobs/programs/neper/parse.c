/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sections that run.sh writes, and neper's own output: "key=value" lines, all options first, then the results.
 *
 *	neper.TEST.throughput       transactions/s (rr, crr) or Mbit/s that arrived (stream); over all flows
 *	neper.TEST.latency_pN       and _mean, _min, _max, _stddev, in us
 *	neper.TEST.transactions     in the whole time
 *	neper.TEST.client_cpu_s     user + system; server_cpu_s likewise
 *
 * neper's percentiles are upper bounds of buckets, 64 to an octave: a step is 0.8 to 1.6 %. Its throughput is the slope
 * of a line through samples; correlation_coefficient says how straight that line is. The client of a stream knows only
 * what the server told it, remote_throughput in bit/s. Both ends accept different -T and -F without a word.
 */
#include "jobs/check.h"
#include "jobs/programs/neper/neper.h"

void figure_add(struct neper_figures *f, const char *name, double v, const char *unit, int direction, bool mean)
{
	size_t i = 0;

	if (!isfinite(v) || fabs(v) > 1e18)
		return;
	while (i < f->n && strcmp(f->v[i].name, name))
		i++;
	if (i == MAX_FIGURES)
		return;
	if (i == f->n) {
		f->v[f->n] = (struct neper_figure){.direction = direction, .mean = mean};
		snprintf(f->v[i].name, sizeof(f->v[i].name), "%s", name);
		snprintf(f->v[i].unit, sizeof(f->v[i].unit), "%s", unit ? unit : "");
		f->n++;
	}
	f->v[i].sum += v;
	f->v[i].n++;
}

static bool figure_get(const struct neper_figures *f, const char *name, double *ret)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].name, name)) {
			*ret = f->v[i].mean ? f->v[i].sum / (double)f->v[i].n : f->v[i].sum;
			return true;
		}
	return false;
}

void figure_percentile(struct neper_figures *f, const char *percent, double us)
{
	char name[48], plain[24];
	size_t n;
	double p;

	if (!number(percent, &p) || p > 100)
		return;
	snprintf(plain, sizeof(plain), "%.6f", p);
	n = strlen(plain);
	while (plain[n - 1] == '0')
		plain[--n] = 0;
	if (plain[n - 1] == '.')
		plain[n - 1] = 0;
	snprintf(name, sizeof(name), "latency_p%s", plain);
	figure_add(f, name, us, "us", -1, true);
}

/* ---- neper ---- */

static const char *const keys[] = {"num_threads", "num_flows", "invalid_secret_count", "num_transactions", "throughput",
				   "remote_throughput", "correlation_coefficient", "utime_start", "utime_end",
				   "stime_start",
				   "stime_end", "time_start", "time_end", "local_throughput", "total_run_time"};
enum { K_THREADS, K_FLOWS, K_SECRETS, K_TRANSACTIONS, K_THROUGHPUT, K_REMOTE, K_CORRELATION, K_USER0, K_USER1, K_SYS0,
      K_SYS1,
       K_START, K_END, K_LOCAL, K_RUN_TIME, N_KEYS };

static void read_neper(struct parse_ctx *c, const struct neper_part *p, double v[N_KEYS], struct neper_figures *f)
{
	static const char *const latency[] = {"latency_min", "latency_max", "latency_mean", "latency_stddev"};
	struct lines it = {.text = p->s, .len = p->len};

	for (size_t i = 0; i < N_KEYS; i++)
		v[i] = NAN;
	while (next_line(&it) && it.ended) {
		char *value = strchr(it.line, '=');
		double x;

		if (!value)
			continue;
		*value++ = 0;
		if (no_value(value) && *value)
			check_say(c, "figures", CHECK_UNKNOWN, "left out, since it is no value: %s=%s", it.line, value);
		if (!strcmp(it.line, keys[K_CORRELATION]) && no_value(value))
			v[K_CORRELATION] = 0; /* of too few samples: no line */
		if (!number(value, &x))
			continue;
		for (size_t i = 0; i < N_KEYS; i++)
			if (!strcmp(it.line, keys[i]))
				v[i] = x;
		for (size_t i = 0; f && i < ARRAY_SIZE(latency); i++)
			if (!strcmp(it.line, latency[i]))
				figure_add(f, latency[i], x * 1e6, "us", -1, true);
		if (f && startswith(it.line, "latency_p"))
			figure_percentile(f, it.line + 9, x * 1e6);
	}
}

static bool is_stream(const struct neper_section *s) { return strstr(s->test, "stream"); }

static int neper_client(struct parse_ctx *c, const struct neper_section *s, struct neper_figures *f)
{
	double v[N_KEYS], p;
	bool stream = is_stream(s);

	read_neper(c, &s->out, v, stream ? NULL : f);
	if (isnan(v[K_LOCAL]) || isnan(v[K_REMOTE]))
		return parse_fail(c, RUN_FAILED, "%s ended before its results", s->test);
	if (v[K_SECRETS] > 0)
		return parse_fail(c, RUN_FAILED, "%s: connections of somebody else were seen (invalid_secret_count)",
				  s->test);
	if (!stream && (!(v[K_TRANSACTIONS] > 0) || !(v[K_THROUGHPUT] > 0)))
		return parse_fail(c, RUN_FAILED, "%s did no transaction", s->test);
	if (stream && !(v[K_REMOTE] > 0))
		return parse_fail(c, RUN_FAILED, "%s: nothing arrived at the server", s->test);
	if (!stream && v[K_CORRELATION] < 0.99)
		return parse_fail(c, RUN_FAILED, "%s: the rate was not steady (correlation_coefficient %.2f)", s->test,
				  v[K_CORRELATION]);
	if (!stream && figure_get(f, "latency_p50", &p) && p == 0)
		return parse_fail(c, RUN_FAILED, "%s: percentiles of 0: its histogram overflowed", s->test);
	if (stream) {
		figure_add(f, "throughput", v[K_REMOTE] / 1e6, "Mbit/s", 1, false);
	} else {
		figure_add(f, "throughput", v[K_THROUGHPUT], "/s", 1, false);
		figure_add(f, "transactions", v[K_TRANSACTIONS], NULL, 1, false);
	}
	figure_add(f, "client_cpu_s", v[K_USER1] - v[K_USER0] + v[K_SYS1] - v[K_SYS0], "s", -1, false);
	f->shortest = fmin(f->shortest, isnan(v[K_END] - v[K_START]) ? v[K_RUN_TIME] : v[K_END] - v[K_START]);
	return 0;
}

/* The server's word on the same run. */
static int neper_server(struct parse_ctx *c, const struct neper_section *client, const struct neper_section *s,
			struct neper_figures *f)
{
	double v[N_KEYS], w[N_KEYS];

	read_neper(c, &client->out, v, NULL);
	read_neper(c, &s->out, w, NULL);
	if (isnan(w[K_LOCAL]))
		return parse_fail(c, RUN_FAILED, "%s: the server ended before its results", s->test);
	if (v[K_THREADS] != w[K_THREADS] || v[K_FLOWS] != w[K_FLOWS])
		return parse_fail(
			c, RUN_FAILED,
			"%s: client and server had different numbers of threads or flows (%g and %g, %g and %g)",
			s->test, v[K_THREADS], w[K_THREADS], v[K_FLOWS], w[K_FLOWS]);
	if (is_stream(s) && w[K_CORRELATION] < 0.99)
		return parse_fail(c, RUN_FAILED, "%s: the rate was not steady (correlation_coefficient %.2f)", s->test,
				  w[K_CORRELATION]);
	figure_add(f, "server_cpu_s", w[K_USER1] - w[K_USER0] + w[K_SYS1] - w[K_SYS0], "s", -1, false);
	return 0;
}

/* ---- sections ---- */

/* The next section, false where there is none that is whole. */
static bool next_section(struct lines *it, struct neper_section *s)
{
	struct neper_part *to = NULL;
	char *w[6];

	while (next_line(it) && it->ended) {
		const char *here = it->text + it->pos;

		if (startswith(it->line, "### kperfbot ")) {
			if (split(it->line, w, ARRAY_SIZE(w)) != 5)
				return false;
			*s = (struct neper_section){.out = {here, 0}, .err = {here, 0}};
			snprintf(s->engine, sizeof(s->engine), "%s", w[2]);
			snprintf(s->test, sizeof(s->test), "%s", w[3]);
			snprintf(s->side, sizeof(s->side), "%s", w[4]);
			to = &s->out;
		} else if (to && !strcmp(it->line, "### stderr")) {
			s->err = (struct neper_part){here, 0};
			to = &s->err;
		} else if (to && startswith(it->line, "### rc=")) {
			s->status = strtol(it->line + 7, NULL, 10);
			return true;
		} else if (to) {
			to->len = (size_t)(here - to->s);
		}
	}
	return false;
}

static const struct {
	const char *name;
	int (*client)(struct parse_ctx *, const struct neper_section *, struct neper_figures *);
} engines[] = {
	{"neper", neper_client}, {"netperf", netperf_client}, {"iperf3", iperf3_client}, {"sockperf", sockperf_client},
	{"qperf", qperf_client},
};

static int read_client(struct parse_ctx *c, const struct neper_section *s, struct neper_figures *f)
{
	if (s->status) {
		_cleanup_free_ char *out = last_words(s->out.s, s->out.len), *err = last_words(s->err.s, s->err.len);
		const char *last = *err ? err : out;

		return parse_fail(c, RUN_FAILED, "%s ended with status %ld%s%s", s->engine, s->status,
				  *last ? ": " : "", last);
	}
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++)
		if (!strcmp(engines[i].name, s->engine))
			return engines[i].client(c, s, f);
	return parse_fail(c, RUN_FAILED, "no engine '%s'", s->engine);
}

static int store(struct parse_ctx *c, const struct neper_figures *f, const char *test)
{
	const struct program_def *d;
	double want, rate;

	if (!figure_get(f, "throughput", &rate) || !(rate > 0))
		return parse_fail(c, RUN_FAILED, "no throughput came out");
	if (program_def_get("neper", &d) == 0 && parse_seconds(job_value(c->job, d, "length"), &want) == 0 &&
	    f->shortest < 0.9 * want)
		return parse_fail(c, RUN_FAILED, "the test ran %.2f s of %g s", f->shortest, want);
	for (size_t i = 0; i < f->n; i++) {
		const struct neper_figure *v = &f->v[i];
		_cleanup_free_ char *name = xasprintf("neper.%s.%s", test, v->name);

		metric_set_add(c->out, name, v->mean ? v->sum / (double)v->n : v->sum, *v->unit ? v->unit : NULL,
			       v->direction, !strcmp(v->name, "throughput") || !strcmp(v->name, "latency_p50"));
	}
	return 0;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct neper_figures f = {.shortest = INFINITY};
	struct lines it = {.text = text, .len = len};
	const char *test = job_param(c->job, "test"), *role = job_param(c->job, "role");
	struct neper_section s, client = {0};
	size_t clients = 0;
	int r = 0;

	if (!test)
		return parse_fail(c, RUN_FAILED, "the job names no test");
	while (r == 0 && next_section(&it, &s)) {
		if (strcmp(s.test, test))
			return parse_fail(c, RUN_FAILED, "this is the output of '%s', not of '%s'", s.test, test);
		if (!strcmp(s.side, "client")) {
			r = read_client(c, &s, &f);
			client = s;
			clients++;
		} else if (clients && !strcmp(s.engine, "neper")) {
			r = neper_server(c, &client, &s, &f);
		}
	}
	if (r < 0)
		return r;
	if (strcmp(it.line, "### end") || !it.ended)
		return parse_fail(c, RUN_FAILED, "the output is cut off");
	if (!clients && streq(role, "server"))
		return parse_fail(c, RUN_INCOMPLETE, "this machine was the server; the client has the figures");
	if (!clients)
		return parse_fail(c, RUN_FAILED, "no client ran");
	return store(c, &f, test);
}

const struct program_ops program_neper = {.name = "neper", .parse = parse, .file = "neper"};
