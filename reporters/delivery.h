/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * delivery.h - rows of deliveries: what has become of a report by one way, so that a crash anywhere never makes a
 * second copy. A reporter (reporter.h) keeps one row where it has one place, and one for each recipient where it has
 * those.
 *
 *	'waiting'  nothing has gone out; next_try says when to try again (0: now)
 *	'sending'  something may have gone out: written before the first byte leaves, with a detail that lets a later
 *	           process find out what a killed one left behind
 *	'sent'     done, never again; detail: where the report is now, or what the receiver said
 *	'failed'   refused for good, or tried too often; detail: why
 *	'unknown'  nobody can tell whether it arrived; only a person sends it again
 *
 * A reporter that returns -EAGAIN and leaves the row 'waiting' or 'sending' is called again when next_try has come,
 * after a kill, too. 'report send --force' makes 'failed', 'unknown' and 'waiting' rows due now; 'sending' and 'sent'
 * stay.
 */
#ifndef KPB_REPORTERS_DELIVERY_H
#define KPB_REPORTERS_DELIVERY_H
#include "db/store.h"

/* Writes a delivery's new state; the text of fmt is its detail, and may be made of d->detail itself. */
int delivery_set(struct store *s, struct db_delivery *d, enum delivery_state state, const char *fmt, ...)
	_printf_(4, 5);
/* The same without writing it. */
void delivery_is(struct db_delivery *d, enum delivery_state state, const char *fmt, ...) _printf_(3, 4);
/* 'waiting' with a doubling pause (15 seconds to 6 hours). Gives back -EAGAIN with the message, or -ETIMEDOUT and
 * 'failed' when it was tried often enough. */
int delivery_later(struct store *s, struct db_delivery *d, const char *fmt, ...) _printf_(3, 4);
/* The same without writing it. */
void delivery_is_later(struct db_delivery *d, const char *text);
/* True while it waits for its next try; not where the clock has gone back since that was set. */
bool delivery_waits(const struct db_delivery *d);
/* The only row of a report by a way that has one place; 'waiting' where there is none yet. 1: it is due; 0: sent;
 * -EAGAIN: its time has not come; -ECONNREFUSED: it has failed, or is unknown. *ret is set in all these cases. */
int delivery_load(struct store *s, const struct db_report *rep, const char *way, struct db_delivery *ret);

/* What has become of a report by one way. Without a report all is 0. */
struct report_standing { size_t n, sent, waiting, failed, unknown; usec_t next_try; /* 0: nobody waits */ };
int report_standing(struct store *s, int64_t case_id, const char *way, struct report_standing *ret);
/* Forgets failures, waits and unknown outcomes, because a person says so. -EEXIST where all of it was sent. */
int report_again(struct store *s, int64_t case_id, const char *way);

#endif
