/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unit.h - units of printed figures. Programs choose them by size ("999 us", then "1.2 ms"), so figures can only be
 * laid side by side after a look at their units.
 *
 * A unit is [prefix]base[/per]: bases s, B (bytes), b or bit, op, p and pkt (packets), Hz and none ("12.3 M", "K/s");
 * per s or op. "Mbps" and "pps" are per second. Letters are case-sensitive where it matters: Kb is bits, KB is bytes. K
 * and k are 1000 (SI), Ki is 1024 (IEC 80000-13); n, u, m go with times alone, the others with all but times.
 */
#ifndef KPB_LIB_UNIT_H
#define KPB_LIB_UNIT_H
#include "lib/base.h"

struct unit {
	const char *base;       /* what is counted, as a unit without prefix: "B/s"; static */
	double scale;           /* one of these is so many of base */
};
/* false: none that is known. "" is one: a plain count. */
bool unit_parse(const char *word, struct unit *ret);
/* How many `to` one `from` is; false where they count different things or one of them is not known. */
bool unit_factor(const char *from, const char *to, double *ret);

#endif
