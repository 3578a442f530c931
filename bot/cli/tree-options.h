/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree-options.h - the options of 'tree add' that are settings of a tree (bot/config.h); what they mean, and what holds
 * without them, stands in its tables. */
#ifndef KPB_BOT_CLI_TREE_OPTIONS_H
#define KPB_BOT_CLI_TREE_OPTIONS_H
#include "bot/config/config.h"
#include "lib/opt.h"

#define TREE_OPTIONS 14
struct tree_option { const char *text; bool flag; struct strv list; char *help; };
struct tree_options { struct tree_option v[TREE_OPTIONS]; };

/* Writes rows for opt_parse() that fill in o, which begins with {0}. */
void tree_options_rows(struct tree_options *o, struct opt ret[TREE_OPTIONS]);
void tree_options_release(struct tree_options *o);
bool tree_options_given(const struct tree_options *o, const char *setting);
/* Sets what was given; an empty text takes a value back. -EINVAL or -ERANGE naming the option. A tree that becomes a
 * program's forgets kconfig and machine. */
int tree_options_apply(const struct tree_options *o, struct tree_config *t);

#endif
