/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The count file, symbols, profiles, their file and their difference. */
#include "kernels/plugin/count-format.h"
#include "kernels/profile.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/tap.h"

static void leb(struct buf *b, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		buf_addc(b, (char)((v & 127) | 128));
	buf_addc(b, (char)v);
}

/* records: address, instructions (of 4 bytes each), executions; in order */
static void count_file(struct buf *b, uint64_t starts, uint64_t stops, const uint64_t (*rec)[3], size_t n)
{
	uint64_t addr = 0;

	buf_clear(b);
	buf_adds(b, COUNT_MAGIC);
	leb(b, starts);
	leb(b, stops);
	leb(b, n);
	for (size_t i = 0; i < n; i++) {
		leb(b, rec[i][0] - addr);
		leb(b, rec[i][1]);
		leb(b, rec[i][2]);
		for (uint64_t k = 0; rec[i][0] && k < rec[i][1] && k < 100; k++)
			leb(b, 4);
		addr = rec[i][0];
	}
}

#define K 0xffffffff81000000ull
static const uint64_t blocks[][3] = {
	{0, 3, 100}, {0, 7, 10},                        /* user space: 370 */
	{0xfffffe0000001000ull, 4, 5},                  /* below all symbols */
	{K + 0x100, 5, 20}, {K + 0x100, 2, 1},          /* alpha, entered 21 times, by two translations of its start */
	{K + 0x114, 10, 20},                            /* middle of alpha */
	{K + 0x200, 1, 7},                              /* beta = __beta_alias */
	{K + 0x300, 6, 3},                              /* gamma.part.0 */
	{K + 0x400, 2, 4},                              /* gamma.isra.0 */
	{K + 0x500, 8, 2},                              /* delta.cold; no delta is there */
	{K + 0x600, 1, 1},                              /* behind _etext */
	{K + 0x900000, 9, 1},                           /* a module */
};
static const char map[] = "0000000000000000 D fixed_percpu_data\n"
			  "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000000 T startup_64\n"
			  "ffffffff81000080 t beta.cold\nffffffff81000100 t alpha\nffffffff81000200 T beta\nffffffff81000200 T __beta_alias\n"
			  "ffffffff81000300 t gamma.part.0\nffffffff81000400 t gamma.isra.0\nffffffff81000500 t delta.cold\n"
			  "ffffffff81000580 t silent\nffffffff81000600 T _etext\nffffffff81700000 D jiffies\n";

