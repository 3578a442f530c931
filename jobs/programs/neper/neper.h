/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * neper.h - what one client's output says, whatever the tool: private to this folder. Latencies are of the whole round
 * trip, in microseconds.
 */
#ifndef KPB_JOBS_PROGRAMS_NEPER_NEPER_H
#define KPB_JOBS_PROGRAMS_NEPER_NEPER_H
#include "jobs/program.h"
#include "lib/text.h"

/* One section of the file: "### kperfbot ENGINE TEST SIDE", its output, "### stderr", its messages, "### rc=N". */
struct neper_part { const char *s; size_t len; };
struct neper_section { char engine[32], test[32], side[32]; struct neper_part out, err; long status; };

#define MAX_FIGURES 64
struct neper_figure { char name[48], unit[16]; double sum; size_t n; int direction; bool mean; };
/* shortest: measured seconds of the shortest client */
struct neper_figures { struct neper_figure v[MAX_FIGURES]; size_t n; double shortest; };

/* Adds a value to what other clients gave: latencies are averaged, counts and rates summed. */
void figure_add(struct neper_figures *f, const char *name, double v, const char *unit, int direction, bool mean);
/* "99.900" and so on as latency_p99.9 */
void figure_percentile(struct neper_figures *f, const char *percent, double us);

/* Read one client. -EBADMSG after parse_fail(). */
int netperf_client(struct parse_ctx *c, const struct neper_section *s, struct neper_figures *f);
int iperf3_client(struct parse_ctx *c, const struct neper_section *s, struct neper_figures *f);
int sockperf_client(struct parse_ctx *c, const struct neper_section *s, struct neper_figures *f);
int qperf_client(struct parse_ctx *c, const struct neper_section *s, struct neper_figures *f);

#endif
