/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/verb.h"
#include "lib/version.h"

#include <json-c/json.h>

extern const struct verb verb_config, verb_man;

/* What holds where nothing is set: dflt has what follows from other settings, where a row says `otherwise`. */
static bool is_default(const struct setting *s, const void *base, const void *dflt)
{
	return setting_is_default(s, base) || (s->otherwise && setting_equal(s, base, dflt));
}

static void show_settings(const char *indent, const struct settings *part, const struct settings *dflt)
{
	for (; part->table; part++, dflt++)
		for (const struct setting *s = part->table; s->name; s++) {
			_cleanup_free_ char *shown = setting_shown(s, part->base);

			term_printf(stdout, "%s%-*s %s%s\n", indent, 20 - (int)strlen(indent), s->name,
				    *shown ? shown : "none",
				    is_default(s, part->base, dflt->base) ? "  (default)" : "");
		}
}

static void show_machine(const struct config *c, const struct machine *m)
{
	const struct canary_config *k = config_canary(c, m->name);
	struct settings part[MACHINE_PARTS], dflt[MACHINE_PARTS];
	_cleanup_machine_ struct machine d = {0};

	(void)machine_init(&d, m->name, m->driver);
	d.tbox_group = xstrdup(m->name);
	machine_settings(m, part);
	machine_settings(&d, dflt);
	term_printf(stdout, "machine     %s (%s)", m->name, m->driver);
	if (k)
		term_printf(stdout, ", canary: %s at %s%s%s", k->job, k->commit, k->tree ? " of " : "",
			    k->tree ? k->tree : "");
	putchar('\n');
	show_settings("  ", part, dflt);
}

static void show_tree(const struct tree_config *t)
{
	struct settings part[TREE_PARTS], dflt[TREE_PARTS];
	_cleanup_(tree_config_release) struct tree_config d = {0};
	_cleanup_free_ char *url = url_shown(t->url);

	tree_config_init(&d, t->name);
	d.program = t->program;
	tree_config_complete(&d);
	tree_config_settings(t, part);
	tree_config_settings(&d, dflt);
	term_printf(stdout, "tree        %s %s%s\n", t->name, url, t->enabled ? "" : " (off)");
	show_settings("  ", part, dflt);
}

static void show_effects(const struct config *c)
{
	for (size_t i = 0; i < c->min_effects.n; i++)
		term_printf(stdout, "  smallest effect of %s: %g%s\n", c->min_effects.v[i].pattern,
			    c->min_effects.v[i].value, effect_rule_points(&c->min_effects.v[i]) ? " points" : "");
}

/* What would hold with no file but one that says the state folder: the mbox is there. */
static void defaults_beside(const struct config *c, struct config *ret)
{
	char *state;

	config_init(ret);
	state = ret->state_dir;
	ret->state_dir = c->state_dir;
	config_complete(ret);
	ret->state_dir = state;
}

/* Those that have no section of their own. */
static void show_reporters(const struct config *c, const struct config *d)
{
	for (const struct report_ops *const *o = reporters(); *o; o++) {
		const struct settings part[] = {{(*o)->settings, report_settings_of(&c->reports, *o)}, {0}};
		const struct settings dflt[] = {{(*o)->settings, report_settings_of(&d->reports, *o)}, {0}};

		if ((*o)->section || !(*o)->settings)
			continue;
		term_printf(stdout, "reports     %s\n", (*o)->name);
		show_settings("  ", part, dflt);
	}
}

static void show(const struct config *c)
{
	_cleanup_(config_release) struct config d = {0};

	defaults_beside(c, &d);
	term_printf(stdout, "folder               %s\n", c->dir ? c->dir : "(built-in defaults)");
	for (const struct config_section *s = config_sections; s->table; s++) {
		_cleanup_free_ struct settings *part = config_parts(c, s->name), *dflt = config_parts(&d, s->name);

		if (*s->name)
			puts(s->name);
		show_settings(*s->name ? "  " : "", part, dflt);
		if (streq(s->name, "judge"))
			show_effects(c);
	}
	show_reporters(c, &d);
	for (size_t i = 0; i < c->n_machines; i++)
		show_machine(c, &c->machine[i]);
	for (size_t i = 0; i < c->n_trees; i++)
		show_tree(&c->tree[i]);
}

static void add_settings(struct json_object *o, const struct settings *part)
{
	for (; part->table; part++)
		settings_to_json(part->table, part->base, SETTINGS_SHOWN, o);
}

static struct json_object *canary_json(const struct canary_config *k)
{
	struct json_object *o = k ? json_object_new_object() : NULL;

	if (o)
		settings_to_json(canary_settings, k, SETTINGS_SHOWN, o);
	return o;
}

static struct json_object *machine_json(const struct config *c, const struct machine *m)
{
	struct json_object *o = json_object_new_object();
	struct settings part[MACHINE_PARTS];

