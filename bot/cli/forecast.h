/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forecast.h - how long a question still takes: the steps that are to come, between the fewest and the most that are
 * usual, times what a build and a boot took here so far. Pure, no I/O.
 */
#ifndef KPB_BOT_CLI_FORECAST_H
#define KPB_BOT_CLI_FORECAST_H
#include "lib/base.h"

struct span { double lo, hi; };

/* What one of them takes here, in seconds. kernel: how wide the guess is where nothing was measured. clean,
 * incremental, boot: means of what was measured, NAN where there is none. Programs are always built from nothing. */
struct forecast_costs { struct span first, build, boot; };      /* first: the next build, where there was none yet */
void forecast_costs(bool kernel, double clean, double incremental, double boot, struct forecast_costs *ret);

enum forecast_phase { FORECAST_RUNS, FORECAST_COMPARING, FORECAST_SEARCHING, FORECAST_PROVING, FORECAST_WRITING };
struct forecast_work {
	enum forecast_phase phase;
	bool exact;             /* the machine repeats itself: one boot says all */
	bool sure;              /* COMPARING: the two are known to differ */
	bool nothing_built;     /* the next build is the first */
	double commits;         /* between the ends, bad one included */
	int searched;           /* SEARCHING: builds that the search has asked for so far */
	int ends_missing;       /* COMPARING: builds of the two ends still to come */
	int phase_builds, phase_boots;  /* PROVING: builds done in it, and boots since the last one; else boots done in
					   this phase */
	int builds, boots;      /* waiting or running now */
	int min_boots, proof_boots; /* of the configuration, a side */
	double building_s, booting_s;   /* how long the running ones have been running */
};
struct forecast { struct span seconds, steps; };        /* steps: builds and boots */
void forecast_left(const struct forecast_work *w, const struct forecast_costs *c, struct forecast *ret);

/* What people see of it: gone seconds after the last call it is that much less, but not below the middle of what is
 * forecast now; it rises only at an event, where that middle lies beyond it. event: what happened since the last call,
 * NULL: nothing. Returns the event where it rose, else NULL. */
struct countdown { bool begun; struct span left; };
const char *countdown_update(struct countdown *c, struct span now, double gone, const char *event);
/* "3 to 8 min left", "under 1 min left". */
void forecast_text(struct span left, char *buf, size_t n);

#endif
