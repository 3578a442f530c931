/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config.h - configuration: YAML files in one folder (kperfbot.yaml, trees.yaml, machines.yaml; any may be missing),
 * checked in full before anything starts. Every mistake is named as file:line:column, an unknown key with the nearest
 * known one, a file whose name is nearly one of these with the right one. Defaults work with no file at all.
 *
 * Folder: --config DIR, KPERFBOT_CONFIG, /etc/kperfbot, in this order.
 */
#ifndef KPB_BOT_CONFIG_CONFIG_H
#define KPB_BOT_CONFIG_CONFIG_H
#include "bisect/effect-rules.h"
#include "kernels/machine.h"
#include "reporters/reporter.h"

#define SANDBOX_MODES(X) X(SANDBOX_BOX, "box") X(SANDBOX_NONE, "none")
WORDS_ENUM(sandbox, SANDBOX_MODES);

/* Limits, defaults and what each member is for: config-tables.c. */
struct tree_config {
	char *name, *url;
	char *credentials_file;
	bool enabled, program;
	bool of_file;                   /* it stands, or stood, in the files; else 'tree add' made it */
	struct strv branches;           /* empty: all */
	double interval_s;
	char *kconfig;                  /* "program" for programs */
	char *build_command, *artefact; /* programs */
	struct strv jobs;               /* job file names */
	struct strv patches;            /* patch series for jobs that name none: paths, or "none" */
	char *machine;                  /* name */
	char *branch_label;
	bool trusted;
	struct strv mail_cc;
	int64_t max_commits;
};
/* A build that never changes and its job, measured between the others of a machine: engine-canary in engine.h. */
struct canary_config { char *machine, *job, *tree, *commit; };  /* tree NULL: that of what is measured */
struct config {
	char *dir;                      /* where it was read from, NULL: built in */
	char *state_dir, *cache_dir;
	struct tree_config *tree; size_t n_trees;
	struct machine *machine; size_t n_machines;     /* always holds the builtin ones */
	struct canary_config *canary; size_t n_canaries;
	/* limits */
	int build_slots, build_jobs, min_free_mb;
	enum sandbox sandbox;
	int64_t build_memory_mb, build_disk_mb, build_files; /* 0: what box.h says */
	double build_timeout_s;
	/* judging */
	double alpha, confidence, min_effect;
	struct effect_rules min_effects;        /* for single metrics and classes of them; they go before min_effect */
	int64_t min_boots, max_boots, proof_boots;
	bool proof_aligned;
	int detect_boots;                       /* 0: stored series are not looked at */
	bool reach;
	/* mail */
	char *robot_name, *robot_address;
	struct strv mail_allow, mail_always_cc;
	int64_t mail_max_recipients, mail_max_per_day;
	struct report_settings reports;
};
/* dir NULL: by the rule above. Collects all mistakes: the message holds one a line. */
int config_load(const char *dir_or_null, struct config *ret);
/* The defaults, as with no file at all. */
void config_init(struct config *c);
/* Fills in what follows from other settings where it was left open. */
void config_complete(struct config *c);
void config_release(struct config *c);
/* Names of trees and machines become folders and database keys: at most 64 letters, digits, - _ . */
bool config_name_ok(const char *name);
const struct tree_config *config_tree(const struct config *c, const char *name);
const struct machine *config_machine(const struct config *c, const char *name);
const struct canary_config *config_canary(const struct config *c, const char *machine);
/* Trees live in the database (db_tree.settings is JSON with the keys of trees.yaml), so that "tree add" and the files
 * are equal: one text form, both ways. */
void tree_config_init(struct tree_config *t, const char *name);
/* Fills in what depends on the kind of tree and was left open: kconfig, machine, build command. */
void tree_config_complete(struct tree_config *t);
char *tree_config_to_json(const struct tree_config *t);
int tree_config_from_db(const struct db_tree *t, struct tree_config *ret);
void tree_config_release(struct tree_config *t);
/* Writes the configured trees and machines into the database. */
int config_to_store(const struct config *c, struct store *s);
/* A tree by its name; one that stands in the files only is written into the database first. */
int config_tree_get(const struct config *c, struct store *s, const char *name, struct db_tree *ret);
/* For the daemon, whose configuration is the one that holds: trees that came from the files and stand there no more are
 * switched off. What was measured stays. */
int config_drop_trees(const struct config *c, struct store *s);
void config_report(const struct config *c, struct report_config *ret); /* borrows from c */
/* What 'report send' needs so that a case becomes 'reported': reporter_option(). New string. */
char *config_send_option(const struct config *c);

/* ---- what can be set ---- */

/* Tables of members of struct config by the section that they stand in; "": the top level. Ends with {NULL, NULL}. */
struct config_section { const char *name; const struct setting *table; };
extern const struct config_section config_sections[];
/* All tables of a section with their values in c: that of struct config, then those of reporters that stand there. Ends
 * with {0}; new array. */
struct settings *config_parts(const struct config *c, const char *section);
extern const struct setting canary_settings[];
/* The tables of a tree, for writing where t is; they end with {0}. A machine's: machine_settings(). */
#define TREE_PARTS 3
void tree_config_settings(const struct tree_config *t, struct settings ret[TREE_PARTS]);

#endif
