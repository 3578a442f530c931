/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.h - what jobs/programs/NAME/program.yaml and jobs/monitors/NAME/monitor.yaml say. docs/JOBS.md describes the
 * files. Private to jobs/.
 *
 * A definition is read once per process and kept until its end, so pointers to it stay good. Thread-safe.
 */
#ifndef KPB_JOBS_PROGRAM_H
#define KPB_JOBS_PROGRAM_H
#include "jobs/job.h"

enum param_kind {
	PARAM_TEXT,     /* any text: a shell command */
	PARAM_WORD,     /* letters, digits and -_.+: */
	PARAM_SECONDS,  /* 90, 60s, 5m, 1h; in the machine's own time */
	PARAM_THREADS,  /* 4, or 50% of the online CPUs, told on the machine */
	PARAM_COUNT,    /* 0, 1, 2 ... */
	PARAM_CHOICE,   /* one of choice */
};
struct param_def {
	char *name, *dflt, *help;
	enum param_kind kind;
	bool required;
	struct strv choice;
};
/* What is needed besides when a parameter has a value: packages and programs. */
struct need_def { char *param, *value; struct strv packages, programs, own, own_source; };
struct kpi_def { char *metric; double threshold; }; /* metric may hold {parameter} */
struct program_def {
	char *name, *summary, *run;     /* run: text of run.sh */
	struct param_def *param;
	size_t n_params, cap_params;
	struct kpi_def *kpi;
	size_t n_kpis, cap_kpis;
	struct strv packages, programs; /* Debian packages; commands */
	struct strv own, own_source;    /* helper programs shipped with the job, and their
					   source for hosts without the binary */
	struct need_def *need;
	size_t n_needs, cap_needs;
	double time_limit_s;            /* of everything but the parameters that are times */
};

/* -ENOENT where there is no such program or monitor. */
int program_def_get(const char *name, const struct program_def **ret);
int monitor_def_get(const char *name, const struct program_def **ret);
const struct param_def *program_def_param(const struct program_def *d, const char *key);
#define PATCHES_AXIS "patches"
/* Parameters that every program has: the preparation of the host, and the axes kconfig, commit, rootfs, compiler and
 * patches, which the script does not see. NULL where key is none of them. */
const struct param_def *common_param(const char *key);
/* The i-th of them, NULL after the last. for_script: only those that the script sees. */
const struct param_def *common_param_at(size_t i, bool for_script);
/* "udp-sink/kpb-udp-send" -> "kpb-udp-send", the program's own name. Within own. */
const char *own_name(const char *own);
/* All names, NULL-terminated: the folders with a parse.c, which the Makefile lists in generated/job-list.h. */
const char *const *program_names(void);
const char *const *monitor_names(void);
/* 0, or -EINVAL with a message about value (no place in it). */
int param_check(const struct param_def *p, const char *value);
/* The same text, kept until the process ends. */
const char *intern(const char *s);
/* The same list of interned texts, NULL-terminated, kept likewise. */
const char *const *intern_list(const char *const *v, size_t n);

/* A value as the script gets it: what the job says, else the default, else "". */
const char *job_value(const struct job *j, const struct program_def *d, const char *key);
/* Fills canonical, id and the time limit from the rest. */
int job_finish(struct job *j);
void job_add_param(struct job *j, const char *key, const char *value);

#endif
