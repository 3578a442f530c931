/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engines.c - the tools that can stand in for neper. What each of them prints when it fails is looked for: some exit
 * with 0. */
#include "jobs/programs/neper/neper.h"
#include "lib/json.h"

static int nothing(struct parse_ctx *c, const struct neper_section *s)
{
	_cleanup_free_ char *last = last_words(s->out.s, s->out.len);

	return parse_fail(c, RUN_FAILED, "%s gave no figures for %s%s%s", s->engine, s->test, *last ? ": " : "", last);
}

static bool is_rr(const struct neper_section *s) { return endswith(s->test, "rr"); }

static void rate(struct neper_figures *f, const struct neper_section *s, double v)
{
	figure_add(f, "throughput", v, is_rr(s) ? "/s" : "Mbit/s", 1, false);
}

/* ---- netperf: KEY=VALUE as run.sh asks for; also -o's list in that order, and the tables of old ---- */

static void netperf_keys(char *line, struct neper_figures *f, const struct neper_section *s, bool *rated)
{
	static const struct { const char *key, *name; } latency[] = {
		{"MEAN_LATENCY", "latency_mean"}, {"MIN_LATENCY", "latency_min"}, {"MAX_LATENCY", "latency_max"},
	};
	char *value = strchr(line, '='), *end;
	double v;

	if (!value)
		return;
	*value++ = 0;
	if (!number(value, &v))
		return;
	if (!strcmp(line, "THROUGHPUT")) {
		rate(f, s, v);
		*rated = v > 0;
	}
	if (!strcmp(line, "ELAPSED_TIME"))
		f->shortest = fmin(f->shortest, v);
	for (size_t i = 0; i < ARRAY_SIZE(latency); i++)
		if (!strcmp(line, latency[i].key))
			figure_add(f, latency[i].name, v, "us", -1, true);
	end = strstr(line, "_LATENCY");
	if (line[0] == 'P' && end && strspn(line + 1, "0123456789") == (size_t)(end - line - 1)) {
		*end = 0;
		figure_percentile(f, line + 1, v);
	}
}

/* "47774.54,Trans/s,18,20,64,20.85": rate, unit, 50 %, 90 %, 99 %, mean */
static void netperf_list(char *line, struct neper_figures *f, const struct neper_section *s, bool *rated)
{
	char *w[6], *save = NULL;
	size_t n = 0;
	double v[6];

	for (char *p = strtok_r(line, ",", &save); p && n < ARRAY_SIZE(w); p = strtok_r(NULL, ",", &save))
		w[n++] = p;
	if (n != 6)
		return;
	for (size_t i = 0; i < n; i++)
		if (i != 1 && !number(w[i], &v[i]))
			return;
	rate(f, s, v[0]);
	*rated = v[0] > 0;
	figure_percentile(f, "50", v[2]);
	figure_percentile(f, "90", v[3]);
	figure_percentile(f, "99", v[4]);
	figure_add(f, "latency_mean", v[5], "us", -1, true);
}

/* TCP_STREAM: recv size, send size, message size, s, rate. UDP_STREAM: size, message, s, okay, errors, sent rate, and
 * below it size, s, okay, rate that arrived. */
static void netperf_table(char *line, struct neper_figures *f, const struct neper_section *s, size_t *before,
			  bool *rated)
{
	char *w[8];
	size_t n = split(line, w, ARRAY_SIZE(w));
	double v[8];

	for (size_t i = 0; i < n; i++)
		if (!number(w[i], &v[i]))
			return;
	if ((n == 5 && !strcmp(s->test, "tcp_stream")) || (n == 4 && *before == 6 && !strcmp(s->test, "udp_stream"))) {
		rate(f, s, v[n - 1]);
		*rated = v[n - 1] > 0;
		f->shortest = fmin(f->shortest, n == 5 ? v[3] : v[1]);
	}
	*before = n ? n : *before;
}

int netperf_client(struct parse_ctx *c, const struct neper_section *s, struct neper_figures *f)
{
	struct lines it = {.text = s->out.s, .len = s->out.len};
	size_t before = 0;
	bool rated = false;

	while (next_line(&it) && it.ended) {
		if (strchr(it.line, '='))
			netperf_keys(it.line, f, s, &rated);
		else if (strchr(it.line, ','))
			netperf_list(it.line, f, s, &rated);
		else
			netperf_table(it.line, f, s, &before, &rated);
	}
	return rated ? 0 : nothing(c, s);
}