	machine_settings(m, part);
	json_object_object_add(o, "name", json_text(m->name));
	json_object_object_add(o, "driver", json_text(m->driver));
	add_settings(o, part);
	json_object_object_add(o, "canary", canary_json(config_canary(c, m->name)));
	return o;
}

static struct json_object *tree_json(const struct tree_config *t)
{
	struct json_object *o = json_object_new_object();
	struct settings part[TREE_PARTS];

	tree_config_settings(t, part);
	json_object_object_add(o, "name", json_text(t->name));
	add_settings(o, part);
	return o;
}

static struct json_object *effects_json(const struct config *c)
{
	struct json_object *o = json_object_new_object();

	for (size_t i = 0; i < c->min_effects.n; i++)
		json_object_object_add(o, c->min_effects.v[i].pattern,
				       json_object_new_double(c->min_effects.v[i].value));
	return o;
}

static struct json_object *reporters_json(const struct config *c)
{
	struct json_object *all = json_object_new_object();

	for (const struct report_ops *const *o = reporters(); *o; o++) {
		struct json_object *own = !(*o)->section && (*o)->settings ? json_object_new_object() : NULL;

		if (!own)
			continue;
		settings_to_json((*o)->settings, report_settings_of(&c->reports, *o), SETTINGS_SHOWN, own);
		json_object_object_add(all, (*o)->name, own);
	}
	return all;
}

/* The form of the files, but for lists of machines and trees. */
static void show_json(const struct config *c)
{
	struct json_object *o = json_object_new_object(), *machines = json_object_new_array(),
			   *trees = json_object_new_array();

	json_object_object_add(o, "folder", json_text(c->dir));
	for (const struct config_section *s = config_sections; s->table; s++) {
		_cleanup_free_ struct settings *of = config_parts(c, s->name);
		struct json_object *part = *s->name ? json_object_new_object() : o;

		add_settings(part, of);
		if (streq(s->name, "judge"))
			json_object_object_add(part, "min_effects", effects_json(c));
		if (part != o)
			json_object_object_add(o, s->name, part);
	}
	for (size_t i = 0; i < c->n_machines; i++)
		json_object_array_add(machines, machine_json(c, &c->machine[i]));
	for (size_t i = 0; i < c->n_trees; i++)
		json_object_array_add(trees, tree_json(&c->tree[i]));
	json_object_object_add(o, "reports", reporters_json(c));
	json_object_object_add(o, "machines", machines);
	json_object_object_add(o, "trees", trees);
	json_print(stdout, o, true);
	json_object_put(o);
}

static int run_config(int argc, char **argv, struct ctx *c)
{
	const struct opt opts[] = {OPT_END};
	int r = verb_options(&verb_config, &argc, &argv, opts, c);

	if (r >= 0)
		return r;
	if (argc < 1 || argc > 2 || (!streq(argv[0], "check") && !streq(argv[0], "show")))
		return verb_usage(c, "config check [FOLDER] or config show [FOLDER]");
	r = config_load(argc == 2 ? argv[1] : NULL, &c->config);
	if (r < 0)
		return verb_fail(c, r);
	if (streq(argv[0], "show"))
		(c->json ? show_json : show)(&c->config);
	else if (c->json)
		puts("{\"ok\": true}");
	else
		term_printf(stdout, "%s: no mistakes\n", c->config.dir ? c->config.dir : "built-in defaults");
	return EXIT_DONE;
}

const struct verb verb_config = {
	.name = "config",
	.usage = "check [FOLDER]\nshow [FOLDER]",
	.summary = "check the configuration, or show what is in force",
	.text = "Names file, line and column of every mistake, and files that are not read because of their name.\n"
		"FOLDER holds kperfbot.yaml, trees.yaml and machines.yaml (any may be missing);\n"
		"default: --config, KPERFBOT_CONFIG, /etc/kperfbot, else the built-in defaults.",
	.run = run_config,
};

/* ---- man pages: from the same texts as --help ---- */

static void man_options(const struct verb *v, const char *more)
{
	char *argv[] = {(char *)v->name, (char *)more, NULL};
	struct ctx c = {.man = true};

	(void)v->run(more ? 2 : 1, argv, &c);
}

