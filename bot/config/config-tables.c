/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that can be set, but for what a machine's driver brings: names, limits, defaults and what each is for. */
#include "bot/config/config-internal.h"
#include "kernels/machine.h"
#include "lib/fs.h"

WORDS_DEFINE(sandbox, SANDBOX_MODES, "sandbox");

static const struct setting main_settings[] = {
	SETTING(config, state_dir, "state_dir", "database, mirrors, results; for kperfbot alone, mode 0700",
		.otherwise = "/var/lib/kperfbot; for a user ~/.local/state/kperfbot"),
	SETTING(config, cache_dir, "cache_dir",
		"finished builds, their objects, root images: may be deleted at any time",
		.otherwise = "~/.cache/kperfbot"),
	SETTING(config, build_slots, "build_slots", "builds at the same time", .min = 1, .max = 256, .dflt = "1"),
	SETTING(config, build_jobs, "build_jobs", "make -j of each", .min = 1, .max = 1024,
		.otherwise = "number of CPUs"),
	SETTING(config, min_free_mb, "min_free_mb",
		"no new work and no fetches while the state folder's disk has less", .min = 0, .max = 1 << 24,
		.dflt = "512"),
	SETTING_WORD(config, sandbox, "sandbox", &sandbox_words,
		     "where code of trees runs; with none it has the robot's own rights, and each report says so",
		     .dflt = "box"),
	SETTING(config, build_memory_mb, "build_memory_mb", "memory of a whole build, with its /tmp", .min = 128,
		.max = 1 << 24, .otherwise = "8192, or 3/4 of the machine's"),
	SETTING(config, build_disk_mb, "build_disk_mb", "disk space for a build's folders", .min = 16, .max = 1 << 24,
		.otherwise = "16384"),
	SETTING(config, build_files, "build_files", "how many files a build's folders may hold", .min = 100,
		.max = 1 << 30,
		.otherwise = "1000000"),
	SETTING_TIME(config, build_timeout_s, "build_timeout",
		     "limit for a build; 20 times the tree's usual clean build is another", .min = 1, .max = 7 * 86400,
		     .dflt = "2h"),
	SETTING_END,
};
static const struct setting judge_settings[] = {
	SETTING(config, alpha, "alpha", "false alarm rate of a comparison, valid however often it is looked at",
		.min = 1e-9, .max = 0.2, .dflt = "0.001"),
	SETTING(config, confidence, "confidence", "posterior at which a bisection names a commit", .min = 0.5,
		.max = 0.999999, .dflt = "0.99"),
	SETTING(config, min_effect, "min_effect", "smallest relative change of interest; jobs may ask for more",
		.min = 1e-6, .max = 1, .dflt = "0.001"),
	SETTING(config, min_boots, "min_boots", "boots per side, at least", .min = 2, .max = 1000, .dflt = "3"),
	SETTING(config, max_boots, "max_boots", "boots per side, at most; then: no change shown", .min = 2, .max = 10000,
		.dflt = "40"),
	SETTING(config, proof_boots, "proof_boots",
		"boots of culprit and parent each, at least (3 on deterministic machines)", .min = 2, .max = 1000,
		.dflt = "5"),
	SETTING(config, proof_aligned, "proof_aligned",
		"repeat every proof with functions aligned to 64 bytes: is it code layout?"),
	SETTING(config, detect_boots, "detect_boots",
		"boots for a provisional change point of a stored series; 0: series are not looked at", .min = 0,
		.max = 100,
		.dflt = "3"),
	SETTING(config, reach, "reach", "one more boot checks whether the job runs what changed", .dflt = "true"),
	SETTING_END,
};
static const struct setting mail_settings[] = {
	SETTING(config, robot_name, "robot_name", "the sender's name", .dflt = "kernel performance bot"),
	SETTING(config, robot_address, "robot_address", "the sender's address",
		.dflt = "kperfbot@localhost.localdomain"),
	SETTING(config, mail_allow, "allow", "globs of addresses that may get mail ('*': all)", .otherwise = "nobody"),
	SETTING(config, mail_always_cc, "always_cc",
		"addresses that get a copy of each report, if 'allow' lets them through"),
	SETTING(config, mail_max_recipients, "max_recipients", "recipients of one report, at most", .min = 1,
		.max = 1000,
		.dflt = "20"),
	SETTING(config, mail_max_per_day, "max_per_day", "reports for one address within 24 hours; more wait", .min = 1,
		.max = 100000, .dflt = "20"),
	SETTING_END,
};
const struct config_section config_sections[] = {
	{"", main_settings}, {"judge", judge_settings}, {"mail", mail_settings}, {NULL, NULL},
};

