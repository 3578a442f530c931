/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * setup.h - what measured a run, besides the commit: compiler, machine and emulator, root image, the benchmark's and
 * the agent's files. Runs with different setups are no replicates, and a step between them is no commit's fault.
 *
 * A setup is a text of lines "name<TAB>value", sorted by name:
 *
 *	compiler	gcc (Debian 12.2.0-14) 12.2.0, GNU ld ...
 *	file init	0b6ecb9aa1c2                    the guest's agent; first 12 digits of the SHA-256
 *	file usr/bin/stress-ng	9f86d081884c
 *	machine	virtual machine, QEMU 7.2.13 TCG, ...
 *	root image	2c26b46b68ff...
 *
 * Two setups differ where a name that both have has two values: runs of before this was noted know less, and differ in
 * nothing from others. The image's own hash counts only where one side has no list of its files.
 */
#ifndef KPB_DB_SETUP_H
#define KPB_DB_SETUP_H
#include "db/store.h"
#include "lib/buf.h"

#define SETUP_FILE "file "
#define SETUP_COMPILER "compiler"

/* Adds a line; tabs, line ends and what is invisible become spaces or \xNN. Values are cut at 300 bytes. NULL:
 * nothing. */
void setup_add(struct strv *l, const char *name, const char *value);
char *setup_text(struct strv *l);               /* sorts l; "" for none */

/* In how many names two setups differ (NULL: nothing is known). skip: a name that does not count, or NULL. */
size_t setup_differs(const char *a, const char *b, const char *skip);
/* "compiler gcc 12 -> gcc 13; files that measure: usr/bin/stress-ng 9f86d081884c -> 0b6ecb9aa1c2 and 3 more"; nothing
 * where they do not differ. */
void setup_words(const char *a, const char *b, struct buf *out);

/* The same of the first of some setups that differs from the newest, v[0], read from the older to the newer. */
struct db_setup;
void setup_words_among(const struct db_setup *v, size_t n, struct buf *out);

/* The setup of a run that is there. */
int store_setup_put(struct store *s, int64_t run, const char *text);
int store_setup_get(struct store *s, int64_t id, char **ret_text);
/* Setups of a build's ok runs, that of the newest run first. Runs of which nothing is known are not among them. */
struct db_setup { int64_t id, runs; char *text; };
void db_setup_release(struct db_setup *p);
int store_setups(struct store *s, int64_t build, const char *job, const char *tbox_group, struct db_setup **ret,
		 size_t *ret_n);
/* Setup of the newest ok run of a tree, configuration and job on a machine; -ENOENT where none is known. */
int store_setup_newest(struct store *s, int64_t tree, const char *kconfig, const char *job, int64_t machine,
		       char **ret_text);
/* The boots of a build's ok runs whose setup differs from one, the compiler apart. */
int store_foreign_boots(struct store *s, int64_t build, const char *job, const char *tbox_group, const char *text,
			struct strv *ret);

#endif
