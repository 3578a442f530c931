/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/tree-options.h"

static const struct { char letter; const char *option, *arg, *setting; } rows[TREE_OPTIONS] = {
	{'b', "branch", "GLOB", "branches"},
	{'k', "kconfig", "NAME", "kconfig"},
	{'j', "job", "NAME", "jobs"},
	{0, "patches", "FILE", "patches"},
	{'m', "machine", "NAME", "machine"},
	{'i', "interval", "TIME", "interval"},
	{0, "max-commits", "N", "max_commits"},
	{0, "credentials", "FILE", "credentials_file"},
	{0, "label", "TEXT", "branch_label"},
	{0, "cc", "ADDRESS", "mail_cc"},
	{0, "program", NULL, "program"},
	{0, "command", "COMMAND", "build_command"},
	{0, "artefact", "PATH", "artefact"},
	{0, "trusted", NULL, "trusted"},
};

static const struct setting *row_setting(size_t i)
{
	const struct setting *s = NULL;
	struct settings parts[TREE_PARTS];

	tree_config_settings(NULL, parts);
	for (size_t k = 0; !s && parts[k].table; k++)
		s = setting_find(parts[k].table, rows[i].setting);
	return s;
}

/* "what it is (repeatable; default *)" */
static char *help(const struct setting *s)
{
	const bool list = s->type == SETTING_T_LIST, dflt = s->dflt || s->otherwise;
	_cleanup_free_ char *shown = dflt ? setting_default_shown(s) : NULL;

	if (!list && !dflt)
		return xstrdup(s->help);
	return xasprintf("%s (%s%s%s%s)", s->help, list ? "repeatable" : "", list && dflt ? "; " : "",
			 dflt ? "default " : "", dflt ? shown : "");
}

void tree_options_rows(struct tree_options *o, struct opt ret[TREE_OPTIONS])
{
	for (size_t i = 0; i < TREE_OPTIONS; i++) {
		const struct setting *s = row_setting(i);
		struct tree_option *v = &o->v[i];

		v->help = help(s);
		ret[i] = s->type == SETTING_T_LIST
				 ? (struct opt)OPT_LIST(rows[i].letter, rows[i].option, rows[i].arg, &v->list, v->help)
			 : s->type == SETTING_T_BOOL
				 ? (struct opt)OPT_FLAG(rows[i].letter, rows[i].option, &v->flag, v->help)
				 : (struct opt)OPT_TEXT(rows[i].letter, rows[i].option, rows[i].arg, &v->text, v->help);
	}
}

void tree_options_release(struct tree_options *o)
{
	for (size_t i = 0; i < TREE_OPTIONS; i++) {
		strv_release(&o->v[i].list);
		free(o->v[i].help);
	}
}

bool tree_options_given(const struct tree_options *o, const char *setting)
{
	for (size_t i = 0; i < TREE_OPTIONS; i++)
		if (streq(rows[i].setting, setting))
			return o->v[i].text || o->v[i].flag || o->v[i].list.n;
	return false;
}

static int apply(const struct setting *s, const struct tree_option *v, struct tree_config *t)
{
	if (s->type == SETTING_T_BOOL)
		return v->flag ? setting_set(s, t, "true") : 0;
	if (s->type == SETTING_T_LIST) {
		if (v->list.n)
			strv_release(setting_list(s, t));
		if (v->list.n == 1 && !*v->list.v[0])
			setting_reset(s, t);
		else if (v->list.n)
			strv_addv(setting_list(s, t), (const char *const *)v->list.v);
		return 0;
	}
	if (v->text && !*v->text && s->type == SETTING_T_TEXT)
		setting_reset(s, t);
	else if (v->text)
		return setting_set(s, t, v->text);
	return 0;
}

int tree_options_apply(const struct tree_options *o, struct tree_config *t)
{
	int r = 0;

	if (!t->program && tree_options_given(o, "program")) {
		free(TAKE_PTR(t->kconfig));
		free(TAKE_PTR(t->machine));
	}
	for (size_t i = 0; r >= 0 && i < TREE_OPTIONS; i++) {
		r = apply(row_setting(i), &o->v[i], t);
		if (r < 0)
			r = err_prefix(r, "--%s", rows[i].option);
	}
	return MIN(r, 0);
}
