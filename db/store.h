/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - the one way to the database. Only files in db/ contain SQL. Schema: schema.sql.
 *
 * A store is one connection (WAL, foreign keys, busy timeout 20 s). Any number of processes may have the file open;
 * every function is one transaction, so that a process killed at any point leaves whole rows only. Functions return 0
 * or a positive count, or a negative errno with err_set(): -ENOENT for "no such row", -ENOSPC for a full disk, -EBUSY
 * when another process held the file too long, -EEXIST where a unique row exists already.
 *
 * Strings inside returned structs belong to the struct and go with its *_release(). Ids are the row ids. NULL strings
 * are NULL in the database, so are NaN numbers and 0 in times and ids that may be absent. A store belongs to one
 * thread.
 *
 * In a transaction of store_begin() a function that fails leaves nothing of itself and the rest stands, but after a
 * full disk all of it is gone: the following calls and store_commit() say so.
 */
#ifndef KPB_DB_STORE_H
#define KPB_DB_STORE_H
#include "db/task.h"
#include "lib/base.h"
#include "lib/metrics.h"
#include "lib/states.h"
#include "lib/table.h"
#include "lib/words.h"

struct store;

/* Opens or creates path and migrates it. read_only: never creates, writes fail. ":memory:" works. */
int store_open(const char *path, bool read_only, struct store **ret);
void store_close(struct store *s);
static inline void cleanup_store(struct store **s) { if (*s) store_close(*s); }
#define _cleanup_store_ _cleanup_(cleanup_store)
/* Several calls as one transaction; nests by counting. */
int store_begin(struct store *s);
int store_commit(struct store *s);
void store_rollback(struct store *s);

/* ---- trees, branches ---- */
struct db_tree {
	int64_t id; char *name, *url, *kind, *settings; bool enabled;
	usec_t last_poll, next_poll; int64_t poll_failures; char *poll_error;
};
void db_tree_release(struct db_tree *t);
int store_tree_put(struct store *s, const struct db_tree *t,
		   int64_t *ret_id); /* insert, or update url/kind/settings/enabled by name */
int store_tree_get(struct store *s, const char *name, struct db_tree *ret);
int store_tree_by_id(struct store *s, int64_t id, struct db_tree *ret);
int store_trees(struct store *s, struct db_tree **ret, size_t *ret_n);          /* by name */
int store_tree_remove(struct store *s, const char *name);
int store_tree_polled(struct store *s, int64_t id, usec_t when, usec_t next,
		      const char *error_or_null); /* counts failures */

/* trouble: why its head cannot be compared now, or NULL */
struct db_branch { int64_t id, tree, detected; char *name, *head, *tested, *trouble; usec_t seen; };
void db_branch_release(struct db_branch *b);
/* New head of a branch (head NULL: deleted). Writes head_event when it moved. Returns 1 when it moved, else 0. */
int store_branch_head(struct store *s, int64_t tree, const char *name, const char *head, bool forced, int64_t *ret_id);
int store_branches(struct store *s, int64_t tree, struct db_branch **ret, size_t *ret_n);
/* The branch whose last comparison was asked longest ago first; those without one before all. */
int store_branches_by_turn(struct store *s, int64_t tree, struct db_branch **ret, size_t *ret_n);
int store_branch_tested(struct store *s, int64_t branch, const char *oid);
int store_branch_trouble(struct store *s, int64_t branch, const char *text_or_null);
int store_branch_troubles_over(struct store *s);                /* of all branches */
/* From where a job on a machine is compared on a branch: the last head that was measured there. job NULL: of the job
 * that moved last, whichever that is. -ENOENT where nothing was measured yet. */
struct db_base { int64_t branch, machine; char *job, *kconfig, *oid; };
int store_base_get(struct store *s, int64_t branch, const char *job, int64_t machine, const char *kconfig,
		   char **ret_oid);
int store_base_put(struct store *s, const struct db_base *b);   /* insert or replace */
int store_branch_detected(struct store *s, int64_t branch, int64_t run);

