/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/config/config.h"
#include "reporters/reporter.h"
#include "jobs/job.h"
#include "kernels/build.h"
#include "kernels/tree.h"
#include "lib/fs.h"
#include "lib/yaml.h"

#include <strings.h>

enum key_type { K_TEXT, K_INT, K_INT64, K_NUMBER, K_SECONDS, K_BOOL, K_LIST, K_SANDBOX };
struct key { const char *name; enum key_type type; size_t offset; double min, max; };

/* How a value is stored follows from the member's own type: one of another type does not compile. */
#define MEMBER(s, m) (((struct s *)NULL)->m)
#define KEY(n, s, m, ...)                                                                                              \
	{n, _Generic(MEMBER(s, m), char *: K_TEXT, int: K_INT, int64_t: K_INT64, double: K_NUMBER, bool: K_BOOL,       \
		     struct strv: K_LIST), offsetof(struct s, m), ##__VA_ARGS__}
#define SECONDS(n, s, m, ...) {n, _Generic(MEMBER(s, m), double: K_SECONDS), offsetof(struct s, m), ##__VA_ARGS__}
#define SANDBOX(n, s, m) {n, _Generic(MEMBER(s, m), bool: K_SANDBOX), offsetof(struct s, m)}
static const struct key main_keys[] = {
	KEY("state_dir", config, state_dir),
	KEY("cache_dir", config, cache_dir),
	KEY("build_slots", config, build_slots, 1, 256),
	KEY("build_jobs", config, build_jobs, 1, 1024),
	KEY("min_free_mb", config, min_free_mb, 0, 1 << 24),
	SANDBOX("sandbox", config, no_sandbox),
	KEY("build_memory_mb", config, build_memory_mb, 128, 1 << 24),
	KEY("build_disk_mb", config, build_disk_mb, 16, 1 << 24),
	KEY("build_files", config, build_files, 100, 1 << 30),
	SECONDS("build_timeout", config, build_timeout_s, 1, 7 * 86400),
};
static const struct key judge_keys[] = {
	KEY("alpha", config, alpha, 1e-9, 0.2),
	KEY("confidence", config, confidence, 0.5, 0.999999),
	KEY("min_effect", config, min_effect, 1e-6, 1),
	KEY("min_boots", config, min_boots, 2, 1000),
	KEY("max_boots", config, max_boots, 2, 10000),
	KEY("proof_boots", config, proof_boots, 2, 1000),
	KEY("proof_aligned", config, proof_aligned),
	KEY("detect_boots", config, detect_boots, 0, 100),
	KEY("reach", config, reach),
};
static const struct key mail_keys[] = {
	KEY("robot_name", config, robot_name),
	KEY("robot_address", config, robot_address),
	KEY("mbox", config, mbox),
	KEY("smtp", config, mail_smtp_enabled),
	KEY("smtp_url", config, smtp_url),
	KEY("smtp_user", config, smtp_user),
	KEY("smtp_password_file", config, smtp_password_file),
	KEY("smtp_ca_file", config, smtp_ca_file),
	KEY("smtp_starttls", config, smtp_starttls),
	KEY("allow", config, mail_allow),
	KEY("always_cc", config, mail_always_cc),
	KEY("max_recipients", config, mail_max_recipients, 1, 1000),
	KEY("max_per_day", config, mail_max_per_day, 1, 100000),
};
static const struct key tree_keys[] = {
	KEY("url", tree_config, url),
	KEY("credentials_file", tree_config, credentials_file),
	KEY("enabled", tree_config, enabled),
	KEY("program", tree_config, program),
	KEY("branches", tree_config, branches),
	SECONDS("interval", tree_config, interval_s, 1, 86400 * 30),
	KEY("kconfig", tree_config, kconfig),
	KEY("build_command", tree_config, build_command),
	KEY("artefact", tree_config, artefact),
	KEY("jobs", tree_config, jobs),
	KEY("patches", tree_config, patches),
	KEY("machine", tree_config, machine),
	KEY("branch_label", tree_config, branch_label),
	KEY("mail_cc", tree_config, mail_cc),
	KEY("max_commits", tree_config, max_commits, 1, 1000000),
	KEY("trusted", tree_config, trusted),
};
static const struct key canary_keys[] = {
	KEY("job", canary_config, job),
	KEY("tree", canary_config, tree),
	KEY("commit", canary_config, commit),
};

static int set_list(const struct ynode *v, struct strv *out)
{
	strv_release(out);
	if (v->kind == Y_SCALAR) {
		strv_add(out, v->text);
		return 0;
	}
	if (v->kind != Y_LIST)
		return ynode_err(v, -EINVAL, "wants a list");
	for (size_t i = 0; i < v->n; i++) {
		if (v->val[i]->kind != Y_SCALAR)
			return ynode_err(v->val[i], -EINVAL, "wants plain text");
		strv_add(out, v->val[i]->text);
	}
	return 0;
}

static int set_key(const struct key *k, const struct ynode *v, void *base)
{
	void *p = (char *)base + k->offset;
	double d = 0;
	int64_t i;
	int r;

	if (k->type == K_LIST)
		return set_list(v, p);
	if (v->kind != Y_SCALAR && !(k->type == K_TEXT && v->kind == Y_NULL))
		return ynode_err(v, -EINVAL, "'%s' takes one value", k->name);
	switch (k->type) {
	case K_TEXT:
		free(*(char **)p);
		*(char **)p = v->kind == Y_NULL ? NULL : xstrdup(v->text);
		return 0;
	case K_BOOL:
		if (!streq(v->text, "true") && !streq(v->text, "false") && !streq(v->text, "yes") && !streq(v->text, "no"))
			return ynode_err(v, -EINVAL, "'%s' takes true or false, not '%s'", k->name, v->text);
		*(bool *)p = *v->text == 't' || *v->text == 'y';
		return 0;
	case K_SANDBOX:
		if (!streq(v->text, "box") && !streq(v->text, "none"))
			return ynode_err(v, -EINVAL, "'%s' takes 'box' or 'none' (trees then run with the robot's own "
					 "rights), not '%s'", k->name, v->text);
		*(bool *)p = streq(v->text, "none");
		return 0;
	case K_SECONDS:
		r = parse_seconds(v->text, &d);
		break;
	case K_INT:
	case K_INT64:
		r = parse_i64(v->text, &i);
		d = r < 0 ? 0 : i;
		break;
	default:
		r = parse_double(v->text, &d);
	}
	if (r < 0) {
		_cleanup_free_ char *why = xstrdup(err_msg());

		return ynode_err(v, r, "'%s': %s", k->name, why);
	}
	if (k->max > k->min && !(d >= k->min && d <= k->max))
		return ynode_err(v, -ERANGE, k->type == K_INT || k->type == K_INT64
					     ? "'%s' must lie between %.0f and %.0f, not %s"
					     : "'%s' must lie between %g and %g, not %s",
				 k->name, k->min, k->max, v->text);
	if (k->type == K_INT64)
		*(int64_t *)p = i;
	else if (k->type == K_INT)
		*(int *)p = i;
	else
		*(double *)p = d;
	return 0;
}

static int unknown_key(const struct ynode *key, const struct key *keys, size_t n, const char *const *more)
{
	const char *names[64], *near;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		names[k++] = keys[i].name;
	for (; more && *more; more++)
		names[k++] = *more;
	near = nearest_word(key->text, names, k);
	return ynode_err(key, -EINVAL, "unknown key '%s'%s%s%s", key->text, near ? ", did you mean '" : "", near ? near : "",
			 near ? "'?" : "");
}

static void set_keys(const struct ynode *map, const struct key *keys, size_t n, const char *const *skip, void *base,
		     struct mistakes *m)
{
	if (map->kind == Y_NULL)
		return;
	if (map->kind != Y_MAP) {
		mistake(m, ynode_err(map, -EINVAL, "wants 'key: value' lines"));
		return;
	}
	for (size_t i = 0; i < map->n; i++) {
		const struct key *k = NULL;
		bool skipped = false;

		for (const char *const *s = skip; s && *s; s++)
			skipped |= streq(*s, map->key[i]->text);
		for (size_t j = 0; j < n && !k; j++)
			if (streq(keys[j].name, map->key[i]->text))
				k = &keys[j];
		if (k)
			mistake(m, set_key(k, map->val[i], base));
		else if (!skipped)
			mistake(m, unknown_key(map->key[i], keys, n, skip));
	}
}

bool config_name_ok(const char *s)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	return *s && *s != '.' && *s != '-' && strlen(s) <= 64 && strspn(s, allowed) == strlen(s);
}

