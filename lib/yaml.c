/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/yaml.h"
#include "lib/fs.h"

#include <libfyaml.h>

#define MAX_BYTES (4u << 20)
#define MAX_DEPTH 100
#define MAX_NODES 100000

struct arena { void **block; size_t n, cap, nodes; };

static void *arena_alloc(struct arena *a, size_t n)
{
	GROW(a->block, a->n, a->cap);
	return a->block[a->n++] = xcalloc(1, n);
}

static char *arena_str(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (n)
		memcpy(p, s, n);
	return p;
}

int ynode_err(const struct ynode *n, int r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return n ? err_set(r, "%s:%d:%d: %s", n->file, n->line, n->col, text) : err_set(r, "%s", text);
}

static void place(struct ynode *n, struct fy_node *fyn)
{
	struct fy_token *t = fy_node_get_type(fyn) == FYNT_SCALAR ? fy_node_get_scalar_token(fyn) : NULL;
	const struct fy_mark *m = t ? fy_token_start_mark(t) : NULL;

	if (m) {
		n->line = m->line + 1;
		n->col = m->column + 1;
	}
}

/* Where a container starts: at its first key or element. */
static void place_container(struct ynode *n)
{
	const struct ynode *first = n->n ? (n->kind == Y_MAP ? n->key[0] : n->val[0]) : NULL;

	if (first) {
		n->line = first->line;
		n->col = first->col;
	}
}

static int convert(struct arena *a, const char *file, struct fy_node *fyn, int depth, struct ynode **ret);

static int add_pair(struct arena *a, const char *file, struct ynode *n, struct fy_node_pair *p, int depth)
{
	struct ynode *k, *v;
	int r = convert(a, file, fy_node_pair_key(p), depth + 1, &k);

	if (r == 0)
		r = convert(a, file, fy_node_pair_value(p), depth + 1, &v);
	if (r < 0)
		return r;
	if (k->kind != Y_SCALAR)
		return ynode_err(k->line ? k : v, -EINVAL, "a key must be plain text");
	if (v->kind != Y_SCALAR && !v->n) { /* nothing in it tells where it is */
		v->line = k->line;
		v->col = k->col;
	}
	n->key[n->n] = k;
	n->val[n->n++] = v;
	return 0;
}

static int convert(struct arena *a, const char *file, struct fy_node *fyn, int depth, struct ynode **ret)
{
	struct ynode *n = arena_alloc(a, sizeof(*n));
	const char *s;
	size_t len;
	int count, r;

	n->file = file;
	n->line = n->col = 1;
	n->text = "";
	if (depth > MAX_DEPTH || ++a->nodes > MAX_NODES)
		return err_set(-EFBIG, "%s: more than %d levels or %d values", file, MAX_DEPTH, MAX_NODES);
	*ret = n;
	if (!fyn)
		return 0;
	place(n, fyn);
	switch (fy_node_get_type(fyn)) {
	case FYNT_SCALAR:
		s = fy_node_get_scalar(fyn, &len);
		n->kind = Y_SCALAR;
		n->quoted = fy_node_get_style(fyn) != FYNS_PLAIN;
		if (!s || (!n->quoted && (!len || (len == 1 && *s == '~') || (len == 4 && !memcmp(s, "null", 4)))))
			n->kind = Y_NULL;
		n->text = n->kind == Y_SCALAR ? arena_str(a, s, len) : "";
		if (n->kind == Y_SCALAR && strlen(n->text) != len)
			return ynode_err(n, -EINVAL, "a NUL byte in a text");
		return 0;
	case FYNT_SEQUENCE:
		n->kind = Y_LIST;
		count = fy_node_sequence_item_count(fyn);
		n->val = arena_alloc(a, sizeof(*n->val) * MAX(count, 1));
		for (int i = 0; i < count; i++) {
			r = convert(a, file, fy_node_sequence_get_by_index(fyn, i), depth + 1, &n->val[n->n]);
			if (r < 0)
				return r;
			n->n++;
		}
		break;
	case FYNT_MAPPING:
		n->kind = Y_MAP;
		count = fy_node_mapping_item_count(fyn);
		n->key = arena_alloc(a, sizeof(*n->key) * MAX(count, 1));
		n->val = arena_alloc(a, sizeof(*n->val) * MAX(count, 1));
		for (int i = 0; i < count; i++) {
			r = add_pair(a, file, n, fy_node_mapping_get_by_index(fyn, i), depth);
			if (r < 0)
				return r;
		}
		break;
	}
	place_container(n);
	return 0;
}

