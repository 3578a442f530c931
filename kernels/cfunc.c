/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernels/cfunc.h"

#include <ctype.h>

#define NAME_MAX_BYTES 128

struct lexer {
	const char *s;
	size_t len, at, line_start;
	uint32_t line;
	bool dirty;             /* something other than blanks stood on this line */
};

static char peek(const struct lexer *l, size_t ahead) { return l->at + ahead < l->len ? l->s[l->at + ahead] : 0; }

static void step(struct lexer *l)
{
	char c = l->s[l->at++];

	l->dirty = l->dirty || (c != ' ' && c != '\t');
	if (c == '\n') {
		l->line++;
		l->line_start = l->at;
		l->dirty = false;
	}
}

static void skip_comment(struct lexer *l, bool block)
{
	while (l->at < l->len && (block ? !(peek(l, 0) == '*' && peek(l, 1) == '/') : peek(l, 0) != '\n'))
		step(l);
	for (int i = 0; block && i < 2 && l->at < l->len; i++)
		step(l);
}

/* A literal ends at its quote or, where that is missing, at the end of the line. */
static void skip_literal(struct lexer *l, char quote)
{
	step(l);
	while (l->at < l->len && peek(l, 0) != quote && peek(l, 0) != '\n') {
		if (peek(l, 0) == '\\' && l->at + 1 < l->len)
			step(l);
		step(l);
	}
	if (peek(l, 0) == quote)
		step(l);
}

static void skip_directive(struct lexer *l)
{
	while (l->at < l->len && peek(l, 0) != '\n') {
		if (peek(l, 0) == '/' && peek(l, 1) == '*') {
			skip_comment(l, true);
			continue;
		}
		if (peek(l, 0) == '\\' && l->at + 1 < l->len)
			step(l);
		step(l);
	}
}

static bool ident_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The next token's first character with l at its beginning; 0 at the end. Blanks, comments, literals and directives are
 * no tokens. */
static char next_token(struct lexer *l)
{
	while (l->at < l->len) {
		char c = peek(l, 0);

		if (c == '/' && (peek(l, 1) == '*' || peek(l, 1) == '/')) {
			bool block = peek(l, 1) == '*';

			step(l);
			step(l);
			skip_comment(l, block);
		} else if (c == '"' || c == '\'') {
			skip_literal(l, c);
		} else if (c == '#' && !l->dirty) {
			skip_directive(l);
		} else if (isspace((unsigned char)c) || !c) {
			step(l);
		} else {
			return c;
		}
	}
	return 0;
}

/* ---- declarations ---- */

/* What was seen since the last ';' or '}' outside of all functions. */
struct head {
	bool any, is_static, is_inline, assigned;
	uint32_t first;
	char word[NAME_MAX_BYTES];              /* the last identifier */
	char name[NAME_MAX_BYTES];              /* the last one before a group of parentheses */
	char arg[NAME_MAX_BYTES];               /* the first identifier inside that group */
};

/* Words that stand before parentheses in a declaration and are no function's name. */
static bool is_attribute(const char *w)
{
	static const char *const words[] = {"__attribute__", "__acquires", "__releases", "__must_hold", "__printf",
					    "__scanf",
					    "__section", "__aligned", "__alias", "__cond_acquires", "__assume_aligned",
					    "__alloc_size",
					    "__free", "__diagnose_as", "__no_sanitize", "__must_hold_shared",
					    "__realloc_size", "typeof",
					    "__typeof__", "asm", "__asm__", "_Alignas", "__nonstring", "__context__"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (streq(w, words[i]))
			return true;
	return false;
}

static void note_word(struct head *h, const char *s, size_t n)
{
	snprintf(h->word, sizeof(h->word), "%.*s", (int)MIN(n, (size_t)NAME_MAX_BYTES - 1), s);
	h->is_static = h->is_static || streq(h->word, "static");
	h->is_inline = h->is_inline || strstr(h->word, "inline");
}

static size_t word_length(const struct lexer *l)
{
	size_t n = 0;

	while (l->at + n < l->len && ident_char(l->s[l->at + n]))
		n++;
	return n;
}

/* From '(' to behind its ')'. Notes the first identifier. */
static void skip_group(struct lexer *l, char *first, size_t size)
{
	int depth = 0;
	char c;

	*first = 0;
	while ((c = next_token(l))) {
		size_t n = word_length(l);

		if (n && !*first)
			snprintf(first, size, "%.*s", (int)MIN(n, size - 1), l->s + l->at);
		if (c == '(')
			depth++;
		for (size_t i = 0; i < MAX(n, 1u); i++)
			step(l);
		if (c == ')' && --depth <= 0)
			return;
		/* an unclosed parenthesis must not swallow the file */
		if (c == '}' && l->at - 1 == l->line_start)
			return;
	}
}

/* Name of the symbol; NULL where this head declares no function. */
static char *name_of(const struct head *h)
{
	static const struct { const char *macro, *prefix; } macros[] = {
		{"SYSCALL_DEFINE", "__do_sys_"}, {"COMPAT_SYSCALL_DEFINE", "__do_compat_sys_"}, {"BPF_CALL_", ""},
		{"__bpf_hook_", ""}, {"DEFINE_IDTENTRY", ""},
	};

	if (!h->name[0] || h->assigned)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(macros); i++)
		if (startswith(h->name, macros[i].macro))
			return h->arg[0] ? xasprintf("%s%s", macros[i].prefix, h->arg) : NULL;
	return xstrdup(h->name);
}