/* What the database has in columns of their own. */
static const struct setting tree_columns[] = {
	SETTING(tree_config, url, "url", "where git fetches it; needed", .url = true),
	SETTING(tree_config, enabled, "enabled", "whether it is watched", .dflt = "true"),
	SETTING(tree_config, program, "program", "a user-space program, not a kernel"),
	SETTING_END,
};
static const struct setting tree_settings[] = {
	SETTING(tree_config, branches, "branches", "branches to watch, as globs", .dflt = "*"),
	SETTING_TIME(tree_config, interval_s, "interval", "how often to look", .min = 1, .max = 86400 * 30,
		     .dflt = "5m"),
	SETTING(tree_config, credentials_file, "credentials_file", "logins for git-credential-store(1), mode 0600"),
	SETTING(tree_config, kconfig, "kconfig", "kernel config: a name in kernels/configs", .otherwise = TREE_KCONFIG),
	SETTING(tree_config, jobs, "jobs", "jobs to run on each new head"),
	SETTING(tree_config, patches, "patches", "patch series to try on each new head; none: the plain head, too"),
	SETTING(tree_config, machine, "machine", "test machine",
		.otherwise = "a deterministic one; for programs, the robot's own"),
	SETTING(tree_config, max_commits, "max_commits", "longest range to compare; beyond it the merge base is taken",
		.min = 1, .max = 1000000, .dflt = "20000"),
	SETTING(tree_config, branch_label, "branch_label", "branch label in the subject of reports"),
	SETTING(tree_config, mail_cc, "mail_cc", "addresses that get a copy of each report"),
	SETTING(tree_config, build_command, "build_command", "program: how to build it", .otherwise = TREE_COMMAND),
	SETTING(tree_config, artefact, "artefact",
		"program: file or folder of the build that is to be kept; needed"),
	SETTING(tree_config, trusted, "trusted",
		"program: it may do all that the robot may, network included, when it is measured"),
	SETTING_END,
};
/* Not to be set: what is remembered beside it. */
static const struct setting tree_marks[] = {
	SETTING(tree_config, of_file, "of_file", "it stands, or stood, in the files"),
	SETTING_END,
};
const struct setting canary_settings[] = {
	SETTING(canary_config, job, "job", "job that the canary runs; needed"),
	SETTING(canary_config, commit, "commit", "commit that it runs on: an id or a tag; needed"),
	SETTING(canary_config, tree, "tree", "tree of that commit", .otherwise = "the tree that is measured"),
	SETTING_END,
};

/* ---- trees ---- */

void tree_config_settings(const struct tree_config *t, struct settings ret[TREE_PARTS])
{
	ret[0] = (struct settings){tree_columns, (void *)t};
	ret[1] = (struct settings){tree_settings, (void *)t};
	ret[2] = (struct settings){0};
}

void tree_config_init(struct tree_config *t, const char *name)
{
	*t = (struct tree_config){.name = xstrdup(name)};
	settings_default(tree_columns, t);
	settings_default(tree_settings, t);
}

static void fill(char **text, const char *otherwise)
{
	if (!*text)
		*text = xstrdup(otherwise);
}

void tree_config_complete(struct tree_config *t)
{
	fill(&t->kconfig, t->program ? TREE_PROGRAM_KCONFIG : TREE_KCONFIG);
	fill(&t->machine, machine_default(t->program));
	if (t->program)
		fill(&t->build_command, TREE_COMMAND);
}

