/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * charset.h - texts of other encodings, such as commits with an "encoding" header.
 */
#ifndef KPB_LIB_CHARSET_H
#define KPB_LIB_CHARSET_H
#include "lib/base.h"

/* The text in UTF-8, new string. charset: what it is said to be in, NULL for UTF-8. One that is not known, or UTF-8
 * that is none, is taken for ISO-8859-1, as git mailinfo does; but what has letters in UTF-8 beside is spoilt UTF-8. A
 * byte that means nothing becomes U+FFFD. The name may be a stranger's: only charsets without states and of long
 * standing are given to iconv(3). */
char *utf8_from(const char *s, const char *charset);

#endif
