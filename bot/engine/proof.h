/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proof.h - the culprit against its parent: interleaved, fresh boots; then with aligned functions; then undone on the
 * tip.
 */
#ifndef KPB_BOT_ENGINE_PROOF_H
#define KPB_BOT_ENGINE_PROOF_H
#include "bot/engine/engine.h"

/* The search has named a commit: from now on it is proven against parent (NULL: its first one). */
int proof_start(struct engine *e, const struct scope *s, struct db_case *c, const char *culprit, const char *parent);
/* Ends a case whose culprits proofs have cleared; why (may be NULL): what the search says without these commits. */
int proof_nobody(struct engine *e, struct db_case *c, const char *why);
/* It cannot go on: where the culprit is proven the case is found (1), without what was left to be measured. 0: not so. */
int proof_cut_short(struct engine *e, const struct scope *s, struct db_case *c, const char *why);
/* The next step of a case in the state "proving". */
int proof_go_on(struct engine *e, const struct scope *s, struct db_case *c);

#endif