void tree_config_release(struct tree_config *t)
{
	free(t->name);
	settings_release(tree_columns, t);
	settings_release(tree_settings, t);
	*t = (struct tree_config){0};
}

char *tree_config_to_json(const struct tree_config *t)
{
	_cleanup_json_ struct json_object *o = json_object_new_object();

	settings_to_json(tree_settings, t, SETTINGS_STORED, o);
	settings_to_json(tree_marks, t, SETTINGS_STORED, o);
	return json_line(o);
}

int tree_config_from_db(const struct db_tree *t, struct tree_config *ret)
{
	_cleanup_json_ struct json_object *o = json_object_of(t->settings ? t->settings : "{}");
	struct tree_config c = {.enabled = t->enabled, .program = streq(t->kind, "program")};

	if (!o)
		return err_set(-EBADMSG, "tree '%s': its settings in the database are not a JSON object", t->name);
	c.name = xstrdup(t->name);
	c.url = xstrdup(t->url);
	settings_from_json(tree_settings, &c, o);
	settings_from_json(tree_marks, &c, o);
	tree_config_complete(&c);
	*ret = c;
	return 0;
}

/* ---- the whole ---- */

struct settings *config_parts(const struct config *c, const char *section)
{
	struct settings *ret = xcalloc(reporter_count() + 2, sizeof(*ret));
	size_t n = 0;

	for (const struct config_section *s = config_sections; s->table; s++)
		if (streq(s->name, section))
			ret[n++] = (struct settings){s->table, (void *)c};
	for (const struct report_ops *const *o = reporters(); *o; o++)
		if (streq((*o)->section, section))
			ret[n++] = (struct settings){(*o)->settings, report_settings_of(&c->reports, *o)};
	return ret;
}

struct machine *config_machine_slot(struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_machines; i++)
		if (streq(c->machine[i].name, name))
			return &c->machine[i];
	c->machine = xrealloc_array(c->machine, c->n_machines + 1, sizeof(*c->machine));
	(void)machine_init(&c->machine[c->n_machines], name, NULL);
	return &c->machine[c->n_machines++];
}

static void add_builtin_machine(struct config *c, const char *name)
{
	struct machine *m = config_machine_slot(c, name);

	(void)machine_set_driver(m, name);
	fill(&m->tbox_group, name);
}

void config_init(struct config *c)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	*c = (struct config){0};
	for (const struct config_section *s = config_sections; s->table; s++)
		settings_default(s->table, c);
	report_settings_init(&c->reports);
	c->build_jobs = cores > 0 ? (int)MIN(cores, 1024) : 1;
	(void)fs_state_dir(&c->state_dir); /* the files may name them: config_check_all() */
	(void)fs_cache_dir(&c->cache_dir);
	for (const struct machine_ops *const *o = machine_drivers(); *o; o++)
		if ((*o)->flags & MACHINE_BUILTIN)
			add_builtin_machine(c, (*o)->name);
}

void config_complete(struct config *c)
{
	for (const struct report_ops *const *o = reporters(); *o; o++)
		if ((*o)->complete && c->state_dir)
			(*o)->complete(report_settings_of(&c->reports, *o), c->state_dir);
}

static void canary_config_release(struct canary_config *k)
{
	free(k->machine);
	settings_release(canary_settings, k);
}

void config_release(struct config *c)
{
	free(c->dir);
	for (const struct config_section *s = config_sections; s->table; s++)
		settings_release(s->table, c);
	for (size_t i = 0; i < c->n_trees; i++)
		tree_config_release(&c->tree[i]);
	for (size_t i = 0; i < c->n_machines; i++)
		machine_release(&c->machine[i]);
	for (size_t i = 0; i < c->n_canaries; i++)
		canary_config_release(&c->canary[i]);
	free(c->canary);
	free(c->tree);
	free(c->machine);
	effect_rules_release(&c->min_effects);
	report_settings_release(&c->reports);
	*c = (struct config){0};
}
