/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demo-job.h - which slowdown the demo plants for a job, and with what the tree is built. Private to bot/cli/cmd-demo.c. */
#ifndef KPB_BOT_CLI_DEMO_JOB_H
#define KPB_BOT_CLI_DEMO_JOB_H
#include "kernels/machine.h"

struct demo_job {
	char *job;              /* file name of the job that is run: JOB-quick where there is one */
	char *slows;            /* KPB_DEMO_FOR of tests/demo/make-tree.sh */
	const char *kconfig;
};
/* Errors: -ENOENT no such job, -EINVAL nothing is planted for its program. */
int demo_job(const char *job, const struct machine *m, const char *extra_dir, struct demo_job *ret);
#endif
