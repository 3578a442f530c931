/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Option tables: each type, operands anywhere, what is wrong, and the help. */
#include "lib/opt.h"
#include "tests/tap.h"

static bool all, quiet;
static const char *job;
static int64_t n;
static double ratio, pause_s;
static struct strv trees;
static const struct opt opts[] = {
	OPT_FLAG('a', "all", &all, "all of them"),
	OPT_FLAG(0, "quiet", &quiet, "say little"),
	OPT_TEXT('j', "job", "JOB", &job, "its name"),
	OPT_INT('n', "boots", "N", &n, "how often,\nat most"),
	OPT_DOUBLE(0, "ratio", "X", &ratio, "a part"),
	OPT_SECONDS('t', "time", "TIME", &pause_s, "how long"),
	OPT_LIST(0, "a-long-name-that-fills-the-line", "NAME", &trees, "more than one"),
	OPT_END,
};

static int argc_left;
static char **argv_left;

/* The words of a line, parsed. */
static int parse(const char *line)
{
	static char copy[300], *argv[40];
	int argc = 0;

	all = quiet = false;
	job = NULL;
	n = 0;
	ratio = pause_s = 0;
	strv_release(&trees);
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *save = NULL, *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = streq(w, "''") ? (char *)"" : w;
	argv[argc] = NULL;
	argc_left = argc;
	argv_left = argv;
	return opt_parse(&argc_left, &argv_left, opts);
}

static void test_right(void)
{
	is_int(parse("-a --quiet -j x --boots=3 --ratio 0.5 -t 5m one two"), 0, "all kinds");
	ok(all && quiet && streq(job, "x") && n == 3 && ratio == 0.5 && pause_s == 300, "their values");
	ok(argc_left == 2 && streq(argv_left[0], "one") && streq(argv_left[1], "two"), "the operands are left");
	is_int(parse("one -a two -n -5 three"), 0, "options stand anywhere");
	ok(all && n == -5 && argc_left == 3 && streq(argv_left[2], "three"), "and a value may begin with -");
	is_int(parse("one -- -a --none"), 0, "-- ends the options");
	ok(!all && argc_left == 3 && streq(argv_left[0], "one") && streq(argv_left[1], "-a"),
	   "what is behind it is left");
	is_int(parse("-aj x -"), 0, "short ones together, and - is an operand");
	ok(all && streq(job, "x") && argc_left == 1 && streq(argv_left[0], "-"), "their values");
	is_int(parse("--a-long-name-that-fills-the-line a --a-long b"), 0, "a list, and a name that is cut short");
	ok(trees.n == 2 && streq(trees.v[1], "b"), "has both");
	is_int(parse("-n 1 -n 2"), 0, "the last one counts");
	is_int(n, 2, "of two");
	is_int(parse(""), 0, "nothing");
	is_int(argc_left, 0, "leaves nothing");
	is_int(parse("-j ''"), 0, "an empty value");
	is_str(job, "", "is one");
}

static void test_wrong(void)
{
	static const struct { const char *line, *says; } c[] = {
		{"--nothing", "unknown option '--nothing'; --help lists them"},
		{"--bots=3", "did you mean '--boots'?"}, {"-x", "unknown option '-x'"},
		{"--job", "option '--job' needs a value"}, {"-n", "option '-n' needs a value"},
		{"-n x", "--boots: 'x' is not a whole number"},
		{"--ratio nan", "--ratio: 'nan' is not a finite number"},
		{"--ratio 1,5", "--ratio: '1,5' is not a number"}, {"-t soon", "--time: 'soon' is not a time"},
		{"--all=yes", "'--all=yes'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		is_int(parse(c[i].line), -EINVAL, "wrong: %s", c[i].line);
		ok(strstr(err_msg(), c[i].says) != NULL, "%s", err_msg());
	}
	is_int(parse("-h"), OPT_HELP_WANTED, "-h");
	is_int(parse("one --help"), OPT_HELP_WANTED, "--help");
}

static void test_help(void)
{
	_cleanup_buf_ struct buf b = {0};

	opt_help(opts, &b);
	is_str(b.s, "  -a, --all                   all of them\n"
		    "      --quiet                 say little\n"
		    "  -j, --job=JOB               its name\n"
		    "  -n, --boots=N               how often,\n"
		    "                                at most\n"
		    "      --ratio=X               a part\n"
		    "  -t, --time=TIME             how long\n"
		    "      --a-long-name-that-fills-the-line=NAME  more than one\n", "the help");
}

int main(void)
{
	test_right();
	test_wrong();
	test_help();
	strv_release(&trees);
	return tap_done();
}
