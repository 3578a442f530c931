/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mail.h - the pieces of an RFC 5322 message. Pure text. Lines end in '\n' here; who speaks SMTP makes CRLF of it.
 *
 * Nothing that comes out of these functions can end a header early, whatever goes in: control characters become
 * blanks, bytes that are no UTF-8 become U+FFFD, hidden characters (bidirectional controls, zero-width ones:
 * lib/escape.h) are left out, and text that is not plain ASCII (or looks like an encoded word) is encoded by RFC
 * 2047. Folded lines have at most 78 columns where a blank allows it and never more than 998 bytes.
 */
#ifndef KPB_REPORTERS_MAIL_H
#define KPB_REPORTERS_MAIL_H
#include "lib/buf.h"

#define MAIL_LINE_MAX 998       /* RFC 5322 section 2.1.1 */

struct mail_person { const char *name, *address; };

/* A plain ASCII addr-spec (no quoted local parts, no domain literals, nothing that routes: % ! | / `); no other
 * reaches a header or an SMTP command. */
bool mail_address_ok(const char *address);
/* True for an address that no person writes as their own: it makes a list server, a bug tracker or a mail system act
 * (list+unsubscribe, list-request, owner-list, majordomo), is an office that every host has (postmaster, abuse,
 * root), or holds another address (list-subscribe-victim=example.org). "security" is not among them: kernel trees
 * name it. */
bool mail_address_acts(const char *address);
/* "Name <a@b>", "\"Name, X.\" <a@b>", "a@b (list, moderated)" -> new strings; the name may come out empty. -EINVAL. */
int mail_address_parse(const char *text, char **ret_name, char **ret_address);
/* True where one of the globs matches, letters' case ignored; globs NULL: false. The parts before and after the '@' are
 * matched one by one; a glob without '@' matches nobody, but "*" everybody. */
bool mail_allowed(const char *address, const char *const *globs);

/* "Name: value" of free text. */
void mail_header(struct buf *out, const char *name, const char *value);
/* "Name: A <a@b>,\n\tC <c@d>"; persons with addresses that are not mail_address_ok() are left out. Nothing at all where
 * none is left. */
void mail_header_persons(struct buf *out, const char *name, const struct mail_person *p, size_t n);
/* "Wed, 03 Apr 2024 07:53:53 +0000" whatever the locale. */
void mail_date(struct buf *out, usec_t when);
/* The date of an mbox "From " line: "Wed Apr  3 07:53:53 2024". */
void mail_ctime(struct buf *out, usec_t when);
/* A body: no control characters but newline and tab, no hidden ones, valid UTF-8, no line over 998 bytes, one newline
 * at the end. The rest of a line that is broken is indented, so that nothing but a line of s begins at column 0. What
 * would make it longer than MAIL_BODY_MAX is cut behind a whole line, and a last line says so. */
#define MAIL_BODY_MAX (200u << 10)
void mail_body(struct buf *out, const char *s, size_t len);

#endif