/* ---- builds ---- */
struct db_build {
	int64_t id, tree; char *commit, *kconfig; enum build_state state;
	char *image_path, *image_hash, *config_hash, *source_hash, *toolchain, *error, *warnings, *log_path;
	double seconds; bool cached, clean, exposed; usec_t time;
};
void db_build_release(struct db_build *b);
int store_build_put(struct store *s, const struct db_build *b,
		    int64_t *ret_id); /* replaces that of the same tree, commit, kconfig */
int store_build_get(struct store *s, int64_t tree, const char *commit, const char *kconfig, struct db_build *ret);
int store_build_by_id(struct store *s, int64_t id, struct db_build *ret);
int store_builds(struct store *s, int64_t tree, const char *kconfig, struct db_build **ret, size_t *ret_n);
/* What builds of that tree and kconfig take, from nothing and after a neighbour: medians of the newest 21 that were
 * compiled here, in seconds; NAN where there is none. */
struct build_costs { double clean, incremental; size_t n_clean, n_incremental; };
int store_build_costs(struct store *s, int64_t tree, const char *kconfig, struct build_costs *ret);

/* ---- commits that are a base with a patch series on top ---- */
struct db_patched { int64_t id, tree, patches; char *commit, *base, *name, *hash; usec_t time; };
void db_patched_release(struct db_patched *p);
int store_patched_put(struct store *s, const struct db_patched *p);     /* insert or replace by tree and commit */
int store_patched_get(struct store *s, const char *commit, struct db_patched *ret);
int store_patched_find(struct store *s, const char *base, const char *name, struct db_patched *ret);    /* the newest */

/* ---- jobs, machines ---- */
struct db_job { char *id, *name, *program, *canonical, *params, *script; };
void db_job_release(struct db_job *j);
int store_job_put(struct store *s, const struct db_job *j);     /* no-op where the id exists */
int store_job_get(struct store *s, const char *id_or_name, struct db_job *ret); /* the newest of that name */

/* SUSPECT: its last run failed by us, or its canary moved. OFFLINE: it was taken out. DRAINED: by hand. */
#define MACHINE_STATES(X)                                                                                              \
	X(MACHINE_HEALTHY, "healthy")                                                                                  \
	X(MACHINE_SUSPECT, "suspect") X(MACHINE_OFFLINE, "offline") X(MACHINE_DRAINED, "drained")
WORDS_ENUM(machine_state, MACHINE_STATES);
static inline bool machine_state_works(enum machine_state s) { return s == MACHINE_HEALTHY || s == MACHINE_SUSPECT; }
struct db_machine {
	int64_t id; char *name, *driver, *tbox_group, *settings, *note, *description; enum machine_state state;
	int64_t failures;
};
void db_machine_release(struct db_machine *m);
int store_machine_put(struct store *s, const struct db_machine *m,
		      int64_t *ret_id); /* insert or update by name; keeps state */
int store_machine_get(struct store *s, const char *name, struct db_machine *ret);
int store_machine_by_id(struct store *s, int64_t id, struct db_machine *ret);
int store_machines(struct store *s, struct db_machine **ret, size_t *ret_n);
int store_machine_state(struct store *s, int64_t id, enum machine_state state, int64_t failures, const char *note);

/* ---- runs and values ---- */
struct db_run {
	int64_t id, build, machine, replicate, task; char *job, *boot, *cause, *result_dir, *root_image;
	enum run_verdict verdict; usec_t started; double seconds, boot_seconds; bool exposed;
};
void db_run_release(struct db_run *r);
/* The run and all its values in one transaction. A value is stored in the unit that its metric came with first
 * (lib/unit.h). */
int store_run_put(struct store *s, const struct db_run *r, const struct metric_set *values, int64_t *ret_id);
/* Runs of a build's job on all machines of a tbox group, in the order in which they ended. */
int store_runs(struct store *s, int64_t build, const char *job, const char *tbox_group, bool only_ok,
	       struct db_run **ret, size_t *ret_n);
