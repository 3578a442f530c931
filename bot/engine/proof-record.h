/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proof-record.h - what is kept of a case's proof: a JSON object in the case, whose names stand here and in proof-record.c.
 */
#ifndef KPB_BOT_ENGINE_PROOF_RECORD_H
#define KPB_BOT_ENGINE_PROOF_RECORD_H
#include "bot/engine/pairs.h"

/* NAN, or NULL (new string), where there is none. */
double proof_number(const struct db_case *c, const char *key);
char *proof_text(const struct db_case *c, const char *key);
void proof_set_text(struct db_case *c, const char *key, const char *text);
void proof_set_number(struct db_case *c, const char *key, double v);
/* Where the runs stand now: later ones are fresh. */
int proof_mark(struct engine *e, struct db_case *c, const char *key);
/* Another try: only the number of tries and the contradicted commits stay of the one before. */
void proof_begin(struct db_case *c, const char *parent, int64_t after_run);
/* What was measured of both. */
void proof_keep(struct db_case *c, const char *parent, const struct pairs_result *x);
/* Keeps what was measured; the search leaves the culprit, which is none now, out from then on. */
void proof_contradict(struct db_case *c, const char *parent, double effect);
/* Adds the commits that the search named and a proof cleared: they are no candidates any more. */
void proof_contradicted(const struct db_case *c, struct strv *ret);

#endif
