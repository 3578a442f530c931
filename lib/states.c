/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/states.h"

WORDS_DEFINE(build_state, BUILD_STATES, "state of a build");
WORDS_DEFINE(run_verdict, RUN_VERDICTS, "verdict of a run");

WORDS_DEFINE(dropped, DROPPED, "reason to drop a commit");

const char *dropped_text(enum dropped d)
{
	static const char *const texts[] = {
		[DROPPED_NOT] = "can matter",
		[DROPPED_EMPTY] = "changes no file",
		[DROPPED_DOCS] = "documentation only",
		[DROPPED_OTHER_ARCH] = "other architecture",
		[DROPPED_TOOLS] = "user-space tools only",
		[DROPPED_NOT_BUILT] = "nothing built for x86",
		[DROPPED_SAME_IMAGE] = "same image as its parent",
		[DROPPED_NO_BUILD] = "does not build",
		[DROPPED_NO_BOOT] = "builds, but does not boot",
		[DROPPED_RUNS_FAIL] = "builds, but its runs fail",
		[DROPPED_OTHER_FAILURE] = "fails in another way",
		[DROPPED_CLEARED] = "measured again, it does not differ from its parent",
		[DROPPED_NAMED] = "a culprit that was found before",
	};

	return d < ARRAY_SIZE(texts) ? texts[d] : "?";
}
