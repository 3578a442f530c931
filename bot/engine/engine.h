/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine.h - decides what has to be done next. It reads the database and writes tasks, verdicts and cases; it never
 * does the work itself. Everything is derived from what is stored: killing it at any point and calling it again gives
 * the same decisions.
 *
 *	branch moved   -> comparison (base, head, job, machine)
 *	comparison     -> build tasks, interleaved run tasks, verdict: same | no change shown | different | broken
 *	broken         -> where the head alone fails: a case, too, about the failure (failure.c)
 *	different      -> case: bisecting -> proving -> found -> reported, or unmailed (by hand), or undelivered
 *
 * Others include this header, measured.h, tasks.h, trouble.h, and detect.h, history.h, points.h, profile.h and reach.h,
 * which are about one thing each; the rest is between the files of the folder (tools/check-layers).
 */
#ifndef KPB_BOT_ENGINE_ENGINE_H
#define KPB_BOT_ENGINE_ENGINE_H
#include "bot/config/config.h"
#include "kernels/tree.h"

struct engine {
	struct store *store;
	const struct config *cfg;
	struct db_task *active; size_t n_active;        /* ready and running tasks, read anew by engine_plan() */
	/* trees with new heads that wait for their turn: after the last engine_plan(), and after the one before */
	struct strv waiting, waited;
	struct troubles *troubles;      /* kept by the caller from one plan to the next; NULL: errors are returned */
	enum asked_by asked;    /* engine_plan(): ASKED_DAEMON */
};

/* New heads are asked about while a tree has fewer open comparisons of branches than that; the rest waits for a later
 * plan. */
#define ENGINE_MAX_OPEN 100

/* Plans everything that can be planned now. Returns 0, or the first error (the rest is planned all the same). */
int engine_plan(struct engine *e);
void engine_release(struct engine *e);

/* What a comparison is about, resolved; see engine_scope(). */
struct scope {
	struct db_comparison cmp;
	struct db_tree tree;
	struct tree_config tcfg;
	struct db_machine machine;
	struct db_job job;
	char *git_dir;
	bool failing;           /* runs that fail are answers, too: they end nothing */
};
int engine_scope(struct engine *e, int64_t comparison, struct scope *ret);
void scope_release(struct scope *s);
/* Mirror folder of a tree. */
char *engine_git_dir(const struct config *cfg, const char *tree);

/* A question by hand or by a branch: makes the comparison and returns its id. e->asked goes with it and its cases. */
int engine_ask(struct engine *e, const struct db_tree *tree, const struct tree_config *tcfg, const char *branch,
	       const char *base, const char *head, const struct db_job *job, const char *machine, int64_t *ret_id);

/* Behind the name of a kconfig: the same with every function at a multiple of 64 bytes (kernels/build.h). Such builds
 * and their runs are rows of their own and never mixed with the others. */
#define KCONFIG_ALIGNED "+align"

bool engine_deterministic(const struct scope *s);
/* 1: configuration and toolchain are those under which the question was asked; 0: not any more, its builds and runs
 * must not be mixed with new ones. */
int engine_same_epoch(const struct scope *s);

/* A case whose report has reached somebody now (by reporter_that_counts()) becomes 'reported', if it is
 * 'found', 'unmailed' or 'undelivered'. 1: it has reached somebody. */
int engine_settle(struct engine *e, struct db_case *c);
/* The daemon goes on with the recipients who are to be tried again later. */
int engine_send_later(struct engine *e, const struct db_case *c, const char *way);

#endif