static void test_counts(void)
{
	_cleanup_buf_ struct buf b = {0};
	_cleanup_(counts_release) struct counts c = {0};
	const uint64_t low[][3] = {{0x401000, 1, 1}}, never[][3] = {{K, 1, 0}}, empty[][3] = {{K, 0, 1}},
		       many[][3] = {{K, 60000, 1ull << 60}}, sum[][3] = {{K, 1, 1ull << 52}, {K + 1, 2, 1ull << 52}};
	size_t bad = 0;

	count_file(&b, 2, 1, blocks, ARRAY_SIZE(blocks));
	is_int(counts_read(b.s, b.len, &c), 0, "a count file is read");
	ok(c.n == ARRAY_SIZE(blocks) && c.starts == 2 && c.stops == 1, "marks and records");
	ok(c.v[3].addr == K + 0x100 && c.v[3].insns == 5 && c.v[3].execs == 20 && c.v[3].size[4] == 4 && !c.v[0].size,
	   "a record");
	for (size_t n = 0; n < b.len; n++) {
		struct counts cut = {0};

		bad += counts_read(b.s, n, &cut) != -EBADMSG || cut.v;
	}
	is_int(bad, 0, "cut off at each byte: refused");
	buf_addc(&b, 0);
	is_int(counts_read(b.s, b.len, &c), -EBADMSG, "a byte too many: refused");
	b.s[7] = '2';
	is_int(counts_read(b.s, b.len, &c), -EBADMSG, "another version: refused");
	count_file(&b, 1, 2, blocks, 1);
	is_int(counts_read(b.s, b.len, &c), -EBADMSG, "more stops than starts");
	count_file(&b, 1, 1, low, 1);
	is_int(counts_read(b.s, b.len, &c), -EBADMSG, "an address of user space");
	count_file(&b, 1, 1, never, 1);
	is_int(counts_read(b.s, b.len, &c), -EBADMSG, "a block that never ran");
	count_file(&b, 1, 1, empty, 1);
	is_int(counts_read(b.s, b.len, &c), -EBADMSG, "a block without instructions");
	count_file(&b, 1, 1, many, 1);
	is_int(counts_read(b.s, b.len, &c), -EBADMSG, "a count that overflows");
	count_file(&b, 1, 1, sum, 2);
	is_int(counts_read(b.s, b.len, &c), -EBADMSG, "counts whose sum overflows");
	buf_clear(&b);
	buf_adds(&b, COUNT_MAGIC "\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
	is_int(counts_read(b.s, b.len, &c), -EBADMSG,
	       "more records than the file has bytes: refused before memory is taken");
	count_file(&b, 1, 1, blocks + 3, 1);
	b.s[b.len - 1] = 16;
	is_int(counts_read(b.s, b.len, &c), -EBADMSG, "an instruction of 16 bytes");
	is_int(c.n, ARRAY_SIZE(blocks), "what came back first is untouched by failures");
}

static void test_symbols(void)
{
	_cleanup_(symbols_release) struct symbols s = {0}, none = {0};

	is_int(symbols_parse(map, strlen(map), &s), 0, "symbols are read");
	is_int(s.n, 12, "functions only");
	is_str(symbols_counted_as(&s, "alpha"), "alpha", "a function by its name");
	is_str(symbols_counted_as(&s, "beta"), "__beta_alias",
	       "by another name of its place: the first in order counts");
	is_str(symbols_counted_as(&s, "gamma"), "gamma", "copies and parts count under the function's name");
	is_str(symbols_counted_as(&s, "delta"), "delta", "also a part alone");
	ok(!symbols_counted_as(&s, "alph") && !symbols_counted_as(&s, "epsilon"), "no such function");
	is_int(symbols_parse("", 0, &none), -EBADMSG, "an empty map");
	is_int(symbols_parse("hello\n", 6, &none), -EBADMSG, "no map");
	is_int(symbols_parse("ffffffff81000000 T a\nffffffff81000000 T\n", 40, &none), -EBADMSG,
	       "a line without a name");
}

static void is_fn(const struct profile *p, const char *name, uint64_t entries, uint64_t insns)
{
	const struct profile_fn *f = profile_get(p, name);

	ok(f && f->entries == entries && f->insns == insns, "%s: %" PRIu64 " entries, %" PRIu64 " instructions", name,
	   entries, insns);
	if (f && (f->entries != entries || f->insns != insns))
		printf("# got %" PRIu64 " and %" PRIu64 "\n", f->entries, f->insns);
}

static void make(const uint64_t (*rec)[3], size_t n, double operations, struct profile *ret)
{
	_cleanup_buf_ struct buf b = {0};
	_cleanup_(counts_release) struct counts c = {0};
	_cleanup_(symbols_release) struct symbols s = {0};

	count_file(&b, 1, 1, rec, n);
	is_int(counts_read(b.s, b.len, &c), 0, "counts");
	is_int(symbols_parse(map, strlen(map), &s), 0, "symbols");
	is_int(profile_make(&c, &s, ret), 0, "profile");
	ret->operations = operations;
}

static void is_all(const struct profile *p)
{
	is_int(p->n, 5, "five kernel rows");
	is_int(p->user, 370, "user space is one sum");
	is_int(p->insns, 370 + 20 + 102 + 200 + 7 + 18 + 8 + 16 + 1 + 9, "no instruction is lost");
	is_fn(p, "alpha", 21, 302);
	is_fn(p, "__beta_alias", 7, 7);
	is_fn(p, "gamma", 4, 26);
	is_fn(p, "delta", 2, 16);
	is_fn(p, PROFILE_OUTSIDE, 0, 30);
	ok(!profile_get(p, "silent") && !profile_get(p, "_etext"), "what did not run, and labels, are not there");
}

static void test_profile(void)
{
	char path[] = "/tmp/kperfbot-profile-XXXXXX";
	_cleanup_profile_ struct profile p = {0}, back = {0}, none = {0};
	_cleanup_(symbols_release) struct symbols s = {0};
	const struct counts never = {0}, cut = {.starts = 1};
	char wrong[] = "kperfbot profile 1\nalpha 1 x\n", other[] = "kperfbot profile 2\n";

	make(blocks, ARRAY_SIZE(blocks), 7, &p);
	is_all(&p);
	close(mkstemp(path));
	is_int(profile_write(&p, path), 0, "written");
	is_int(profile_read(path, &back), 0, "read back");
	is_all(&back);
	is_near(back.operations, 7, 0, "operations");
	unlink(path);
	is_int(profile_parse("x", wrong, strlen(wrong), &none), -EBADMSG, "a wrong line is refused");
	is_int(profile_parse("x", other, strlen(other), &none), -EBADMSG, "another version is refused");
	is_int(symbols_parse(map, strlen(map), &s), 0, "symbols");
	is_int(profile_make(&never, &s, &none), -ENODATA, "no start mark: no profile");
	is_int(profile_make(&cut, &s, &none), -ENODATA, "no stop mark: no profile");
}

static void test_diff(void)
{
	const uint64_t head[][3] = {{0, 3, 200}, {K + 0x100, 5, 40}, {K + 0x114, 12, 40}, {K + 0x580, 1, 10}};
	const uint64_t base[][3] = {{0, 3, 100}, {K + 0x100, 5, 20}, {K + 0x114, 10, 20}, {K + 0x200, 1, 10}};
	_cleanup_profile_ struct profile a = {0}, b = {0};
	_cleanup_(profile_diff_release) struct profile_diff d = {0}, none = {0};
	struct profile_row rest;

	make(base, ARRAY_SIZE(base), 10, &a);
	make(head, ARRAY_SIZE(head), 20, &b);
	is_int(profile_diff(&a, &b, &d), 0, "difference");
	is_int(d.n, 3, "functions of either side");
	is_str(d.row[0].name, "alpha", "the largest change comes first");
	is_near(d.row[0].delta, 4, 1e-12, "per operation: +4");
	is_near(d.row[0].entries[0], 2, 1e-12, "entries per operation");
	is_str(d.row[1].name, "__beta_alias", "gone functions count");
	is_near(d.row[1].delta, -1, 1e-12, "-1");
	is_str(d.row[2].name, "silent", "so do new ones");
	is_near(d.user.delta, 0, 1e-12, "user space is unchanged");
	is_near(d.total.delta, 3.5, 1e-12, "the total");
	profile_diff_rest(&d, 1, &rest);
	is_near(rest.delta, -0.5, 1e-12, "everything else");
	ok(!d.n_inlined, "without lines nothing is said of inlined functions");
	profile_diff_release(&d);
	profile_add_inlined(&b, "twice", 40);
	for (int k = 0; k < 2; k++) {
		profile_add_line(k ? &b : &a, "x.c", 1, 1);
		profile_finish_lines(k ? &b : &a);
	}
	is_int(profile_diff(&a, &b, &d), 0, "with lines");
	ok(d.n_inlined == 1 && streq(d.inlined[0].name, "twice") && d.inlined[0].delta == 2,
	   "an inlined function that is new");
	b.operations = 0;
	is_int(profile_diff(&a, &b, &none), -EINVAL, "operations of one side only: no comparison");
	a.operations = 0;
	is_int(profile_diff(&a, &b, &none), 0, "without operations: per run");
	is_near(none.row[0].delta, 380, 1e-12, "in whole instructions");
}

/* ---- lines: of a small object at a kernel's address ---- */

static const char source[] = "static inline __attribute__((always_inline)) int twice(int a)\n{\n\treturn a * 2;\n}\n"
			     "int outer(int a)\n{\n\tint b = twice(a);\n\n\treturn b + 7;\n}\n"
			     "int silent(int a)\n{\n\treturn a;\n}\n";

static int build_object(const char *dir)
{
	_cleanup_free_ char *c = xasprintf("%s/code.c", dir);

	if (!proc_have("gcc") || !proc_have("addr2line") || !proc_have("bwrap"))
		return -ENOENT;
	fs_write_atomic(c, source, strlen(source));
	return proc_ok(ARGV("gcc", "-O0", "-g", "-nostdlib", "-static", "-ffreestanding", "-fno-pie", "-no-pie",
			    "-mcmodel=kernel", "-fcf-protection=none", "-Wl,-Ttext-segment=0xffffffff81000000",
			    "-Wl,-e,outer", "-Wl,--build-id=none", "-o", "vmlinux", "code.c"),
		       dir, NULL);
}

/* The addresses of a function's instructions, by objdump. */
static size_t instructions_of(const char *dir, const char *name, uint64_t *addr, size_t max)
{
	_cleanup_free_ char *arg = xasprintf("--disassemble=%s", name);
	_cleanup_buf_ struct buf out = {0};
	size_t n = 0;
	char *save = NULL;

	if (proc_ok(ARGV("objdump", arg, "--no-show-raw-insn", "vmlinux"), dir, &out) < 0)
		return 0;
	for (char *l = strtok_r(out.s, "\n", &save); l && n < max; l = strtok_r(NULL, "\n", &save))
		if (startswith(l, "ffffffff81") && strstr(l, ":\t"))
			addr[n++] = strtoull(l, NULL, 16);
	return n;
}

static void test_lines(void)
{
	char dir[] = "/tmp/kperfbot-lines-XXXXXX";
	_cleanup_profile_ struct profile p = {0}, back = {0};
	_cleanup_free_ char *vmlinux = NULL, *image = NULL, *found = NULL, *path = NULL;
	uint64_t addr[64];
	uint8_t size[64];
	struct count_block b = {.execs = 10, .size = size};
	const struct counts c = {.v = &b, .n = 1, .starts = 1, .stops = 1};
	const struct profile_fn *f;

	if (!mkdtemp(dir))
		return;
	vmlinux = xasprintf("%s/vmlinux", dir);
	image = xasprintf("%s/bzImage", dir);
	path = xasprintf("%s/p.zst", dir);
	if (build_object(dir) < 0) {
		ok(true, "# SKIP no gcc, binutils or bubblewrap: %s", err_msg());
		fs_rm_rf(dir);
		return;
	}
	b.insns = instructions_of(dir, "outer", addr, ARRAY_SIZE(addr));
	ok(b.insns > 5, "the function has %" PRIu64 " instructions", b.insns);
	b.addr = addr[0];
	for (size_t i = 0; i + 1 < b.insns; i++)
		size[i] = (uint8_t)(addr[i + 1] - addr[i]);
	size[b.insns - 1] = 1;
	found = debug_path(image);
	is_str(found, vmlinux, "the kernel with debug information lies beside the image");
	is_int(profile_lines(&c, vmlinux, &p), 0, "lines are read");
	is_int(profile_line_execs(&p, "code.c", 7), 10, "a line that ran");
	is_int(profile_line_execs(&p, "code.c", 9), 10, "another one");
	is_int(profile_line_execs(&p, "code.c", 3), 10, "a line of the inlined function");
	is_int(profile_line_execs(&p, "code.c", 13), 0, "a line of a function that did not run");
	is_int(profile_line_execs(&p, "ode.c", 7), 0, "another file");
	f = profile_get_inlined(&p, "twice");
	ok(f && f->insns >= 10 && f->insns < 10 * b.insns, "the inlined function has its instructions");
	ok(!profile_get_inlined(&p, "outer"), "the outer one is no inlined function");
	is_int(profile_write(&p, path), 0, "written");
	is_int(profile_read(path, &back), 0, "read back");
	ok(back.n_lines == p.n_lines && back.n_inlined == 1 && profile_line_execs(&back, "code.c", 3) == 10,
	   "the same");
	is_int(profile_lines(&c, path, &back), -EIO, "a file that is no program: %s", err_msg());
	fs_rm_rf(dir);
}

/* A kernel whose symbols are all one, and a guest that jumps about behind them. */
static void test_namesakes(void)
{
	_cleanup_buf_ struct buf b = {0}, names = {0};
	_cleanup_(symbols_release) struct symbols s = {0};
	_cleanup_(counts_release) struct counts c = {0};
	_cleanup_(profile_release) struct profile p = {0};
	_cleanup_strv_ struct strv found = {0};
	uint64_t (*rec)[3] = xcalloc(300000, sizeof(*rec));
	usec_t start = cpu_usec();

	for (int i = 0; i < 300000; i++) {
		buf_addf(&names, "ffffffff81000000 T _text_%d_text_end\n", i);
		rec[i][0] = K + 1 + i;
		rec[i][1] = rec[i][2] = 1;
	}
	for (int i = 0; i < 300000; i++)
		buf_addf(&names, "ffffffff82000000 t f.isra.%d\n", i);
	count_file(&b, 1, 1, rec, 300000);
	free(rec);
	is_int(symbols_parse(names.s, names.len, &s), 0, "300,000 names of one address, and as many of one function");
	is_int(counts_read(b.s, b.len, &c), 0, "300,000 blocks behind it");
	is_int(profile_make(&c, &s, &p), 0, "they are one function's");
	ok(p.n == 1 && p.fn[0].insns == 300000, "all of them");
	symbols_of(&s, "f", &found);
	ok(found.n && found.n <= 1000, "of copies of a function some are looked at: %zu", found.n);
	ok(cpu_usec() - start < 20 * USEC_PER_SEC, "in %.1f s", (cpu_usec() - start) / 1e6);
}

int main(void)
{
	test_lines();
	test_counts();
	test_symbols();
	test_profile();
	test_namesakes();
	test_diff();
	return tap_done();
}
