/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/verb.h"

#include <json-c/json.h>

static void print_help(const struct verb *v, const struct opt *opts)
{
	_cleanup_free_ char *forms = xstrdup(v->usage);
	_cleanup_buf_ struct buf b = {0};
	const char *lead = "usage:";

	for (char *save = NULL, *line = strtok_r(forms, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		buf_addf(&b, "%s kperfbot %s %s\n", lead, v->name, line);
		lead = "      ";
	}
	if (!*v->usage)
		buf_addf(&b, "usage: kperfbot %s\n", v->name);
	buf_addf(&b, "\n%s\n\n", v->summary);
	opt_help(opts, &b);
	if (v->text && *v->text)
		buf_addf(&b, "\n%s\n", v->text);
	fputs(b.s, stdout);
}

static void print_man(const struct opt *o)
{
	for (; o->type != OPT_T_END; o++) {
		_cleanup_free_ char *help = xstrdup(o->help);
		puts(".TP");
		if (o->short_name)
			printf("\\-%c, ", o->short_name);
		printf("\\-\\-");
		roff_text(o->name);
		if (o->arg) {
			putchar('=');
			roff_text(o->arg);
		}
		putchar('\n');
		for (char *save = NULL, *l = strtok_r(help, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
			if (l != help)
				puts(".br");
			roff_text(l);
			putchar('\n');
		}
	}
}

void roff_text(const char *s)
{
	for (bool start = true; *s; start = *s++ == '\n') {
		if (start && (*s == '.' || *s == '\''))
			fputs("\\&", stdout);
		if (*s == '\\')
			fputs("\\e", stdout);
		else if (*s == '-')
			fputs("\\-", stdout);
		else
			putchar(*s);
	}
}

static bool has_option(const struct opt *o, const char *name)
{
	for (; o->type != OPT_T_END; o++)
		if (streq(o->name, name))
			return true;
	return false;
}

/* Options that are all verbs' stand before the verb: who puts one behind it is told so. */
static int check_place(const struct verb *v, const struct opt *opts, int argc, char **argv)
{
	static const char *const general[] = {"config", "state", "verbose", "quiet"};

	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		for (size_t k = 0; startswith(argv[i], "--") && k < ARRAY_SIZE(general); k++)
			if (startswith(argv[i] + 2, general[k]) && strchr("=", argv[i][2 + strlen(general[k])]) &&
			    !has_option(opts, general[k]))
				return err_set(-EINVAL, "'%s' goes before the verb: kperfbot --%s%s %s ...", argv[i],
					       general[k], k < 2 ? " DIR" : "", v->name);
	return 0;
}

int verb_options(const struct verb *v, int *argc, char ***argv, const struct opt *opts, struct ctx *c)
{
	struct opt all[48];
	size_t n = 0;
	int r;

	for (const struct opt *o = opts; o && o->type != OPT_T_END && n < ARRAY_SIZE(all) - 3; o++)
		all[n++] = *o;
	all[n] = (struct opt)OPT_END;
	if (c->man) {
		print_man(all);
		return EXIT_DONE;
	}
	all[n++] = (struct opt)OPT_FLAG(0, "json", &c->json, "print JSON");
	all[n++] = (struct opt)OPT_FLAG(0, "csv", &c->csv, "print CSV where there is a table");
	all[n] = (struct opt)OPT_END;
	if (*argc > 0) { /* argv[0] is the verb */
		(*argc)--;
		(*argv)++;
	}
	r = check_place(v, all, *argc, *argv);
	if (r >= 0)
		r = opt_parse(argc, argv, all);
	if (r == OPT_HELP_WANTED) {
		print_help(v, all);
		return EXIT_DONE;
	}
	return r < 0 ? verb_fail(c, r) : -1;
}

int verb_fail(const struct ctx *c, int r)
{
	_cleanup_buf_ struct buf safe = {0};
	_cleanup_free_ char *text = xstrdup(err_msg());

	if (c && c->json) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "error", json_text(text));
		json_print(stdout, o, false);
		json_object_put(o);
	}
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		buf_adds(&safe, "kperfbot: ");
		buf_add_term(&safe, line);
		buf_addc(&safe, '\n');
	}
	fputs(buf_str(&safe), stderr);
	return r == -ENOENT							? EXIT_NOT_FOUND
	       : r == -EINVAL || r == -ERANGE || r == -EISDIR || r == -ENOTUNIQ ? EXIT_USAGE
										: EXIT_NO;
}

int verb_usage(const struct ctx *c, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return verb_fail(c, err_set(-EINVAL, "%s", text));
}

enum table_form ctx_form(const struct ctx *c) { return c->json ? TABLE_JSON : c->csv ? TABLE_CSV : TABLE_TERM; }
