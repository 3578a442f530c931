/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proof-record.h - what is kept of a case's proofs. A proof is stored before the case that goes on with it, so that a
 * kill between the two repeats a step and loses none.
 */
#ifndef KPB_BOT_ENGINE_PROOF_RECORD_H
#define KPB_BOT_ENGINE_PROOF_RECORD_H
#include "bot/engine/pairs.h"

#define _cleanup_proof_ _cleanup_(db_proof_release)
/* A proof of the case's culprit against parent begins, once more where there was one. */
int proof_begin(struct engine *e, const struct db_case *c, const char *parent, int64_t after_run);
/* It was shown. */
int proof_keep(struct engine *e, struct db_proof *p, const struct pairs_result *x);
/* It was not: the case names nobody any more, and the search leaves that commit out from now on. */
int proof_contradict(struct engine *e, struct db_case *c, struct db_proof *p, double effect);
/* Adds the commits that the search named and a proof cleared: they are no candidates any more. */
int proof_contradicted(struct engine *e, const struct db_case *c, struct strv *ret);

#endif