/* What a list or text of a tree names must be there. */
static void check_tree(const struct ynode *where, const struct config *c, const struct tree_config *t, struct mistakes *m)
{
	_cleanup_buf_ struct buf fragment = {0};
	int r = t->url ? tree_url_check(t->url) : 0;

	if (r >= 0 && t->credentials_file)
		r = tree_credentials_check(t->credentials_file);
	if (r < 0 && r != -EACCES) { /* who may not look may still ask for results */
		_cleanup_free_ char *why = xstrdup(err_msg());

		mistake(m, ynode_err(where, -EINVAL, "tree '%s': %s", t->name, why));
	}
	if (!t->program && kconfig_fragment(t->kconfig, &fragment) < 0)
		mistake(m, ynode_err(where, -EINVAL, "tree '%s': there is no kconfig '%s' in kernels/configs", t->name, t->kconfig));
	for (size_t i = 0; i < t->jobs.n; i++) {
		struct job_list l = {0};

		if (job_load(t->jobs.v[i], c->dir, NULL, &l) < 0) {
			_cleanup_free_ char *why = xstrdup(err_msg());

			mistake(m, ynode_err(where, -EINVAL, "tree '%s': %s", t->name, why));
		}
		job_list_release(&l);
	}
	for (size_t i = 0; i < t->mail_cc.n; i++)
		if (!strchr(t->mail_cc.v[i], '@') || strpbrk(t->mail_cc.v[i], "\r\n"))
			mistake(m, ynode_err(where, -EINVAL, "tree '%s': '%s' is no mail address", t->name, t->mail_cc.v[i]));
}

