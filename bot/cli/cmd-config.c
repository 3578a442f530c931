/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/verb.h"
#include "lib/version.h"

#include <json-c/json.h>

extern const struct verb verb_config, verb_man;

static void show_machine(const struct config *c, const struct machine *m)
{
	const struct canary_config *k = config_canary(c, m->name);

	term_printf(stdout, "machine     %s (%s)", m->name, m->driver);
	if (k)
		term_printf(stdout, ", canary: %s at %s%s%s", k->job, k->commit, k->tree ? " of " : "",
			    k->tree ? k->tree : "");
	putchar('\n');
}

/* The reporters of one kind, in a format for name and place. */
static void show_reporters(const struct config *c, enum report_reach reach, const char *fmt)
{
	for (const struct report_ops *const *o = reporters(); *o; o++) {
		_cleanup_free_ char *where = reporter_where(*o, &c->reports);

		if ((*o)->reach == reach)
			term_printf(stdout, fmt, (*o)->name, where);
	}
}

static void show(const struct config *c)
{
	term_printf(stdout, "folder      %s\nstate       %s\ncache       %s\n",
		    c->dir ? c->dir : "(built-in defaults)", c->state_dir, c->cache_dir);
	show_reporters(c, REPORT_COPY, "%-11s %s\n");
	term_printf(stdout, "judge       alpha %g, confidence %g, smallest effect %g, boots %" PRId64 " to %" PRId64
		    " a side\n", c->alpha, c->confidence, c->min_effect, c->min_boots, c->max_boots);
	if (c->proof_aligned)
		puts("            proofs are repeated with aligned functions");
	for (size_t i = 0; i < c->min_effects.n; i++)
		term_printf(stdout, "            smallest effect of %s: %g%s\n", c->min_effects.v[i].pattern,
			    c->min_effects.v[i].value, effect_rule_points(&c->min_effects.v[i]) ? " points" : "");
	fputs("mail        ", stdout);
	show_reporters(c, REPORT_PEOPLE, "%s %s, ");
	printf("%zu address pattern%s allowed\n", c->mail_allow.n, c->mail_allow.n == 1 ? "" : "s");
	for (size_t i = 0; i < c->n_machines; i++)
		show_machine(c, &c->machine[i]);
	for (size_t i = 0; i < c->n_trees; i++) {
		_cleanup_free_ char *url = url_shown(c->tree[i].url);

		term_printf(stdout, "tree        %s %s%s\n", c->tree[i].name, url, c->tree[i].enabled ? "" : " (off)");
	}
}

static struct json_object *machine_json(const struct config *c, const struct machine *m)
{
	const struct canary_config *k = config_canary(c, m->name);
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_text(m->name));
	json_object_object_add(o, "driver", json_text(m->driver));
	json_object_object_add(o, "canary_job", k ? json_text(k->job) : NULL);
	json_object_object_add(o, "canary_commit", k ? json_text(k->commit) : NULL);
	json_object_object_add(o, "canary_tree", k ? json_text(k->tree) : NULL);
	return o;
}

static struct json_object *tree_json(const struct tree_config *t)
{
	struct json_object *o = json_object_new_object();
	_cleanup_free_ char *url = url_shown(t->url);

	json_object_object_add(o, "name", json_text(t->name));
	json_object_object_add(o, "url", json_text(url));
	json_object_object_add(o, "credentials_file", json_text(t->credentials_file));
	json_object_object_add(o, "enabled", json_object_new_boolean(t->enabled));
	return o;
}

