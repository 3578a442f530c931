/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/version.h"

const char kperfbot_version[] = KPB_VERSION;
