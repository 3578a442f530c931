/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions in C text, the functions that a commit touches, and whether they ran. */
#include "kernels/cfunc.h"
#include "kernels/touched.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/tap.h"

static const char source[] =
	"/* int comment(void) { */\n"                                           /* 1 */
	"#define MACRO(x) \\\n\tint x(void) {\n"                                /* 2-3 */
	"static const char *text = \"int quoted(void) {\";\n"                   /* 4 */
	"struct ops { int (*cb)(int a); };\n"                                   /* 5 */
	"static const struct ops ops = {\n\t.cb = callback,\n};\n"              /* 6-8 */
	"static inline int small(int a)\n{\n\treturn a + '{';\n}\n"             /* 9-12 */
	"\n"
	"static __always_inline\nstruct ops *pointer(const char *s,\n\t\tint (*cb)(int))\n"     /* 14-16 */
	"\t__acquires(lock)\n{\n\tif (s) {\n\t\tcb(small(1));\n\t}\n\treturn NULL;\n}\n"       /* 17-23 */
	"int declared(int a);\n"                                                /* 24 */
	"SYSCALL_DEFINE3(socket, int, family, int, type, int, protocol)\n{\n\treturn pointer(0, 0) != 0;\n}\n"  /* 25-28 */
	"BPF_CALL_2(bpf_thing, u32, a, u32, b)\n{\n\treturn small (a);\n}\n"    /* 29-32 */
	"EXPORT_SYMBOL(bpf_thing);\n"                                           /* 33 */
	"__printf(1, 2) void say(const char *fmt, ...)\n{\n}\n"                 /* 34-36 */
	"#ifdef A\nint either(int a)\n{\n\tif (a) {\n#else\nint either(void)\n{\n\t{\n#endif\n\t}\n}\n"         /* 37-47 */
	"int last(void) { return 0; }\n";                                       /* 48 */

static void is_at(const struct cfuncs *f, uint32_t line, const char *want)
{
	const struct cfunc *c = cfuncs_at(f, line);

	if (want)
		is_str(c ? c->name : "(none)", want, "line %u", line);
	else
		ok(!c, "line %u is outside of functions (%s)", line, c ? c->name : "none");
}

static void test_cfunc(void)
{
	static const struct { uint32_t line; const char *name; } lines[] = {
		{1, NULL}, {3, NULL}, {4, NULL}, {5, NULL}, {7, NULL}, {9, "small"}, {11, "small"}, {12, "small"},
		{13, NULL},
		{14, "pointer"}, {17, "pointer"}, {23, "pointer"}, {24, NULL}, {25, "__do_sys_socket"},
		{27, "__do_sys_socket"},
		{31, "bpf_thing"}, {33, NULL}, {35, "say"}, {48, "last"},
	};
	_cleanup_(cfuncs_release) struct cfuncs f = {0}, g = {0};
	struct cfuncs cut;

	cfuncs_find(source, strlen(source), &f);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		is_at(&f, lines[i].line, lines[i].name);
	ok(f.v[0].is_static && f.v[0].is_inline, "static inline");
	ok(f.v[1].is_static && f.v[1].is_inline, "__always_inline");
	ok(!f.v[2].is_static, "a system call is not static");
	ok(cfunc_calls(&f.v[1], source, "small") && cfunc_calls(&f.v[3], source, "small"), "calls are seen");
	ok(!cfunc_calls(&f.v[2], source, "small") && !cfunc_calls(&f.v[1], source, "mall"), "and what is none is not");
	for (size_t n = 0; n < strlen(source); n++) {
		_cleanup_free_ char *copy = xstrndup(source, n);

		cfuncs_find(copy, n, &cut);
		for (size_t i = 1; i < cut.n; i++)
			if (cut.v[i].first <= cut.v[i - 1].first || cut.v[i].body + cut.v[i].body_len > n)
				ok(false, "cut at %zu: functions in order, inside the text", n);
		cfuncs_release(&cut);
	}
	ok(true, "cut off at each byte");
	cfuncs_find("int f(", 6, &g);
	is_int(g.n, 0, "nothing but a beginning");
}

/* ---- a commit ---- */

static const char before[] =
	"#include <x.h>\nstatic int helper(int a)\n{\n\treturn a;\n}\n\nstatic int gone(void)\n{\n\treturn 1;\n}\n\n"
	"int entry(int a)\n{\n\treturn helper(a) + gone();\n}\n\nint other(void)\n{\n\treturn 2;\n}\n";
static const char after[] =
	"#include <y.h>\nstatic int helper(int a)\n{\n\ta++;\n\treturn a;\n}\n\nint entry(int a)\n{\n\treturn helper(a);\n}\n\n"
	"int other(void)\n{\n\treturn 2;\n}\n";

