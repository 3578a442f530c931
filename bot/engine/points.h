/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * points.h - the points of a job's matrix as what can be measured: a job and a commit, which is the asked one or that
 * with a patch series on top.
 */
#ifndef KPB_BOT_ENGINE_POINTS_H
#define KPB_BOT_ENGINE_POINTS_H
#include "db/store.h"
#include "jobs/job.h"

struct point {
	struct db_job job;
	char *name;                     /* of the point: the job's, and "+SERIES" */
	char *commit;                   /* full id */
};
struct points { struct point *v; size_t n; };
void points_release(struct points *p);

/* A job as store_job_put() takes it. */
int job_to_db(const struct job *j, struct db_job *ret);

/* The jobs of a file with the series of their axis "patches". asked: series (files, folders or "none") that replace the
 * axis; dflt: those that stand in where the job has none. Both may be empty. */
int points_jobs(const char *name, const char *dir, const char *const *overrides, const struct strv *asked,
		const struct strv *dflt, struct job_list *ret);
/* What each is measured on: base, or base with the series on top. */
int points_make(struct store *s, const struct db_tree *tree, const char *git_dir, const struct job_list *l,
		const char *base, struct points *ret);
/* Applies the series in a file or folder on base and notes it in the database. wait and errors as patches_apply(). */
int points_patch(struct store *s, const struct db_tree *tree, const char *git_dir, const char *base, const char *path,
		 bool wait, char **ret_oid);

#endif
