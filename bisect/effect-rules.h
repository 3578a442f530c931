/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * effect-rules.h - the smallest effect of interest, said for single metrics, for globs and for classes of metrics.
 * Pure.
 *
 *	struct effect_rules r = {0};
 *	effect_rules_add(&r, "vmstat.*", 0.01);
 *	effect_rules_add(&r, "monitor", 0.02);
 *	effect_rules_find(&r, "vmstat.system.cs");     0.01
 *
 * A pattern with a dot or one of *?[ is a glob for the whole name; any other word is a class: program, monitor,
 * perf-profile, percent. Values are relative, or points for metrics that are shares (metric_is_points()).
 *
 * Which one holds: a full name goes before globs, a longer glob before a shorter one, any glob before classes; percent
 * and perf-profile go before program and monitor. Of two equally long globs the first holds.
 */
#ifndef KPB_BISECT_EFFECT_RULES_H
#define KPB_BISECT_EFFECT_RULES_H
#include "lib/base.h"

struct effect_rule { char *pattern; double value; };
struct effect_rules { struct effect_rule *v; size_t n, cap; };

/* -EINVAL: a word that is no class (the message names the nearest one), -ERANGE: a value that makes no sense there,
 * -EEXIST: the pattern is there already. */
int effect_rules_add(struct effect_rules *r, const char *pattern, double value);
/* NAN where no rule fits. */
double effect_rules_find(const struct effect_rules *r, const char *metric);
/* True where the rule's value is in points by its pattern alone. */
bool effect_rule_points(const struct effect_rule *rule);
void effect_rules_release(struct effect_rules *r);

#endif
