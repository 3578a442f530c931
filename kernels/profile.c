/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks to functions, and functions to a file:
 *
 *	kperfbot profile 1
 *	operations 10870
 *	instructions 126532907
 *	user 31022321
 *	NAME ENTRIES INSTRUCTIONS       one line a function, by name
 *	inlined NAME INSTRUCTIONS       and, of builds with debug information, these two
 *	line FILE:LINE EXECUTIONS
 */
#include "kernels/profile.h"
#include "lib/fs.h"

#define HEAD "kperfbot profile 1"
#define FILE_MAX (32u << 20)
#define NAMES_MAX 1000                  /* copies of a function under names of their own */
#define TEXT_END_GAP (1u << 20)         /* code farther than this behind the last symbol is not vmlinux' */

/* ---- names ---- */

/* The compiler's parts of a function end in these, perhaps with more behind. Length of the name before them. */
static size_t base_length(const char *name, bool *ret_part)
{
	static const struct { const char *suffix; bool part; } suffixes[] = {
		{".isra.", false}, {".constprop.", false}, {".part.", true}, {".cold", true}, {".llvm.", false},
	};
	size_t n = strlen(name);

	*ret_part = false;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const char *at = strstr(name, suffixes[i].suffix);

		if (!at || at == name)
			continue;
		*ret_part = *ret_part || suffixes[i].part;
		n = MIN(n, (size_t)(at - name));
	}
	return n;
}

/* Names of the linker script: they stand where a function stands, and are none. */
static bool is_label(const char *name)
{
	static const char *const labels[] = {"_text", "_stext", "_sinittext", "__init_begin", "startup_64",
					     "_sexittext"};

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (streq(name, labels[i]))
			return true;
	return endswith(name, "_text_start") || endswith(name, "_text_end") || startswith(name, "__pfx_") ||
	       startswith(name, "__cfi_");
}

static bool is_end(const char *name) { return streq(name, "_etext") || streq(name, "_einittext"); }

/* Of several names of one address the first that is a function's; names are in order, so it is always the same. */
static size_t first_of(const struct symbols *s, size_t i)
{
	size_t first, last;

	for (first = i; first && s->v[first - 1].addr == s->v[i].addr; first--)
		;
	for (last = first; last < s->n && s->v[last].addr == s->v[i].addr; last++)
		if (!is_label(s->v[last].name) && !is_end(s->v[last].name))
			return last;
	return first;
}

/* The last symbol at or below the address; SIZE_MAX for none. Below *ret_next the answer is the same. */
static size_t symbol_below(const struct symbols *s, uint64_t addr, uint64_t *ret_next)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret_next = UINT64_MAX;
	if (lo < s->n) {
		*ret_next = s->v[lo].addr;
	} else if (lo) { /* behind the last one */
		uint64_t last = s->v[lo - 1].addr;

		if (addr - last > TEXT_END_GAP)
			return SIZE_MAX;
		if (last < UINT64_MAX - TEXT_END_GAP)
			*ret_next = last + TEXT_END_GAP + 1;
	}
	return lo ? first_of(s, lo - 1) : SIZE_MAX;
}

/* Where the names that begin with it start in the order of names. "name.isra.0" stands right behind "name": no
 * character of a name is less than the point. */
