/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare-class.h - what a metric's name says about it: a count of failures, a share in per cent, a monitor's counter.
 * The classes follow lkp-tests, whose names we use.
 */
#ifndef KPB_BISECT_COMPARE_CLASS_H
#define KPB_BISECT_COMPARE_CLASS_H
#include "lib/base.h"

/* Counts of failures (dmesg.*, stderr.*, last_state.*, *.fail, ...): shown as fails:runs. */
bool metric_is_fail(const char *name);
/* Per cent already: differences are shown in points (perf-profile.*, names ending in '%'). */
bool metric_is_points(const char *name);
/* The benchmark's own number, not one of a monitor running beside it. */
bool metric_is_program(const char *name);
/* Smallest effect of interest, relative, or in points for metric_is_points(). */
double metric_min_effect(const char *name);
/* lkp-tests' filters behind its decision: needed ratio of the medians (1.01 or 1.05), and whether both values are below
 * the floor of their class. */
double metric_lkp_ratio(const char *name);
bool metric_lkp_hidden(const char *name, double max, double delta);

#endif
