/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h - test machines: one ops struct per driver (machine-*.c), one call to boot an image and run a script on it.
 *
 * Every phase (prepare, boot, run, collect, release) has a deadline; the console is always kept; a boot that fails always
 * yields a verdict with a named cause and the last console lines; nothing is left running whatever happens to us.
 */
#ifndef KPB_KERNELS_MACHINE_H
#define KPB_KERNELS_MACHINE_H
#include "lib/buf.h"
#include "lib/states.h"

struct machine {
	char *name, *driver, *tbox_group;
	int cpus, memory_mb;
	int icount_shift;               /* qemu-icount only; an instruction takes 2^shift ns; < 0: driver's default */
	char *qemu;                     /* program; default qemu-system-x86_64 */
	char *append;                   /* more kernel arguments */
	double boot_timeout_s;          /* 0: driver's default */
	char *description;              /* for reports; NULL: made by the driver */
};
void machine_release(struct machine *m);

struct boot_request {
	const struct machine *machine;
	const char *image;              /* bzImage; driver local: the artefact of a program build, or NULL */
	const char *root_image;         /* initramfs cpio; not used by local */
	const char *script;             /* text of the rendered job */
	double script_timeout_s;
	const char *const *env;         /* NAME=value for the script, NULL-terminated, or NULL */
	int64_t perturb;                /* replicate number -> $KPB_PERTURB */
	const char *out_dir;            /* gets console.log and result/ with the script's files */
	bool trusted;                   /* local: runs with our own rights and the host's network, else in a box */
	const char *profile_path;       /* gets the counts of all blocks (profile.h); NULL: none; see machine_profile_check() */
	volatile const int *cancel;
};

struct boot_result {
	enum run_verdict verdict;       /* RUN_OK: the script ran to its end, see exit_status; never INCOMPLETE, UNTRUSTED */
	int exit_status;                /* of the script, when verdict is ok */
	char *cause;                    /* e.g. "kernel panic: Attempted to kill init!", NULL when ok */
	char *console_tail;             /* last lines, terminal-safe */
	double boot_seconds;            /* power-on to script start, wall clock */
	double wall_seconds;
	double icount_ns_per_insn;      /* 2^shift, or 0 */
	bool isolated;                  /* what was measured could not reach this host */
};
void boot_result_release(struct boot_result *r);

/* ---- drivers ---- */
#define MACHINE_BOOTS (1u << 0)         /* boots the kernel that was built; else the script runs on a system that is there */
#define MACHINE_NEEDS_ROOT (1u << 1)    /* wants a root image (below) */
#define MACHINE_DETERMINISTIC (1u << 2) /* the same build gives the same numbers to the digit */
#define MACHINE_BUILTIN (1u << 3)       /* works without settings: a machine of the driver's own name is always there */
/* Everything that is known of a driver. machine.c lists them; no other code knows one by its name. */
struct machine_ops {
	const char *name, *help;
	const char *measured_on;        /* for reports: one sentence, what such a machine is and what its numbers mean */
	unsigned flags;
	size_t at_once;                 /* so many runs share one machine and do not disturb each other; 0: 1 */
	int (*check)(const struct machine *m);          /* can it work here? message says what to do when not */
	int (*boot)(const struct boot_request *q, struct boot_result *ret);
	char *(*describe)(const struct machine *m);     /* "test machine:" text */
	/* Can it count what a guest executes, here and now? NULL: never. See machine_profile_check(). */
	int (*profile_check)(const struct machine *m);
};
const struct machine_ops *machine_driver(const char *name);     /* NULL where there is none */
const struct machine_ops *const *machine_drivers(void);         /* NULL-terminated */
/* The machine of a tree that names none: for programs the first builtin one that boots nothing, for kernels the first
 * that boots and is deterministic. */
const char *machine_default(bool program);
/* Calls the driver; returns 0 also for failed boots (see verdict), negative only when there is no such driver. */
int machine_boot(const struct boot_request *q, struct boot_result *ret);
/* 0 where this machine can count what a guest executes (profile_path): exactly and the same each time where it is
 * deterministic, else right about what ran but not repeatable. Else -ENOTSUP or -ENOENT and why not. */
int machine_profile_check(const struct machine *m);
/* Removes what a killed worker left behind (temporary folders; processes die by themselves). */
void machine_clean_stale(const char *state_dir);

/* ---- root image ---- */
/* An initramfs of Debian packages' files and our agent, content-addressed in cache_dir/root; built when an input
 * changed. programs: commands it must hold besides the basic set (NULL-terminated, or NULL). */
struct root_image {
	char *path, *hash;
	char *files;                    /* lines "path<TAB>first 12 digits of the SHA-256" of what came from the host */
	double seconds; int64_t bytes; bool cached;
};
void root_image_release(struct root_image *r);
int root_image_make(const char *cache_dir, const char *const *programs, struct root_image *ret);
/* The same for a machine without root image: "path<TAB>SIZE bytes of DATE" of the host's own programs, those that are
 * there. */
void host_program_files(const char *const *programs, struct buf *ret);

#endif