/* The newest run of a tree after the run given; 0 where there is none. */
int store_newest_run(struct store *s, int64_t tree, int64_t after, int64_t *ret);
/* The id of the newest run of all; 0 where there is none. Later ones get larger ids, whatever the clock does. */
int store_last_run(struct store *s, int64_t *ret);
/* Mean seconds of the newest 200 runs, boot and all; NAN without any. */
double store_run_cost(struct store *s, const char *job, const char *tbox_group);

/* ---- checks of a run ---- */
int store_checks_put(struct store *s, int64_t run, const struct check_set *checks);
/* A name of the checks of all runs of a build's job that have any: how often each verdict, and the newest evidence of
 * the worst one. */
struct db_check { char *name, *evidence; int64_t pass, fail, unknown, capped; };      /* capped: of the unknown */
void db_check_release(struct db_check *c);
int store_checks(struct store *s, int64_t build, const char *job, const char *tbox_group, struct db_check **ret,
		 size_t *ret_n);

/* One metric of one build: a value per run with its boot, oldest first ("ok" runs only). boot strings point into the
 * block; free both with sample_release(). */
struct sample { size_t n; double *value; char **boot; int64_t *run; };    /* run: its id */
void sample_release(struct sample *s);
int store_sample(struct store *s, int64_t build, const char *job, const char *tbox_group, const char *metric,
		 struct sample *ret);
/* All metrics of one build at once, for compare: matrix[metric] in name order. */
struct metric_info { char *name, *unit; int direction; bool kpi; };
struct matrix { size_t n_metrics, n_runs; struct metric_info *metric; int64_t *run; char **boot;
	enum run_verdict *verdict;
		double *v; /* [metric * n_runs + run], NAN where the run has no such metric */ };
void matrix_release(struct matrix *m);
int store_matrix(struct store *s, int64_t build, const char *job, const char *tbox_group, struct matrix *ret);
int store_metric_put(struct store *s, const struct metric_value *v);    /* one that no run has yet; its value is not
									   read */
int store_metric_info(struct store *s, const char *name, struct metric_info *ret);
void metric_info_release(struct metric_info *m);

/* What a commit was measured with: one row per build, job and tbox group; runs counts the ok ones. */
struct db_measured { int64_t build, runs; char *tree, *kconfig, *job, *job_name, *tbox_group; };
void db_measured_release(struct db_measured *m);
int store_measured(struct store *s, const char *commit, struct db_measured **ret, size_t *ret_n);
/* Builds with two or more ok boots of a job on a tbox group, the newest first. */
int store_recent_builds(struct store *s, const char *job, const char *tbox_group, size_t limit, int64_t **ret,
			size_t *ret_n);

/* A metric's history, one value per boot (runs averaged), of all places that fit the filters (NULL: any), by place and
 * then the order of the boots. first_run, last_run: the ids of the boot's first and newest run; setup: what measured
 * (db/setup.h), 0 where that is not known. */
struct db_point { struct db_measured place; char *commit; double value; int64_t first_run, last_run, setup; };
void db_point_release(struct db_point *p);
int store_points(struct store *s, const char *tree, const char *kconfig, const char *job, const char *tbox_group,
		 const char *metric, struct db_point **ret, size_t *ret_n);

/* ---- profiles and reach ---- */
/* One per build, job and tbox group. means: "plugin" (NULL: this), where a function without a reach did not run;
 * "ftrace" or "kprobe", where only those with one were watched; "perf", where it was not seen, which says little.
 * operations: NAN where not known. From commit to job_name: only read. */
struct db_profile {
	int64_t id, build, instructions, user; char *job, *tbox_group, *path; double operations; usec_t time;
	char *commit, *kconfig, *tree, *image_path, *job_name, *means;
};
void db_profile_release(struct db_profile *p);
struct db_reach { char *function; int64_t entries, instructions; };
void db_reach_release(struct db_reach *r);
/* With the functions that ran, in one transaction; replaces an older one of the same place, or adds to it where both
 * were watched by the same means, and not by the plugin. */
