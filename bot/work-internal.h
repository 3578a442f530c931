/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work-internal.h - what the files behind work.h share: the task in hand, one function for each kind of task, and a
 * boot, which two of them need.
 */
#ifndef KPB_BOT_WORK_INTERNAL_H
#define KPB_BOT_WORK_INTERNAL_H
#include "bot/ctx.h"
#include "jobs/job.h"
#include "kernels/machine.h"

struct work {
	struct ctx *c;
	struct db_task task;
	struct task_payload p;
	volatile const int *cancel;
	char result[600];       /* what happened, for the task row */
};
/* The last word stays. */
void work_say(struct work *w, const char *fmt, ...) _printf_(2, 3);
int work_load_tree(struct work *w, struct db_tree *t, struct tree_config *tc);
/* After trouble of ours: again later, a little longer each time. */
usec_t work_backoff(const struct work *w);

/* Negative: it failed, and is done again after *retry where that is set. */
int work_build(struct work *w, usec_t *retry);
int work_run(struct work *w, usec_t *retry);
int work_profile(struct work *w, usec_t *retry);
int work_report(struct work *w, usec_t *retry);
int work_send(struct work *w, usec_t *retry);

/* work-run.c: a build, booted with a job, and what its output says. */
struct measured_boot {
	struct db_tree tree; struct tree_config tcfg; struct db_build build; struct db_job dbjob; struct db_machine dbm;
	struct job job; struct root_image root; struct boot_result res;
	struct metric_set values; struct check_set checks;
	char *dir, *cause, *setup;
	char *counts;           /* where to count what is executed; NULL: nobody asks */
	enum run_verdict verdict;
	usec_t started, mono;
};
void boot_release(struct measured_boot *x);
int boot_no_machine(const struct measured_boot *x);      /* -ENOENT, said */
/* What the task names, and an image that is there. A negative error is said. */
int boot_load(struct work *w, struct measured_boot *x, usec_t *retry);
/* Boots and parses. 1: verdict, values and checks are there; 0: it failed on our side, which is said, counted against
 * the machine and tried again; -ECANCELED. */
int boot_measure(struct work *w, struct measured_boot *x, usec_t *retry);

#endif
