/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters.c - snapshots before and after the measured part, each item under "@ UPTIME KIND [NAME]":
 *
 *	@ 12.34 pktgen kpbg0@0              "     pkts-sofar: 60000  errors: 0" of /proc/net/pktgen/kpbg0@0
 *	@ 12.34 sent kpbg0                  the same line, of the device's own counts, where another program sends
 *	@ 12.36 ethtool generator kpbg0     ethtool -S: "     name: value"
 *	@ 12.39 stat                        the cpuN lines of /proc/stat, clocks and throttling (jobs/check.h)
 *
 * and what pktgen prints when it has ended:
 *
 *	Device: kpbg0@0
 *	Result: OK: 842795(c832868+d9927) usec, 60000 (60byte,0frags)
 *	  71191pps 34Mb/sec (34171680bps) errors: 0
 */
#include "jobs/programs/xdp-bench/xdp.h"

enum counter_kind { K_NONE, K_PKTGEN_SENT, K_PKTGEN_ERRORS, K_GENERATOR, K_RECEIVER, K_STAT };

static struct xdp_counter *counter(struct xdp_counters *k, int kind, const char *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].kind == kind && !strcmp(k->v[i].name, name))
			return &k->v[i];
	if (k->n == MAX_COUNTERS)
		return NULL;
	GROW(k->v, k->n, k->cap);
	k->v[k->n] = (struct xdp_counter){.kind = kind};
	snprintf(k->v[k->n].name, sizeof(k->v[k->n].name), "%s", name);
	return &k->v[k->n++];
}

static void put(struct xdp_counters *k, int kind, const char *name, bool after, double v)
{
	struct xdp_counter *x = counter(k, kind, name);

	if (!x)
		return;
	x->v[after] = v;
	x->at[after] = k->at;
	x->has[after] = true;
}

static void item(struct xdp_counters *k, char *const *w, size_t n)
{
	k->kind = K_NONE;
	if (n < 3 || !number(w[1], &k->at))
		return;
	if ((!strcmp(w[2], "pktgen") || !strcmp(w[2], "sent")) && n > 3) {
		k->kind = K_PKTGEN_SENT;
		k->by_socket = w[2][0] == 's';
		metric_word(k->device, sizeof(k->device), w[3]);
	} else if (!strcmp(w[2], "ethtool") && n > 3) {
		k->kind = !strcmp(w[3], "generator") ? K_GENERATOR : K_RECEIVER;
	} else if (!strcmp(w[2], "stat")) {
		k->kind = K_STAT;
	}
}

void xdp_counter_line(struct xdp_counters *k, bool after, char *line)
{
	char *w[12], name[64];
	size_t n;
	double v;

	if (k->kind == K_STAT && line[0] != '@') {
		if (!k->cpus)
			k->cpus = xcalloc(1, sizeof(*k->cpus));
		cpu_use_line(k->cpus, after, line);
		return;
	}
	n = split(line, w, ARRAY_SIZE(w));
	if (n && !strcmp(w[0], "@")) {
		item(k, w, n);
	} else if (k->kind == K_PKTGEN_SENT && n >= 4 && !strcmp(w[0], "pkts-sofar:") && !strcmp(w[2], "errors:")) {
		if (number(w[1], &v))
			put(k, K_PKTGEN_SENT, k->device, after, v);
		if (number(w[3], &v))
			put(k, K_PKTGEN_ERRORS, k->device, after, v);
	} else if ((k->kind == K_GENERATOR || k->kind == K_RECEIVER) && n >= 2 && endswith(w[n - 2], ":") &&
		   number(w[n - 1], &v)) {
		w[0][strlen(w[0]) - (n == 2)] = 0; /* names with blanks: the first word will do */
		metric_word(name, sizeof(name), w[0]);
		if (*name)
			put(k, k->kind, name, after, v);
	}
}

