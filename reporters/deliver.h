/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver.h - the two ways out. Both keep their state in the delivery row, so that a crash anywhere never makes a
 * second copy.
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

/* Sends by SMTP to those recipients who pass the allow-list now. Row: 'sending' with "connecting" first; with "text sent"
 * just before the final dot, after which only the server knows: a connection that ends there leaves 'unknown'. */
int smtp_deliver(struct store *s, const struct db_report *rep, struct db_delivery *d, const struct report_config *cfg);
/* Forgets a failure, a wait or an unknown outcome, because a person says so. -EEXIST for what was sent. */
int report_again(struct store *s, int64_t case_id, const char *way);

/* Writes a delivery's new state; "detail" may be d->detail itself. */
int delivery_set(struct store *s, struct db_delivery *d, const char *state, const char *fmt, ...) _printf_(4, 5);
/* 'waiting' with a doubling pause (1 minute to 6 hours). Gives back -EAGAIN with the message, or -ETIMEDOUT and 'failed' when
 * it was tried often enough. */
int delivery_later(struct store *s, struct db_delivery *d, const char *fmt, ...) _printf_(3, 4);

#endif
