/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lines.c - the output of xdp-bench 1.3 to 1.6, terse or extended, in any locale.
 *
 * An interval begins with "Summary" or "IN->OUT" and pairs of number and unit; extended output has a block of lines
 * under it, each a label and pairs, and "cpu:N" lines below a label for each CPU. All numbers are rates, whatever the
 * interval. Its own totals are not used: before 1.5.2 they add rates, which is wrong for intervals other than a second.
 *
 * Commas group digits where en_US.UTF-8 is installed. Quoting ("> ", "| ") and collapsed blanks, as mails have them,
 * are taken too.
 */
#include "jobs/programs/xdp-bench/xdp.h"

enum xdp_block {
	B_NONE,
	B_SUMMARY,
	B_RECEIVE,
	B_REDIRECT,
	B_REDIRECT_ERR,
	B_ENQUEUE,
	B_KTHREAD,
	B_STATS,
	B_EXCEPTION,
	B_XMIT,
	B_DEVMAP
};

/* First word of a line, and how many words its label has. */
static const struct { const char *word; enum xdp_block block; size_t words; } labels[] = {
	{"Summary", B_SUMMARY, 1}, {"receive", B_RECEIVE, 1}, {"redirect", B_REDIRECT, 1},
	{"redirect_err", B_REDIRECT_ERR, 1},
	{"enqueue", B_ENQUEUE, 4}, {"kthread", B_KTHREAD, 1}, {"xdp_stats", B_STATS, 1},
	{"xdp_exception", B_EXCEPTION, 1},
	{"xmit", B_XMIT, 2}, {"devmap_xmit", B_DEVMAP, 1},
};

static const struct {
	enum xdp_block block;
	const char *unit;
	enum xdp_figure f;
	const char *name;
	int direction;
} figures[] = {
	{B_SUMMARY, "rx/s", X_RX, "rx_pps", 1},
	{B_SUMMARY, "err/s", X_ERR, "err_pps", 0},
	{B_SUMMARY, "err,drop/s", X_ERR, "err_pps", 0},
	{B_SUMMARY, "redir/s", X_REDIR, "redir_pps", 1},
	{B_SUMMARY, "xmit/s", X_XMIT, "xmit_pps", 1},
	{B_RECEIVE, "drop/s", X_RX_DROP, "drop_pps", 0},
	{B_RECEIVE, "error/s", X_RX_ERROR, "error_pps", -1},
	{B_REDIRECT_ERR, "error/s", X_REDIRECT_ERR, "redirect_err_pps", -1},
	{B_EXCEPTION, "hit/s", X_EXCEPTION, "exception_pps", -1},
	{B_ENQUEUE, "pkt/s", X_ENQUEUE, "enqueue_pps", 0},
	{B_ENQUEUE, "drop/s", X_ENQUEUE_DROP, "enqueue_drop_pps", 0},
	{B_ENQUEUE, "bulk-avg", X_ENQUEUE_BULK, "enqueue_bulk_avg", 0},
	{B_KTHREAD, "pkt/s", X_KTHREAD, "kthread_pps", 1},
	{B_KTHREAD, "drop/s", X_KTHREAD_DROP, "kthread_drop_pps", -1},
	{B_KTHREAD, "sched", X_KTHREAD_SCHED, "kthread_sched", 0},
	{B_STATS, "pass/s", X_REMOTE_PASS, "remote_pass_pps", 0},
	{B_STATS, "drop/s", X_REMOTE_DROP, "remote_drop_pps", 0},
	{B_STATS, "redir/s", X_REMOTE_REDIR, "remote_redir_pps", 0},
	{B_XMIT, "drop/s", X_XMIT_DROP, "xmit_drop_pps", -1},
	{B_XMIT, "drv_err/s", X_XMIT_ERR, "xmit_err_pps", -1},
	{B_XMIT, "bulk-avg", X_XMIT_BULK, "xmit_bulk_avg", 0},
};

static bool grouped(const char *s, double *ret) { return grouped_number(s, ret) && *ret >= 0 && *ret < 1e15; }

static bool counts(const struct xdp_lines *x) { return x->seen > x->skip && x->seen - x->skip <= x->want; }

/* A bulk average counts as much as the packets beside it. */
static void take(struct xdp_lines *x, enum xdp_figure f, double v, double packets)
{
	if (f == X_ENQUEUE_BULK || f == X_XMIT_BULK) {
		x->bulk_weight[f == X_XMIT_BULK] += packets;
		v *= packets;
	}
	x->sum[f] += v;
	x->n[f]++;
}

static void pairs(struct xdp_lines *x, enum xdp_block block, char *const *w, size_t n)
{
	double v, packets = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		if (!grouped(w[i], &v))
			return;
		packets = i ? packets : v;
		for (size_t k = 0; k < ARRAY_SIZE(figures); k++)
			if (figures[k].block == block && !strcmp(figures[k].unit, w[i + 1])) {
				take(x, figures[k].f, v, packets);
				break;
			}
	}
}

static void begin_interval(struct xdp_lines *x, double rx)
{
	if (x->seen < MAX_RATES) {
		GROW(x->rate, x->seen, x->cap_rate);
		x->rate[x->seen] = rx;
	}
	x->seen++;
	x->used += counts(x) && x->seen <= MAX_RATES;
}