static size_t name_from(const struct symbols *s, const char *name)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (strcmp(s->v[s->name[mid]].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const char *symbols_counted_as(const struct symbols *s, const char *name)
{
	size_t len = strlen(name), i = name_from(s, name);
	const char *found = i < s->n ? s->v[s->name[i]].name : NULL, *first;
	bool part;

	if (!found || !startswith(found, name))
		return NULL;
	/* copies and parts are counted under the function's own name, which need not be a symbol */
	if (!streq(found, name))
		return base_length(found, &part) == len ? name : NULL;
	first = s->v[first_of(s, s->name[i])].name;
	return base_length(first, &part) == strlen(first) ? first : name;
}

size_t symbols_of(const struct symbols *s, const char *name, struct strv *ret)
{
	size_t len = strlen(name), most = 0, n = 0;
	const char *last = NULL;
	bool part;

	for (size_t i = name_from(s, name); i < s->n; i++) {
		const char *found = s->v[s->name[i]].name;

		if (!startswith(found, name) || (found[len] && found[len] != '.'))
			break;
		if (base_length(found, &part) != len || part)
			continue;
		n = streq(found, last) ? n + 1 : 1;
		most = MAX(most, n);
		if (ret && n == 1 && ret->n < NAMES_MAX)
			strv_add(ret, found);
		last = found;
	}
	return most;
}

/* ---- from blocks ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct profile_fn *)a)->name, ((const struct profile_fn *)b)->name);
}

static void sort_and_merge(struct profile *p)
{
	size_t n = 0;

	if (p->n)
		qsort(p->fn, p->n, sizeof(*p->fn), by_name);
	for (size_t i = 0; i < p->n; i++) {
		if (n && streq(p->fn[n - 1].name, p->fn[i].name)) {
			p->fn[n - 1].entries += p->fn[i].entries;
			p->fn[n - 1].insns += p->fn[i].insns;
			p->fn[n - 1].parts += p->fn[i].parts;
			free(p->fn[i].name);
		} else {
			p->fn[n++] = p->fn[i];
		}
	}
	p->n = n;
	for (size_t i = 0; i < n; i++)
		if (!p->fn[i].entries)
			p->fn[i].entries = p->fn[i].parts;
}

static void add_fn(struct profile *p, char *name, uint64_t entries, uint64_t insns)
{
	GROW(p->fn, p->n, p->cap);
	p->fn[p->n++] = (struct profile_fn){name, entries, insns, 0};
}

struct line_place { size_t at; uint64_t next; };

/* All blocks of one symbol follow each other, since both lists are in the order of addresses. */
static void add_block(struct profile *p, const struct symbols *s, const struct count_block *b, struct line_place *last)
{
	/* asked once for each symbol: thousands of names of one address are looked through once */
	size_t at = b->addr < last->next ? last->at : symbol_below(s, b->addr, &last->next);
	bool outside = at == SIZE_MAX || is_end(s->v[at].name), part = false;
	uint64_t entry = !outside && s->v[at].addr == b->addr ? b->execs : 0, insns = b->insns * b->execs;

	if (outside)
		at = SIZE_MAX;
	if (!p->n || at != last->at) {
		size_t len = outside ? 0 : base_length(s->v[at].name, &part);

		add_fn(p, outside ? xstrdup(PROFILE_OUTSIDE) : xstrndup(s->v[at].name, len), 0, 0);
		last->at = at;
	} else if (!outside) {
		(void)base_length(s->v[at].name, &part);
	}
	*(part ? &p->fn[p->n - 1].parts : &p->fn[p->n - 1].entries) += entry;
	p->fn[p->n - 1].insns += insns;
}

int profile_make(const struct counts *c, const struct symbols *s, struct profile *ret)
{
	struct profile p = {0};
	struct line_place last = {SIZE_MAX, 0};

	if (!c->starts)
		return err_set(-ENODATA,
			       "counting never began: the script has no start mark, or its root image no kpb-mark");
	if (c->stops < c->starts)
		return err_set(-ENODATA, "the guest ended before the stop mark");
	for (size_t i = 0; i < c->n; i++) {
		uint64_t insns = c->v[i].insns * c->v[i].execs;

		p.insns += insns;
		if (c->v[i].addr)
			add_block(&p, s, &c->v[i], &last);
		else
			p.user += insns;
	}
	sort_and_merge(&p);
	*ret = p;
	return 0;
}

const struct profile_fn *profile_get(const struct profile *p, const char *name)
{
	const struct profile_fn key = {.name = (char *)name};

	return p->n ? bsearch(&key, p->fn, p->n, sizeof(*p->fn), by_name) : NULL;
}

/* ---- lines and inlined functions ---- */

void profile_add_inlined(struct profile *p, const char *name, uint64_t insns)
{
	GROW(p->inlined, p->n_inlined, p->cap_inlined);
	p->inlined[p->n_inlined++] = (struct profile_fn){term_safe(name), 0, insns, 0};
}

void profile_add_line(struct profile *p, const char *file, uint32_t line, uint64_t execs)
{
	GROW(p->line, p->n_lines, p->cap_lines);
	p->line[p->n_lines++] = (struct profile_line){term_safe(file), line, execs};
}

static int by_place(const void *a, const void *b)
{
	const struct profile_line *x = a, *y = b;
	int c = strcmp(x->file, y->file);

	return c ? c : x->line < y->line ? -1 : x->line > y->line;
}

void profile_finish_lines(struct profile *p)
{
	size_t n = 0;

	if (p->n_lines)
		qsort(p->line, p->n_lines, sizeof(*p->line), by_place);
	for (size_t i = 0; i < p->n_lines; i++) {
		if (n && !by_place(&p->line[n - 1], &p->line[i])) {
			p->line[n - 1].execs = MAX(p->line[n - 1].execs, p->line[i].execs);
			free(p->line[i].file);
		} else {
			p->line[n++] = p->line[i];
		}
	}
	p->n_lines = n;
	n = 0;
	if (p->n_inlined)
		qsort(p->inlined, p->n_inlined, sizeof(*p->inlined), by_name);
	for (size_t i = 0; i < p->n_inlined; i++) {
		if (n && streq(p->inlined[n - 1].name, p->inlined[i].name)) {
			p->inlined[n - 1].insns += p->inlined[i].insns;
			free(p->inlined[i].name);
		} else {
			p->inlined[n++] = p->inlined[i];
		}
	}
	p->n_inlined = n;
}

const struct profile_fn *profile_get_inlined(const struct profile *p, const char *name)
{
	const struct profile_fn key = {.name = (char *)name};

	return p->n_inlined ? bsearch(&key, p->inlined, p->n_inlined, sizeof(*p->inlined), by_name) : NULL;
}

/* A compiler's path: absolute, or relative to the folder of objects. */
static bool is_file(const char *path, const char *file)
{
	size_t n = strlen(path), m = strlen(file);

	return n >= m && !strcmp(path + n - m, file) && (n == m || path[n - m - 1] == '/');
}

uint64_t profile_line_execs(const struct profile *p, const char *file, uint32_t line)
{
	uint64_t most = 0;

	for (size_t i = 0; i < p->n_lines; i++)
		if (p->line[i].line == line && is_file(p->line[i].file, file))
			most = MAX(most, p->line[i].execs);
	return most;
}

char *debug_path(const char *image_path)
{
	static const char *const names[] = {"vmlinux.debug", "vmlinux"};
	const char *slash = strrchr(image_path, '/');

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path = xasprintf("%.*s%s", slash ? (int)(slash + 1 - image_path) : 0, image_path, names[i]);

		if (fs_exists(path))
			return path;
		free(path);
	}
	return NULL;
}

void profile_release(struct profile *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->fn[i].name);
	for (size_t i = 0; i < p->n_inlined; i++)
		free(p->inlined[i].name);
	for (size_t i = 0; i < p->n_lines; i++)
		free(p->line[i].file);
	free(p->inlined);
	free(p->line);
	free(p->fn);
	*p = (struct profile){0};
}

