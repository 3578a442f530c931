/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * canary.h - a fixed build of the configuration (machines: canary:), measured after every pair of runs on machines that
 * are not deterministic. Its own values beside the runs of one side against those beside the other tell whether it was
 * the machine that changed.
 */
#ifndef KPB_BOT_ENGINE_CANARY_H
#define KPB_BOT_ENGINE_CANARY_H
#include "bot/engine/engine.h"

struct canary {
	bool on;
	struct scope scope;
	char *commit, *why;     /* off: why is the reason, NULL: nobody wants one */
};
void canary_release(struct canary *k);
/* For runs of a and b. 1: it can be measured, or there is none; 0: its build comes first. */
int engine_canary(struct engine *e, const struct scope *s, const char *a, const char *b, int priority, int64_t case_id,
		  struct canary *ret);
enum canary_state { CANARY_NONE, CANARY_STEADY, CANARY_MOVED, CANARY_MORE };   /* MORE: too few values yet */
struct canary_verdict {
	enum canary_state state;
	size_t n_a, n_b;
	double effect, p;
	char text[300]; /* "; canary ..." */
};
/* Beside runs of base and head after that one; effect: the change of the metric that it may explain. */
int engine_canary_verdict(struct engine *e, const struct scope *s, const char *metric, const char *base,
			  const char *head, int64_t after_run, double effect, struct canary_verdict *ret);
/* Its machine is suspect from now on, until 'machine resume'. */
int engine_flag_machine(struct engine *e, const struct scope *s, const char *what);

#endif
