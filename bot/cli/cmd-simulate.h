/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd-simulate.h - the part of "kperfbot bisect" that plays searches. argv[0] is the word "simulate". */
#ifndef KPB_BOT_CLI_CMD_SIMULATE_H
#define KPB_BOT_CLI_CMD_SIMULATE_H
#include "bot/cli/verb.h"

int cmd_bisect_simulate(int argc, char **argv, struct ctx *ctx);

#endif
