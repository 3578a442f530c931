/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine.h - decides what has to be done next. It reads the database and writes tasks, verdicts and cases; it never does
 * the work itself. Everything is derived from what is stored: killing it at any point and calling it again gives the
 * same decisions.
 *
 *	branch moved   -> comparison (base, head, job, machine)
 *	comparison     -> build tasks, interleaved run tasks, verdict: same | different | broken
 *	broken         -> where the head alone fails: a case, too, about the failure (failure.c)
 *	different      -> case: bisecting -> proving -> found -> reported, or unmailed (by hand), or undelivered
 */
#ifndef KPB_BOT_ENGINE_ENGINE_H
#define KPB_BOT_ENGINE_ENGINE_H
#include "bisect/search.h"
#include "bisect/verdict.h"
#include "bot/config.h"
#include "kernels/tree.h"

/* Errors of planning that are tried again (trouble.c). next: by mono_usec(). */
enum planned { PLAN_CASE, PLAN_COMPARISON, PLAN_BRANCH };
struct trouble { enum planned kind; int64_t id; int times; bool final, met; usec_t next; char *text; };
struct troubles { struct trouble *v; size_t n, cap; };
#define ENGINE_CANNOT "cannot go on: "  /* begins the reason of what an error has ended */
void troubles_release(struct troubles *t);
void troubles_try_now(struct troubles *t);              /* for a changed configuration */
bool troubles_pending(const struct troubles *t);        /* some will end their case or comparison soon */

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

/* Behind the name of a kconfig: the same with every function at a multiple of 64 bytes (kernels/build.h). Such builds and their
 * runs are rows of their own and never mixed with the others. */
#define KCONFIG_ALIGNED "+align"

/* Tasks. Priorities: proof 300, bisection 200, comparison 100, by hand 250. */
int engine_build_task(struct engine *e, const struct scope *s, const char *commit, int priority, int64_t case_id,
		      int64_t *ret_id);
/* Build and n boots of it; returns how many tasks were new. */
int engine_run_tasks(struct engine *e, const struct scope *s, const char *commit, int n, int priority, int64_t case_id);
/* Runs of two commits interleaved A B B A ..., also over several calls; the machine's canary after each pair. Returns how
 * many tasks of the two were new. */
int engine_pair_tasks(struct engine *e, const struct scope *s, const char *a, const char *b, int n, int priority,
		      int64_t case_id);
/* Runs of the points of a matrix in turns, A B C C B A ...; the first waits for the builds of all. */
struct engine_point { const struct scope *s; const char *commit; };
int engine_matrix_tasks(struct engine *e, const struct engine_point *p, size_t n_points, int n, int priority);
/* Build and one extra boot that counts what is executed (bot/engine/profile.h); once per commit, epoch, job and tbox group: 1
 * where it was asked for before. base: where functions have to be watched one by one, those that changed since then (NULL:
 * since the first parent); key: a name of its own for the task, or NULL. */
char *engine_profile_key(const struct scope *s, const char *commit);    /* of the task; new string */
int engine_profile_task(struct engine *e, const struct scope *s, const char *base, const char *commit, const char *key, int priority,
			int64_t case_id);
bool engine_has_active(const struct engine *e, int64_t comparison, int64_t case_id);

/* canary.c: a fixed build of the configuration (machines: canary:), measured after every pair of runs on machines that
 * are not deterministic. Its own values beside the runs of one side against those beside the other tell whether it was the
 * machine that changed. */
struct canary { bool on; struct scope scope; char *commit, *why; };     /* off: why is the reason, NULL: nobody wants one */
void canary_release(struct canary *k);
/* For runs of a and b. 1: it can be measured, or there is none; 0: its build comes first. */
int engine_canary(struct engine *e, const struct scope *s, const char *a, const char *b, int priority, int64_t case_id,
		  struct canary *ret);
enum canary_state { CANARY_NONE, CANARY_STEADY, CANARY_MOVED, CANARY_MORE };   /* MORE: too few values yet */
struct canary_verdict { enum canary_state state; size_t n_a, n_b; double effect, p; char text[300]; /* "; canary ..." */ };
/* Beside runs of base and head after that one; effect: the change of the metric that it may explain. */
int engine_canary_verdict(struct engine *e, const struct scope *s, const char *metric, const char *base, const char *head,
			  int64_t after_run, double effect, struct canary_verdict *ret);
/* Its machine is suspect from now on, until 'machine resume'. */
int engine_flag_machine(struct engine *e, const struct scope *s, const char *what);

/* One value per boot (runs of a boot averaged), oldest boot first, of runs after that one (0: all). when: the boot's first
 * run. Like is compared with like: boots that another root image, emulator or benchmark measured than the newest one are
 * left out (after run 0, for what history knows of a spread: than the build's own newest one), db/setup.h. */
struct boots { size_t n; double *value; double *when; size_t left_out; };
void boots_release(struct boots *b);
int engine_boots(struct engine *e, const struct scope *s, const char *commit, const char *metric, int64_t after_run,
		 struct boots *ret);
/* How many runs of a commit did not end ok, and the last cause (new string or NULL). */
int engine_bad_runs(struct engine *e, const struct scope *s, const char *commit, size_t *ret_bad, size_t *ret_ok,
		    char **ret_cause);
/* The same of the runs after that one. Runs that failed on our side count nowhere. */
struct engine_runs {
	size_t bad, good;
	size_t no_boot, untrusted;      /* of the bad ones */
	char *cause;                    /* "VERDICT: CAUSE" of the last bad one, or NULL */
};
void engine_runs_release(struct engine_runs *k);
int engine_runs(struct engine *e, const struct scope *s, const char *commit, int64_t after_run,
		struct engine_runs *ret);
/* Thresholds and the spread known from all builds of the tree. */
int engine_verdict_config(struct engine *e, const struct scope *s, const char *metric, struct verdict_config *ret);
bool engine_deterministic(const struct scope *s);
/* 1: configuration and toolchain are those under which the question was asked; 0: not any more, its builds and runs must
 * not be mixed with new ones. */
int engine_same_epoch(const struct scope *s);

/* How a comparison's end is told before its reason: its state, but "" where that is 'same' and the reason begins with
 * NO_CHANGE_SHOWN, which says it in its own words. */
#define NO_CHANGE_SHOWN "no change shown"
const char *engine_ended_word(enum comparison_state state, const char *reason);

int engine_plan_comparison(struct engine *e, int64_t id);        /* judge.c */
int engine_plan_case(struct engine *e, struct db_case *c);      /* case.c */
/* A case whose report has reached somebody now (by SMTP; where that is off, the mbox) becomes 'reported', if it is
 * 'found', 'unmailed' or 'undelivered'. 1: it has reached somebody. */
int engine_settle(struct engine *e, struct db_case *c);
/* The daemon goes on with the recipients who are to be tried again later. */
int engine_send_later(struct engine *e, const struct db_case *c, const char *way);

/* reach-plan.c: does the job execute what changed from base to commit (docs/VALIDITY.md, "reach")? */
/* Queues the extra boot that sees it, where the machine boots what is built and nobody did so before. 1: one was queued. */
int engine_reach_plan(struct engine *e, const struct scope *s, const char *base, const char *commit, int priority, int64_t case_id);
/* Answers from what that boot saw, and stores it. -ENOENT where there is no such question (programs, the running kernel). */
int engine_reach(struct engine *e, const struct scope *s, const char *base, const char *commit, struct db_pair_check *ret);
#endif
