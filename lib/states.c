/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/states.h"

WORDS_DEFINE(build_state, BUILD_STATES, "state of a build");
WORDS_DEFINE(run_verdict, RUN_VERDICTS, "verdict of a run");
