/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress.h - what "run", "bisect" and "daemon --progress" show: what is being done to which commit, for how long, how
 * long that takes as a rule, and how long all of it still takes. To stderr: on a terminal one line that changes, else a
 * line when the work changes and one a minute.
 */
#ifndef KPB_BOT_CLI_PROGRESS_H
#define KPB_BOT_CLI_PROGRESS_H
#include "bot/engine/engine.h"
#include "bot/cli/forecast.h"
#include "bot/cli/verb.h"

struct seen_task { int64_t id; bool build, active, ended; usec_t running; };
	    /* running: since when, monotonic; 0: waits */
struct progress {
	FILE *out;              /* NULL: shows nothing */
	bool terminal, shown;
	usec_t start, last_line;
	/* what is waited for */
	int64_t *comparison; size_t n;
	bool search;            /* progress_search(); else only boots */
	bool sure; double commits;      /* forecast.h */
	/* what was seen so far */
	struct seen_task *task; size_t n_tasks, cap_tasks;
	char *state;            /* that was shown last */
	enum forecast_phase phase; int phase_builds, phase_boots;
	struct forecast_costs costs; size_t active;
	struct countdown countdown; usec_t last_look;
};

/* quiet: nothing is shown. The first of the comparisons says what builds and boots cost. */
void progress_begin(struct progress *p, const struct ctx *c, const int64_t *comparison, size_t n, bool quiet);
/* The (only) comparison is a question, with a search among its commits and a proof behind it. sure: the forecast takes
 * for granted that the two differ. */
void progress_search(struct progress *p, const struct ctx *c, bool sure);
void progress_release(struct progress *p);
/* The picture at this moment. Strings belong to the view. */
struct progress_view {
	char *state;            /* "building 0123456789ab": the same as long as it is the same commit's build, or
				   boots */
	char *text;             /* with boot number, times and counts */
	char left[64];          /* forecast_text() */
	const char *raised;     /* why it takes longer than was said, or NULL */
	size_t done;            /* steps */
	struct span steps;      /* still to come */
	bool changed;           /* another state than at the last call */
	bool program;           /* no kernel: steps are over in seconds */
};
void progress_view_release(struct progress_view *v);
int progress_look(struct progress *p, struct ctx *c, struct progress_view *ret);
/* progress_look(), shown. */
void progress_show(struct progress *p, struct ctx *c);
/* Takes the line off a terminal. */
void progress_clear(struct progress *p);
/* "1:05", "12:00", "1:02:03" */
char *progress_time(double seconds);

#endif
