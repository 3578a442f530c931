/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config-internal.h - between the files of the configuration: config.c reads, config-tables.c knows what can be set,
 * config-check.c checks what refers to what, config-unread.c finds files that nobody reads. */
#ifndef KPB_BOT_CONFIG_CONFIG_INTERNAL_H
#define KPB_BOT_CONFIG_CONFIG_INTERNAL_H
#include "bot/config/config.h"
#include "lib/escape.h"
#include "lib/json.h"
#include "lib/yaml.h"

#define TREE_KCONFIG "vm-min"
#define TREE_PROGRAM_KCONFIG "program"  /* in the place of a kconfig, for trees of programs */
#define TREE_COMMAND "make"

#define CONFIG_FILES 3
extern const char *const config_files[CONFIG_FILES];
/* Keys of the top level that are sections; NULL-terminated. */
extern const char *const config_section_names[];

/* The machine of that name, made where there is none yet. */
struct machine *config_machine_slot(struct config *c, const char *name);

/* ---- config-check.c: where is for what has no better place ---- */
void config_check_tree(const struct ynode *where, const struct config *c, const struct tree_config *t,
		       struct mistakes *m);
void config_check_mail(const struct ynode *where, const struct config *c, struct mistakes *m);
void config_check_canary(const struct ynode *where, const struct config *c, const struct machine *x,
			 const struct canary_config *k, struct mistakes *m);
/* What can only be told when all files were read: y are these. */
void config_check_all(const struct config *c, const struct yaml y[CONFIG_FILES], struct mistakes *m);

/* ---- config-unread.c ---- */
/* Files in dir that somebody wrote as configuration and nobody reads. */
void config_check_unread(const char *dir, struct mistakes *m);

#endif
