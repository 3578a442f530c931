/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - profiles of runs: from the count file of a boot to a stored profile, and which one belongs to a build.
 */
#ifndef KPB_BOT_ENGINE_PROFILE_H
#define KPB_BOT_ENGINE_PROFILE_H
#include "db/store.h"
#include "kernels/profile.h"

#define PROFILE_COUNTS "profile.counts" /* in a boot's folder, until it is a profile */
#define PROFILE_FILE "profile.zst"

/* The operations that a run counted: its first metric of the unit "ops"; 0 without any. */
double profile_operations(const struct metric_set *values);
/* Makes DIR/profile.zst out of DIR/profile.counts, which goes, and the System.map beside the image. ret may be NULL. */
int profile_of_boot(const char *dir, const char *image, const struct metric_set *values, struct profile *ret);
/* profile.zst of a boot and its functions into the database. */
int profile_store(struct store *s, int64_t build, const char *job, const char *tbox_group, const char *dir,
		  const struct profile *p);

/* What was watched instead, into the same tables; names as the profiles have them. */
struct traced;
int traced_store(struct store *s, int64_t build, const char *job, const char *tbox_group, double operations,
		  const struct traced *w);

#endif