int store_profile_put(struct store *s, const struct db_profile *p, const struct db_reach *reach, size_t n,
		      int64_t *ret_id);
int store_profile_get(struct store *s, int64_t build, const char *job, const char *tbox_group, struct db_profile *ret);
int store_profiles(struct store *s, const char *commit_or_null, struct db_profile **ret, size_t *ret_n);
/* The newest of each job and tbox group; tree NULL: of all trees. */
int store_known_reach(struct store *s, const char *tree, struct db_profile **ret, size_t *ret_n);
int store_reach(struct store *s, int64_t profile, const char *function,
		struct db_reach *ret); /* -ENOENT: no such row */
int store_reaches(struct store *s, int64_t profile, struct db_reach **ret, size_t *ret_n);      /* all, by name */

/* A check of two commits, base and the build's own, in a job on a tbox group (jobs/check.h has the names). */
struct db_pair_check {
	int64_t build; char *base, *job, *tbox_group, *name, *evidence; enum check_verdict verdict; usec_t time;
};
void db_pair_check_release(struct db_pair_check *c);
int store_pair_check_put(struct store *s, const struct db_pair_check *c); /* replaces an earlier one; time 0: now */
int store_pair_check_get(struct store *s, int64_t build, const char *base, const char *job, const char *tbox_group,
			 const char *name, struct db_pair_check *ret);

/* ---- comparisons, cases ---- */
#define COMPARISON_STATES(X)                                                                                           \
	X(COMPARISON_OPEN, "open") X(COMPARISON_SAME, "same") X(COMPARISON_UNSHOWN, "no change shown")                 \
	X(COMPARISON_DIFFERENT, "different")                                                                           \
	X(COMPARISON_BROKEN, "broken") X(COMPARISON_CANCELLED, "cancelled") X(COMPARISON_DISTURBED, "disturbed")
WORDS_ENUM(comparison_state, COMPARISON_STATES);
/* Of a broken one: the side that could not be measured. FAULT_INFRA: ours, it says nothing about the commits. */
#define FAULTS(X)                                                                                                      \
	X(FAULT_NONE, "") X(FAULT_BASE, "base") X(FAULT_HEAD, "head") X(FAULT_BOTH, "both") X(FAULT_INFRA, "infra")
WORDS_ENUM(fault, FAULTS);
/* Who asked: a person, a person who wants it mailed, the daemon. What is asked by hand is mailed to nobody. A later one
 * of the list outranks the ones before. */
#define ASKERS(X) X(ASKED_HAND, "hand") X(ASKED_HAND_MAIL, "hand-mail") X(ASKED_DAEMON, "daemon")
WORDS_ENUM(asked_by, ASKERS);
struct db_comparison {
	int64_t id, tree, machine; char *branch, *base, *head, *kconfig, *job, *epoch, *reason;
	usec_t created, ended; int64_t disturbed;
	enum comparison_state state; enum fault fault; enum asked_by asked;
	int64_t after_run;      /* only runs with a larger id count; 0 when written: the newest run there is */
};
void db_comparison_release(struct db_comparison *c);
/* Existing: its id, and all stays but who asked: hand -> hand-mail -> daemon, never back. Where that rises, or
 * hand-mail asks, its cases that are by hand follow. */
int store_comparison_put(struct store *s, const struct db_comparison *c, int64_t *ret_id);
int store_comparison_by_id(struct store *s, int64_t id, struct db_comparison *ret);
int store_comparisons(struct store *s, struct db_comparison **ret, size_t *ret_n);
int store_comparisons_in(struct store *s, enum comparison_state state, struct db_comparison **ret, size_t *ret_n);
/* The newest one of a branch ('': by hand); -ENOENT. */
int store_comparison_newest(struct store *s, int64_t tree, const char *branch, struct db_comparison *ret);
int store_comparison_end(struct store *s, int64_t id, enum comparison_state state, enum fault fault,
			 const char *reason_or_null);