/* ---- the file ---- */

static void add_word(struct buf *b, const char *s)
{
	for (; *s; s++)
		buf_addc(b, *s == ' ' ? '_' : *s);
}

int profile_write(const struct profile *p, const char *path_zst)
{
	_cleanup_buf_ struct buf b = {0};

	buf_addf(&b, HEAD "\noperations %.17g\ninstructions %" PRIu64 "\nuser %" PRIu64 "\n", p->operations, p->insns,
		 p->user);
	for (size_t i = 0; i < p->n; i++) {
		add_word(&b, p->fn[i].name);
		buf_addf(&b, " %" PRIu64 " %" PRIu64 "\n", p->fn[i].entries, p->fn[i].insns);
	}
	for (size_t i = 0; i < p->n_inlined; i++) {
		buf_adds(&b, "inlined ");
		add_word(&b, p->inlined[i].name);
		buf_addf(&b, " %" PRIu64 "\n", p->inlined[i].insns);
	}
	for (size_t i = 0; i < p->n_lines; i++) {
		buf_adds(&b, "line ");
		add_word(&b, p->line[i].file);
		buf_addf(&b, ":%" PRIu32 " %" PRIu64 "\n", p->line[i].line, p->line[i].execs);
	}
	return zstd_write(path_zst, b.s, b.len);
}

