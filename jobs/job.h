/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job.h - job files (YAML, in LKP's shape), their matrix, the one script a job renders to, and the parsing of what a
 * run left behind.
 *
 * A job is one point of the matrix. Its identity is the SHA-256 of its canonical form (JSON with sorted keys: program,
 * parameters, monitors). It renders into ONE POSIX shell script that runs as root on any Debian-like system: that text
 * is what the guest runs, what the database keeps and what a report ships.
 *
 * The script's contract: it writes all its files into $RESULT_DIR (default: a fresh ./result folder); exit 0 = ran,
 * 99 = set-up failed ("incomplete"), anything else = the benchmark failed. It writes an empty file $RESULT_DIR/started
 * when the measured part begins. $KPB_PERTURB (default 0) is the number of the replicate: a deterministic machine uses
 * it to vary the start.
 */
#ifndef KPB_JOBS_JOB_H
#define KPB_JOBS_JOB_H
#include "lib/buf.h"
#include "lib/metrics.h"
#include "lib/states.h"

struct job_param { char *key, *value; };
struct job {
	char *name;                     /* jobfile-<path_params>, as LKP names split jobs */
	char *point;                    /* of the matrix: the name, and "+SERIES" where there are patches */
	char *patches; /* file or folder of a patch series to build with, or NULL; it says what is measured,
					 * not how, so it is no part of the identity */
	char *file;                     /* where it came from */
	char *suite, *testcase, *category;
	char *program;                  /* folder under jobs/programs/ */
	struct job_param *param;        /* in job file order */
	size_t n_params, cap_params;
	struct strv monitors;           /* folders under jobs/monitors/ */
	char *canonical, *id;           /* id: 16 hex digits */
	double time_limit_s;            /* for the whole script */
};
struct job_list { struct job *v; size_t n, cap; };

/* name_or_path: a file, or the name of one in the jobs/ folder of the data dir or of extra_dir (may be NULL). Expands
 * the matrix. overrides: "key=value" strings, NULL-terminated, or NULL. patches: paths are relative to the job file's
 * folder, in overrides to the current one; they must be there. Errors name file:line:column and, for an
 * unknown key, the nearest known one. */
int job_load(const char *name_or_path, const char *extra_dir, const char *const *overrides, struct job_list *ret);
void job_list_release(struct job_list *l);
/* Another series for a point; NULL or "none": none. */
void job_set_patches(struct job *j, const char *path_or_null);
/* A job from its stored canonical form (db_job.canonical). */
int job_from_canonical(const char *name, const char *canonical_json, struct job *ret);
void job_release(struct job *j);
const char *job_param(const struct job *j, const char *key);
/* Names of the job files there are. */
int job_names(const char *extra_dir, struct strv *ret);

int job_render(const struct job *j, struct buf *ret);
/* The same with reach.sh in it, for a run that is not measured: it watches which of these functions of the kernel run,
 * and leaves the list in $RESULT_DIR/reach (kernels/traced.h reads it). Names must be plain, traced_name_ok(). */
int job_render_watching(const struct job *j, const struct strv *functions, struct buf *ret);
/* The job's KPI metric names, main one first. NULL-terminated, static. */
const char *const *job_kpis(const struct job *j);
/* Smallest relative change of a KPI that may open a case (program.yaml, overridable in the configuration). */
double job_kpi_threshold(const struct job *j, const char *metric);
/* Debian packages and commands a host or root image needs for this job. */
int job_needs(const struct job *j, struct strv *ret_packages, struct strv *ret_programs);

/* Facts of the run that are not in its files. NAN = not known. */
struct run_facts {
	int exit_status;                /* of the script */
	double ns_per_insn;             /* of guest time, on a machine that counts instructions; else 0 */
	int nr_cpu;
};
/* Parses every file in result_dir by the program's and the monitors' parsers. Never invents a zero: what is missing or
 * cut off gives *ret_verdict RUN_INCOMPLETE or RUN_FAILED and a cause (new string, the tool's own last line where it
 * has one); then the values are not to be used. Returns 0 also in that case; negative only for trouble of our own. */
int job_parse(const struct job *j, const char *result_dir, const struct run_facts *facts, struct metric_set *ret_values,
	      enum run_verdict *ret_verdict, char **ret_cause);

/* The same, with what the checks saw. Where one failed the verdict is RUN_UNTRUSTED: the values are there and to be
 * kept, but must not be judged. checks may be NULL. */
int job_parse_checked(const struct job *j, const char *result_dir, const struct run_facts *facts,
		      struct metric_set *ret_values, struct check_set *ret_checks, enum run_verdict *ret_verdict,
		      char **ret_cause);

/* ---- for programs/NAME/parse.c and monitors/NAME/parse.c ---- */
struct parse_ctx {
	const struct job *job;
	const struct run_facts *facts;
	const char *result_dir;
	struct metric_set *out;
	char *cause;                    /* set with parse_fail() */
	enum run_verdict verdict;       /* RUN_OK to begin with */
	struct check_set *checks;       /* NULL: nobody asks; jobs/check.h */
};
/* Notes why the run cannot be used and returns -EBADMSG; verdict is RUN_INCOMPLETE or RUN_FAILED. */
int parse_fail(struct parse_ctx *c, enum run_verdict verdict, const char *fmt, ...) _printf_(3, 4);
struct program_ops {
	const char *name;
	/* text: content of $RESULT_DIR/<file>, NUL-terminated, may hold anything */
	int (*parse)(struct parse_ctx *c, const char *text, size_t len);
	const char *file;
	bool optional;                  /* a missing file is no failure (monitors) */
	/* Why a run failed, in the tool's words (new string, "" for none); NULL: its last words. */
	char *(*reason)(const struct parse_ctx *c, const char *text, size_t len);
};
const struct program_ops *program_find(const char *name);
const struct program_ops *monitor_find(const char *name);

#endif
