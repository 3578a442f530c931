/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine-internal.h - what machine.c and the drivers share; nobody else includes it. A driver is one file
 * machine-NAME.c with one const struct machine_ops, listed in machine.c; machine-null.c is one to copy.
 */
#ifndef KPB_KERNELS_MACHINE_INTERNAL_H
#define KPB_KERNELS_MACHINE_INTERNAL_H
#include "kernels/machine.h"
#include <sys/types.h>

#define MARK_START "kperfbot: script starts"    /* what the agent says on the console */

/* Sets verdict and cause (made terminal-safe); returns 0, so that a driver's boot can end with it. */
int boot_verdict(struct boot_result *ret, enum run_verdict verdict, const char *fmt, ...) _printf_(3, 4);
/* The last lines of a console, terminal-safe, as a new string. */
char *console_tail(const char *text, size_t len, int lines);

/* Waits for a child that proc_start() made. tick (may be NULL) is called some 40 times a second; true ends the child.
 * After any end but its own the child's whole group is killed. */
enum child_end { CHILD_EXITED, CHILD_DEADLINE, CHILD_CANCELLED };
struct child_watch { volatile const int *cancel; bool (*tick)(void *arg); void *arg; };
enum child_end child_wait(pid_t pid, const struct child_watch *w, int *ret_status);

/* A folder for a boot's own files inside out_dir, locked as long as *ret_lock is open: machine_clean_stale() knows by
 * the lock what is left over. */
#define BOOT_FOLDER ".boot"
int boot_folder_make(const char *out_dir, char **ret_path, int *ret_lock);

/* A program or library of our own: chosen (may be NULL), beside us, or where make or make install puts it. NULL:
 * nowhere. */
char *find_own(const char *name, const char *chosen);

/* What went wrong in the kernel by its console: "kernel panic: ...", "oops: ...", or NULL (new string). */
char *console_failure(const char *text, size_t len);

#endif