int store_comparison_again(struct store *s, int64_t id);        /* runs until now do not count; disturbed: one more */

#define CASE_STATES(X)                                                                                                 \
	X(CASE_CONFIRMED, "confirmed") X(CASE_BISECTING, "bisecting") X(CASE_PROVING, "proving")                       \
	X(CASE_FOUND, "found") X(CASE_REPORTED, "reported") X(CASE_UNMAILED, "unmailed")                               \
	X(CASE_UNDELIVERED, "undelivered") X(CASE_IGNORED, "ignored") X(CASE_NOT_REPRODUCED, "not-reproduced")
WORDS_ENUM(case_state, CASE_STATES);
/* What kept a case from its end: an error that stayed, or whoever asked stopped it. */
#define CASE_STOPS(X) X(STOPPED_NOT, "") X(STOPPED_BY_ERROR, "error") X(STOPPED_BY_ASKER, "asker")
WORDS_ENUM(case_stop, CASE_STOPS);
struct db_case {
	int64_t id, comparison, part, boots, builds; char *metric, *culprit, *note;
	int64_t commits;        /* in its range, once a search has ended; 0: not known */
	enum case_state state;
	enum case_stop stopped;
	enum asked_by asked;    /* only read */
	char *failure;          /* "VERDICT: CAUSE" of the runs that fail; NULL: a metric has changed */
	double confidence, effect, effect_lo, effect_hi, posterior; usec_t opened, changed;
};
void db_case_release(struct db_case *c);
/* id 0: insert, asked by whoever asked the comparison; else update all fields but asked. */
int store_case_put(struct store *s, const struct db_case *c, int64_t *ret_id);
int store_case_asked(struct store *s, int64_t id, enum asked_by asked);
bool db_case_mails(const struct db_case *c);    /* its report goes out by itself */
bool db_case_lives(const struct db_case *c);    /* there is work to do for it */
bool db_case_measures(const struct db_case *c); /* that work is builds and runs, not yet a report */
bool db_case_found(const struct db_case *c);    /* found, whatever became of its report */
/* Of a text "VERDICT: CAUSE": the way to fail, as far as ways can be told apart. RUN_INCOMPLETE, not set up or cut off,
 * says nothing about a kernel but where it happens with one commit again and again and with another one never. Where
 * there is no such word RUN_INFRA, in which nobody fails. */
enum run_verdict failure_kind(const char *failure);
int store_case_by_id(struct store *s, int64_t id, struct db_case *ret);
int store_cases(struct store *s, struct db_case **ret, size_t *ret_n);

/* A commit that the search of a case named, against its parent: one row for each case and commit. Of a case about a
 * failure the means are failure rates and the effect is their difference. */
#define PROOF_STATES(X) X(PROOF_OPEN, "open") X(PROOF_SHOWN, "shown") X(PROOF_CONTRADICTED, "contradicted")
WORDS_ENUM(proof_state, PROOF_STATES);
struct db_proof {
	int64_t id, case_id, tries; char *commit, *parent; enum proof_state state;
	int64_t after_run;      /* only runs with a larger id count; so do the other two; 0: not begun */
	int64_t boots_parent, boots_culprit;    /* 0: not recorded */
	double mean_parent, mean_culprit, sd, effect, lo, hi, p;        /* sd absolute, effect and its interval
									   relative */
	bool align;             /* asked for with aligned functions, whatever the configuration says */
	int64_t aligned_after; double aligned_effect; char *aligned;    /* aligned, revert: what came of it, for
									   people */
	int64_t revert_after; char *revert_commit, *revert;
};
#define DB_PROOF_INIT                                                                                                  \
	((struct db_proof){.mean_parent = NAN, .mean_culprit = NAN, .sd = NAN, .effect = NAN, .lo = NAN, .hi = NAN,    \
			   .p = NAN, .aligned_effect = NAN})
