/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * detect.h - change points of a series. Pure, deterministic.
 */
#ifndef KPB_BISECT_DETECT_H
#define KPB_BISECT_DETECT_H
#include "lib/base.h"

struct detect_config { double min_effect; double penalty; /* 0: default */ size_t min_segment; };
struct detect_point { int64_t index; double before, after; bool provisional; double strength; };
struct detect_result { struct detect_point *v; size_t n; double sigma; };
/* index[i] non-decreasing; equal indexes are repeated measurements of one commit. */
int detect_run(const struct detect_config *c, const int64_t *index, const double *value, size_t n, struct detect_result *ret);
void detect_result_release(struct detect_result *r);

#endif
