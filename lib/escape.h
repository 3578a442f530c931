/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * escape.h - the ways out. Text of trees, mails, benchmarks and servers is hostile: it leaves the program through one
 * of these and through nothing else.
 *
 *	terminal, log, mail text    buf_add_term(), term_safe(), term_printf(), term_puts()
 *	CSV                         buf_add_csv()                   table.h writes whole tables
 *	JSON                        json_text() for each string, json_print() or json_line() for the whole
 *	HTML                        buf_add_html()                  for pages to come: nothing writes HTML yet
 *	shell, scripts              buf_add_shell()
 *	git's command line          git_branch_ref(), behind "--"; run or printed
 *	file names                  buf_add_filename()
 *	URLs                        url_shown()
 *	mail headers and bodies     mail_header(), mail_header_persons(), mail_body() of reporters/mail.h
 *
 * All that people read (not buf_add_shell(), json_text() and json_line(), which keep the text as it is) also loses user
 * names and passwords of the URLs in it; of ssh's only the passwords.
 */
#ifndef KPB_LIB_ESCAPE_H
#define KPB_LIB_ESCAPE_H
#include "lib/base.h"

struct buf;     /* lib/buf.h, which includes this header */

/* What a code point may do to who reads it. Hidden: bidirectional controls, Unicode's Default_Ignorable_Code_Point
 * (zero-width characters, tags, variation selectors, fillers), interlinear annotations, line and paragraph separators,
 * noncharacters. */
enum utf8_class { UTF8_PLAIN, UTF8_CONTROL /* C0, DEL, C1 */, UTF8_HIDDEN, UTF8_INVALID };
/* The length of the character at s, where left > 0 bytes are; 1 where that is no UTF-8 (RFC 3629). *ret_c (may be
 * NULL): the code point, or the byte where it is UTF8_INVALID. */
size_t utf8_next(const char *s, size_t left, enum utf8_class *ret_class, uint32_t *ret_c);
bool utf8_valid(const char *s);

/* Whatever is not UTF8_PLAIN as \xNN a byte, so that no text can drive a terminal or look like another; newline and tab
 * become blanks. */
void buf_add_term(struct buf *b, const char *s);
/* The same as a new string; NULL as "". */
char *term_safe(const char *s);
/* As buf_add_term(), but newlines and tabs stay. */
void buf_add_term_lines(struct buf *b, const char *s);
/* A stranger's text within a line of ours, in a mail, a table or a script: as buf_add_term(), but no longer than
 * TEXT_SHOWN bytes, with "..." for what is cut off, so that it neither fills what it stands in nor gets to where long
 * lines are broken. */
#define TEXT_SHOWN 300
void buf_add_shown(struct buf *b, const char *s);
void term_puts(FILE *out, const char *s);
void term_printf(FILE *out, const char *fmt, ...) _printf_(2, 3);

/* A text cell. Quoted where RFC 4180 asks for it, or where another separator would end the cell. Control characters but
 * newline and tab, and what is no UTF-8, as \xNN. ' goes before what a spreadsheet takes for a formula, but not before
 * numbers: = + - @ tab newline at the start, behind hidden characters, too; = + - @ also behind ; tab and newline,
 * where some readers begin a cell. All else is exact. */
void buf_add_csv(struct buf *b, const char *s);

/* & < > " ' as entities; what is not UTF8_PLAIN becomes U+FFFD, but for newline and tab. */
void buf_add_html(struct buf *b, const char *s);

/* 'it'\''s' - one POSIX shell word whatever the text; plain words stay bare. Exact, and printable: what is not
 * UTF8_PLAIN comes out of "$(printf '\NNN')". A word that begins with - is the caller's matter. */
void buf_add_shell(struct buf *b, const char *s);

/* "refs/heads/NAME" as a new string; NULL where git takes no such branch (it could be more than one ref, or none). */
char *git_branch_ref(const char *branch);

/* Letters, digits and -_. of s, at most max of them, others as '-'; never empty, never begins with '-' or '.'. */
void buf_add_filename(struct buf *b, const char *s, size_t max);

/* A URL without its credentials: user and password are gone, and the query of http; ssh keeps the user's name.
 * Terminal-safe. New string. */
char *url_shown(const char *url);
/* The server of a URL, whatever its port and user: its name in lower case; for a path (file:, too) the path. New
 * string. */
char *url_host(const char *url);
/* True where it holds a password, a token as user name (all user names of http), or a query. */
bool url_has_secret(const char *url);

/* A JSON string of s, with U+FFFD for what is no UTF-8; NULL gives NULL, JSON's null. */
struct json_object;
struct json_object *json_text(const char *s);
/* One line for the database, exact but for U+FFFD as above. New string. */
char *json_line(struct json_object *o);
/* For people and their programs: what is not UTF8_PLAIN as \uNNNN, credentials taken out. Ends in a newline. */
void buf_add_json(struct buf *b, struct json_object *o, bool pretty);
void json_print(FILE *out, struct json_object *o, bool pretty);

#endif