/* Paths of patch series begin at the configuration's folder. */
static void place_patches(const struct ynode *where, const struct config *c, struct tree_config *t, struct mistakes *m)
{
	_cleanup_free_ char *dir = c->dir ? realpath(c->dir, NULL) : NULL; /* the daemon may be elsewhere */

	for (size_t i = 0; i < t->patches.n; i++) {
		char **path = &t->patches.v[i], *full = NULL;

		if (streq(*path, "none"))
			continue;
		if (**path != '/' && dir)
			full = xasprintf("%s/%s", dir, *path);
		if (full) {
			free(*path);
			*path = full;
		}
		if (!fs_exists(*path))
			mistake(m, ynode_err(where, -EINVAL, "tree '%s': there is no patch series '%s'", t->name, *path));
	}
}

static void check_mail(const struct ynode *where, const struct config *c, struct mistakes *m)
{
	_cleanup_free_ char *shown = url_shown(c->smtp_url);

	for (size_t i = 0; i < c->mail_allow.n; i++)
		if (!strchr(c->mail_allow.v[i], '@') && !streq(c->mail_allow.v[i], "*"))
			mistake(m, ynode_err(where, -EINVAL, "'allow': '%s' has no @ and lets nobody through; write "
					     "'*@%s', or '*' for everybody", c->mail_allow.v[i], c->mail_allow.v[i]));
	if (c->smtp_url && url_has_secret(c->smtp_url))
		mistake(m, ynode_err(where, -EINVAL, "'smtp_url' is no place for a user name or password: 'smtp_user' "
				     "and 'smtp_password_file' (mode 0600) are"));
	else if (c->smtp_url && !startswith(c->smtp_url, "smtp://") && !startswith(c->smtp_url, "smtps://"))
		mistake(m, ynode_err(where, -EINVAL, "'smtp_url' must begin with smtp:// or smtps://, not '%s'",
				     shown));
	if (!c->robot_address || !strchr(c->robot_address, '@') || strpbrk(c->robot_address, "\r\n <>,") ||
	    strpbrk(c->robot_name ? c->robot_name : "", "\r\n"))
		mistake(m, ynode_err(where, -EINVAL, "'robot_name' and 'robot_address' must be one name and one plain address"));
}