/* Where each of one kind goes; of those that have a section of their own all that is set. */
static void reporters_json(const struct config *c, enum report_reach reach, struct json_object *o, struct json_object *own)
{
	for (const struct report_ops *const *r = reporters(); *r; r++) {
		const void *set = report_settings_of(&c->reports, *r);
		_cleanup_free_ char *where = reporter_where(*r, &c->reports);
		struct json_object *all;

		if ((*r)->reach != reach || !(*r)->settings)
			continue;
		if ((*r)->section) {
			json_object_object_add(o, (*r)->where, (*r)->enabled(set) ? json_text(where) : NULL);
			continue;
		}
		json_object_object_add(own, (*r)->name, all = json_object_new_object());
		settings_to_json((*r)->settings, set, SETTINGS_SHOWN, all);
	}
}

static void show_json(const struct config *c)
{
	struct json_object *o = json_object_new_object(), *effects = json_object_new_object(), *machines = json_object_new_array(),
			   *trees = json_object_new_array(), *own = json_object_new_object();

	for (size_t i = 0; i < c->min_effects.n; i++)
		json_object_object_add(effects, c->min_effects.v[i].pattern, json_object_new_double(c->min_effects.v[i].value));
	for (size_t i = 0; i < c->n_machines; i++)
		json_object_array_add(machines, machine_json(c, &c->machine[i]));
	for (size_t i = 0; i < c->n_trees; i++)
		json_object_array_add(trees, tree_json(&c->tree[i]));
	json_object_object_add(o, "folder", json_text(c->dir));
	json_object_object_add(o, "state", json_text(c->state_dir));
	json_object_object_add(o, "cache", json_text(c->cache_dir));
	json_object_object_add(o, "build_jobs", json_object_new_int64(c->build_jobs));
	reporters_json(c, REPORT_COPY, o, own);
	json_object_object_add(o, "alpha", json_object_new_double(c->alpha));
	json_object_object_add(o, "confidence", json_object_new_double(c->confidence));
	json_object_object_add(o, "min_effect", json_object_new_double(c->min_effect));
	json_object_object_add(o, "min_effects", effects);
	json_object_object_add(o, "min_boots", json_object_new_int64(c->min_boots));
	json_object_object_add(o, "max_boots", json_object_new_int64(c->max_boots));
	json_object_object_add(o, "proof_aligned", json_object_new_boolean(c->proof_aligned));
	reporters_json(c, REPORT_PEOPLE, o, own);
	json_object_object_add(o, "reports", own);
	json_object_object_add(o, "mail_allow", json_object_new_int64((int64_t)c->mail_allow.n));
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

static void man_setting(const struct setting *s)
{
	_cleanup_free_ char *dflt = setting_default_shown(s);
	_cleanup_buf_ struct buf text = {0};

	buf_adds(&text, s->help);
	if (s->max > s->min && s->type != SETTING_T_SECONDS)
		buf_addf(&text, ", %.10g to %.10g", s->min, s->max);
	for (int i = 0; s->words && i < s->words->n; i++)
		buf_addf(&text, "%s%s", i ? ", " : ": ", s->words->word[i]);
	buf_addf(&text, " (default: %s)", dflt);
	printf(".TP\n.B ");
	roff_text(s->name);
	putchar('\n');
	roff_text(buf_str(&text));
	putchar('\n');
}

static void man_settings(const struct settings *part)
{
	for (; part->table; part++)
		for (const struct setting *s = part->table; s->name; s++)
			man_setting(s);
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
	man_drivers();
	puts(".SH EXIT STATUS\n0 done; 1 the answer is no, or the work failed; 2 wrong use or configuration; 3 nothing such found; 130 "
	     "stopped before the end (run, bisect).\n"
	     ".SH ENVIRONMENT\nKPERFBOT_CONFIG, KPERFBOT_STATE, KPERFBOT_CACHE: folders of the configuration, the state (database, "
	     "mirrors, results) and the cache (finished builds, their objects, root images).\n"
	     ".SH FILES\n/etc/kperfbot, /var/lib/kperfbot/kperfbot.db");
	return EXIT_DONE;
}

const struct verb verb_man = {.name = "man", .usage = "", .summary = "(prints the manual page in roff)", .text = "", .run = run_man};
