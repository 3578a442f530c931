/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task.h - what a task is and what it is about. The database keeps the payload as a JSON object in the row; the names
 * of its members stand in task.c and nowhere else.
 */
#ifndef KPB_DB_TASK_H
#define KPB_DB_TASK_H
#include "lib/words.h"

/* PROFILE: an extra boot that counts what the kernel executes; it leaves no run. REPORT: writes the mail of a case. */
#define TASK_KINDS(X)                                                                                                  \
	X(TASK_BUILD, "build")                                                                                         \
	X(TASK_RUN, "run") X(TASK_PROFILE, "profile") X(TASK_REPORT, "report") X(TASK_SEND, "send")
WORDS_ENUM(task_kind, TASK_KINDS);
static inline bool task_takes_machine(enum task_kind k) { return k == TASK_RUN || k == TASK_PROFILE; }

#define TASK_STATES(X)                                                                                                 \
	X(TASK_READY, "ready") X(TASK_RUNNING, "running") X(TASK_DONE, "done") X(TASK_FAILED, "failed")                \
	X(TASK_CANCELLED, "cancelled")
WORDS_ENUM(task_state, TASK_STATES);
static inline bool task_lives(enum task_state s) { return s == TASK_READY || s == TASK_RUNNING; }
/* Nothing came of it. */
static inline bool task_gave_up(enum task_state s) { return s == TASK_FAILED || s == TASK_CANCELLED; }

/* Behind each member: the kinds that have it, and need it where nothing else is said. */
struct task_payload {
	char *tree, *commit, *kconfig;  /* BUILD, RUN, PROFILE */
	char *job, *machine;            /* RUN, PROFILE: the job's id */
	int64_t replicate;              /* RUN: number of the perturbation */
	char *base; /* PROFILE: functions that have to be watched one by one are those that changed since
					   then; NULL: since the first parent */
	int64_t case_id;                /* REPORT, SEND */
	char *way;                      /* SEND: name of the way out */
};
void task_payload_release(struct task_payload *p);
#define _cleanup_payload_ _cleanup_(task_payload_release)
/* The members of that kind as JSON; new string. */
char *task_payload_json(enum task_kind kind, const struct task_payload *p);
/* -EBADMSG, with a message that names what is missing or wrong. Members of other kinds are passed over. */
int task_payload_read(enum task_kind kind, const char *json, struct task_payload *ret);

/* What a task occupies while it runs: "build", "mail", or "machine:NAME"; new string. machine: for kinds that take
 * one. */
char *task_resource(enum task_kind kind, const char *machine);
#define TASK_RESOURCE_MACHINE "machine:"        /* how a machine's begins */

#endif
