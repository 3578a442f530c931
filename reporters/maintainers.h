/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maintainers.h - who looks after a file, by the kernel's MAINTAINERS file (its own head describes the format; the
 * rules for F:, X:, N: and K: are those of scripts/get_maintainer.pl). Pure text, made for files of any content: a
 * pattern that takes too much time or memory is passed over, and after MAINTAINERS_S seconds the rest of the file.
 */
#ifndef KPB_REPORTERS_MAINTAINERS_H
#define KPB_REPORTERS_MAINTAINERS_H
#include "lib/buf.h"

#define MAINTAINERS_S 10

enum maintainer_role { MAINTAINER_M, MAINTAINER_R, MAINTAINER_L };
struct maintainer {
	enum maintainer_role role;
	char *name, *address;   /* name "" for lists */
	char *section;          /* "NETWORKING [GENERAL]" */
	int depth;              /* how closely the section's pattern fits: its number of '/' + 1; 0 for K: */
};
struct maintainers {
	struct maintainer *v; size_t n, cap;
	char *left_out;         /* why somebody may be missing: something was passed over; or NULL */
};
void maintainers_release(struct maintainers *m);

/* Everybody for these paths, each address once (with its strongest role), closest sections first, M before R before L
 * inside one section. changed_lines (may be NULL): the patch's added and removed lines, for K: patterns. Lists that
 * take mail from subscribers only are left out, and "THE REST" gives its lists only. */
int maintainers_match(const char *text, size_t len, const struct strv *paths, const char *changed_lines,
		      struct maintainers *ret);
/* One F: or X: pattern. A final '/' takes everything below; else '*' and '?' stay within the pattern's own depth. */
bool maintainers_path_match(const char *pattern, const char *path);

#endif
