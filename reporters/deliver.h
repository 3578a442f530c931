/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver.h - the two ways out. Both keep their state in delivery rows, one for the mbox and by SMTP one for each
 * recipient, so that a crash anywhere never makes a second copy.
 */
#ifndef KPB_REPORTERS_DELIVER_H
#define KPB_REPORTERS_DELIVER_H
#include "reporters/report.h"

/* Appends the report to the mbox file in mboxrd form ("From " lines get a '>'), under a lock. Row: 'sending' with
 * "offset N" before the first byte, 'sent' after the last is on disk. A run that finds 'sending' looks under the lock what
 * is there: the whole message (done), a torn one at the file's end (cut off, appended anew), a torn one that others have
 * appended behind (blanked, so that nothing of theirs moves), or nothing. */
int mbox_deliver(struct store *s, const struct db_report *rep, struct db_delivery *d, const char *path);
/* The bytes that mbox_deliver() appends. */
void mbox_format(const struct db_report *rep, struct buf *out);

/* Sends by SMTP to those recipients who pass the allow-list now, did not get it yet and whose time has come; To: and
 * Cc: always name all who pass. Rows: 'sending' with "connecting" first; with "text sent" for those whom the server
 * accepted, just before the final dot, after which only the server knows: a connection that ends there leaves them
 * 'unknown'. Whom the server refuses is 'failed', whom it puts off 'waiting' (delivery_is_later()); where it takes
 * only some recipients at a time, the others follow without a pause. Who got cfg->max_per_day reports within a day
 * waits until that is over. 'sent' is written as soon as the server says so. 0: at least one has it, none waits and
 * nobody is 'unknown'; else as report_deliver(). */
int smtp_deliver(struct store *s, const struct db_report *rep, const struct report_config *cfg);
/* Forgets failures, waits and unknown outcomes, because a person says so. -EEXIST where all of it was sent. */
int report_again(struct store *s, int64_t case_id, const char *way);

/* What has become of a report by one way. Without a report all is 0. */
struct report_standing { size_t n, sent, waiting, failed, unknown; usec_t next_try; /* 0: nobody waits */ };
int report_standing(struct store *s, int64_t case_id, const char *way, struct report_standing *ret);

/* Writes a delivery's new state; "detail" may be d->detail itself. */
int delivery_set(struct store *s, struct db_delivery *d, const char *state, const char *fmt, ...) _printf_(4, 5);
/* The same without writing it. */
void delivery_is(struct db_delivery *d, const char *state, const char *fmt, ...) _printf_(3, 4);
/* 'waiting' with a doubling pause (15 seconds to 6 hours). Gives back -EAGAIN with the message, or -ETIMEDOUT and
 * 'failed' when it was tried often enough. */
int delivery_later(struct store *s, struct db_delivery *d, const char *fmt, ...) _printf_(3, 4);
/* The same without writing it. */
void delivery_is_later(struct db_delivery *d, const char *text);

/* True while it waits for its next try; not where the clock has gone back since that was set. */
bool delivery_waits(const struct db_delivery *d);
#endif