/* ---- iperf3 -J: exits with 0 when it failed, with "error" in the JSON ---- */

static bool figure_at(json_object *o, const char *a, const char *b, double *ret)
{
	double v = json_get_double(json_get(o, a), b, NAN);

	if (v >= 0)
		*ret = v;
	return v >= 0;
}

static int iperf3_end(struct parse_ctx *c, const struct neper_section *s, json_object *end, struct neper_figures *f)
{
	double v, t, lost;

	if (!figure_at(end, "sum_received", "bits_per_second", &v)) {
		/* before 3.12, UDP has one sum: what was sent, and what of it was lost */
		if (!figure_at(end, "sum", "bits_per_second", &v) || !figure_at(end, "sum", "lost_percent", &lost))
			return nothing(c, s);
		v *= 1 - lost / 100;
	}
	if (!(v > 0) || (!figure_at(end, "sum_received", "seconds", &t) && !figure_at(end, "sum", "seconds", &t)))
		return nothing(c, s);
	f->shortest = fmin(f->shortest, t);
	rate(f, s, v / 1e6);
	if (figure_at(end, "sum_sent", "bits_per_second", &v))
		figure_add(f, "sent", v / 1e6, "Mbit/s", 0, false);
	if (figure_at(end, "sum_sent", "retransmits", &v))
		figure_add(f, "retransmits", v, NULL, -1, false);
	if (!strcmp(s->test, "udp_stream") && figure_at(end, "sum", "lost_percent", &v))
		figure_add(f, "lost", v, "%", -1, true);
	if (figure_at(end, "cpu_utilization_percent", "host_total", &v))
		figure_add(f, "client_cpu", v, "%", -1, true);
	if (figure_at(end, "cpu_utilization_percent", "remote_total", &v))
		figure_add(f, "server_cpu", v, "%", -1, true);
	return 0;
}

int iperf3_client(struct parse_ctx *c, const struct neper_section *s, struct neper_figures *f)
{
	struct json_tokener *tok = json_tokener_new_ex(32);
	json_object *top = s->out.len < INT_MAX ? json_tokener_parse_ex(tok, s->out.s, (int)s->out.len) : NULL, *error,
		    *end;
	int r;

	if (!json_object_is_type(top, json_type_object))
		r = parse_fail(c, RUN_FAILED, "iperf3 printed no whole JSON");
	else if (json_object_object_get_ex(top, "error", &error))
		r = parse_fail(c, RUN_FAILED, "iperf3: %s",
			       json_object_get_string(error) ? json_object_get_string(error) : "error");
	else if (!json_object_object_get_ex(top, "end", &end))
		r = nothing(c, s);
	else
		r = iperf3_end(c, s, end, f);
	json_object_put(top);
	json_tokener_free(tok);
	return r;
}

/* ---- sockperf: latencies are half a round trip without --full-rtt ---- */

static bool after(const char *line, const char *label, double *ret)
{
	const char *at = strstr(line, label);
	char word[32];

	if (!at)
		return false;
	at += strlen(label);
	at += strspn(at, " ");
	snprintf(word, sizeof(word), "%.*s", (int)MIN(strspn(at, "0123456789."), sizeof(word) - 1), at);
	return number(word, ret);
}

struct sockperf { double scale, seconds, messages, rate, mbps; struct { double percent, us; } p[32]; size_t n;
	double mean, dev, min, max; };

static void sockperf_line(char *line, struct sockperf *k)
{
	double v;

	if (strstr(line, "Round trip is") || strstr(line, "avg-rtt="))
		k->scale = 1;
	if (strstr(line, "[Valid Duration]")) {
		if (after(line, "RunTime=", &v))
			k->seconds = v;
		if (after(line, "ReceivedMessages=", &v))
			k->messages = v;
	}
	if (after(line, "avg-latency=", &v) || after(line, "avg-rtt=", &v))
		k->mean = v;
	if (after(line, "std-dev=", &v))
		k->dev = v;
	if (after(line, "<MAX> observation =", &v))
		k->max = v;
	if (after(line, "<MIN> observation =", &v))
		k->min = v;
	if (strstr(line, "Total of ") && after(line, "sent in ", &v))
		k->seconds = v;
	if (after(line, "Message Rate is", &v))
		k->rate = v;
	if (strstr(line, "BandWidth is") && after(line, "MBps (", &v))
		k->mbps = v;
	if (k->n < ARRAY_SIZE(k->p) && strstr(line, "percentile ") && after(line, "percentile ", &k->p[k->n].percent) &&
	    strchr(line, '=') && after(strchr(line, '='), "=", &k->p[k->n].us))
		k->n++;
}

