/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.h - what a run says: its values by name, and whether the test was valid.
 */
#ifndef KPB_LIB_METRICS_H
#define KPB_LIB_METRICS_H
#include "lib/words.h"

struct metric_value { char *name; double value; const char *unit; int direction; bool kpi; };
struct metric_set { struct metric_value *v; size_t n, cap; };
/* Adds (or replaces) a value; name is copied, unit must be a constant. Non-finite values are refused (-EINVAL). */
int metric_set_add(struct metric_set *m, const char *name, double value, const char *unit, int direction, bool kpi);
const struct metric_value *metric_set_get(const struct metric_set *m, const char *name);
void metric_set_release(struct metric_set *m);

/* Was the test valid? jobs/check.h has the checks themselves. */
#define CHECK_VERDICTS(X) X(CHECK_PASS, "pass") X(CHECK_FAIL, "fail") X(CHECK_UNKNOWN, "unknown")
WORDS_ENUM(check_verdict, CHECK_VERDICTS);
struct check {
	char *name, *evidence;
	enum check_verdict verdict;
	bool capped;    /* unknown, since a limit outside of the kernel was reached: the result is a lower bound */
};
struct check_set { struct check *v; size_t n, cap; };
/* Adds a check, or worsens the one of that name: a fail stays, an unknown gives way to a fail only. The evidence is
 * made safe for terminals. Returns the check where that was taken, else NULL. */
struct check *check_set_add(struct check_set *c, const char *name, enum check_verdict verdict, const char *fmt,
			    ...) _printf_(4, 5);
const struct check *check_set_get(const struct check_set *c, const char *name);
void check_set_release(struct check_set *c);

#endif
