/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * needs.h - a commit has to be built before anything else can go on.
 */
#ifndef KPB_BOT_ENGINE_NEEDS_H
#define KPB_BOT_ENGINE_NEEDS_H
#include "bot/engine/engine.h"

enum need_state {
	NEED_WAIT,      /* it is queued or being built */
	NEED_BUILT,
	NEED_BROKEN,    /* the commit does not build */
	NEED_NEVER,     /* it could not be tried here: its task was given up */
};
struct need {
	enum need_state state;
	bool queued;            /* by this call */
	struct db_build build;  /* BUILT, BROKEN */
	char *reason;           /* BROKEN, NEVER: what the builder said */
	char *why;              /* the same as a sentence that names the commit */
};
void need_release(struct need *n);
#define _cleanup_need_ _cleanup_(need_release)
/* Asks for the build of a commit in the epoch of s, unless that was done before. 0, or negative where that cannot be
 * told. */
int need_build(struct engine *e, const struct scope *s, const char *commit, int priority, int64_t case_id,
	       struct need *ret);

#endif
