/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reach.h - the check "reach": did a job execute what changed between two commits? It belongs to a pair of commits, not
 * to a run: the head's profile is looked up, and the answer kept in the database for compare, query and the mail.
 */
#ifndef KPB_BOT_ENGINE_REACH_H
#define KPB_BOT_ENGINE_REACH_H
#include "db/store.h"
#include "kernels/touched.h"

/* A reach_lookup in a stored profile. */
struct reach_source { struct store *s; const struct db_profile *p; };
int reach_look_up(void *arg, const char *name, uint64_t *ret_entries);

/* Two commits of a tree in one place: which build has the head, in which mirror. */
struct reach_pair { const struct db_build *head; const char *base, *git_dir, *job, *tbox_group; };
/* Answers from the stored profile of the head: verdict and evidence in ret, which is not stored. Without a profile it
 * is "unknown", and why (NULL: nobody asked for one) tells the reason. */
int reach_check(struct store *s, const struct reach_pair *q, const char *why, struct db_pair_check *ret);

#endif