static void take_head_token(struct lexer *l, struct head *h, char c)
{
	size_t n = word_length(l);

	if (!h->any) {
		h->any = true;
		h->first = l->line;
	}
	if (n) {
		note_word(h, l->s + l->at, n);
		for (size_t i = 0; i < n; i++)
			step(l);
		return;
	}
	if (c == '(') {
		char arg[NAME_MAX_BYTES];

		skip_group(l, arg, sizeof(arg));
		if (h->word[0] && !is_attribute(h->word)) {
			memcpy(h->name, h->word, sizeof(h->name));
			memcpy(h->arg, arg, sizeof(h->arg));
		}
		h->word[0] = 0;
		return;
	}
	if (c == '=')
		h->assigned = true;
	step(l);
}

/* From behind '{' to behind the '}' that closes it. Returns the offset of that brace. */
static size_t skip_body(struct lexer *l, uint32_t *ret_last)
{
	int depth = 1;
	char c;

	while ((c = next_token(l))) {
		bool first_column = l->at == l->line_start;

		*ret_last = l->line;
		depth += c == '{' ? 1 : c == '}' ? -1 : 0;
		step(l);
		if (c == '}' && (depth <= 0 || first_column))
			return l->at - 1;
	}
	return l->len;
}

void cfuncs_find(const char *text, size_t len, struct cfuncs *ret)
{
	struct lexer l = {.s = text, .len = len, .line = 1};
	struct cfuncs out = {0};
	struct head h = {0};
	char c;

	while (out.n < CFUNCS_MAX && (c = next_token(&l))) {
		if (c == '{') {
			char *name = h.any ? name_of(&h) : NULL;
			struct cfunc f = {.name = name, .first = h.first, .last = l.line, .is_static = h.is_static,
					  .is_inline = h.is_inline};

			step(&l);
			/* extern "C" and the like open no body of their own, but there is none in a kernel's C */
			f.body = l.at;
			f.body_len = skip_body(&l, &f.last) - f.body;
			if (name) {
				GROW(out.v, out.n, out.cap);
				out.v[out.n++] = f;
				h = (struct head){0};
			}
		} else if (c == ';' || c == '}') {
			h = (struct head){0};
			step(&l);
		} else {
			take_head_token(&l, &h, c);
		}
	}
	*ret = out;
}

void cfuncs_release(struct cfuncs *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].name);
	free(f->v);
	*f = (struct cfuncs){0};
}

const struct cfunc *cfuncs_at(const struct cfuncs *f, uint32_t line)
{
	size_t lo = 0, hi = f->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (f->v[mid].last < line)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->n && f->v[lo].first <= line ? &f->v[lo] : NULL;
}

bool cfunc_calls(const struct cfunc *f, const char *text, const char *name)
{
	struct lexer l = {.s = text + f->body, .len = f->body_len, .line = 1};
	size_t want = strlen(name);

	while (next_token(&l)) {
		size_t n = word_length(&l);
		bool same = n == want && !memcmp(l.s + l.at, name, n);

		for (size_t i = 0; i < MAX(n, 1u); i++)
			step(&l);
		if (same && next_token(&l) == '(')
			return true;
	}
	return false;
}
