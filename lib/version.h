/* SPDX-License-Identifier: GPL-2.0-or-later */
/* version.h - this program's version, from the file VERSION. */
#ifndef KPB_LIB_VERSION_H
#define KPB_LIB_VERSION_H

extern const char kperfbot_version[];   /* "0.1.0" */

#endif
