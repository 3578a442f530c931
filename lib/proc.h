/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc.h - run other programs. Every child gets its own process group, dies with its parent (PR_SET_PDEATHSIG), and
 * has a deadline; at the deadline the whole group gets SIGTERM, five seconds later SIGKILL.
 *
 *	struct proc_spec p = {.argv = (const char *const[]){"git", "rev-parse", "HEAD", NULL}, .cwd = dir};
 *	_cleanup_(proc_result_release) struct proc_result r = {0};
 *	int e = proc_run(&p, &r);
 *	if (e < 0) ...            could not start (message set), or -ETIMEDOUT
 *	else if (r.status) ...    exit status; 128+N when killed by signal N
 */
#ifndef KPB_LIB_PROC_H
#define KPB_LIB_PROC_H
#include "lib/buf.h"
#include <sys/types.h>

struct proc_spec {
	const char *const *argv;     /* argv[0] is looked up in PATH */
	const char *const *env_add;  /* "NAME=value" on top of the inherited environment, NULL-terminated, or NULL */
	bool env_clear;              /* start from PATH, HOME and LC_ALL=C.UTF-8 only */
	const char *cwd;
	const char *input;           /* fed to stdin, or NULL for /dev/null */
	const char *out_path;        /* stdout and stderr appended to this file, instead of being kept */
	double timeout_s;            /* 0: an hour */
	size_t max_output;           /* bytes kept of each stream; 0: 16 MiB; the rest is dropped and truncated is
					set */
	uint64_t limit_as, limit_fsize, limit_nproc; /* rlimits, 0: as inherited */
	uint64_t limit_data;         /* the same, of memory that is no file's: mapped packs and programs do not count */
	bool no_core;                /* a crash leaves no core and starts no helper of the host */
	const struct proc_ids *ids;  /* a user namespace of its own, or NULL */
	const char *const *groups;   /* control group folders that the child enters, NULL-terminated, or NULL */
	int pass_fd;                 /* > 0: the child has this descriptor as PROC_PASSED_FD */
	volatile const int *cancel;  /* non-zero: the child is stopped, result -ECANCELED; NULL: proc_cancel_on()'s */
};

/*
 * A user namespace in which id 0 is who we are outside and id 1 is a second identity, so that the child (which starts
 * as 0, with all capabilities over what both own and over nothing else) can hand over to 1. No further user namespace
 * can be made in it. root writes the map itself; others do it by newuidmap and newgidmap, for which the ids must be in
 * /etc/subuid and /etc/subgid.
 */
struct proc_ids { uid_t uid; gid_t gid; };      /* what 1 is outside */
#define PROC_PASSED_FD 9

struct proc_result {
	int status;             /* exit status, 128 + signal number when killed */
	struct buf out, err;
	bool truncated;
	double seconds;         /* wall clock */
	double user_s, sys_s;   /* of this child and its waited-for children */
	long max_rss_kb;
};

int proc_run(const struct proc_spec *spec, struct proc_result *ret);
/* The flag that a signal sets in this program: stops every proc_run() that has no flag of its own, and whatever asks
 * proc_cancelled(). */
void proc_cancel_on(volatile const int *flag);
bool proc_cancelled(void);
void proc_result_release(struct proc_result *r);
/* Runs argv, wants exit status 0. The message of a failure holds the command and its last line of stderr. ret_out
 * (may be NULL) gets stdout. */
int proc_ok(const char *const *argv, const char *cwd, struct buf *ret_out);
#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Starts a child without waiting. *ret_pid is its pid and process group. stdin is /dev/null; stdout and stderr go to
 * out_path or, when that is NULL, to where ours go. */
int proc_start(const struct proc_spec *spec, pid_t *ret_pid);
/* waitpid() status -> exit status as in proc_result. */
int proc_status(int wait_status);
/* True where a program of that name is in PATH. */
bool proc_have(const char *program);
/* The last non-empty line of a text as a new string ("" where there is none), at most 300 bytes. */
char *last_line(const char *text);

#endif
