/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * detect.h - change points of a series. Pure, deterministic.
 */
#ifndef KPB_BISECT_DETECT_H
#define KPB_BISECT_DETECT_H
#include "lib/base.h"

/* min_effect: smallest relative change of interest (.002 is 0.2 %). penalty: price of a change in units of ln(commits).
 * min_segment: fewest commits of a level, but for one that stands out. penalty, min_segment 0: the default, 8 and 5. */
struct detect_config { double min_effect, penalty; size_t min_segment; };

/* index: of the first commit at the new level; with 95 % probability that is one of first..last. before, after: the
 * levels on both sides up to the next points, in the values' unit. strength: their difference near the point in
 * standard errors. provisional: may go away or move when there are more values. */
struct detect_point { int64_t index; double before, after; bool provisional; double strength; int64_t first, last; };
struct detect_result { struct detect_point *v; size_t n; double sigma; };       /* sigma: noise of one commit */

/* n values; index[i] non-decreasing, equal indexes are repeated measurements of one commit. Values that are not finite
 * are left out. -EINVAL: an index goes back. -E2BIG: too many values. The result is released by
 * detect_result_release(). */
int detect_run(const struct detect_config *c, const int64_t *index, const double *value, size_t n,
	       struct detect_result *ret);
void detect_result_release(struct detect_result *r);

#endif
