/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patches-series.h - which of a mailbox's mails are the series, and in which order: what their subjects say. No I/O.
 * Private to kernels/.
 */
#ifndef KPB_KERNELS_PATCHES_SERIES_H
#define KPB_KERNELS_PATCHES_SERIES_H
#include "lib/base.h"

/*
 * "[RFC PATCH net-next v2 2/3] ...", "[PATCH v6,00/24]", "[PATCHv2 1/2]", "[v3,1/2]", "[RESEND PATCH]",
 * "[list] Re: [PATCH] ...": all brackets in front count, and what is in them in any order.
 */
struct patch_subject {
	bool answer;            /* Re:, AW:, Fwd: and so on */
	bool rfc, resend, numbered;
	unsigned number, total; /* 0 of 3 is a cover letter */
	double version;         /* 1 where there is none; 2.1 is one */
	const char *rest;       /* behind the brackets, in subject */
};
void patch_subject_parse(const char *subject, struct patch_subject *ret);

struct series_mail {
	char *subject;                  /* decoded, with its brackets; "" for none */
	char *id, *parent;              /* Message-ID, what it is an answer to; "" for none */
	const char *file;               /* of the series, as mail is in one of them */
	size_t file_index;
	bool has_diff, has_author;
};
/*
 * Patches in the order in which they have to be applied: answers (by their subject, or because they answer a patch),
 * cover letters, copies, and versions older than the newest are none of it. -ENOTSUP, with a message that says what is
 * there, where numbers are missing or twice, where the mails belong to several series, or where a mail that should be a
 * patch has no diff. listed: somebody wrote down these files in this order (a file "series"): where each holds one
 * patch, these are taken as they are. ret_order: new array of indices; ret_note: what was passed over that might be
 * missed (new string), or NULL.
 */
int series_pick(const char *name, const struct series_mail *mails, size_t n, bool listed, size_t **ret_order,
		size_t *ret_n, char **ret_note);

#endif