static void load_trees(const struct ynode *map, struct config *c, struct mistakes *m)
{
	for (size_t i = 0; map->kind == Y_MAP && i < map->n; i++) {
		struct tree_config t = {.enabled = true, .of_file = true, .interval_s = TREE_INTERVAL_S,
					.max_commits = TREE_MAX_COMMITS};

		t.name = xstrdup(map->key[i]->text);
		if (!config_name_ok(t.name))
			mistake(m, ynode_err(map->key[i], -EINVAL, "'%s' is no name for a tree: letters, digits, - _ . only, at most 64",
					     t.name));
		set_keys(map->val[i], tree_keys, ARRAY_SIZE(tree_keys), NULL, &t, m);
		if (!t.url)
			mistake(m, ynode_err(map->key[i], -EINVAL, "tree '%s' needs a 'url'", t.name));
		if (!t.machine)
			t.machine = xstrdup(machine_default(t.program));
		if (!t.kconfig)
			t.kconfig = xstrdup(t.program ? "program" : "vm-min");
		if (t.program && !t.artefact)
			mistake(m, ynode_err(map->key[i], -EINVAL, "tree '%s' is a program: it needs an 'artefact' (the file or "
					     "folder that the build leaves)", t.name));
		if (t.program && !t.build_command)
			t.build_command = xstrdup("make");
		place_patches(map->key[i], c, &t, m);
		check_tree(map->key[i], c, &t, m);
		c->tree = xrealloc_array(c->tree, c->n_trees + 1, sizeof(*c->tree));
		c->tree[c->n_trees++] = t;
	}
}

static struct machine *machine_slot(struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_machines; i++)
		if (streq(c->machine[i].name, name))
			return &c->machine[i];
	c->machine = xrealloc_array(c->machine, c->n_machines + 1, sizeof(*c->machine));
	(void)machine_init(&c->machine[c->n_machines], name, NULL);
	return &c->machine[c->n_machines++];
}

static void load_canary(const struct ynode *map, const struct machine *x, struct config *c, struct mistakes *m)
{
	const struct machine_ops *ops = x->driver ? machine_driver(x->driver) : NULL;
	struct canary_config k = {.machine = xstrdup(x->name)};
	struct job_list l = {0};

	set_keys(map, canary_keys, ARRAY_SIZE(canary_keys), NULL, &k, m);
	if (!k.job || !k.commit)
		mistake(m, ynode_err(map, -EINVAL, "machine '%s': a canary needs a 'job' and a 'commit' (an id or a tag)", x->name));
	if (ops && (ops->flags & MACHINE_DETERMINISTIC))
		mistake(m, ynode_err(map, -EINVAL, "machine '%s' is deterministic: it needs no canary", x->name));
	if (k.job && job_load(k.job, c->dir, NULL, &l) < 0) {
		_cleanup_free_ char *why = xstrdup(err_msg());

		mistake(m, ynode_err(map, -EINVAL, "machine '%s': canary: %s", x->name, why));
	} else if (k.job && l.n != 1) {
		mistake(m, ynode_err(map, -EINVAL, "machine '%s': canary: job '%s' has %zu points, a canary is one", x->name, k.job, l.n));
	}
	job_list_release(&l);
	c->canary = xrealloc_array(c->canary, c->n_canaries + 1, sizeof(*c->canary));
	c->canary[c->n_canaries++] = k;
}

/* The driver first: what else may stand there is its own. */
static void load_machine(const struct ynode *name, const struct ynode *map, struct machine *x, struct mistakes *m)
{
	static const char *const others[] = {"driver", "canary", NULL};
	const struct ynode *n = ynode_get(map, "driver");
	struct settings parts[MACHINE_PARTS];
	_cleanup_free_ char *of = NULL, *why = NULL;

	if (machine_set_driver(x, n ? n->text : x->driver) < 0) {
		why = xstrdup(err_msg());
		mistake(m, ynode_err(name, -EINVAL, "%s%s", why,
				     n && n->kind == Y_NULL ? " (\"null\" in quotes: without, YAML takes it for nothing)" : ""));
		if (!x->driver)
			return;
	}
	of = xasprintf("driver '%s'", x->driver);
	machine_settings(x, parts);
	settings_read(map, parts, others, of, m);
}

static void load_machines(const struct ynode *map, struct config *c, struct mistakes *m)
{
	for (size_t i = 0; map->kind == Y_MAP && i < map->n; i++) {
		const struct ynode *canary;
		struct machine *x;

		if (!config_name_ok(map->key[i]->text)) {
			mistake(m, ynode_err(map->key[i], -EINVAL, "'%s' is no name for a machine", map->key[i]->text));
			continue;
		}
		x = machine_slot(c, map->key[i]->text);
		load_machine(map->key[i], map->val[i], x, m);
		if (!x->tbox_group)
			x->tbox_group = xstrdup(x->name);
		canary = ynode_get(map->val[i], "canary");
		if (canary)
			load_canary(canary, x, c, m);
	}
}