void db_proof_release(struct db_proof *p);
int store_proof_put(struct store *s, const struct db_proof *p);         /* insert or replace by case and commit */
/* Of the commit that the case names; -ENOENT also where it names none. */
int store_proof_get(struct store *s, const struct db_case *c, struct db_proof *ret);
int store_proofs(struct store *s, int64_t case_id, struct db_proof **ret, size_t *ret_n);       /* last written last */

/* Commits of the range of a case whose search has ended: those that are left, and why others were dropped. One that is
 * left has a reason, too, where it could not be measured. */
#define CANDIDATE_STATES(X) X(CANDIDATE_LEFT, "left") X(CANDIDATE_DROPPED, "dropped")
WORDS_ENUM(candidate_state, CANDIDATE_STATES);
struct db_candidate { int64_t case_id; char *commit; enum candidate_state state; enum dropped reason;
	double posterior; };
void db_candidate_release(struct db_candidate *c);
int store_candidates_put(struct store *s, int64_t case_id, const struct db_candidate *c,
			 size_t n); /* instead of all others */
int store_candidates(struct store *s, int64_t case_id, struct db_candidate **ret, size_t *ret_n);

/* ---- reports ---- */
struct db_report { int64_t id, case_id; char *message_id, *subject, *recipients, *text; usec_t created; };
void db_report_release(struct db_report *r);
int store_report_put(struct store *s, const struct db_report *r, int64_t *ret_id); /* -EEXIST where the case has one */
int store_report_by_case(struct store *s, int64_t case_id, struct db_report *ret);
/* recipient: an address, whatever its letters' case; NULL or "": the way has none. */
#define DELIVERY_STATES(X)                                                                                             \
	X(DELIVERY_WAITING, "waiting") X(DELIVERY_SENDING, "sending") X(DELIVERY_SENT, "sent")                         \
	X(DELIVERY_FAILED, "failed") X(DELIVERY_UNKNOWN, "unknown")
WORDS_ENUM(delivery_state, DELIVERY_STATES);    /* reporters/delivery.h tells what they mean */
struct db_delivery {
	int64_t report;
	char *way, *recipient;
	enum delivery_state state;
	char *detail;
	int64_t attempts;
	usec_t next_try, time;
};
void db_delivery_release(struct db_delivery *d);
int store_delivery_put(struct store *s, const struct db_delivery *d);           /* insert or replace */
int store_deliveries_put(struct store *s, const struct db_delivery *d, size_t n); /* all or none */
int store_delivery_get(struct store *s, int64_t report, const char *way, const char *recipient,
		       struct db_delivery *ret);
/* way NULL: all. In the order in which they were first written. */
int store_deliveries(struct store *s, int64_t report, const char *way, struct db_delivery **ret, size_t *ret_n);
/* Whether max reports or more have gone, or may have gone, to an address by SMTP after since: the time of the oldest of
 * the last max, or 0 where there are fewer. "ann+x@" counts as "ann@". */
int store_deliveries_full(struct store *s, const char *recipient, int64_t max, usec_t since, usec_t *ret_oldest);
/* failed, unknown, waiting -> waiting from now on, attempts 0. Returns how many. */
int store_deliveries_again(struct store *s, int64_t report, const char *way, const char *why);

/* ---- tasks ---- */
struct db_task {
	int64_t id, priority, comparison, case_id, attempts, max_attempts;
	enum task_kind kind; enum task_state state;
	char *key, *payload, *resource, *owner, *result;        /* payload, resource: db/task.h */
	usec_t not_before, lease_until, created, started, ended;
};
void db_task_release(struct db_task *t);
/* Queues work; where the key exists already nothing changes and its id is given back (returns 1). needs: ids that must
 * be 'done' first, 0-terminated or NULL. */
