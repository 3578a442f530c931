/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines and inlined functions of a profile, for builds that have debug information: binutils' addr2line tells the
 * source line and the chain of inlined functions of each executed instruction.
 */
#include "kernels/box.h"
#include "kernels/profile.h"
#include "lib/fs.h"
#include "lib/proc.h"

#include <fcntl.h>
#include <sys/stat.h>

#define BATCH 40000                     /* addresses a call */
#define OUTPUT_MAX (256u << 20)
#define MEMORY_MAX (4ull << 30)
#define TIMEOUT_S 900
#define CHAIN_MAX 64

struct spot { uint64_t addr, execs; };
struct spots { struct spot *v; size_t n, cap; };

static int by_addr(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Executions of each instruction: the same one may lie in several blocks. */
static void spots_of(const struct counts *c, struct spots *out)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		uint64_t addr = c->v[i].addr;

		for (uint64_t k = 0; addr && k < c->v[i].insns; k++) {
			GROW(out->v, out->n, out->cap);
			out->v[out->n++] = (struct spot){addr, c->v[i].execs};
			addr += c->v[i].size[k];
		}
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_addr);
	for (size_t i = 0; i < out->n; i++) {
		if (n && out->v[n - 1].addr == out->v[i].addr)
			out->v[n - 1].execs += out->v[i].execs;
		else
			out->v[n++] = out->v[i];
	}
	out->n = n;
}

/* ---- what addr2line says ---- */

/* A chain in text: innermost function, its place, the one it is inlined into, that one's place ... */
struct chain { char *name[CHAIN_MAX], *place; size_t n; };

/* "/build/src/net/core/scm.c:155 (discriminator 2)" -> file and line; false for "??:?". */
static bool split_place(char *place, char **ret_file, uint32_t *ret_line)
{
	char *end = strstr(place, " ("), *colon;
	int64_t line;

	if (end)
		*end = 0;
	colon = strrchr(place, ':');
	if (!colon || *place == '?')
		return false;
	*colon = 0;
	if (parse_i64(colon + 1, &line) < 0 || line <= 0 || line > INT32_MAX)
		return false;
	*ret_file = place;
	*ret_line = (uint32_t)line;
	return true;
}

static void take_chain(struct profile *p, struct chain *c, uint64_t execs)
{
	char *file;
	uint32_t line;

	if (c->place && split_place(c->place, &file, &line))
		profile_add_line(p, file, line, execs);
	/* the last one is the function that all is inlined into; a recursive name counts once */
	for (size_t i = 0; i + 1 < c->n; i++) {
		bool again = false;

		for (size_t k = 0; k < i && !again; k++)
			again = streq(c->name[k], c->name[i]);
		if (!again && *c->name[i] != '?')
			profile_add_inlined(p, c->name[i], execs);
	}
}

static int take_output(struct profile *p, char *text, const struct spot *spot, size_t n)
{
	struct chain c = {0};
	size_t at = 0, lines = 0;
	char *save = NULL;

	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		if (startswith(l, "0x") && strlen(l) == 18) {
			if (at)
				take_chain(p, &c, spot[at - 1].execs);
			if (at >= n || strtoull(l, NULL, 16) != spot[at++].addr)
				return err_set(-EBADMSG, "addr2line answers what was not asked: '%.20s'", l);
			c = (struct chain){0};
			lines = 0;
		} else if (lines++ % 2 == 0) {
			if (c.n < CHAIN_MAX)
				c.name[c.n++] = l;
		} else if (lines == 2) {
			c.place = l;
		}
	}
	if (at)
		take_chain(p, &c, spot[at - 1].execs);
	return at == n ? 0 : err_set(-EBADMSG, "addr2line answered for %zu of %zu addresses", at, n);
}

/* The tree under test has made the debug information, so what reads it does so in a box. */
static int in_box(const char *vmlinux, const char *addresses, struct buf *out)
{
	const struct box_mount mounts[] = {{vmlinux, BOX "/vmlinux", false}, {addresses, BOX "/addresses", false}};
	struct box b = {.script = "exec addr2line -a -f -i -e " BOX "/vmlinux <" BOX "/addresses",
			.mount = mounts, .n_mounts = ARRAY_SIZE(mounts),
			.env = ARGV("PATH=/usr/bin:/bin", "LC_ALL=C"), .out = out, .what = "addr2line",
			.limits = {.seconds = TIMEOUT_S, .output = OUTPUT_MAX, .memory = MEMORY_MAX}};
	struct box_result res = {0};
	int r = box_run(&b, &res);

	if (r < 0)
		return r;
	if (res.stop)
		return err_set(-EIO, "addr2line cannot read '%s': it %s", vmlinux, box_stop_words(res.stop));
	if (res.status) {
		_cleanup_free_ char *why = last_line(buf_str(out)), *safe = term_safe(why);

		return err_set(-EIO, "addr2line cannot read '%s': %s", vmlinux, safe);
	}
	return 0;
}

static int ask(struct profile *p, const char *vmlinux, const struct spot *spot, size_t n)
{
	_cleanup_free_ char *real = realpath(vmlinux, NULL);
	char path[] = "/tmp/kperfbot-addresses-XXXXXX";
	_cleanup_buf_ struct buf in = {0}, out = {0};
	_cleanup_close_ int fd = -1;
	int r = 0;

	if (!real)
		return err_set(-errno, "cannot find '%s': %s", vmlinux, strerror(errno));
	for (size_t i = 0; i < n; i++)
		buf_addf(&in, "0x%" PRIx64 "\n", spot[i].addr);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0644) < 0)
		r = err_set(-errno, "cannot write '%s': %s", path, strerror(errno));
	if (r == 0)
		r = fs_append(path, in.s, in.len);
	if (r == 0)
		r = in_box(real, path, &out);
	if (fd >= 0)
		unlink(path);
	if (r < 0)
		return r;
	return out.s ? take_output(p, out.s, spot, n) : err_set(-EBADMSG, "addr2line says nothing");
}

int profile_lines(const struct counts *c, const char *vmlinux, struct profile *p)
{
	struct spots s = {0};
	int r = 0;

	spots_of(c, &s);
	for (size_t at = 0; r == 0 && at < s.n; at += BATCH)
		r = ask(p, vmlinux, s.v + at, MIN(s.n - at, (size_t)BATCH));
	free(s.v);
	profile_finish_lines(p);
	return r;
}
