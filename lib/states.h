/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * states.h - what becomes of a build and of a run: the builder, the drivers and the parsers say it, the database keeps
 * it.
 */
#ifndef KPB_LIB_STATES_H
#define KPB_LIB_STATES_H
#include "lib/words.h"

/* BROKEN: the commit's fault. INFRA: ours (disk full, no compiler ...); such a build is made again and never stored. */
#define BUILD_STATES(X) X(BUILD_OK, "ok") X(BUILD_BROKEN, "broken") X(BUILD_INFRA, "infra")
WORDS_ENUM(build_state, BUILD_STATES);

/*
 * FAILED: the script or the benchmark ended with an error. INCOMPLETE: it was not set up, or its output is cut off.
 * CRASHED: panic, oops, the guest died. UNTRUSTED: a check failed; the values are kept and never judged. INFRA: ours
 * (no QEMU, disk full ...), which says nothing about the commit.
 */
#define RUN_VERDICTS(X)                                                                                                \
	X(RUN_OK, "ok") X(RUN_FAILED, "failed") X(RUN_INCOMPLETE, "incomplete") X(RUN_BOOT_FAILED, "boot-failed")      \
	X(RUN_TIMEOUT, "timeout") X(RUN_CRASHED, "crashed") X(RUN_UNTRUSTED, "untrusted") X(RUN_INFRA, "infra")
WORDS_ENUM(run_verdict, RUN_VERDICTS);
/* It has values. */
static inline bool run_measured(enum run_verdict v) { return v == RUN_OK || v == RUN_UNTRUSTED; }
/* It failed, and neither by us nor in a check. */
static inline bool run_failed(enum run_verdict v) { return !run_measured(v) && v != RUN_INFRA; }

/*
 * Why a commit of a range was not measured, or cannot be the one that is looked for: by its paths (kernels/tree.h), by
 * its build and runs, or by what a proof has shown. DROPPED_NOT: nothing is known against it.
 */
#define DROPPED(X)                                                                                                     \
	X(DROPPED_NOT, "") X(DROPPED_EMPTY, "empty") X(DROPPED_DOCS, "docs") X(DROPPED_OTHER_ARCH, "other-arch")       \
	X(DROPPED_TOOLS, "tools") X(DROPPED_NOT_BUILT, "not-built") X(DROPPED_SAME_IMAGE, "same-image")                \
	X(DROPPED_NO_BUILD, "no-build") X(DROPPED_NO_BOOT, "no-boot") X(DROPPED_RUNS_FAIL, "runs-fail")                \
	X(DROPPED_OTHER_FAILURE, "other-failure") X(DROPPED_CLEARED, "cleared") X(DROPPED_NAMED, "named")
WORDS_ENUM(dropped, DROPPED);
/* For people, to stand behind the commit: "does not build". */
const char *dropped_text(enum dropped d);

#endif
