/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * known.h - the commits between two ends with all that the database knows of them, and the search that is told it:
 * nothing of a search is kept from one step to the next.
 */
#ifndef KPB_BOT_ENGINE_KNOWN_H
#define KPB_BOT_ENGINE_KNOWN_H
#include "bisect/search.h"
#include "bot/engine/engine.h"

struct case_node {
	struct db_build *build;
	bool ready;             /* finished in the build cache, but not asked for yet */
};
struct known_range {
	struct tree_range range;
	struct db_build *builds; size_t n_builds;
	struct case_node *node;
	struct db_case *earlier; size_t n_earlier;      /* found culprits of the same comparison */
	bool **below;                                   /* [earlier][node]: has that culprit among its ancestors */
	double *step;                                   /* [earlier]: its relative effect */
	struct strv cleared;                            /* named before, and contradicted by a proof */
};
int known_load(struct engine *e, const struct scope *s, const struct db_case *c, struct known_range *ret);
void known_release(struct known_range *f);
int known_search(struct engine *e, const struct scope *s, const struct db_case *c, const struct known_range *f,
		 struct search **ret);

/* Seconds, learnt from what was built and booted here. Every candidate is built after a neighbour, so that is what a
 * build costs; from nothing only where no other is known (programs are always built so). */
struct search_costs { double build, boot; struct build_costs learnt; };
struct search_costs known_costs(struct engine *e, const struct scope *s);

#endif
