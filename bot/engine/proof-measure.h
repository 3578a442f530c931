/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proof-measure.h - builds and boots of a proof.
 */
#ifndef KPB_BOT_ENGINE_PROOF_MEASURE_H
#define KPB_BOT_ENGINE_PROOF_MEASURE_H
#include "bot/engine/pairs.h"

/* Boots of two commits; after: later runs than that one count. Borrows. */
struct pairs proof_pairs(const struct scope *s, struct db_case *c, const char *a, const char *b, int64_t after);
/* 1: built and usable; 0: wait, or where *ret_why (new string) says so it will never be. */
int proof_build(struct engine *e, const struct scope *s, struct db_case *c, const char *commit, char **ret_why);
/* The same of parent and culprit. */
int proof_builds(struct engine *e, const struct scope *s, struct db_case *c, const char *parent, char **ret_why);

#endif
