/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks.h - work for the queue. What is there already is not asked for twice.
 */
#ifndef KPB_BOT_ENGINE_TASKS_H
#define KPB_BOT_ENGINE_TASKS_H
#include "bot/engine/engine.h"

/* The higher goes first. */
#define PRIO_PROOF 300
#define PRIO_HAND 250
#define PRIO_SEARCH 200
#define PRIO_COMPARISON 100
#define PRIO_DETECT 50          /* behind everything that somebody waits for */

/* Has a commit been built in the epoch of s? Its row may be another one's until then. */
bool engine_build_done(struct engine *e, const struct scope *s, const char *commit);
int engine_build_task(struct engine *e, const struct scope *s, const char *commit, int priority, int64_t case_id,
		      int64_t *ret_id);
/* Build and n boots of it; returns how many tasks were new. */
int engine_run_tasks(struct engine *e, const struct scope *s, const char *commit, int n, int priority, int64_t case_id);
struct engine_point { const struct scope *s; const char *commit; };
/* How runs alternate: forth and back, so that what drifts with time hits all alike: A B C C B A A B C. */
struct turns {
	const struct engine_point *p; size_t n_points;
	bool goes_on;                   /* where the last call stopped: an odd number of rounds, and it goes back */
	const struct engine_point *beside;      /* runs after each round; NULL: none */
	int n, priority;                        /* rounds */
	int64_t case_id;
	const int64_t *needs;                   /* the builds that all wait for, 0-terminated; NULL: each for its own */
};
/* Returns how many tasks of the points were new; -ENOTRECOVERABLE where they only fail, or come to no verdict. */
int engine_turns(struct engine *e, const struct turns *t);
/* n runs of each point of a matrix in turns; the first waits for the builds of all. */
int engine_matrix_tasks(struct engine *e, const struct engine_point *p, size_t n_points, int n, int priority);
/* Build and one extra boot that counts what is executed (bot/engine/profile.h); once per commit, epoch, job and tbox
 * group: 1 where it was asked for before. base: where functions have to be watched one by one, those that changed since
 * then (NULL: since the first parent); key: a name of its own for the task, or NULL. */
char *engine_profile_key(const struct scope *s, const char *commit);    /* of the task; new string */
int engine_profile_task(struct engine *e, const struct scope *s, const char *base, const char *commit, const char *key,
			int priority, int64_t case_id);
bool engine_has_active(const struct engine *e, int64_t comparison, int64_t case_id);

#endif
