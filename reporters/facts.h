/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * facts.h - everything that is known about a case, gathered once from the database and git, for the mail, the script
 * and "case show". What is missing is NULL or NAN and stays out of the text.
 */
#ifndef KPB_REPORTERS_FACTS_H
#define KPB_REPORTERS_FACTS_H
#include "db/store.h"
#include "kernels/tree.h"
#include "lib/buf.h"
#include "lib/change.h"

struct facts {
	struct db_case c;
	struct db_comparison cmp;
	struct db_tree tree;
	struct db_job job;
	struct db_machine machine;
	struct metric_info metric;
	struct db_proof proof;          /* of the culprit; without one it is not PROOF_SHOWN */
	struct strv left;               /* candidates that cannot be told apart */
	size_t n_dropped;
	int64_t commits;                /* in the range, 0: not known */
	bool single, proven;            /* one culprit; and it has a proof */
	char *good, *bad;               /* the two kernels that are compared: parent and culprit, or base and head */
	struct commit_info good_info, bad_info;         /* empty where git does not know them */
	struct db_build good_build, bad_build;          /* id 0: none */
	struct db_patched series;       /* where bad is a commit that we made of a patch series; else commit NULL */
	int64_t patch;                  /* which one of it bad is, from 1 */
	bool good_in_series;
	struct buf mbox;                /* its patches up to bad, empty where git does not have them */
	double effect, lo, hi;          /* relative (infinite: from 0); of the proof, else of the whole change */
	int verdict;                    /* -1 regression, +1 improvement, 0 not known */
	bool exposed;                   /* a tree's code was built or measured with the robot's own rights */
	char *root_image;
	char *testcase;                 /* the job's suite as LKP prints it */
	struct strv keys, values;       /* the job's parameters, in job file order */
};
/* git_dir may be NULL: no subjects then. */
int facts_load(struct store *s, int64_t case_id, const char *git_dir, struct facts *ret);
void facts_release(struct facts *f);
#define _cleanup_facts_ _cleanup_(facts_release)

/* Of a case about a failure: "stress-ng fails", "the kernel does not boot". New string, not safe for terminals. */
char *facts_failure(const struct facts *f);
const char *facts_verdict_word(const struct facts *f);  /* "regression", "improvement", "change" */
/* "gcc-12" of "gcc (Debian 12.2.0-14) 12.2.0". */
void facts_compiler(const struct facts *f, struct buf *out);
/* One sentence on what kind of machine measured; NULL where its driver is not known any more. */
const char *facts_machine_kind(const struct facts *f);
/* A kernel was booted for each run, as far as is known. */
bool facts_booted(const struct facts *f);
/* A text of the tree's settings (JSON), NULL where there is none. New string. */
char *facts_setting(const struct facts *f, const char *key);
int facts_setting_list(const struct facts *f, const char *key, struct strv *ret);

/* The whole mail as a stored report would be, without storing it. */
struct report_config;
int report_build(struct store *s, const struct facts *f, const char *git_dir, const struct report_config *cfg,
		 struct db_report *ret);
/* Lines of the body that show the comparison block of the two kernels. rules: smallest effects, or NULL. */
struct effect_rules;
int report_block(struct store *s, const struct facts *f, const struct effect_rules *rules, struct buf *out);
/* What both kernels executed, exactly; -ENOENT (nothing added) where they have no profiles. git_dir may be NULL. */
int report_executed(struct store *s, const struct facts *f, const char *git_dir, struct buf *out);
/* Lines, terminal-safe, on what the hosts of the two kernels' runs noted: only what differs between the sides, and
 * warnings. */
int report_host(struct store *s, const struct facts *f, struct strv *ret);
/* The script that reproduces a case on a plain Debian machine (checkout, config, build, boot, run both, compare). */
int reproduce_script(const struct facts *f, struct buf *out);
/* Writes the case's folder: reproduce.sh, job.sh, config, patches.mbox. *ret_dir: new string. */
int reproduce_folder(const struct facts *f, const struct report_config *cfg, char **ret_dir);

#endif