static bool get_count(const char *s, uint64_t *ret)
{
	char *end;

	if (!s || *s < '0' || *s > '9')
		return false;
	errno = 0;
	*ret = strtoull(s, &end, 10);
	return !errno && !*end && *ret <= 1ull << 53;
}

/* "inlined NAME N" and "line FILE:LINE N"; the second word of a function's line is a number. */
static bool take_debug(struct profile *p, char *const word[3])
{
	char *colon = strrchr(word[1], ':');
	uint64_t n, line;

	if (!get_count(word[2], &n))
		return false;
	if (streq(word[0], "inlined")) {
		profile_add_inlined(p, word[1], n);
		return true;
	}
	if (!streq(word[0], "line") || !colon || !get_count(colon + 1, &line) || !line || line > INT32_MAX)
		return false;
	*colon = 0;
	profile_add_line(p, word[1], (uint32_t)line, n);
	return true;
}

/* A line behind the first one: "key value", or "name entries instructions". */
static bool take_line(struct profile *p, char *line)
{
	char *save = NULL, *word[4];
	uint64_t *const where[] = {&p->insns, &p->user};
	static const char *const keys[] = {"instructions", "user"};
	struct profile_fn f = {0};
	size_t n = 0;

	for (char *w = strtok_r(line, " ", &save); w && n < 4; w = strtok_r(NULL, " ", &save))
		word[n++] = w;
	if (n == 3 && get_count(word[1], &f.entries) && get_count(word[2], &f.insns)) {
		add_fn(p, term_safe(streq(word[0], "[outside_vmlinux]") ? PROFILE_OUTSIDE : word[0]), f.entries,
		       f.insns);
		return true;
	}
	if (n == 3)
		return take_debug(p, word);
	if (n == 2 && streq(word[0], "operations"))
		return parse_double(word[1], &p->operations) == 0 && isfinite(p->operations) && p->operations >= 0;
	for (size_t i = 0; n == 2 && i < ARRAY_SIZE(keys); i++)
		if (streq(word[0], keys[i]))
			return get_count(word[1], where[i]);
	return false;
}

int profile_parse(const char *name, char *text, size_t len, struct profile *ret)
{
	struct profile p = {0};
	char *save = NULL, *line = strlen(text) == len ? strtok_r(text, "\n", &save) : NULL;
	size_t at = 1;

	if (!streq(line, HEAD))
		return err_set(-EBADMSG, "'%s' is no profile, or one of another version", name);
	while ((line = strtok_r(NULL, "\n", &save)) && ++at)
		if (!take_line(&p, line)) {
			profile_release(&p);
			return err_set(-EBADMSG, "'%s': line %zu is not of a profile", name, at);
		}
	sort_and_merge(&p);
	profile_finish_lines(&p);
	*ret = p;
	return 0;
}

int profile_read(const char *path_zst, struct profile *ret)
{
	_cleanup_buf_ struct buf b = {0};
	int r = zstd_read(path_zst, FILE_MAX, &b);

	return r < 0 ? r : profile_parse(path_zst, b.s ? b.s : (char *)"", b.len, ret);
}
