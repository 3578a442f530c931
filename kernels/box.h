/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * box.h - the one place where foreign code runs, and the one way to what it left.
 *
 * A box is a process tree under a uid that owns nothing else (box_whose()), in namespaces of its own: no
 * network, no other processes, and of the file system only what is listed: /usr, a few files of /etc, and the folders
 * that the caller mounts. /proc/sys is read-only, nothing is setuid, no further user namespace can be made, a seccomp
 * filter takes away what no build needs, and limits hold for the whole of it: memory (with what it writes to /tmp),
 * processes, disk, files, output and time. When box_run() comes back nothing in it runs any more.
 *
 * What the box may write belongs to its uid. The host never opens, copies, hashes or removes anything there by its
 * path: folders come and go by box_folder_make() and box_folder_remove(), content leaves by box_export(), which reads
 * inside a box and takes in a stream on the outside. docs/SECURITY.md has the whole picture.
 */
#ifndef KPB_KERNELS_BOX_H
#define KPB_KERNELS_BOX_H
#include "lib/buf.h"

/* Where callers mount things inside. Always the same, so that no path of ours gets into what is built. */
#define BOX "/tmp/kperfbot"

/* BOX_NONE: "sandbox: none" in the configuration. Code runs with our own rights, and who asks for a report is told. */
enum box_mode { BOX_ISOLATED, BOX_NONE };
void box_set_mode(enum box_mode m);
enum box_mode box_mode(void);

/* 0 where boxes work here; else -EPERM or -ENOENT, and the message says what is missing and what to do. Tried once. */
int box_check(void);
/* "uid 1879050000, which has no account": as a new string. */
int box_whose(char **ret);

struct box_mount { const char *host, *inside; bool writable; };

struct box_limits {
	uint64_t memory;        /* bytes, with /tmp; 0: BOX_MEMORY, or 3/4 of what the machine has */
	int64_t disk, inodes;   /* what the writable mounts may hold in all; 0: BOX_DISK, BOX_INODES */
	int64_t output;         /* bytes of the log; 0: BOX_OUTPUT */
	double seconds;         /* 0: none */
};
#define BOX_MEMORY (8ull << 30)
#define BOX_DISK (16ll << 30)
#define BOX_INODES 1000000
#define BOX_OUTPUT (128ll << 20)
#define BOX_PROCESSES 1024

struct box {
	const char *script;             /* for sh -c */
	const struct box_mount *mount;
	size_t n_mounts;
	const char *cwd;                /* inside */
	const char *const *env;         /* all of its environment, NULL-terminated */
	const char *log_path;           /* what it prints is appended there; or NULL: */
	struct buf *out;                /* gets it, at most limits.output; or NULL: */
	int (*take)(void *arg, int fd); /* reads it from a pipe, before anything else is waited for; negative ends it */
	void *take_arg;
	const char *what;               /* for messages: "the build", "the run" */
	struct box_limits limits;
	int nice;
	volatile const int *cancel;
	void (*on_line)(void *arg, const char *line);  /* new lines of the log, terminal-safe; may be NULL */
	void *on_line_arg;
};

/* Which limit was met. */
enum box_stop { BOX_NOT_STOPPED, BOX_TIME, BOX_MEMORY_USED, BOX_TASKS, BOX_DISK_USED, BOX_FILES, BOX_LOG };
struct box_result {
	int status;             /* exit status as of struct proc_result */
	enum box_stop stop;
};
/* The rest of a sentence: "took longer than its time limit". */
const char *box_stop_words(enum box_stop s);

/* 0 whatever the status; -ECANCELED; -EPERM where box_check() fails; other trouble of ours. */
int box_run(const struct box *b, struct box_result *ret);

/* ---- what boxes write: box-files.c ---- */

/* Makes an empty folder that a box may write to, in a folder of ours that others cannot look into. */
int box_folder_make(const char *path);
/* Removes a folder, or whatever a box made of it: 40 nested folders of 200 characters, modes of 0, anything. 0 where
 * there is none. It never leaves path. */
int box_folder_remove(const char *path);
/* Bytes and files below; -errno. */
int box_folder_usage(const char *path, int64_t *ret_bytes, int64_t *ret_files);

struct box_file { const char *from, *name; };   /* path below the box's folder; its name below to_dir */
struct box_export {
	const char *folder;             /* what a box has written */
	const struct box_file *file;
	size_t n;
	const char *to_dir;             /* ours; it is made */
	bool folders_too;               /* from may be a folder: with all in it, links that stay in it kept */
	bool all;                       /* instead of file: all files of the folder itself, nothing below it */
	int64_t max_file, max_bytes;    /* 0: 2 GiB, 4 GiB */
	int64_t max_files;              /* 0: 100,000 */
	volatile const int *cancel;
};
/*
 * Copies out of a box's folder. Modes become 0644, or 0755 where the owner may execute; no other property comes along.
 * Returns 0, or -EBADMSG and *ret_why (new string: "'prog' was not made", "... is neither a file nor a folder", "... is
 * larger than 2048 MiB"): the box's fault, to_dir is removed then; other errors are ours.
 */
int box_export(const struct box_export *x, char **ret_why);

#endif