double xdp_received(const struct xdp_lines *x, double from, double to, double *ret_most)
{
	double sum = 0;

	*ret_most = 0;
	for (size_t i = 0; i < MIN(x->seen, MAX_RATES) && i < to; i++) {
		double part = MIN(i + 1, to) - MAX(i, from);

		if (part > 0) {
			sum += part * x->rate[i];
			*ret_most = MAX(*ret_most, x->rate[i]);
		}
	}
	return sum;
}

static bool cpu_number(const char *s, char **end, int *ret)
{
	long v = strtol(s, end, 10);

	*ret = (int)v;
	return *s >= '0' && *s <= '9' && v >= 0 && v < CHECK_MAX_CPUS;
}

static void add_pair(struct xdp_lines *x, int from, int to, double v)
{
	size_t i = 0;

	while (i < x->n_pairs && (x->pair[i].from != from || x->pair[i].to != to))
		i++;
	if (i == MAX_PAIRS)
		return;
	x->n_pairs = MAX(x->n_pairs, i + 1);
	x->pair[i].from = from;
	x->pair[i].to = to;
	x->pair[i].sum += v;
}

/* "cpu:3 N pkt/s ..." or "cpu:0->3 N pkt/s ..." */
static void cpu_line(struct xdp_lines *x, char *const *w)
{
	int cpu, to;
	char *end;
	double v;

	if (!cpu_number(w[0] + 4, &end, &cpu) || !grouped(w[1], &v))
		return;
	if (!strncmp(end, "->", 2) && x->block == B_ENQUEUE && cpu_number(end + 2, &end, &to) && !*end)
		add_pair(x, cpu, to, v);
	else if (!*end && x->block == B_RECEIVE)
		x->cpu_rx[cpu] += v;
	else if (!*end && x->block == B_KTHREAD)
		x->cpu_kthread[cpu] += v;
}

static enum xdp_block label(char *const *w, size_t n, size_t *ret_words)
{
	double v;

	if (strstr(w[0], "->") && n >= 3 && !strcmp(w[2], "rx/s") && grouped(w[1], &v)) {
		*ret_words = 1;
		return B_SUMMARY;
	}
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (!strcmp(labels[i].word, w[0])) {
			*ret_words = labels[i].words;
			return labels[i].block;
		}
	return B_NONE;
}

void xdp_line(struct xdp_lines *x, char *line)
{
	char *words[24], **w = words;
	size_t n = split(line + strspn(line, ">| \t"), words, ARRAY_SIZE(words)), skip = 0;
	enum xdp_block b;
	double v;

	if (n < 3)
		return;
	if (!strcmp(w[0], "Packets") && !strcmp(w[1], "received"))
		x->finished = true;
	if (startswith(w[0], "cpu:") && counts(x)) {
		cpu_line(x, w);
		return;
	}
	b = label(w, n, &skip);
	/* the reason of a redirect error: "EOPNOTSUPP total N error/s" */
	if (b == B_NONE && x->block == B_REDIRECT_ERR && n == 4 && !strcmp(w[1], "total") && grouped(w[2], &v) && v > 0)
		metric_word(x->why, sizeof(x->why), w[0]);
	if (b == B_NONE)
		return;
	x->block = b;
	if (n > skip && !strcmp(w[skip], "total"))
		skip++;
	if (n < skip + 2)
		return;
	if (b == B_SUMMARY && !strcmp(w[skip + 1], "rx/s") && grouped(w[skip], &v))
		begin_interval(x, v);
	if (counts(x))
		pairs(x, b, w + skip, n - skip);
}

double xdp_mean(const struct xdp_lines *x, enum xdp_figure f)
{
	if (!x->n[f] || !x->used)
		return NAN;
	if (f == X_ENQUEUE_BULK || f == X_XMIT_BULK) {
		double weight = x->bulk_weight[f == X_XMIT_BULK];

		return weight > 0 ? x->sum[f] / weight : NAN;
	}
	return x->sum[f] / x->used;
}

void xdp_lines_release(struct xdp_lines *x) { free(x->rate); }

void xdp_add_metrics(struct parse_ctx *c, const struct xdp_lines *x)
{
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		_cleanup_free_ char *name = xasprintf(XDP_PREFIX "%s", figures[i].name);
		double v = xdp_mean(x, figures[i].f);
		bool pps = endswith(figures[i].name, "_pps");

		if (isfinite(v))
			metric_set_add(c->out, name, v, pps ? "pkt/s" : "", figures[i].direction, figures[i].f == X_RX);
	}
	for (int i = 0; i < CHECK_MAX_CPUS && x->used; i++) {
		_cleanup_free_ char *rx = xasprintf(XDP_PREFIX "cpu%d.rx_pps", i),
				    *kt = xasprintf(XDP_PREFIX "cpu%d.kthread_pps", i);

		if (x->cpu_rx[i] > 0)
			metric_set_add(c->out, rx, x->cpu_rx[i] / x->used, "pkt/s", 0, false);
		if (x->cpu_kthread[i] > 0)
			metric_set_add(c->out, kt, x->cpu_kthread[i] / x->used, "pkt/s", 0, false);
	}
}
