/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.h - was the test valid? Parsers say what they saw; each check gives pass, fail or unknown with its evidence.
 * One that fails makes the run "untrusted": its values are kept and never judged. Names are the same for all programs:
 *
 *	generator     the load outran what was measured, and was sent without errors
 *	line-rate     the link's limit was not what was measured; at the limit a result is only a lower bound of what
 *	              the kernel can do: unknown, and capped
 *	placement     what must run on different CPUs did, and which CPU was busy
 *	steady        no drift from the first to the last interval
 *	errors        nothing that should have been done was dropped instead
 *	figures       unknown: something printed as a figure was none, and was left out
 *	counters      perf counted all the time
 *	interference  no CPU time stolen, no throttling, no other load
 *	reach         what changed between two commits was executed; of a pair of commits and not of a run
 *	              (bot/engine/reach.h)
 *
 * Each takes the parse_ctx of a parser, whose check list may be NULL.
 */
#ifndef KPB_JOBS_CHECK_H
#define KPB_JOBS_CHECK_H
#include "jobs/job.h"

#define CHECK_REACH "reach"

/* Adds a result, or worsens the one of that name. */
#define check_say(c, name, verdict, ...)                                                                               \
	do {                                                                                                           \
		if ((c)->checks)                                                                                       \
			check_set_add((c)->checks, name, verdict, __VA_ARGS__);                                        \
	} while (0)

/* Rates of n equal intervals: least-squares line; fails where it moves by more than 5 % of the mean from end to end and
 * that is more than chance (|t| > 4), or where nothing happened in an interval. Unknown below 5 intervals. */
void check_steady(struct parse_ctx *c, const double *rate, size_t n, const char *unit);

/* Frames a second that a link of mbit Mb/s can carry, for frames of so many bytes without FCS: 8 * (frame + 4 FCS, at
 * least 64, + 20 for preamble, delimiter and gap) bits each. 14,880,952 at 10 Gb/s and 60 bytes. */
double line_rate(double mbit, double frame_bytes);
/* driver: virtual ones have no wire, whatever speed they tell. rate NAN or mbit <= 0: unknown. */
void check_line_rate(struct parse_ctx *c, const char *driver, double mbit, double frame_bytes, double rate);

/* Sent against received, in packets a second. sent counts what went out; refused what the device refused, which for a
 * virtual pair means that the receiver's ring was full. shared_cpu: generator and receiver took turns on one CPU. */
void check_generator(struct parse_ctx *c, double sent, double refused, double received, bool is_virtual,
		     bool shared_cpu);

/* Two snapshots of the CPUs around the measured part, as lines:
 *	cpuN ...        of /proc/stat
 *	khz N X         scaling_cur_freq of CPU N
 *	throttled X     core_throttle_count, of all CPUs together
 */
struct cpu_times { double total, idle, softirq, steal, khz; bool has; };
#define CHECK_MAX_CPUS 1024
struct cpu_use { struct cpu_times before[CHECK_MAX_CPUS], after[CHECK_MAX_CPUS]; double throttled[2];
	bool has_throttled[2]; };
/* Other lines are passed over. */
void cpu_use_line(struct cpu_use *u, bool after, char *line);
/* Share of the time in which a CPU was busy (0..1), NAN where it cannot be told; part of it in softirqs. */
double cpu_busy(const struct cpu_use *u, int cpu, double *ret_softirq);
/* Time stolen and throttling fail. What is only odd is unknown: a clock that changed by more than 2 %, or a CPU that
 * had nothing to do in this test and was busy. works: CPUs that had, CHECK_MAX_CPUS of them; NULL: all. */
void check_interference(struct parse_ctx *c, const struct cpu_use *u, const bool *works);

/* What perf could count. */
struct counter_use { size_t events, missing; double least; char worst[48]; };
/* One call per event that perf was asked for: share of the time in which it ran (NAN: never counted). */
void counter_seen(struct counter_use *u, const char *event, double share);
void check_counters(struct parse_ctx *c, const struct counter_use *u, double lost);

#endif
