/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h - test machines: one ops struct per driver (machine-*.c), one call to boot an image and run a script on it.
 *
 * Every phase (prepare, boot, run, collect, release) has a deadline; the console is always kept; a boot that fails
 * always yields a verdict with a named cause and the last console lines; nothing is left running whatever happens to
 * us.
 */
#ifndef KPB_KERNELS_MACHINE_H
#define KPB_KERNELS_MACHINE_H
#include "lib/buf.h"
#include "lib/setting.h"
#include "lib/states.h"

/* A test machine. What only its driver knows is in the driver's own struct, by the driver's own table. */
struct machine {
	char *name, *driver, *tbox_group;
	char *description;              /* for reports; NULL: made by the driver */
	int cpus;
	void *options;                  /* allocated by machine_set_driver(); NULL: no driver yet */
};
/* A machine of that name with its defaults, and its driver (NULL: none yet; machine_set_driver() may follow). */
int machine_init(struct machine *m, const char *name, const char *driver);
/* Another driver has other options: they get their defaults. -EINVAL, which names all drivers, where there is none of
 * that name; the machine then stays as it is. */
int machine_set_driver(struct machine *m, const char *driver);
void machine_release(struct machine *m);
#define _cleanup_machine_ _cleanup_(machine_release)
/* The tables of all that can be set besides the driver: what all machines have, then the driver's own. Ends with {0};
 * ret borrows from m, and is for writing where m is. */
#define MACHINE_PARTS 4
void machine_settings(const struct machine *m, struct settings ret[MACHINE_PARTS]);
/* What is stored of the settings as one line of JSON, new string; and a machine made of a stored one: settings may be
 * NULL or lack keys, which then have their defaults, and may have keys that nobody reads any more. Group and
 * description are not in it. -EINVAL as machine_set_driver(), -EBADMSG where settings is no JSON object. */
char *machine_to_json(const struct machine *m);
int machine_from_json(const char *name, const char *driver, const char *settings, struct machine *ret);

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
	const char *profile_path;       /* gets the counts of all blocks (profile.h); NULL: none; see
					   machine_profile_check() */
	volatile const int *cancel;
};

struct boot_result {
	enum run_verdict verdict;       /* RUN_OK: the script ran to its end, see exit_status; never INCOMPLETE,
					   UNTRUSTED */
	int exit_status;                /* of the script, when verdict is ok */
	char *cause;                    /* e.g. "kernel panic: Attempted to kill init!", NULL when ok */
	char *console_tail;             /* last lines, terminal-safe */
	double boot_seconds;            /* power-on to script start, wall clock */
	double wall_seconds;
	double ns_per_insn;             /* of guest time, where the machine counts instructions; else 0 */
	bool isolated;                  /* what was measured could not reach this host */
};
void boot_result_release(struct boot_result *r);

/* ---- drivers ---- */
#define MACHINE_BOOTS (1u << 0)         /* boots the kernel that was built; else a script runs on a system that is
					   there */
#define MACHINE_NEEDS_ROOT (1u << 1)    /* wants a root image (below) */
#define MACHINE_DETERMINISTIC (1u << 2) /* the same build gives the same numbers to the digit */
#define MACHINE_BUILTIN (1u << 3)       /* works without settings: a machine of the driver's own name is always there */
/* A driver's part of the script that reproduces a case of a kernel (reporters/reproduce.sh). */
struct machine_script {
	const char *how;                /* the script's run_HOW SIDE NUMBER RESULT_FOLDER boots; NULL: the reader, by
					   hand */
	const char *packages;           /* of Debian, what that needs, or NULL */
	struct buf comments;            /* lines "# ..." for its head: what the reader may choose */
	struct buf variables; /* shell text: sets machine_programs (commands that run_HOW wants) and what run_HOW
					   reads, or is run_HOW itself; values by buf_add_shell() */
};
void machine_script_release(struct machine_script *s);
/* Zero where the driver has no part in it. */
void machine_script(const struct machine *m, struct machine_script *ret);

/* Everything that is known of a driver. machine.c lists them; no other code knows one by its name. */
struct machine_ops {
	const char *name, *help;
	const char *measured_on;        /* for reports: one sentence, what such a machine is and what its numbers
					   mean */
	unsigned flags;
	size_t at_once;                 /* so many runs share one machine and do not disturb each other; 0: 1 */
	const struct setting *options;  /* its own settings, for machines.yaml and all that shows or stores them; or
					   NULL */
	size_t options_size;            /* size of their struct, which machine.options points to */
	int (*check)(const struct machine *m);          /* can it work here? message says what to do when not */
	int (*boot)(const struct boot_request *q, struct boot_result *ret);
	char *(*describe)(const struct machine *m);     /* "test machine:" text */
	double (*ns_per_insn)(const struct machine *m); /* of guest time; NULL: it does not count instructions */
	void (*script)(const struct machine *m, struct machine_script *ret); /* NULL: kernels are booted by hand */
	/* Can it count what a guest executes, here and now? NULL: never. See machine_profile_check(). */
	int (*profile_check)(const struct machine *m);
};
const struct machine_ops *machine_driver(const char *name);     /* NULL where there is none */
const struct machine_ops *const *machine_drivers(void);         /* NULL-terminated */
/* The machine of a tree that names none: for programs the first builtin one that boots nothing, for kernels the first
 * that boots and is deterministic. */
const char *machine_default(bool program);
/* Of guest time, 0 where this machine counts no instructions. */
double machine_ns_per_insn(const struct machine *m);
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
