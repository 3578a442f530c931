/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measured.h - what earlier work has measured, as values and thresholds for a verdict.
 */
#ifndef KPB_BOT_ENGINE_MEASURED_H
#define KPB_BOT_ENGINE_MEASURED_H
#include "bisect/verdict.h"
#include "bot/engine/engine.h"

/* One value per boot (runs of a boot averaged), oldest boot first, of runs after that one (0: all). when: the boot's
 * first run. Like is compared with like: boots that another root image, emulator or benchmark measured than the newest
 * one are left out (after run 0, for what history knows of a spread: than the build's own newest one), db/setup.h. */
struct boots { size_t n; double *value; double *when; size_t left_out; };
void boots_release(struct boots *b);
int engine_boots(struct engine *e, const struct scope *s, const char *commit, const char *metric, int64_t after_run,
		 struct boots *ret);
/* All runs of a commit, oldest first; none where it is not built. */
int engine_run_list(struct engine *e, const struct scope *s, const char *commit, struct db_run **ret, size_t *ret_n);
/* How the runs after that one ended (0: all). */
struct engine_runs {
	size_t bad, good;
	size_t ours;                    /* failed on our side: neither good nor bad */
	size_t no_boot, untrusted;      /* of the bad ones */
	char *cause;                    /* "VERDICT: CAUSE" of the last bad one, or NULL */
};
void engine_runs_release(struct engine_runs *k);
int engine_runs(struct engine *e, const struct scope *s, const char *commit, int64_t after_run,
		struct engine_runs *ret);
/* Thresholds and the spread known from all builds of the tree. */
int engine_verdict_config(struct engine *e, const struct scope *s, const char *metric, struct verdict_config *ret);

#endif
