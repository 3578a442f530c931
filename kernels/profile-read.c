/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes from outside: the count file (plugin/count-format.h) and System.map. */
#include "kernels/plugin/count-format.h"
#include "kernels/profile.h"
#include "lib/fs.h"

#define COUNTS_MAX (64u << 20)
#define MAP_MAX (64u << 20)

/* ---- counts ---- */

struct reader { const uint8_t *p, *end; };

static bool get(struct reader *r, uint64_t *ret)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 64 && r->p < r->end; shift += 7) {
		uint8_t byte = *r->p++;

		if (shift == 63 && byte > 1)
			return false;
		v |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

/* Sums of instructions must stay far from an overflow: 2^53 of them are 2000 hours of emulation. */
static bool plausible(const struct count_block *b, uint64_t *sum)
{
	uint64_t all;

	if (!b->execs || !b->insns || b->insns > 65536 || __builtin_mul_overflow(b->insns, b->execs, &all) ||
	    all > 1ull << 53 || *sum + all > 1ull << 53)
		return false;
	*sum += all;
	return b->addr == 0 || b->addr >= COUNT_USER_END;
}

static bool get_block(struct reader *r, uint64_t *addr, uint64_t *sum, struct count_block *ret)
{
	uint64_t step;

	if (!get(r, &step) || !get(r, &ret->insns) || !get(r, &ret->execs) || __builtin_add_overflow(*addr, step, addr))
		return false;
	ret->addr = *addr;
	return plausible(ret, sum);
}

/* No instruction of any machine is longer than 15 bytes. */
static bool get_sizes(struct reader *r, struct count_block *b, uint8_t *sizes)
{
	b->size = sizes;
	for (uint64_t i = 0; i < b->insns; i++) {
		uint64_t n;

		if (!get(r, &n) || !n || n > 15)
			return false;
		sizes[i] = (uint8_t)n;
	}
	return true;
}

int counts_read(const void *data, size_t n, struct counts *ret)
{
	struct reader r = {data, (const uint8_t *)data + n};
	struct counts c = {0};
	uint64_t addr = 0, sum = 0, records;
	size_t sizes = 0;

	if (n < strlen(COUNT_MAGIC) || memcmp(data, COUNT_MAGIC, strlen(COUNT_MAGIC)))
		return err_set(-EBADMSG, "this is no count file, or one of another version");
	r.p += strlen(COUNT_MAGIC);
	/* a record has three bytes or more, so no number in the file makes us reserve more than the file is worth */
	if (!get(&r, &c.starts) || !get(&r, &c.stops) || !get(&r, &records) || records > (size_t)(r.end - r.p) / 3)
		return err_set(-EBADMSG, "the count file is cut off");
	c.v = xcalloc(records + 1, sizeof(*c.v));
	c.sizes = xmalloc(n);
	for (; c.n < records; c.n++) {
		struct count_block *b = &c.v[c.n];

		/* a size is a byte of the file or more, so there is room for as many as are left of it */
		if (!get_block(&r, &addr, &sum, b) || (b->addr && b->insns > (size_t)(r.end - r.p)) ||
		    (b->addr && !get_sizes(&r, b, c.sizes + sizes)))
			break;
		sizes += b->addr ? b->insns : 0;
	}
	if (c.n < records || r.p != r.end || c.stops > c.starts) {
		int e = err_set(-EBADMSG, "the count file is damaged at byte %zu, record %zu",
				(size_t)(r.p - (const uint8_t *)data), c.n);

		counts_release(&c);
		return e;
	}
	*ret = c;
	return 0;
}

int counts_read_file(const char *path, struct counts *ret)
{
	_cleanup_buf_ struct buf b = {0};
	int r = fs_read(path, COUNTS_MAX, &b);

	if (r >= 0)
		r = counts_read(buf_str(&b), b.len, ret);
	return r < 0 ? err_prefix(r, "'%s'", path) : 0;
}

void counts_release(struct counts *c)
{
	free(c->v);
	free(c->sizes);
	*c = (struct counts){0};
}

/* ---- System.map: "ffffffff81000000 T name" ---- */

static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_symbol_name(const void *a, const void *b, void *v)
{
	const struct symbol *s = v;
	int c = strcmp(s[*(const uint32_t *)a].name, s[*(const uint32_t *)b].name);

	return c ? c : *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* false for a line of another form. */
static bool add_line(struct symbols *s, const char *line, size_t len)
{
	_cleanup_free_ char *l = xstrndup(line, len);
	char *end;
	uint64_t addr;

	errno = 0;
	addr = strtoull(l, &end, 16);
	if (end == l || errno || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return false;
	if (!strchr("tTwW", end[1]) || addr < COUNT_USER_END || strcspn(end + 3, " \t") != strlen(end + 3))
		return true;
	GROW(s->v, s->n, s->cap);
	s->v[s->n++] = (struct symbol){addr, term_safe(end + 3)};
	return true;
}

int symbols_parse(const char *text, size_t len, struct symbols *ret)
{
	struct symbols s = {0};
	size_t line = 0;

	for (const char *p = text, *end = text + len; p < end;) {
		const char *nl = memchr(p, '\n', end - p);
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);

		line++;
		if (n && !add_line(&s, p, n)) {
			symbols_release(&s);
			return err_set(-EBADMSG, "line %zu of the symbols is not 'ADDRESS TYPE NAME'", line);
		}
		p += n + 1;
	}
	if (!s.n)
		return err_set(-EBADMSG, "there is no function among the symbols");
	qsort(s.v, s.n, sizeof(*s.v), by_addr);
	s.name = xcalloc(s.n, sizeof(*s.name));
	for (size_t i = 0; i < s.n; i++)
		s.name[i] = (uint32_t)i;
	qsort_r(s.name, s.n, sizeof(*s.name), by_symbol_name, s.v);
	*ret = s;
	return 0;
}

int symbols_read(const char *system_map, struct symbols *ret)
{
	_cleanup_buf_ struct buf b = {0};
	int r = fs_read(system_map, MAP_MAX, &b);

	if (r >= 0)
		r = symbols_parse(buf_str(&b), b.len, ret);
	return r < 0 ? err_prefix(r, "'%s'", system_map) : 0;
}

void symbols_release(struct symbols *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].name);
	free(s->v);
	free(s->name);
	*s = (struct symbols){0};
}

char *symbols_path(const char *image_path)
{
	const char *slash = strrchr(image_path, '/');

	return xasprintf("%.*sSystem.map", slash ? (int)(slash + 1 - image_path) : 0, image_path);
}