/* "glob or class: smallest effect" lines. */
static void load_min_effects(const struct ynode *map, struct config *c, struct mistakes *m)
{
	if (map->kind != Y_MAP && map->kind != Y_NULL)
		mistake(m, ynode_err(map, -EINVAL, "'min_effects' wants lines like '\"vmstat.*\": 0.01'"));
	for (size_t i = 0; map->kind == Y_MAP && i < map->n; i++) {
		const struct ynode *v = map->val[i];
		_cleanup_free_ char *why = NULL;
		double d;

		if (v->kind != Y_SCALAR) {
			mistake(m, ynode_err(v, -EINVAL, "'%s' takes one number", map->key[i]->text));
			continue;
		}
		if (parse_double(v->text, &d) < 0) {
			mistake(m, ynode_err(v, -EINVAL, "'%s': '%s' is not a number", map->key[i]->text, v->text));
		} else if (effect_rules_add(&c->min_effects, map->key[i]->text, d) < 0) {
			why = xstrdup(err_msg());
			mistake(m, ynode_err(map->key[i], -EINVAL, "%s", why));
		}
	}
}

static void load_judge(const struct ynode *map, struct config *c, struct mistakes *m)
{
	static const char *const maps[] = {"min_effects", NULL};
	const struct ynode *n = ynode_get(map, "min_effects");

	set_keys(map, judge_keys, ARRAY_SIZE(judge_keys), maps, c, m);
	if (n)
		load_min_effects(n, c, m);
}

/* The nodes in *y stay until it is released. */
static void load_file(const char *dir, const char *name, struct config *c, struct mistakes *m, struct yaml *y)
{
	static const char *const sections[] = {"judge", "mail", "trees", "machines", NULL};
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	const struct ynode *n;

	if (!fs_exists(path))
		return;
	if (yaml_load_file(path, y) < 0) {
		mistake(m, -EINVAL);
		return;
	}
	for (size_t i = 0; i < y->n_docs; i++) {
		set_keys(y->doc[i], main_keys, ARRAY_SIZE(main_keys), sections, c, m);
		if ((n = ynode_get(y->doc[i], "judge")))
			load_judge(n, c, m);
		if ((n = ynode_get(y->doc[i], "mail"))) {
			set_keys(n, mail_keys, ARRAY_SIZE(mail_keys), NULL, c, m);
			check_mail(n, c, m);
		}
		if ((n = ynode_get(y->doc[i], "machines")))
			load_machines(n, c, m);
		if ((n = ynode_get(y->doc[i], "trees")))
			load_trees(n, c, m);
	}
}

static void add_builtin_machine(struct config *c, const char *name)
{
	struct machine *m = machine_slot(c, name);

	(void)machine_set_driver(m, name);
	m->tbox_group = xstrdup(name);
}

static void defaults(struct config *c)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	*c = (struct config){.build_slots = 1, .build_jobs = cores > 0 ? cores : 1, .min_free_mb = 512,
			     .alpha = 0.001, .confidence = 0.99,
			     .min_effect = 0.001, .min_boots = 3, .max_boots = 40, .proof_boots = 5, .detect_boots = 3, .reach = true,
			     .mail_max_recipients = 20, .mail_max_per_day = 20, .build_timeout_s = 7200};
	(void)fs_state_dir(&c->state_dir); /* the files may name them: check_folder() */
	(void)fs_cache_dir(&c->cache_dir);
	c->robot_name = xstrdup("kernel performance bot");
	c->robot_address = xstrdup("kperfbot@localhost.localdomain");
	for (const struct machine_ops *const *o = machine_drivers(); *o; o++)
		if ((*o)->flags & MACHINE_BUILTIN)
			add_builtin_machine(c, (*o)->name);
}

static const char *const files[] = {"kperfbot.yaml", "machines.yaml", "trees.yaml"};

/* ---- files that somebody wrote as configuration and nobody reads ---- */

