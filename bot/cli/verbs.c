/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/verb.h"

#define VERBS(X)                                                                                                       \
	X(daemon) X(tree) X(machine) X(job) X(queue) X(build) X(run) X(compare) X(detect) X(bisect) X(case)            \
	X(report) X(query) X(sql) X(config) X(box) X(man) X(work)

#define DECLARE(name) extern const struct verb verb_##name;
VERBS(DECLARE)

#define ROW(name) &verb_##name,
const struct verb *const verbs[] = {VERBS(ROW) NULL};

const struct verb *verb_find(const char *name)
{
	for (const struct verb *const *v = verbs; *v; v++)
		if (!strcmp((*v)->name, name))
			return *v;
	return NULL;
}
