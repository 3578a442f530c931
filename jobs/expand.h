/* SPDX-License-Identifier: GPL-2.0-or-later */
/* expand.h - one document of a job file to its jobs. Private to jobs/. */
#ifndef KPB_JOBS_EXPAND_H
#define KPB_JOBS_EXPAND_H
#include "jobs/program.h"
#include "lib/yaml.h"

/* doc (NULL: base alone) laid over base, key by key; its matrix is appended to out, the first list turning slowest.
 * Without a program nothing is added, unless must_run. */
int expand_document(const char *file, const struct ynode *base, const struct ynode *doc, bool must_run,
		    const char *const *overrides, struct job_list *out);
/* A whole job file that is in memory. */
int job_load_text(const char *file, const char *text, size_t len, const char *const *overrides, struct job_list *ret);

#endif
