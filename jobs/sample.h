/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample.h - files that sample_file of prelude.sh writes: a kernel file again and again, each time after a line
 * "uptime: S". Counters become what was counted between the first and the last sample, gauges the mean over the
 * samples.
 *
 *	struct proc_samples it = {.text = text, .len = len};
 *	while (next_sample(&it, &s)) ...
 */
#ifndef KPB_JOBS_SAMPLE_H
#define KPB_JOBS_SAMPLE_H
#include "jobs/job.h"
#include "lib/hash.h"
#include "lib/text.h"

struct proc_sample { const char *s; size_t len; double uptime; };
struct proc_samples { const char *text; size_t len, pos; };
/* Only samples with text in them, whose last line has its end. */
bool next_sample(struct proc_samples *it, struct proc_sample *ret);

/* A number of each sample, by name; names: that of v[i] is key i. */
struct sampled { const char *name; double first, last, sum, max; size_t n; bool fell; };
struct sampled_set { struct sampled *v; size_t n, cap; struct hash names; };
void sampled_add(struct sampled_set *l, const char *name, double v);
/* The place of a name, new or known, in v; -1 where there are too many. */
ssize_t sampled_index(struct sampled_set *l, const char *name);
void sampled_release(struct sampled_set *l);
#define _cleanup_sampled_ _cleanup_(sampled_release)
/* Adds NAME as PREFIX.NAME: last - first, left out where it ever fell; or the mean. n: samples there were: what
 * was not in all of them is left out. */
void sampled_store(struct parse_ctx *c, const char *prefix, const struct sampled *s, size_t n, bool counter,
		   const char *unit);
/* "NAME gave no samples", with its last line. */
int no_samples(struct parse_ctx *c, const char *monitor, const char *text, size_t len);
/* /proc/interrupts and /proc/softirqs: a line of CPUs, then a name, a count for each CPU and perhaps a description.
 * Stores PREFIX.CPUn.NAME up to 16 CPUs, and PREFIX.NAME, their sum: what was counted between the first and the last
 * sample. A CPU that was not in all of them is left out and named by the check "figures", and so is a row with a count
 * that fell (other than by going round at 2^32). Rows that were not in all of them are left out. */
int store_cpu_table(struct parse_ctx *c, const char *prefix, const char *text, size_t len);

#endif
