/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proof-after.h - what a proven case is asked for beside the proof.
 */
#ifndef KPB_BOT_ENGINE_PROOF_AFTER_H
#define KPB_BOT_ENGINE_PROOF_AFTER_H
#include "bot/engine/engine.h"

/* Both again with aligned functions, interleaved, as a configuration of its own. */
int prove_aligned(struct engine *e, const struct scope *s, struct db_case *c, struct db_proof *p);
/* The last word on a proven case, which is found: what came of undoing the culprit. */
int prove_concluded(struct engine *e, const struct scope *s, struct db_case *c, struct db_proof *p, const char *revert);
/* The tip against the tip with the culprit undone; then the case is found. */
int prove_by_revert(struct engine *e, const struct scope *s, struct db_case *c, struct db_proof *p);

#endif