static void man_verb(const struct verb *v)
{
	_cleanup_free_ char *forms = xstrdup(v->usage);

	printf(".SS ");
	roff_text(v->name);
	putchar('\n');
	roff_text(v->summary);
	puts("\n.PP\n.nf");
	for (char *save = NULL, *line = strtok_r(forms, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		printf("kperfbot %s ", v->name);
		roff_text(line);
		putchar('\n');
	}
	puts(".fi");
	if (v->text && *v->text) {
		puts(".PP");
		roff_text(v->text);
		putchar('\n');
	}
	man_options(v, NULL);
	if (!strcmp(v->name, "bisect")) {
		puts(".PP\nOptions of bisect simulate:");
		man_options(v, "simulate");
	}
}

/* "1 to 256; default: 1" */
static void add_limits(const struct setting *s, struct buf *b)
{
	_cleanup_free_ char *dflt = setting_default_shown(s), *limits = setting_limits(s);
	const bool none = !s->dflt && !s->otherwise && (s->type == SETTING_T_TEXT || s->type == SETTING_T_LIST);

	buf_adds(b, limits ? limits : "");
	if (!none)
		buf_addf(b, "%sdefault: %s", b->len ? "; " : "", dflt);
}

static void man_item(const char *name, const char *text)
{
	printf(".TP\n.B ");
	roff_text(name);
	putchar('\n');
	roff_text(text);
	putchar('\n');
}

static void man_setting(const struct setting *s)
{
	_cleanup_buf_ struct buf limits = {0}, text = {0};

	add_limits(s, &limits);
	buf_addf(&text, limits.len ? "%s (%s)" : "%s", s->help, buf_str(&limits));
	man_item(s->name, buf_str(&text));
}

static void man_settings(const struct settings *part)
{
	for (; part->table; part++)
		for (const struct setting *s = part->table; s->name; s++)
			man_setting(s);
}

static void man_reporters(void)
{
	for (const struct report_ops *const *o = reporters(); *o; o++) {
		const struct settings own[] = {{(*o)->settings, NULL}, {0}};

		if ((*o)->section || !(*o)->settings)
			continue;
		printf(".SS reports: ");
		roff_text((*o)->name);
		putchar('\n');
		man_settings(own);
	}
}

static void man_config(void)
{
	_cleanup_(config_release) struct config c = {0};
	struct settings tree[TREE_PARTS];
	const struct settings canary[] = {{canary_settings, NULL}, {0}};

	puts(".SH CONFIGURATION\nkperfbot.yaml, trees.yaml and machines.yaml in one folder; any may be missing.");
	config_init(&c);
	for (const struct config_section *s = config_sections; s->table; s++) {
		_cleanup_free_ struct settings *part = config_parts(&c, s->name);

		printf(".SS %s\n", *s->name ? s->name : "At the top level");
		man_settings(part);
		if (streq(s->name, "judge"))
			man_item("min_effects",
				 "lines \"NAME: number\": smallest effects of metrics, globs and classes of "
				 "them, before min_effect");
	}
	man_reporters();
	puts(".SS trees\nEach tree has its name, and below it:");
	tree_config_settings(NULL, tree);
	man_settings(tree);
	puts(".SS canary\nBelow a machine that is not deterministic: a build that never changes, measured between the others.");
	man_settings(canary);
}

/* Of the drivers' own tables. */
static void man_drivers(void)
{
	struct machine any = {0};
	struct settings part[MACHINE_PARTS];

	puts(".SH MACHINE DRIVERS\nA machine in machines.yaml has a driver, and all have these settings:");
	machine_settings(&any, part);
	man_settings(part);
	for (const struct machine_ops *const *o = machine_drivers(); *o; o++) {
		const struct settings own[] = {{(*o)->options, NULL}, {0}};

		printf(".SS ");
		roff_text((*o)->name);
		putchar('\n');
		roff_text((*o)->help);
		putchar('\n');
		man_settings(own);
	}
}

static int run_man(int argc _unused_, char **argv _unused_, struct ctx *c _unused_)
{
	printf(".TH KPERFBOT 1 \"\" \"kperfbot %s\"\n", kperfbot_version);
	puts(".SH NAME\nkperfbot \\- kernel performance bot\n.SH SYNOPSIS\n.B kperfbot\n[\\-\\-config DIR] "
	     "[\\-\\-state DIR] [\\-\\-verbose | \\-\\-quiet] VERB ...\n.SH DESCRIPTION\nWatches kernel trees, builds and boots their commits, "
	     "measures them, finds the commit that changed performance and reports it. All verbs have "
	     "\\-\\-help; \\-\\-json and \\-\\-csv change the form of the output.\n.SH VERBS");
	for (const struct verb *const *v = verbs; *v; v++)
		if ((*v)->summary[0] != '(')
			man_verb(*v);
	man_config();
	man_drivers();
	puts(".SH EXIT STATUS\n0 done; 1 the answer is no, or the work failed; 2 wrong use or configuration; 3 not found; 130 "
	     "stopped before the end (run, bisect).\n"
	     ".SH ENVIRONMENT\nKPERFBOT_CONFIG, KPERFBOT_STATE, KPERFBOT_CACHE: folders of the configuration, the state (database, "
	     "mirrors, results) and the cache (finished builds, their objects, root images).\n"
	     ".SH FILES\n/etc/kperfbot, /var/lib/kperfbot/kperfbot.db");
	return EXIT_DONE;
}

const struct verb verb_man = {
	.name = "man", .usage = "", .summary = "(prints the manual page in roff)", .text = "", .run = run_man};