int sockperf_client(struct parse_ctx *c, const struct neper_section *s, struct neper_figures *f)
{
	struct lines it = {.text = s->out.s, .len = s->out.len};
	struct sockperf k = {.scale = 2, .mean = NAN, .dev = NAN, .min = NAN, .max = NAN};

	while (next_line(&it) && it.ended)
		sockperf_line(it.line, &k);
	if (is_rr(s)) {
		if (!(k.seconds > 0.001) || !(k.messages > 0) || !k.n)
			return nothing(c, s);
		rate(f, s, k.messages / k.seconds);
		figure_add(f, "latency_mean", k.mean * k.scale, "us", -1, true);
		figure_add(f, "latency_stddev", k.dev * k.scale, "us", -1, true);
		figure_add(f, "latency_min", k.min * k.scale, "us", -1, true);
		figure_add(f, "latency_max", k.max * k.scale, "us", -1, true);
		for (size_t i = 0; i < k.n; i++) {
			char percent[32];

			snprintf(percent, sizeof(percent), "%.3f", k.p[i].percent);
			figure_percentile(f, percent, k.p[i].us * k.scale);
		}
		/* it leaves out some hundred milliseconds at both ends of the time it was given */
		f->shortest = fmin(f->shortest, k.seconds + 1);
		return 0;
	}
	if (!(k.mbps > 0) || !(k.rate > 0))
		return nothing(c, s);
	rate(f, s, k.mbps * 1.048576); /* its "M" is 2^20 */
	figure_add(f, "messages_per_sec", k.rate, "/s", 1, false);
	f->shortest = fmin(f->shortest, k.seconds);
	return 0;
}

/* ---- qperf: "    name  =  value unit"; latency is half a round trip, multiples are of 1000 ---- */

static bool qperf_unit(const char *unit, double *ret)
{
	static const struct { const char *name; double scale; } units[] = {
		{"ns", 1e-3}, {"us", 1}, {"ms", 1e3}, {"sec", 1e6},                                     /* in us */
		{"bytes/sec", 8e-6}, {"KB/sec", 8e-3}, {"MB/sec", 8}, {"GB/sec", 8e3}, {"TB/sec", 8e6}, /* in Mbit/s */
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(units[i].name, unit)) {
			*ret = units[i].scale;
			return true;
		}
	return false;
}

int qperf_client(struct parse_ctx *c, const struct neper_section *s, struct neper_figures *f)
{
	static const struct { const char *test, *block, *name; } wanted[] = {
		{"tcp_rr", "tcp_lat:", "latency"}, {"udp_rr", "udp_lat:", "latency"},
		{"tcp_stream", "tcp_bw:", "bw"}, {"udp_stream", "udp_bw:", "recv_bw"},
	};
	struct lines it = {.text = s->out.s, .len = s->out.len};
	const char *block = "", *name = "";
	bool inside = false, found = false;
	double got = 0;
	char *w[6];

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strcmp(wanted[i].test, s->test)) {
			block = wanted[i].block;
			name = wanted[i].name;
		}
	while (next_line(&it) && it.ended) {
		size_t n = split(it.line, w, ARRAY_SIZE(w));
		double v, scale;

		if (n == 1 && endswith(w[0], ":"))
			inside = !strcmp(w[0], block);
		if (!inside || n != 4 || strcmp(w[0], name) || strcmp(w[1], "=") || !number(w[2], &v) ||
		    !qperf_unit(w[3], &scale))
			continue;
		got = v * scale;
		found = got > 0;
	}
	if (!found)
		return nothing(c, s);
	if (is_rr(s)) {
		figure_add(f, "latency_mean", 2 * got, "us", -1, true);
		rate(f, s, 1e6 / (2 * got));
	} else {
		rate(f, s, got);
	}
	return 0;
}
