/* SPDX-License-Identifier: GPL-2.0-or-later */
/* detect-int.h - shared by the detect*.c files only. */
#ifndef KPB_BISECT_DETECT_INT_H
#define KPB_BISECT_DETECT_INT_H
#include "bisect/detect.h"
#include "bisect/stats.h"

/* One commit: y in units of the noise, its weight 1/variance, and the most that it may cost. */
struct commit { double y, weight, cap; int64_t index; uint32_t n; };

/* Best segmentation under sum of min(weight (y - level)^2, cap) + penalty per change. ret_start[0..returned-1] are the
 * first commits of the segments (ret_start[0] = 0); room for n. */
size_t detect_segment(const struct commit *c, size_t n, double penalty, uint32_t *ret_start);

/* Level of commits from..to-1 by the same loss, started at their median. work: room for to - from. */
double detect_level(const struct commit *c, size_t from, size_t to, double *work);
double detect_quantile(double *v, size_t n, double p);  /* reorders v; NAN for n = 0 */

#endif
