/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * yaml.h - YAML files as a small read-only tree that knows line and column of every node, on top of libyaml. Anchors,
 * aliases and << merge keys are resolved. Limits guard against hostile files: 4 MiB, 100 levels, 1000 anchors in a
 * document, and, with all that aliases repeat, 100,000 nodes and 16 MiB of text. No line may begin with % (directives).
 *
 *	struct yaml y = {0};
 *	r = yaml_load_file("etc/trees.yaml", &y);
 *	const struct ynode *url = ynode_get(y.doc[0], "url");
 *	if (url && url->kind != Y_SCALAR) return ynode_err(url, -EINVAL, "'url' takes one text");
 *	yaml_release(&y);
 */
#ifndef KPB_LIB_YAML_H
#define KPB_LIB_YAML_H
#include "lib/base.h"

enum ykind { Y_NULL, Y_SCALAR, Y_LIST, Y_MAP };

struct ynode {
	enum ykind kind;
	const char *text;       /* Y_SCALAR: its text; "" for Y_NULL */
	bool quoted;            /* the scalar stood in quotes */
	size_t n;               /* children */
	struct ynode **key;     /* Y_MAP only: key[i] is a scalar */
	struct ynode **val;     /* Y_MAP and Y_LIST */
	const char *file;
	int line, col;          /* from 1 */
};

struct yaml {
	char *file;
	struct ynode **doc;     /* one per --- document */
	size_t n_docs;
	void *arena;            /* all nodes and texts */
};

/* name is used in messages. On a syntax error: -EINVAL and "file:line:column: what". */
int yaml_load_text(const char *name, const char *text, size_t len, struct yaml *ret);
int yaml_load_file(const char *path, struct yaml *ret);
void yaml_release(struct yaml *y);
/* Value of a key in a map, NULL when n is NULL, no map, or has no such key. */
const struct ynode *ynode_get(const struct ynode *n, const char *key);
const char *ynode_text(const struct ynode *n, const char *key, const char *dflt);
/* err_set() with "file:line:column: " in front; n may be NULL: it stands nowhere. */
int ynode_err(const struct ynode *n, int r, const char *fmt, ...) _printf_(3, 4);

#endif
