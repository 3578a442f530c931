/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernels/box-internal.h - between the box*.c files. */
#ifndef KPB_KERNELS_BOX_INTERNAL_H
#define KPB_KERNELS_BOX_INTERNAL_H
#include "kernels/box.h"
#include "lib/proc.h"

/* box.c */
/* The two identities of a box: 0 is us, BOX_ID the builder. */
int box_ids(struct proc_ids *ret);
#define BOX_ID "1"
/* Runs a program of ours with power over what boxes own (as 0 of their namespace), on paths that only we can write. */
int box_as_owner(const char *const *argv, struct buf *ret_out);
/* The same whatever its status, ended after so many seconds (-ETIMEDOUT). */
int box_run_as_owner(const char *const *argv, double timeout_s, struct proc_result *ret);

/* box-seccomp.c */
/* An unlinked file with the filter as bubblewrap takes it: fd, or -errno. */
int box_filter(void);

/* box-limits.c */
/* How many processes descend from top, and their memory together in bytes. */
void box_descendants(pid_t top, size_t *ret_n, uint64_t *ret_rss);
long box_all_tasks(void);
void box_kill(pid_t bwrap);
/* Control groups that limit processes and memory, as many of the two as we may make; empty where none. */
struct box_groups { struct strv dirs; bool memory, processes; };
void box_groups_make(uint64_t memory, struct box_groups *ret);
/* The limit that was met, if any. */
enum box_stop box_groups_hit(const struct box_groups *g);
void box_groups_drop(struct box_groups *g);

#endif