/* The one of our files that a name was meant to be: trees.yml, Trees.yaml, tree.yaml, machines.conf; or NULL. */
static const char *meant(const char *name)
{
	static const char *const endings[] = {".yaml", ".yml", ".conf", ".cfg", ".ini", ".json", ".toml", ".d"};
	const char *dot = strrchr(name, '.');
	bool known = false;

	for (size_t i = 0; dot && i < ARRAY_SIZE(endings); i++)
		known |= !strcasecmp(dot, endings[i]);
	for (size_t i = 0; known && i < ARRAY_SIZE(files); i++) {
		size_t n = strlen(files[i]) - strlen(".yaml"), len = (size_t)(dot - name);

		if (!strncasecmp(name, files[i], len) && (len == n || (len + 1 == n && files[i][n - 1] == 's')))
			return files[i];
	}
	return NULL;
}

/* The section of ours that a YAML file of any name holds, or NULL. */
static const char *section_in(const char *path)
{
	static const char *const sections[] = {"trees", "machines", "judge", "mail"};
	struct yaml y = {0};
	const char *found = NULL;

	if (yaml_load_file(path, &y) < 0)
		return NULL;
	for (size_t d = 0; d < y.n_docs; d++)
		for (size_t i = 0; i < ARRAY_SIZE(sections) && !found; i++)
			found = y.doc[d]->kind == Y_MAP && ynode_get(y.doc[d], sections[i]) ? sections[i] : NULL;
	yaml_release(&y);
	return found;
}

static void check_name(const char *dir, const char *name, struct mistakes *m)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	const char *file = meant(name), *section;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (streq(name, files[i]))
			return;
	if (file)
		mistake(m, err_set(-EINVAL, "%s: is not read: its name must be '%s'", path, file));
	else if (endswith(name, ".yml") && *name != '.')
		mistake(m, err_set(-EINVAL, "%s: is not read: the name of a job file ends in '.yaml'", path));
	else if (endswith(name, ".yaml") && *name != '.' && !fs_is_dir(path) && (section = section_in(path)))
		mistake(m, err_set(-EINVAL, "%s: is not read, but holds '%s:'; that belongs into kperfbot.yaml, "
				   "machines.yaml or trees.yaml", path, section));
}

static void check_names(const char *dir, struct mistakes *m)
{
	_cleanup_strv_ struct strv names = {0};

	(void)fs_list(dir, &names);
	for (size_t i = 0; i < names.n; i++)
		check_name(dir, names.v[i], m);
}

/* Where section: {name: {key: ...}} was given last, as near as there is; name may be NULL. NULL: nowhere. */
static const struct ynode *place(const struct yaml *y, const char *section, const char *name, const char *key)
{
	const struct ynode *best = NULL;

	for (size_t f = 0; f < ARRAY_SIZE(files); f++)
		for (size_t i = 0; i < y[f].n_docs; i++) {
			const struct ynode *s = section ? ynode_get(y[f].doc[i], section) : y[f].doc[i];
			const struct ynode *x = name ? ynode_get(s, name) : s, *k = ynode_get(x, key);

			best = k ? k : x && name && !best ? x : best;
		}
	return best;
}

static void check_folder(int (*fallback)(char **ret), const char *key, const char *path, const struct yaml *y,
			 struct mistakes *m)
{
	_cleanup_free_ char *unused = NULL;

	if (!path && fallback(&unused) < 0)
		mistake(m, err_prefix(-ENXIO, "%s", key));
	else if (!path || !*path)
		mistake(m, ynode_err(place(y, NULL, NULL, key), -EINVAL, "%s must not be empty", key));
}

/* What can only be told when all files were read. */
static void check_references(const struct config *c, const struct yaml *y, struct mistakes *m)
{
	for (size_t i = 0; i < c->n_trees; i++)
		if (!config_machine(c, c->tree[i].machine))
			mistake(m, ynode_err(place(y, "trees", c->tree[i].name, "machine"), -EINVAL,
					     "tree '%s': there is no machine '%s'", c->tree[i].name, c->tree[i].machine));
	for (size_t i = 0; i < c->n_canaries; i++)
		if (c->canary[i].tree && c->n_trees && !config_tree(c, c->canary[i].tree))
			mistake(m, ynode_err(place(y, "machines", c->canary[i].machine, "canary"), -EINVAL,
					     "machine '%s': canary: there is no tree '%s'", c->canary[i].machine, c->canary[i].tree));
	if (c->mail_smtp_enabled && !c->smtp_url)
		mistake(m, ynode_err(place(y, "mail", NULL, "smtp"), -EINVAL,
				     "mail: 'smtp: true' needs an 'smtp_url' such as smtp://mail.example.org:587"));
	check_folder(fs_state_dir, "state_dir", c->state_dir, y, m);
	check_folder(fs_cache_dir, "cache_dir", c->cache_dir, y, m);
	if (c->min_boots > c->max_boots)
		mistake(m, ynode_err(place(y, "judge", NULL, "min_boots"), -EINVAL, "judge: min_boots is larger than max_boots"));
}

