/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdp.h - what is read out of the one text that run.sh prints: lines "# key: value" and sections "# ---- NAME".
 * Private to this program.
 */
#ifndef KPB_JOBS_PROGRAMS_XDP_BENCH_XDP_H
#define KPB_JOBS_PROGRAMS_XDP_BENCH_XDP_H
#include "jobs/check.h"
#include "jobs/program.h"
#include "lib/text.h"

#define XDP_PREFIX "xdp-bench."

/* ---- xdp-bench's own output: lines.c ---- */

/* Rates that a line may hold; figures[] in lines.c says which line and unit is which. */
enum xdp_figure {
	X_RX, X_ERR, X_REDIR, X_XMIT,                           /* first line of an interval */
	X_RX_DROP, X_RX_ERROR, X_REDIRECT_ERR, X_EXCEPTION,
	X_ENQUEUE, X_ENQUEUE_DROP, X_ENQUEUE_BULK,
	X_KTHREAD, X_KTHREAD_DROP, X_KTHREAD_SCHED,
	X_REMOTE_PASS, X_REMOTE_DROP, X_REMOTE_REDIR,
	X_XMIT_DROP, X_XMIT_ERR, X_XMIT_BULK,
	X_COUNT
};
#define MAX_PAIRS 256
#define MAX_RATES 100000
struct xdp_lines {
	size_t skip, want;              /* intervals of the warm-up, of the measured part */
	size_t seen, used;              /* intervals begun; those that count */
	double sum[X_COUNT];            /* over the used intervals */
	size_t n[X_COUNT];              /* lines that had it */
	double *rate;                   /* X_RX of each interval seen, at most MAX_RATES; the used ones begin at skip */
	size_t cap_rate;
	double cpu_rx[CHECK_MAX_CPUS], cpu_kthread[CHECK_MAX_CPUS];     /* sums */
	struct { int from, to; double sum; } pair[MAX_PAIRS];           /* cpumap: enqueued from CPU to CPU */
	size_t n_pairs;
	char why[64];                   /* name of the last redirect error with a rate */
	bool finished;                  /* the totals that it prints at its end were there */
	int block;                      /* of the line before; lines.c */
	double bulk_weight[2];
};
/* One line of its stdout. */
void xdp_line(struct xdp_lines *x, char *line);
/* After the last one. Mean rate of a figure, NAN where it was not printed. */
double xdp_mean(const struct xdp_lines *x, enum xdp_figure f);
/* Packets received in the time from..to (seconds after the start), and the most in one second of it. Within an interval
 * the rate is taken as constant. */
double xdp_received(const struct xdp_lines *x, double from, double to, double *ret_most);
void xdp_lines_release(struct xdp_lines *x);
void xdp_add_metrics(struct parse_ctx *c, const struct xdp_lines *x);

/* ---- counters before and after the measured part, and pktgen's last words: counters.c ---- */

#define MAX_COUNTERS 600
struct xdp_counter { char name[64]; int kind; double v[2], at[2]; bool has[2]; };
struct xdp_counters {
	struct xdp_counter *v;          /* by kind (enum in counters.c) and name */
	size_t n, cap;
	struct cpu_use *cpus;
	int kind; double at; char device[32];           /* of the "@" line before */
	/* pktgen's result lines, one pair a device */
	double pps, errors, packets;
	size_t results;
	bool by_socket;                 /* it was not pktgen that sent */
	char trouble[200];              /* a Result that is not OK */
};
void xdp_counter_line(struct xdp_counters *k, bool after, char *line);
void xdp_generator_line(struct xdp_counters *k, char *line);
/* Packets a second that pktgen sent, and that the device refused, between the snapshots; NAN: not known. */
double xdp_sent(const struct xdp_counters *k, double *ret_refused);
/* By how much the receiver's counters of that pattern ("rx_queue_*_xdp_packets") grew, and between which times (at[2]);
 * NAN without any. */
double xdp_receiver_count(const struct xdp_counters *k, const char *pattern, double *ret_at);
void xdp_counters_release(struct xdp_counters *k);
void xdp_add_counters(struct parse_ctx *c, const struct xdp_counters *k);

#endif