static void git(const char *dir, const char *const *argv)
{
	_cleanup_strv_ struct strv a = {0};

	strv_addv(&a, ARGV("git", "-c", "user.name=A", "-c", "user.email=a@example.org"));
	strv_addv(&a, argv);
	if (proc_ok((const char *const *)a.v, dir, NULL) < 0)
		printf("Bail out! %s\n", err_msg());
}

static void commit(const char *dir, const char *text, const char *doc)
{
	_cleanup_free_ char *c = xasprintf("%s/net/unix.c", dir), *d = xasprintf("%s/README", dir);

	fs_mkdir_parent(c);
	fs_write_atomic(c, text, strlen(text));
	fs_write_atomic(d, doc, strlen(doc));
	git(dir, ARGV("add", "-A"));
	git(dir, ARGV("commit", "-q", "-m", "x"));
}

static const struct touched_fn *find(const struct touched *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (streq(t->v[i].name, name))
			return &t->v[i];
	return NULL;
}

static int only_entry(void *arg, const char *name, uint64_t *ret_entries)
{
	if (!streq(name, arg))
		return 0;
	*ret_entries = 30;
	return 1;
}

static void reached(const struct touched *t, const char *name, const char *ran, const char *want)
{
	static const char map[] = "ffffffff81000000 T entry\nffffffff81000100 T other\n";
	_cleanup_(symbols_release) struct symbols s = {0};
	_cleanup_(reach_release) struct reach r = {0};
	_cleanup_buf_ struct buf text = {0};

	symbols_parse(map, strlen(map), &s);
	touched_reach(find(t, name), &s, NULL, only_entry, (void *)ran, &r);
	reach_text(&r, 10, &text);
	is_str(buf_str(&text), want, "%s where %s ran", name, ran);
}

/* With debug information an inlined function is seen by itself. */
static void with_lines(const struct touched *t)
{
	static const char map[] = "ffffffff81000000 T entry\n";
	struct profile p = {0};
	_cleanup_(symbols_release) struct symbols s = {0};
	const char *const want[][2] = {
		{"entry", "entered 3 times per operation, but none of its 1 changed line is known to have run"},
		{"helper", "inlined, 5 instructions per operation; 1 of 1 changed lines executed"},
		{"gone", "never executed"}};

	symbols_parse(map, strlen(map), &s);
	profile_add_line(&p, "/src/net/unix.c", 4, 10);
	profile_add_inlined(&p, "helper", 30);
	profile_add_inlined(&p, "helper", 20);
	profile_finish_lines(&p);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		_cleanup_(reach_release) struct reach r = {0};
		_cleanup_buf_ struct buf text = {0};

		touched_reach(find(t, want[i][0]), &s, &p, only_entry, (void *)"entry", &r);
		reach_text(&r, 10, &text);
		is_str(buf_str(&text), want[i][1], "%s, with debug information", want[i][0]);
	}
	profile_release(&p);
}

static void test_touched(const char *dir)
{
	_cleanup_touched_ struct touched t = {0}, doc = {0};
	_cleanup_buf_ struct buf out = {0};
	_cleanup_free_ char *git_dir = xasprintf("%s/.git", dir);

	git(dir, ARGV("init", "-q"));
	commit(dir, before, "one\n");
	commit(dir, after, "two\n");
	proc_ok(ARGV("git", "rev-parse", "HEAD"), dir, &out);
	out.s[strcspn(out.s, "\n")] = 0;
	is_int(touched_functions(git_dir, out.s, &t), 0, "the functions of a commit");
	is_int(t.n, 3, "three of them");
	ok(find(&t, "helper") && find(&t, "gone") && find(&t, "entry") && !find(&t, "other"),
	   "changed, removed, changed");
	ok(find(&t, "helper")->is_static && strv_has(&find(&t, "helper")->callers, "entry"),
	   "helper is static, entry calls it");
	ok(strv_has(&find(&t, "gone")->callers, "entry"), "who called what is gone");
	is_str(t.v[0].file, "net/unix.c", "the file");
	ok(t.outside.n == 1 && !t.data.n && t.other_files == 1 && !t.other.n,
	   "a line outside of functions, a file that is no C");
	reached(&t, "entry", "entry", "entered 3 times per operation");
	reached(&t, "entry", "other", "never executed");
	reached(&t, "helper", "entry", "inlined, in entry, entered 3 times per operation");
	reached(&t, "helper", "other", "inlined, and none of its callers in this file was executed");
	is_int(find(&t, "helper")->n_lines, 1, "helper has one new line");
	is_int(find(&t, "helper")->line[0], 4, "the fourth");
	with_lines(&t);
	commit(dir, after, "three\n");
	buf_clear(&out);
	proc_ok(ARGV("git", "rev-parse", "HEAD"), dir, &out);
	out.s[strcspn(out.s, "\n")] = 0;
	is_int(touched_functions(git_dir, out.s, &doc), 0, "a commit to documentation");
	is_int(doc.n, 0, "touches no function");
	is_int(touched_functions(git_dir, "0123456789012345678901234567890123456789", &doc), -ENOENT, "no such commit");
}

