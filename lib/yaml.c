/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/yaml.h"
#include "lib/fs.h"

#include <yaml.h>

#define MAX_BYTES (4u << 20)
#define MAX_DEPTH 100
#define MAX_NODES 100000
#define MAX_TEXT (16u << 20)    /* of all scalars, with those that aliases repeat */
#define MAX_ANCHORS 1000

/* Nodes that aliases repeat are shared, so the tree is one in its reading only; the size is that of the reading. */
struct owned_node {
	struct ynode n;
	size_t cap, size, bytes;
	bool open;              /* its end has not come */
	char *text;
};
struct arena { struct owned_node **v; size_t n, cap; };

int ynode_err(const struct ynode *n, int r, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	char raw[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	text = term_safe(raw);
	return n ? err_set(r, "%s:%d:%d: %s", n->file, n->line, n->col, text) : err_set(r, "%s", text);
}

/* A container is where its first key or element is. */
static void place_container(struct ynode *n)
{
	const struct ynode *first = n->n ? (n->kind == Y_MAP ? n->key[0] : n->val[0]) : NULL;

	if (first) {
		n->line = first->line;
		n->col = first->col;
	}
}

struct anchor { char *name; struct owned_node *n; };

/* Built from the parser's events, so that a limit is met before memory is taken. */
struct loader {
	struct yaml *y;
	struct arena *a;
	size_t cap_docs, nodes, bytes;
	struct { struct owned_node *n; struct ynode *key; } open[MAX_DEPTH];
	size_t depth;
	struct anchor anchor[MAX_ANCHORS];
	size_t n_anchors;
};

static void forget_anchors(struct loader *l)
{
	while (l->n_anchors)
		free(l->anchor[--l->n_anchors].name);
}

static int too_large(const struct loader *l)
{
	return err_set(-EFBIG, "%s: more than %d levels, %d values, %u bytes of text or %d anchors", l->y->file,
		       MAX_DEPTH, MAX_NODES, MAX_TEXT, MAX_ANCHORS);
}

/* Takes so much of what a file may hold. */
static int charge(struct loader *l, size_t nodes, size_t bytes)
{
	if (nodes > MAX_NODES - l->nodes || bytes > MAX_TEXT - l->bytes)
		return too_large(l);
	l->nodes += nodes;
	l->bytes += bytes;
	return 0;
}

static int new_node(struct loader *l, enum ykind kind, const yaml_event_t *e, struct owned_node **ret)
{
	struct owned_node *n;

	if (charge(l, 1, 0) < 0)
		return -EFBIG;
	n = xcalloc(1, sizeof(*n));
	n->n = (struct ynode){.kind = kind, .text = "", .file = l->y->file, .line = (int)e->start_mark.line + 1,
			      .col = (int)e->start_mark.column + 1};
	n->size = 1;
	GROW(l->a->v, l->a->n, l->a->cap);
	*ret = l->a->v[l->a->n++] = n;
	return 0;
}

static int note_anchor(struct loader *l, const yaml_char_t *name, struct owned_node *n)
{
	if (!name)
		return 0;
	if (l->n_anchors == MAX_ANCHORS)
		return too_large(l);
	l->anchor[l->n_anchors++] = (struct anchor){xstrdup((const char *)name), n};
	return 0;
}

/* The latest anchor of that name. */
static int find_alias(struct loader *l, const yaml_event_t *e, struct owned_node **ret)
{
	const struct ynode here = {.file = l->y->file, .line = (int)e->start_mark.line + 1,
				   .col = (int)e->start_mark.column + 1};

	for (size_t i = l->n_anchors; i--;) {
		struct anchor *a = &l->anchor[i];

		if (!streq(a->name, (const char *)e->data.alias.anchor))
			continue;
		if (a->n->open)
			return ynode_err(&here, -EINVAL, "an alias inside of what it stands for");
		if (charge(l, a->n->size, a->n->bytes) < 0)
			return -EFBIG;
		*ret = a->n;
		return 0;
	}
	return ynode_err(&here, -EINVAL, "an alias of no anchor");
}

static int scalar(struct loader *l, const yaml_event_t *e, struct owned_node **ret)
{
	const char *s = (const char *)e->data.scalar.value;
	size_t len = e->data.scalar.length;
	bool quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	bool null = !quoted && (!*s || streq(s, "~") || streq(s, "null"));
	struct owned_node *n;
	int r = new_node(l, null ? Y_NULL : Y_SCALAR, e, &n);

	if (r < 0 || (r = charge(l, 0, len)) < 0)
		return r;
	n->bytes = len;
	n->n.quoted = quoted;
	if (strlen(s) != len)
		return ynode_err(&n->n, -EINVAL, "a NUL byte in a text");
	if (!null)
		n->n.text = n->text = xstrndup(s, len);
	*ret = n;
	return note_anchor(l, e->data.scalar.anchor, n);
}

static void append(struct owned_node *to, struct ynode *key, struct ynode *val)
{
	size_t old = to->cap;

	GROW(to->n.val, to->n.n, to->cap);
	if (to->n.kind == Y_MAP) {
		if (to->cap != old)
			to->n.key = xrealloc_array(to->n.key, to->cap, sizeof(*to->n.key));
		to->n.key[to->n.n] = key;
	}
	to->n.val[to->n.n++] = val;
	to->size += ((struct owned_node *)val)->size + (key ? ((struct owned_node *)key)->size : 0);
	to->bytes += ((struct owned_node *)val)->bytes + (key ? ((struct owned_node *)key)->bytes : 0);
}

/* A whole value: into the container that is open, or a document. alias: it has its place already. */
static int add_value(struct loader *l, struct owned_node *v, bool alias)
{
	struct owned_node *to = l->depth ? l->open[l->depth - 1].n : NULL;
	struct ynode **key = l->depth ? &l->open[l->depth - 1].key : NULL;

	if (!to) {
		GROW(l->y->doc, l->y->n_docs, l->cap_docs);
		l->y->doc[l->y->n_docs++] = &v->n;
		return 0;
	}
	if (to->n.kind == Y_MAP && !*key) {
		if (v->n.kind != Y_SCALAR)
			return ynode_err(&v->n, -EINVAL, "a key must be plain text");
		*key = &v->n;
		return 0;
	}
	if (to->n.kind == Y_MAP && !alias && v->n.kind != Y_SCALAR && !v->n.n) { /* at its key */
		v->n.line = (*key)->line;
		v->n.col = (*key)->col;
	}
	append(to, *key, &v->n);
	*key = NULL;
	return 0;
}

static int begin(struct loader *l, enum ykind kind, const yaml_event_t *e, const yaml_char_t *anchor)
{
	struct owned_node *n;

	if (l->depth == MAX_DEPTH)
		return too_large(l);
	if (new_node(l, kind, e, &n) < 0)
		return -EFBIG;
	n->open = true;
	l->open[l->depth].n = n;
	l->open[l->depth++].key = NULL;
	return note_anchor(l, anchor, n);
}

static int by_text(const void *a, const void *b)
{
	const struct ynode *x = *(struct ynode *const *)a, *y = *(struct ynode *const *)b;
	int c = strcmp(x->text, y->text);

	return c ? c : x->line != y->line ? x->line - y->line : x->col - y->col;
}

static int refuse_doubles(const struct ynode *n)
{
	_cleanup_free_ struct ynode **key = xcalloc(n->n, sizeof(*key));

	for (size_t i = 0; i < n->n; i++)
		key[i] = n->key[i];
	qsort(key, n->n, sizeof(*key), by_text);
	for (size_t i = 1; i < n->n; i++)
		if (streq(key[i - 1]->text, key[i]->text))
			return ynode_err(key[i], -EINVAL, "duplicate key");
	return 0;
}

/* What a map has not got itself. */
static int merge_map(struct loader *l, struct owned_node *n, const struct ynode *from)
{
	if (from->kind != Y_MAP)
		return ynode_err(from, -EINVAL, "<< takes maps");
	for (size_t i = 0; i < from->n; i++) {
		struct owned_node *k = (struct owned_node *)from->key[i], *v = (struct owned_node *)from->val[i];

		if (charge(l, k->size + v->size, k->bytes + v->bytes) < 0)
			return -EFBIG;
		if (!ynode_get(&n->n, k->n.text))
			append(n, &k->n, &v->n);
	}
	return 0;
}

static int merge_keys(struct loader *l, struct owned_node *n)
{
	struct ynode *from = NULL;
	int r = 0;

	for (size_t i = 0; i < n->n.n; i++) {
		if (!from && streq(n->n.key[i]->text, "<<") && !n->n.key[i]->quoted) {
			from = n->n.val[i];
		} else if (from) {
			n->n.key[i - 1] = n->n.key[i];
			n->n.val[i - 1] = n->n.val[i];
		}
	}
	if (!from)
		return 0;
	n->n.n--;
	if (from->kind != Y_LIST)
		return merge_map(l, n, from);
	for (size_t i = 0; r == 0 && i < from->n; i++)
		r = merge_map(l, n, from->val[i]);
	return r;
}

static int end(struct loader *l)
{
	struct owned_node *n = l->open[--l->depth].n;
	int r = 0;

	if (n->n.kind == Y_MAP && (r = refuse_doubles(&n->n)) == 0)
		r = merge_keys(l, n);
	n->open = false;
	place_container(&n->n);
	return r < 0 ? r : add_value(l, n, false);
}

static int take_event(struct loader *l, const yaml_event_t *e)
{
	struct owned_node *n = NULL;
	int r;

	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		forget_anchors(l);
		return 0;
	case YAML_SCALAR_EVENT:
		r = scalar(l, e, &n);
		return r < 0 ? r : add_value(l, n, false);
	case YAML_ALIAS_EVENT:
		r = find_alias(l, e, &n);
		return r < 0 ? r : add_value(l, n, true);
	case YAML_SEQUENCE_START_EVENT: return begin(l, Y_LIST, e, e->data.sequence_start.anchor);
	case YAML_MAPPING_START_EVENT: return begin(l, Y_MAP, e, e->data.mapping_start.anchor);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT: return end(l);
	default: return 0;
	}
}

