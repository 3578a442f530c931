/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recipients.h - who is to get a report, and why; and the part of the header that says so.
 *
 * A tree names its people, but no address that makes a list server or a mail system act: such ones are left out,
 * whatever the allow-list says, unless the configuration names them. Each person once, most important first, at most
 * cfg->max_recipients. Kept in the database as JSON: [{"address", "name", "header": "To" or "Cc", "reason",
 * "allowed"}], and {"left_out": why} where somebody is left out or cannot be found, which never stops a report: the
 * header says so. Only who passes the allow-list stands in To: and Cc:; the others stand in X-kperfbot-would-go-to:
 * lines, so that no mail program can be tricked into mailing them.
 */
#ifndef KPB_REPORTERS_RECIPIENTS_H
#define KPB_REPORTERS_RECIPIENTS_H
#include "reporters/facts.h"
#include "reporters/report.h"

struct recipient { char *name, *address, *reason; bool to; };
struct recipients {
	struct recipient *v; size_t n, cap;
	size_t cut;             /* left out by the limit */
	size_t acting;          /* left out: mail_address_acts() */
	char *left_out;         /* why somebody may be missing; or NULL */
};
void recipients_release(struct recipients *r);
void recipients_of(const struct facts *f, const char *git_dir, const struct report_config *cfg, struct recipients *ret);
char *recipients_json(const struct recipients *r, const struct report_config *cfg);
int recipients_parse(const char *json, struct recipients *ret);
/* To:, Cc:, X-kperfbot-would-go-to:, X-kperfbot-reason: and X-kperfbot-left-out: lines under the allow-list of cfg.
 * Always begins with "To: ". */
void recipients_header(const struct recipients *r, const struct report_config *cfg, struct buf *out);

#endif