/* ---- was the change reached? ---- */

static int counts_of(void *arg, const char *name, uint64_t *ret_entries)
{
	const struct { const char *name; int ran; } *v = arg;

	for (; v->name; v++)
		if (streq(v->name, name)) {
			*ret_entries = v->ran > 0 ? (uint64_t)v->ran : 0;
			return v->ran > 0 ? 1 : v->ran;
		}
	return 0;
}

static const struct { const char *before, *after,
		     *header; const char *ran[4]; int n[4]; enum reach_verdict v; const char *says;
} cases[] = {
	{"int f(void)\n{\n\treturn 1;\n}\nint g(void)\n{\n\treturn 1;\n}\n",
	 "int f(void)\n{\n\treturn 2;\n}\nint g(void)\n{\n\treturn 2;\n}\n",
	 NULL,
	 {"f"},
	 {30},
	 REACH_YES,
	 "1 of 2 changed functions executed: f (entered 3 times per operation); never executed: g"},
	{"int f(void)\n{\n\treturn 1;\n}\nint g(void)\n{\n\treturn 1;\n}\n",
	 "int f(void)\n{\n\treturn 2;\n}\nint g(void)\n{\n\treturn 2;\n}\n",
	 NULL,
	 {"h"},
	 {30},
	 REACH_NO,
	 "this benchmark never executes f, g: its numbers say nothing about this change"},
	/* only inlined: the caller ran, but did it get there? */
	{"static int i(void)\n{\n\treturn 1;\n}\nint f(void)\n{\n\treturn i();\n}\n",
	 "static int i(void)\n{\n\treturn 2;\n}\nint f(void)\n{\n\treturn i();\n}\n",
	 NULL,
	 {"f"},
	 {30},
	 REACH_OPEN,
	 "none of the 1 changed functions is known to have run; cannot be told: i (inlined, in f, entered 3 times per operation)"},
	/* the caller did not run, so neither did what is inlined there */
	{"static int i(void)\n{\n\treturn 1;\n}\nint f(void)\n{\n\treturn i();\n}\n",
	 "static int i(void)\n{\n\treturn 2;\n}\nint f(void)\n{\n\treturn i();\n}\n",
	 NULL,
	 {"g"},
	 {30},
	 REACH_NO,
	 "this benchmark never executes i: its numbers say nothing about this change"},
	/* inlined into an inlined one */
	{"static int i(void)\n{\n\treturn 1;\n}\nstatic int j(void)\n{\n\treturn i();\n}\nint f(void)\n{\n\treturn j();\n}\n",
	 "static int i(void)\n{\n\treturn 2;\n}\nstatic int j(void)\n{\n\treturn i();\n}\nint f(void)\n{\n\treturn j();\n}\n",
	 NULL,
	 {"f"},
	 {30},
	 REACH_OPEN,
	 "none of the 1 changed functions is known to have run; cannot be told: i (inlined, in f, entered 3 times per operation)"},
	{"static int i(void)\n{\n\treturn 1;\n}\nstatic int j(void)\n{\n\treturn i();\n}\nint f(void)\n{\n\treturn j();\n}\n",
	 "static int i(void)\n{\n\treturn 2;\n}\nstatic int j(void)\n{\n\treturn i();\n}\nint f(void)\n{\n\treturn j();\n}\n",
	 NULL,
	 {"g"},
	 {30},
	 REACH_NO,
	 "this benchmark never executes i: its numbers say nothing about this change"},
	/* nobody watched it */
	{"int f(void)\n{\n\treturn 1;\n}\n",
	 "int f(void)\n{\n\treturn 2;\n}\n",
	 NULL,
	 {"f"},
	 {-1},
	 REACH_OPEN,
	 "none of the 1 changed functions is known to have run; cannot be told: f (not known: nobody watched it)"},
	/* two functions of that name: which one ran? */
	{"static int twin(void)\n{\n\treturn 1;\n}\n",
	 "static int twin(void)\n{\n\treturn 2;\n}\n",
	 NULL,
	 {"twin"},
	 {30},
	 REACH_OPEN,
	 "none of the 1 changed functions is known to have run; cannot be told: twin (entered 3 times per operation, together with 1 other of that name)"},
	/* a structure has grown: that can matter anywhere */
	{"int f(void)\n{\n\treturn 1;\n}\n",
	 "int f(void)\n{\n\treturn 2;\n}\n",
	 "struct s {\n\tint a;\n};\n",
	 {"g"},
	 {30},
	 REACH_OPEN,
	 "none of the 1 changed functions is known to have run; never executed: f; also changed: include/s.h outside of functions"},
	/* a declaration and an #include cannot */
	{"int f(void)\n{\n\treturn 1;\n}\n",
	 "#include <s.h>\nint f(void)\n{\n\treturn 2;\n}\nEXPORT_SYMBOL_GPL(f);\n",
	 "int f(void);\n",
	 {"g"},
	 {30},
	 REACH_NO,
	 "this benchmark never executes f: its numbers say nothing about this change"},
	/* nothing of the file is in this kernel */
	{"int away(void)\n{\n\treturn 1;\n}\n",
	 "int away(void)\n{\n\treturn 2;\n}\n",
	 NULL,
	 {"g"},
	 {30},
	 REACH_NO,
	 "none of the 1 changed functions is part of this kernel: its numbers say nothing about this change"},
};