static int syntax_error(const char *name, const yaml_parser_t *p)
{
	_cleanup_free_ char *safe = term_safe(p->problem ? p->problem : "not valid YAML");

	if (p->error == YAML_READER_ERROR)
		return err_set(-EINVAL, "%s: byte %zu: %s", name, p->problem_offset, safe);
	return err_set(-EINVAL, "%s:%zu:%zu: %s", name, p->problem_mark.line + 1, p->problem_mark.column + 1, safe);
}

static int take_events(yaml_parser_t *p, struct loader *l)
{
	yaml_event_t e;
	bool last = false;
	int r = 0;

	while (r == 0 && !last) {
		if (!yaml_parser_parse(p, &e)) {
			r = syntax_error(l->y->file, p);
			break;
		}
		last = e.type == YAML_STREAM_END_EVENT;
		r = take_event(l, &e);
		yaml_event_delete(&e);
	}
	forget_anchors(l);
	return r;
}

/* Does a line begin there? YAML 1.1 has three more line breaks, and a byte order mark takes no column. */
static bool line_begins(const char *text, size_t at)
{
	static const char *const before[] = {"\n", "\r", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf"};

	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		if (at >= strlen(before[i]) && !memcmp(text + at - strlen(before[i]), before[i], strlen(before[i])))
			return true;
	return !at;
}

static int check_text(const char *name, const char *text, size_t len)
{
	if (len > MAX_BYTES)
		return err_set(-EFBIG, "%s: larger than 4 MiB", name);
	for (size_t i = 0; i < len; i++)
		if (text[i] == '%' && line_begins(text, i)) /* %TAG lines take quadratic time */
			return err_set(-EINVAL, "%s: a line begins with %%: directives are of no use here", name);
	return 0;
}

int yaml_load_text(const char *name, const char *text, size_t len, struct yaml *ret)
{
	struct yaml y = {.file = xstrdup(name), .arena = xcalloc(1, sizeof(struct arena))};
	_cleanup_free_ struct loader *l = xcalloc(1, sizeof(*l));
	yaml_parser_t p;
	int r;

	l->y = &y;
	l->a = y.arena;
	if (!yaml_parser_initialize(&p))
		abort();
	yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
	r = check_text(name, text, len);
	if (r == 0)
		r = take_events(&p, l);
	yaml_parser_delete(&p);
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

	for (size_t i = 0; a && i < a->n; i++) {
		free(a->v[i]->n.key);
		free(a->v[i]->n.val);
		free(a->v[i]->text);
		free(a->v[i]);
	}
	if (a)
		free(a->v);
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
