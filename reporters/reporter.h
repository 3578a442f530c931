/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reporter.h - the ways out for reports: one struct report_ops each, in a file reporters/NAME.c, and a row in the list
 * of reporter.c. Nothing else knows their names.
 *
 * A report is composed and stored before a reporter sees it. Its deliveries are rows of the database (delivery.h): they
 * give a reporter its retries, and the daemon and 'report send' call it until none of its rows waits.
 */
#ifndef KPB_REPORTERS_REPORTER_H
#define KPB_REPORTERS_REPORTER_H
#include "lib/setting.h"
#include "reporters/delivery.h"
#include "reporters/report.h"

/* Who learns of a case by it. Of those that are switched on, the first in the list among those that reach most is the
 * one that counts: a case is 'reported' when that one has delivered it. */
enum report_reach { REPORT_COPY, REPORT_PEOPLE };

struct report_ops {
	const char *name;               /* in rows of deliveries, events, and as option of 'report send'; never
					   changes */
	const char *help;               /* of that option */
	const char *title;              /* in messages: written to "the mbox", sent by "SMTP" */
	const char *where;              /* key of the setting that switches it on and says where to; or NULL */
	enum report_reach reach;
	const char *const *files;       /* globs of what it may leave in the state folder, NULL-terminated, or NULL */

	/* Its own settings, which all functions get as "own": read from "reports: NAME: key: value" in kperfbot.yaml,
	 * or from the section that is named here; checked and shown with all others. settings NULL: none, own is
	 * NULL. */
	const struct setting *settings;
	size_t size;                    /* of the struct that settings describe */
	const char *section;
	void (*complete)(void *own, const char *state_dir);     /* fills in what was left open; or NULL */
	/* What no table can tell: -EINVAL with a message, and the key that it is about. NULL: nothing to check. */
	int (*check)(const void *own, const char **ret_key);

	bool (*enabled)(const void *own);
	/* One of these two. Both: 0: delivered; -EAGAIN: call again later; anything else: failed for good.
	 * put: to one place, when its row d is due. Leaves it 'sent', or 'waiting' by delivery_later(), or 'sending'
	 * where the next call must look what was left.
	 * deliver: keeps rows for each recipient itself; returns as report_deliver(). */
	int (*put)(struct store *s, const struct db_report *rep, struct db_delivery *d, const struct report_config *cfg,
		   const void *own);
	int (*deliver)(struct store *s, const struct db_report *rep, const struct report_config *cfg, const void *own);
};

/* All, NULL-terminated; the first is the one that 'report send' uses when no option names one. */
const struct report_ops *const *reporters(void);
size_t reporter_count(void);
const struct report_ops *reporter_find(const char *name);       /* NULL where there is none */

/* The settings of all reporters. */
struct report_settings { void **own; };         /* in the order of reporters() */
void report_settings_init(struct report_settings *s);           /* the defaults */
void report_settings_release(struct report_settings *s);
void *report_settings_of(const struct report_settings *s, const struct report_ops *ops);

bool reporter_enabled(const struct report_ops *ops, const struct report_config *cfg);
/* The one by which a case becomes 'reported'; NULL where all are switched off. */
const struct report_ops *reporter_that_counts(const struct report_config *cfg);
/* " --smtp", what 'report send' needs to use it; "" for the first one and for NULL. New string. */
char *reporter_option(const struct report_ops *ops);

/* 0: sent (or was already); -EAGAIN: try again later (message says why); -EUNATCH: nobody allowed; -EALREADY: not known
 * whether it arrived; -ENOTSUP: switched off; anything else: failed for good. */
int report_deliver(struct store *s, int64_t case_id, const char *way, const struct report_config *cfg);
/* Whether somebody waits for a report by any way that reaches people, switched on or not, and how many of how many. */
bool report_waits(struct store *s, int64_t case_id, struct report_standing *ret);

#endif
