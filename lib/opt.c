/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/opt.h"

#include <getopt.h>

static int take_double(const char *arg, double *ret)
{
	double v;
	int r = parse_double(arg, &v);

	if (r >= 0 && !isfinite(v))
		r = err_set(-EINVAL, "'%s' is not a finite number", arg);
	if (r >= 0)
		*ret = v;
	return r;
}

static int take(const struct opt *o, const char *arg)
{
	int r = 0;

	switch (o->type) {
	case OPT_T_FLAG: *(bool *)o->ptr = true; break;
	case OPT_T_TEXT: *(const char **)o->ptr = arg; break;
	case OPT_T_INT: r = parse_i64(arg, o->ptr); break;
	case OPT_T_DOUBLE: r = take_double(arg, o->ptr); break;
	case OPT_T_SECONDS: r = parse_seconds(arg, o->ptr); break;
	case OPT_T_LIST: strv_add(o->ptr, arg); break;
	case OPT_T_END: break;
	}
	return r < 0 ? err_prefix(r, "--%s", o->name) : 0;
}

static int unknown(const char *word, const struct opt *opts, size_t n)
{
	const char *names[64], *near;
	_cleanup_free_ char *bare = xstrdup(word + strspn(word, "-"));
	size_t k = 0;

	bare[strcspn(bare, "=")] = 0;
	for (size_t i = 0; i < n && k < ARRAY_SIZE(names); i++)
		names[k++] = opts[i].name;
	near = nearest_word(bare, names, k);
	return err_set(-EINVAL, "unknown option '%s'%s%s%s; --help lists them", word, near ? ", did you mean '--" : "",
		       near ? near : "", near ? "'?" : "");
}

int opt_parse(int *argc, char ***argv, const struct opt *opts)
{
	_cleanup_free_ struct option *lo = NULL;
	_cleanup_free_ char **av = xcalloc(*argc + 2, sizeof(*av));
	_cleanup_buf_ struct buf shorts = {0};
	size_t n = 0;
	int c, r = 0, index;

	for (n = 0; opts[n].type != OPT_T_END; n++)
		;
	lo = xcalloc(n + 2, sizeof(*lo));
	buf_adds(&shorts, ":h");
	for (size_t i = 0; i < n; i++) {
		lo[i] = (struct option){opts[i].name, opts[i].arg ? required_argument : no_argument, NULL,
					256 + (int)i};
		if (opts[i].short_name)
			buf_addf(&shorts, "%c%s", opts[i].short_name, opts[i].arg ? ":" : "");
	}
	lo[n] = (struct option){"help", no_argument, NULL, 'h'};
	av[0] = (char *)"kperfbot";
	memcpy(av + 1, *argv, *argc * sizeof(*av));
	optind = 0;
	opterr = 0;
	while (r == 0 && (c = getopt_long(*argc + 1, av, shorts.s, lo, &index)) != -1) {
		const char *word = av[optind - 1];

		if (c == 'h')
			r = OPT_HELP_WANTED;
		else if (c == ':')
			r = err_set(-EINVAL, "option '%s' needs a value", word);
		else if (c == '?')
			r = unknown(word, opts, n);
		else if (c >= 256)
			r = take(&opts[c - 256], optarg);
		else
			for (size_t i = 0; i < n; i++)
				if (opts[i].short_name == c) {
					r = take(&opts[i], optarg);
					break;
				}
	}
	if (r != 0)
		return r;
	memcpy(*argv, av + 1, *argc * sizeof(*av)); /* permuted: operands are last */
	*argv += optind - 1;
	*argc -= optind - 1;
	return 0;
}

#define HELP_COLUMN 30

/* Later lines of a help text stand below its first. */
static void add_help(struct buf *out, const char *help)
{
	for (size_t n; *help; help += n + (help[n] == '\n')) {
		n = strcspn(help, "\n");
		buf_add(out, help, n);
		if (help[n])
			buf_addf(out, "\n%*s", HELP_COLUMN + 2, "");
	}
}

void opt_help(const struct opt *opts, struct buf *out)
{
	for (; opts->type != OPT_T_END; opts++) {
		_cleanup_buf_ struct buf left = {0};

		if (opts->short_name)
			buf_addf(&left, "  -%c, ", opts->short_name);
		else
			buf_adds(&left, "      ");
		buf_addf(&left, "--%s%s%s", opts->name, opts->arg ? "=" : "", opts->arg ? opts->arg : "");
		buf_addf(out, "%-*s%s", HELP_COLUMN, left.s, left.len >= HELP_COLUMN ? "  " : "");
		add_help(out, opts->help);
		buf_addc(out, '\n');
	}
}
