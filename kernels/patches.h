/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patches.h - a patch series as a commit: read from mails and applied on a base in the mirror, so that everything else
 * deals with commits only.
 *
 *	struct patches s = {0};
 *	struct patched p = {0};
 *	patches_read("changli.mbox", &s);
 *	patches_apply(git_dir, base, &s, true, &p);          p.oid is base with the series on top
 *	patched_release(&p);
 *	patches_release(&s);
 *
 * Applied as "git am" does, by the commands that it is made of, without a checkout: nothing is written but objects and
 * one reference of the mirror and the folder GIT_DIR.patching, which the next call removes after a kill. No hook, no
 * signature, no configuration of a user. Authors and their dates are the mails'; the committer is kperfbot at the
 * base's date, so the same base and series give the same ids everywhere. The mails may hold anything: what git does not
 * take (paths with "..", ".git", absolute ones) is refused, a diff must fit exactly, sizes are limited.
 */
#ifndef KPB_KERNELS_PATCHES_H
#define KPB_KERNELS_PATCHES_H
#include "lib/buf.h"
#include "lib/fs.h"

/* Who commits what we apply. */
#define PATCH_COMMITTER_NAME "kperfbot"
#define PATCH_COMMITTER_MAIL "kperfbot@localhost"

struct patch_file { char *name; struct buf text; };
struct patches {
	char *name;                     /* fs_word() of the path */
	char hash[SHA256_HEX];          /* of the files' contents in their order */
	struct patch_file *v; size_t n, cap;
	bool listed;                    /* somebody wrote down the files in their order */
};
/* path: an mbox or one mail; a folder with a file "series" that lists patch files, or else of *.patch, *.eml and *.mbox
 * in the order of their names; or such a list itself, whose files are in its folder or below. */
int patches_read(const char *path, struct patches *ret);
void patches_release(struct patches *s);

struct patched {
	char *oid;
	size_t patches;                 /* commits made of it; cover letters and answers in the mbox make none */
	bool known;                     /* was there already */
	char *note;                     /* what was passed over that might be missed, or NULL; not when it was known */
};
void patched_release(struct patched *p);
/* What is applied, and in which order, is what the mails' subjects say (kernels/patches-series.h): all numbers of the
 * newest version, no cover letters, no answers. base: full id. Kept under refs/kperfbot/patched/ for good. -ENOTSUP
 * where a patch does not apply or is none, where numbers are missing or twice, or where the mails are several series:
 * the message names them. While that mirror is fetched: waits, or without wait -EWOULDBLOCK. */
int patches_apply(const char *git_dir, const char *base, const struct patches *s, bool wait, struct patched *ret);

#endif