int store_task_add(struct store *s, const struct db_task *t, const int64_t *needs, int64_t *ret_id);
/* A ready task of a resource whose time has come (or whose last attempt lies ahead: the clock has gone back) and whose
 * needs are done -> running under a lease; -ENOENT when there is none. Trees take turns with a resource: the one served
 * least recently is next, by priority and id within it. Tasks without a comparison are one more tree. A resource that
 * ends in ':' ("machine:") stands for all that begin so. */
int store_task_claim(struct store *s, const char *resource, const char *owner, usec_t lease, struct db_task *ret);
int store_task_heartbeat(struct store *s, int64_t id, usec_t lease); /* -ENOENT: cancelled or given back, stop */
/* ok: done. Else back to ready after retry_after (if attempts are left and retry_after > 0) or failed. The result text
 * is kept. A task whose needs failed is failed too. */
int store_task_end(struct store *s, int64_t id, bool ok, usec_t retry_after, const char *result);
/* Gives back what died with its owner: all of an owner, or (NULL) leases that ran out, but none of alive, who knows
 * better than a clock what still runs. Returns how many. An attempt given back this way does not count. */
int store_task_reap(struct store *s, const char *dead_owner, const char *alive);
int store_task_by_id(struct store *s, int64_t id, struct db_task *ret);
int store_task_by_key(struct store *s, const char *key, struct db_task *ret);
/* By priority, then by id. */
int store_tasks_in(struct store *s, enum task_state state, struct db_task **ret, size_t *ret_n);
int store_tasks_living(struct store *s, struct db_task **ret, size_t *ret_n);   /* ready and running */
int store_task_cancel(struct store *s, int64_t id);     /* ready or running -> cancelled */
/* Nobody wants it any more: those of the tasks that are ready or running, and that nothing active waits for, become
 * cancelled and give their keys back, so that the same work can be queued anew; so do the builds that only they needed
 * and that were queued for a comparison that is cancelled. Returns how many. */
int store_tasks_withdraw(struct store *s, const int64_t *id, size_t n, const char *why);
/* failed or cancelled -> ready, attempts 0; with it what it needs, and what only failed because of it. */
int store_task_retry(struct store *s, int64_t id);
/* When the next ready task's time comes: usec, 0 for none waiting. */
usec_t store_task_next_time(struct store *s);

void store_event(struct store *s, int64_t case_id, int64_t comparison, int64_t task, const char *fmt, ...)
	_printf_(5, 6);

/* The newest event's id (0 for none), and the events after an id: columns id, text. */
int64_t store_last_event(struct store *s);
int store_events_after(struct store *s, int64_t id, struct table *ret);
/* A time as "query --since" takes it, and the last event before it (0 for none). -EINVAL. */
int store_event_before(struct store *s, const char *since, int64_t *ret_id, usec_t *ret_when);

/* ---- queries for people ---- */
struct query_filter { const char *tree, *commit, *job, *machine, *metric_glob, *verdict, *since, *until, *state;
		      const char *send_option;  /* cases: what 'report send' needs, as in " --NAME", for notes on what
						   to do */
		      int64_t case_id, limit; };
/* what: runs, checks, metrics, series, builds, patches, cases, trees, machines, queue, events. Commits may be
 * abbreviated; since and until are ISO dates or "2d"-like ages. -EINVAL names a wrong word. */
int store_query(struct store *s, const char *what, const struct query_filter *f, struct table *ret);
/* One SQL statement on a read-only connection. */
int store_sql(struct store *s, const char *sql, struct table *ret);
/* Full object id from 6 or more digits, among builds, heads, comparisons and bases of patch series; -ENOENT, or
 * -ENOTUNIQ with the matches. "0123456+NAME": that commit with the newest patch series of that name on top. */
int store_find_commit(struct store *s, const char *prefix, char **ret);

#define DB_LIST_RELEASE(list, n, one)                                                                                  \
	do {                                                                                                           \
		for (size_t i_ = 0; i_ < (n); i_++)                                                                    \
			one(&(list)[i_]);                                                                              \
		free(list);                                                                                            \
	} while (0)

#endif