void xdp_generator_line(struct xdp_counters *k, char *line)
{
	char copy[LINE_MAX_BYTES], *w[12];
	double pps, errors;
	size_t n;

	snprintf(copy, sizeof(copy), "%s", line);
	n = split(copy, w, ARRAY_SIZE(w));
	if (n >= 2 && !strcmp(w[0], "Result:") && strcmp(w[1], "OK:") && strcmp(w[1], "Idle"))
		snprintf(k->trouble, sizeof(k->trouble), "%.*s", (int)sizeof(k->trouble) - 1, line);
	if (n < 5 || strcmp(w[n - 2], "errors:") || !endswith(w[0], "pps"))
		return;
	w[0][strlen(w[0]) - 3] = 0;
	if (!number(w[0], &pps) || !number(w[n - 1], &errors))
		return;
	k->pps += pps;
	k->errors += errors;
	k->results++;
}

/* A second; NAN where it was not there twice, or went back. */
static double rate(const struct xdp_counter *x)
{
	double dt = x->at[1] - x->at[0];

	return x->has[0] && x->has[1] && dt > 0 && x->v[1] >= x->v[0] ? (x->v[1] - x->v[0]) / dt : NAN;
}

double xdp_sent(const struct xdp_counters *k, double *ret_refused)
{
	double sent = NAN;

	*ret_refused = NAN;
	for (size_t i = 0; i < k->n; i++) {
		double r = rate(&k->v[i]), *to = k->v[i].kind == K_PKTGEN_SENT ? &sent : ret_refused;

		if ((k->v[i].kind == K_PKTGEN_SENT || k->v[i].kind == K_PKTGEN_ERRORS) && isfinite(r))
			*to = isnan(*to) ? r : *to + r;
	}
	return sent;
}

/* One '*' stands for digits. */
static bool fits(const char *name, const char *pattern)
{
	size_t head = strcspn(pattern, "*"), digits;

	if (strncmp(name, pattern, head))
		return false;
	if (!pattern[head])
		return !name[head];
	digits = strspn(name + head, "0123456789");
	return digits && !strcmp(name + head + digits, pattern + head + 1);
}

double xdp_receiver_count(const struct xdp_counters *k, const char *pattern, double *ret_at)
{
	double sum = NAN;

	for (size_t i = 0; i < k->n; i++) {
		const struct xdp_counter *x = &k->v[i];

		if (x->kind != K_RECEIVER || !isfinite(rate(x)) || !fits(x->name, pattern))
			continue;
		sum = (isnan(sum) ? 0 : sum) + x->v[1] - x->v[0];
		ret_at[0] = x->at[0];
		ret_at[1] = x->at[1];
	}
	return sum;
}

void xdp_counters_release(struct xdp_counters *k)
{
	free(k->v);
	free(k->cpus);
}

/* Only what moved, as people print it. */
void xdp_add_counters(struct parse_ctx *c, const struct xdp_counters *k)
{
	double refused, sent = xdp_sent(k, &refused);

	for (size_t i = 0; i < k->n; i++) {
		const struct xdp_counter *x = &k->v[i];
		_cleanup_free_ char *name = NULL;
		double r = rate(x);

		if (!(r > 0) || (x->kind != K_GENERATOR && x->kind != K_RECEIVER))
			continue;
		name = xasprintf("ethtool.%s.%s", x->kind == K_GENERATOR ? "generator" : "receiver", x->name);
		metric_set_add(c->out, name, r, "/s", 0, false);
	}
	if (isfinite(sent))
		metric_set_add(c->out, k->by_socket ? "generator.pps" : "pktgen.pps", sent, "pkt/s", 0, false);
	if (isfinite(refused))
		metric_set_add(c->out, k->by_socket ? "generator.errors_per_sec" : "pktgen.errors_per_sec", refused,
			       "/s", 0, false);
	if (k->results) {
		metric_set_add(c->out, "pktgen.total.pps", k->pps, "pkt/s", 0, false);
		metric_set_add(c->out, "pktgen.total.errors", k->errors, "", 0, false);
	}
}
