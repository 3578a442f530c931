/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pairs.h - two commits run in turns, A B B A, until it is clear whether they differ; the machine's canary runs after
 * each pair. Everything that is said of two commits is found out so: comparison, proof, failure, stored series.
 */
#ifndef KPB_BOT_ENGINE_PAIRS_H
#define KPB_BOT_ENGINE_PAIRS_H
#include "bisect/verdict.h"
#include "bot/engine/canary.h"

struct pairs {
	const struct scope *s;
	const char *a, *b;
	const char *metric;     /* do its values differ? NULL: */
	const char *failure;    /* does b fail in this way ("VERDICT: CAUSE") more often than a? */
	int64_t after_run;      /* runs after that one count */
	double alpha;           /* 0: that of the configuration */
	size_t min_boots;       /* a side; 0: as engine_verdict_config() has it */
	bool optional;          /* where neither has a value of the metric nothing is worked out */
	bool canary;            /* a difference counts only if it was not the machine that changed */
	int priority;
	struct db_case *c;      /* whose boots they are: counted there, and stored; NULL: the comparison's */
};
struct pairs_result {
	struct verdict_result v; /* of a failure: rates as means, their difference as effect, no interval (NAN) */
	size_t n_a, n_b, left_out;      /* boots; left_out: of both, see struct boots */
	double min_effect;              /* that it was judged by */
	bool hidden; /* one of them fails in another way, so it cannot be told: the verdict is SAME */
	char *text;                     /* of a failure: the numbers in words */
	struct canary_verdict canary;   /* of a difference */
	int queued;                     /* by pairs_step(): tasks of the two */
};
void pairs_result_release(struct pairs_result *x);
#define _cleanup_pairs_ _cleanup_(pairs_result_release)

/* 1: the verdict is there, and where the canary was asked it has an answer, too (CANARY_MOVED: the machine did it);
 * 0: more runs were queued, and *ret says why; -ENOTRECOVERABLE: there will be no verdict, the message tells the
 * reason. */
int pairs_step(struct engine *e, const struct pairs *p, struct pairs_result *ret);

/* Its parts, for who judges several metrics of the same runs. */
int pairs_look(struct engine *e, const struct pairs *p, struct pairs_result *ret);      /* what the runs say now */
int pairs_canary(struct engine *e, const struct pairs *p, struct pairs_result *x);      /* what the canary says of it */
/* n more runs of each; goes on where the last call stopped. Returns how many tasks of the two were new. */
int pairs_more(struct engine *e, const struct pairs *p, int n);

#endif