/* libfyaml's first complaint as "file:line:column: text". */
static int syntax_error(const char *name, struct fy_diag *diag)
{
	void *prev = NULL;
	struct fy_diag_error *e = fy_diag_errors_iterate(diag, &prev);

	if (!e)
		return err_set(-EINVAL, "%s: not valid YAML", name);
	return err_set(-EINVAL, "%s:%d:%d: %s", name, e->line, e->column, e->msg);
}

int yaml_load_text(const char *name, const char *text, size_t len, struct yaml *ret)
{
	struct fy_diag_cfg dcfg;
	struct fy_diag *diag;
	struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_RESOLVE_DOCUMENT |
					    FYPCF_DEFAULT_VERSION_1_1};
	struct arena *a = xcalloc(1, sizeof(*a));
	struct yaml y = {.file = xstrdup(name), .arena = a};
	struct fy_document *fyd;
	struct fy_parser *fyp;
	size_t cap = 0;
	int r = 0;

	if (len > MAX_BYTES || memchr(text, 0, len)) {
		yaml_release(&y);
		return err_set(-EINVAL, "%s: %s", name, len > MAX_BYTES ? "larger than 4 MiB" : "holds a NUL byte");
	}
	fy_diag_cfg_default(&dcfg);
	dcfg.fp = NULL;
	dcfg.output_fn = NULL;
	diag = fy_diag_create(&dcfg);
	fy_diag_set_collect_errors(diag, true);
	cfg.diag = diag;
	fyp = fy_parser_create(&cfg);
	if (!fyp || fy_parser_set_string(fyp, text, len) < 0)
		r = err_set(-EINVAL, "%s: cannot be read as YAML", name);
	while (r == 0 && (fyd = fy_parse_load_document(fyp))) {
		GROW(y.doc, y.n_docs, cap);
		r = convert(a, y.file, fy_document_root(fyd), 0, &y.doc[y.n_docs]);
		y.n_docs += r == 0;
		fy_parse_document_destroy(fyp, fyd);
	}
	if (r == 0 && (fy_diag_got_error(diag) || (fyp && fy_parser_get_stream_error(fyp))))
		r = syntax_error(name, diag);
	fy_parser_destroy(fyp);
	fy_diag_destroy(diag);
	if (r < 0) {
		yaml_release(&y);
		return r;
	}
	*ret = y;
	return 0;
}

int yaml_load_file(const char *path, struct yaml *ret)
{
	_cleanup_buf_ struct buf b = {0};
	int r = fs_read(path, MAX_BYTES + 1, &b);

	return r < 0 ? r : yaml_load_text(path, buf_str(&b), b.len, ret);
}

void yaml_release(struct yaml *y)
{
	struct arena *a = y->arena;

	for (size_t i = 0; a && i < a->n; i++)
		free(a->block[i]);
	if (a)
		free(a->block);
	free(a);
	free(y->doc);
	free(y->file);
	*y = (struct yaml){0};
}

const struct ynode *ynode_get(const struct ynode *n, const char *key)
{
	for (size_t i = 0; n && n->kind == Y_MAP && i < n->n; i++)
		if (!strcmp(n->key[i]->text, key))
			return n->val[i];
	return NULL;
}

const char *ynode_text(const struct ynode *n, const char *key, const char *dflt)
{
	const struct ynode *v = ynode_get(n, key);

	return v && v->kind == Y_SCALAR ? v->text : dflt;
}