static char *head_of(const char *dir)
{
	_cleanup_buf_ struct buf out = {0};

	proc_ok(ARGV("git", "rev-parse", "HEAD"), dir, &out);
	return xstrndup(buf_str(&out), strcspn(buf_str(&out), "\n"));
}

static void test_reached(const char *dir)
{
	static const char map[] =
		"ffffffff81000000 T f\nffffffff81000100 T g\nffffffff81000200 T h\nffffffff81000300 t twin\n"
		"ffffffff81000400 t twin\n";
	_cleanup_(symbols_release) struct symbols s = {0};
	_cleanup_free_ char *git_dir = xasprintf("%s/.git", dir), *header = xasprintf("%s/include/s.h", dir);

	symbols_parse(map, strlen(map), &s);
	fs_mkdir_parent(header);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_touched_ struct touched t = {0};
		_cleanup_buf_ struct buf text = {0};
		_cleanup_free_ char *base = NULL, *head = NULL;
		struct { const char *name; int ran; } ran[5] = {0};

		for (size_t k = 0; k < 4; k++) {
			ran[k].name = cases[i].ran[k];
			ran[k].ran = cases[i].n[k];
		}
		fs_write_atomic(header, "\n", 1);
		commit(dir, cases[i].before, "a\n");
		base = head_of(dir);
		commit(dir, cases[i].before, "between\n"); /* two commits apart */
		if (cases[i].header)
			fs_write_atomic(header, cases[i].header, strlen(cases[i].header));
		commit(dir, cases[i].after, "b\n");
		head = head_of(dir);
		is_int(touched_between(git_dir, base, head, &t), 0, "case %zu: what differs", i);
		is_int(touched_reached(&t, &s, NULL, counts_of, ran, 10, &text), cases[i].v, "its verdict");
		is_str(buf_str(&text), cases[i].says, "its evidence");
	}
}

static void test_symbols(void)
{
	static const char map[] =
		"ffffffff81000000 T f\nffffffff81000100 t f.cold\nffffffff81000200 t g.isra.0\nffffffff81000300 t h.part.0\n"
		"ffffffff81000400 T f_more\nffffffff81000500 t f\nffffffff81000600 T __x64_sys_bind\n";
	_cleanup_(symbols_release) struct symbols s = {0};
	_cleanup_strv_ struct strv f = {0}, g = {0}, w = {0};
	struct touched_file in = {.path = (char *)"x.c"};
	struct touched_fn fn[] = {{.name = (char *)"inlined", .file = in.path, .in = &in},
				  {.name = (char *)"__do_sys_bind", .file = in.path, .in = &in}};
	const struct touched t = {.v = fn, .n = 2};

	symbols_parse(map, strlen(map), &s);
	is_int(symbols_of(&s, "f", &f), 2, "two functions have that name");
	ok(f.n == 1 && streq(f.v[0], "f"), "one symbol to watch, and no part of it");
	is_int(symbols_of(&s, "g", &g), 1, "a copy made by the compiler");
	ok(g.n == 1 && streq(g.v[0], "g.isra.0"), "is the function");
	is_int(symbols_of(&s, "h", NULL), 0, "a part is not");
	is_str(symbols_counted_as(&s, "h"), "h", "though it is counted as it");
	ok(!symbols_counted_as(&s, "f_mor"), "the beginning of a name is none");
	strv_add(&fn[0].callers, "g");
	touched_symbols(&t, &s, &w);
	ok(w.n == 2 && streq(w.v[0], "g.isra.0") && streq(w.v[1], "__x64_sys_bind"),
	   "what to watch: the caller, and the entry of a system call");
	strv_release(&fn[0].callers);
}

int main(void)
{
	char dir[] = "/tmp/kperfbot-touched-XXXXXX";

	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	test_cfunc();
	if (!mkdtemp(dir))
		return 1;
	test_touched(dir);
	test_symbols();
	test_reached(dir);
	fs_rm_rf(dir);
	return tap_done();
}