int config_load(const char *dir_or_null, struct config *ret)
{
	const char *dir = dir_or_null ? dir_or_null : getenv("KPERFBOT_CONFIG");
	struct yaml y[ARRAY_SIZE(files)] = {0};
	struct mistakes m = {0};
	struct config c;

	if (dir && !fs_is_dir(dir))
		return err_set(fs_exists(dir) ? -EINVAL : -ENOENT, "the configuration folder '%s' %s", dir,
			       fs_exists(dir) ? "is no folder" : "does not exist");
	if (!dir && fs_is_dir("/etc/kperfbot"))
		dir = "/etc/kperfbot";
	defaults(&c);
	c.dir = xstrdup(dir);
	for (size_t i = 0; dir && i < ARRAY_SIZE(files); i++)
		load_file(dir, files[i], &c, &m, &y[i]);
	if (dir)
		check_names(dir, &m);
	check_references(&c, y, &m);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		yaml_release(&y[i]);
	if (!c.mbox && c.state_dir)
		c.mbox = xasprintf("%s/reports.mbox", c.state_dir);
	if (m.n) {
		err_set(-EINVAL, "%s", buf_str(&m.text));
		buf_release(&m.text);
		config_release(&c);
		return -EINVAL;
	}
	*ret = c;
	return 0;
}

void tree_config_release(struct tree_config *t)
{
	char **texts[] = {&t->name, &t->url, &t->credentials_file, &t->kconfig, &t->build_command, &t->artefact,
			  &t->machine, &t->branch_label};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(*texts[i]);
	strv_release(&t->branches);
	strv_release(&t->jobs);
	strv_release(&t->patches);
	strv_release(&t->mail_cc);
	*t = (struct tree_config){0};
}

void config_release(struct config *c)
{
	char *texts[] = {c->dir, c->state_dir, c->cache_dir, c->robot_name, c->robot_address, c->mbox, c->smtp_url,
			 c->smtp_user, c->smtp_password_file, c->smtp_ca_file};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	for (size_t i = 0; i < c->n_trees; i++)
		tree_config_release(&c->tree[i]);
	for (size_t i = 0; i < c->n_machines; i++)
		machine_release(&c->machine[i]);
	for (size_t i = 0; i < c->n_canaries; i++) {
		free(c->canary[i].machine);
		free(c->canary[i].job);
		free(c->canary[i].tree);
		free(c->canary[i].commit);
	}
	free(c->canary);
	free(c->tree);
	free(c->machine);
	effect_rules_release(&c->min_effects);
	strv_release(&c->mail_allow);
	strv_release(&c->mail_always_cc);
	*c = (struct config){0};
}

const struct tree_config *config_tree(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_trees; i++)
		if (streq(c->tree[i].name, name))
			return &c->tree[i];
	return NULL;
}

const struct machine *config_machine(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_machines; i++)
		if (streq(c->machine[i].name, name))
			return &c->machine[i];
	return NULL;
}

const struct canary_config *config_canary(const struct config *c, const char *machine)
{
	for (size_t i = 0; i < c->n_canaries; i++)
		if (streq(c->canary[i].machine, machine))
			return &c->canary[i];
	return NULL;
}

void config_report(const struct config *c, struct report_config *ret)
{
	*ret = (struct report_config){
		.robot_name = c->robot_name, .robot_address = c->robot_address, .mbox = c->mbox,
		.smtp_url = c->mail_smtp_enabled ? c->smtp_url : NULL, .smtp_user = c->smtp_user,
		.smtp_password_file = c->smtp_password_file, .smtp_ca_file = c->smtp_ca_file,
		.smtp_starttls_required = c->smtp_starttls,
		.allow = (const char *const *)c->mail_allow.v, .always_cc = (const char *const *)c->mail_always_cc.v,
		.max_recipients = c->mail_max_recipients, .max_per_day = c->mail_max_per_day,
		.min_effects = &c->min_effects,
	};
}

char *config_send_option(const struct config *c)
{
	struct report_config rc;

	config_report(c, &rc);
	return reporter_option(reporter_that_counts(&rc));
}
