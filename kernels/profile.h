/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - what a kernel executed, by function, exactly: the counts that plugin/ brings out of QEMU, named by the
 * build's System.map, kept as one file, and the difference of two.
 *
 *	counts_read_file("boot/profile.counts", &c);            blocks: address, instructions, executions
 *	symbols_read("System.map", &sym);
 *	profile_make(&c, &sym, &p);                             functions: entries, instructions
 *	p.operations = 10870;
 *	profile_write(&p, "profile.zst");
 *	profile_diff(&base, &head, &d);                         instructions per operation, sorted by the size of the
 *	change
 *
 * entries: how often a block began right at the function's address, so calls (a function that loops back to its very
 * first instruction counts those too); those of foo.part.0 only where foo itself is inlined. Instructions of
 * compiler-made parts (foo.isra.0, foo.part.0, foo.cold) belong to
 * foo, as do those of functions inlined into it. Static functions of one name in several files are one row.
 *
 * Where the build has debug information, profile_lines() adds source lines and inlined functions.
 */
#ifndef KPB_KERNELS_PROFILE_H
#define KPB_KERNELS_PROFILE_H
#include "lib/buf.h"

/* ---- counts ---- */
struct count_block {
	uint64_t addr, insns, execs;    /* address 0: user space */
	const uint8_t *size;            /* bytes of each instruction; NULL for user space */
};
struct counts { struct count_block *v; size_t n; uint64_t starts, stops; uint8_t *sizes; };
/* -EBADMSG: damaged, of another version, or with numbers that cannot be. */
int counts_read(const void *data, size_t n, struct counts *ret);
int counts_read_file(const char *path, struct counts *ret);
void counts_release(struct counts *c);

/* ---- symbols ---- */
struct symbol { uint64_t addr; char *name; };
/* text only, by address and then by name; name[]: the same by name */
struct symbols { struct symbol *v; size_t n, cap; uint32_t *name; };
int symbols_parse(const char *text, size_t len, struct symbols *ret);
int symbols_read(const char *system_map, struct symbols *ret);
void symbols_release(struct symbols *s);
/* The name under which a function's address is counted: itself, another name of the same place, or (the copy that the
 * compiler made) "name.isra.0" -> "name". NULL: the kernel has no such function, so it is inlined or was not
 * compiled. */
const char *symbols_counted_as(const struct symbols *s, const char *name);
/* Symbols that are a function: itself and its copies, but not its .part and .cold. Returns how many functions have that
 * name (static ones of several files); 0: none, or only parts of it. */
size_t symbols_of(const struct symbols *s, const char *name, struct strv *ret_or_null);
/* System.map beside an image of the build cache. New string. */
char *symbols_path(const char *image_path);

/* ---- profiles ---- */
struct profile_fn { char *name; uint64_t entries, insns, parts; };     /* parts: entries of .part and .cold, while
									  made */
struct profile_line { char *file; uint32_t line; uint64_t execs; };
struct profile {
	struct profile_fn *fn; size_t n, cap;   /* kernel functions that ran, by name */
	/* only with profile_lines(): instructions of inlined functions wherever they are, by name; executions of each
	 * line (of its instruction that ran most), by file and line */
	struct profile_fn *inlined; size_t n_inlined, cap_inlined;
	struct profile_line *line; size_t n_lines, cap_lines;
	uint64_t insns, user;                   /* all, and of these in user space */
	double operations;                      /* of the benchmark in the counted part; 0: not known */
};
#define PROFILE_OUTSIDE "[outside vmlinux]"     /* modules, BPF programs, entry trampolines */
/* -ENODATA where the marks were not met: counting never began, or was cut off before its end. */
int profile_make(const struct counts *c, const struct symbols *s, struct profile *ret);
const struct profile_fn *profile_get(const struct profile *p, const char *name);
/* Asks binutils' addr2line about each executed instruction; vmlinux (or a file of its debug information) must have
 * DWARF. What was added before a failure stays, so release p then. */
int profile_lines(const struct counts *c, const char *vmlinux, struct profile *p);
void profile_add_inlined(struct profile *p, const char *name, uint64_t insns);
void profile_add_line(struct profile *p, const char *file, uint32_t line, uint64_t execs);
void profile_finish_lines(struct profile *p);   /* after the last profile_add_*() */
const struct profile_fn *profile_get_inlined(const struct profile *p, const char *name);
/* Executions of a line; file is a path inside the tree, which those of the compiler end in. 0: never. */
uint64_t profile_line_execs(const struct profile *p, const char *file, uint32_t line);
/* vmlinux.debug beside an image, or vmlinux; NULL where the build kept none. New string. */
char *debug_path(const char *image_path);
/* Text, zstd-packed: see profile.c. */
int profile_write(const struct profile *p, const char *path_zst);
int profile_read(const char *path_zst, struct profile *ret);
int profile_parse(const char *name, char *text, size_t len, struct profile *ret);      /* text is overwritten */
void profile_release(struct profile *p);
#define _cleanup_profile_ _cleanup_(profile_release)

/* ---- difference ---- */
/* Per operation, base and head; names point into the profiles. */
struct profile_row { const char *name; double entries[2], insns[2], delta; };
struct profile_diff {
	struct profile_row *row; size_t n;      /* kernel functions, the largest |delta| first */
	struct profile_row user, total;
	/* where both have lines: inlined functions, whose instructions are part of those above; entries are not
	 * known */
	struct profile_row *inlined; size_t n_inlined;
};
/* -EINVAL when the operations of one are known and not those of the other. With neither known, per run. */
int profile_diff(const struct profile *base, const struct profile *head, struct profile_diff *ret);
/* The sum of the rows from first on, as "everything else". */
void profile_diff_rest(const struct profile_diff *d, size_t first, struct profile_row *ret);
void profile_diff_release(struct profile_diff *d);

#endif
