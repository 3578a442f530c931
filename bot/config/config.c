/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the files of the configuration. */
#include "bot/config/config-internal.h"
#include "lib/fs.h"

const char *const config_files[CONFIG_FILES] = {"kperfbot.yaml", "machines.yaml", "trees.yaml"};
const char *const config_section_names[] = {"judge", "mail", "machines", "reports", "trees", NULL};

bool config_name_ok(const char *s)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	return *s && *s != '.' && *s != '-' && strlen(s) <= 64 && strspn(s, allowed) == strlen(s);
}

/* Paths of patch series begin at the configuration's folder. */
static void place_patches(const struct config *c, struct tree_config *t)
{
	_cleanup_free_ char *dir = c->dir ? realpath(c->dir, NULL) : NULL; /* the daemon may be elsewhere */

	for (size_t i = 0; dir && i < t->patches.n; i++) {
		char *path = t->patches.v[i];

		if (streq(path, "none") || *path == '/')
			continue;
		t->patches.v[i] = xasprintf("%s/%s", dir, path);
		free(path);
	}
}

static void load_tree(const struct ynode *name, const struct ynode *map, struct config *c, struct mistakes *m)
{
	struct settings parts[TREE_PARTS];
	struct tree_config t;

	tree_config_init(&t, name->text);
	t.of_file = true;
	tree_config_settings(&t, parts);
	settings_read(map, parts, NULL, NULL, m);
	tree_config_complete(&t);
	place_patches(c, &t);
	config_check_tree(name, c, &t, m);
	c->tree = xrealloc_array(c->tree, c->n_trees + 1, sizeof(*c->tree));
	c->tree[c->n_trees++] = t;
}

static void load_canary(const struct ynode *map, const struct machine *x, struct config *c, struct mistakes *m)
{
	struct canary_config k = {.machine = xstrdup(x->name)};
	const struct settings parts[] = {{canary_settings, &k}, {0}};

	settings_default(canary_settings, &k);
	settings_read(map, parts, NULL, NULL, m);
	config_check_canary(map, c, x, &k, m);
	c->canary = xrealloc_array(c->canary, c->n_canaries + 1, sizeof(*c->canary));
	c->canary[c->n_canaries++] = k;
}

/* The driver first: what else may stand there is its own. */
static void load_options(const struct ynode *name, const struct ynode *map, struct machine *x, struct mistakes *m)
{
	static const char *const others[] = {"driver", "canary", NULL};
	const struct ynode *n = ynode_get(map, "driver");
	struct settings parts[MACHINE_PARTS];
	_cleanup_free_ char *of = NULL, *why = NULL;

	if (machine_set_driver(x, n ? n->text : x->driver) < 0) {
		why = xstrdup(err_msg());
		mistake(m,
			ynode_err(name, -EINVAL, "%s%s", why,
				  n && n->kind == Y_NULL ? " (\"null\" in quotes: without, YAML takes it for nothing)"
							 : ""));
		if (!x->driver)
			return;
	}
	of = xasprintf("driver '%s'", x->driver);
	machine_settings(x, parts);
	settings_read(map, parts, others, of, m);
}

static void load_machine(const struct ynode *name, const struct ynode *map, struct config *c, struct mistakes *m)
{
	const struct ynode *canary = ynode_get(map, "canary");
	struct machine *x;

	if (!config_name_ok(name->text)) {
		mistake(m, ynode_err(name, -EINVAL, "'%s' is no name for a machine", name->text));
		return;
	}
	x = config_machine_slot(c, name->text);
	load_options(name, map, x, m);
	if (!x->tbox_group)
		x->tbox_group = xstrdup(x->name);
	if (canary)
		load_canary(canary, x, c, m);
}

static void load_reporter(const struct ynode *name, const struct ynode *map, struct config *c, struct mistakes *m)
{
	const struct report_ops *o = reporter_find(name->text);
	const struct settings parts[] = {{o ? o->settings : NULL, o ? report_settings_of(&c->reports, o) : NULL}, {0}};
	_cleanup_free_ char *of = xasprintf("reporter '%s'", name->text);
	_cleanup_buf_ struct buf all = {0};

	for (const struct report_ops *const *r = reporters(); *r; r++)
		if (!(*r)->section && (*r)->settings)
			buf_addf(&all, "%s%s", all.len ? ", " : "; there are: ", (*r)->name);
	if (o && o->section)
		mistake(m, ynode_err(name, -EINVAL, "what is set of '%s' stands in the section '%s'", o->name,
				     o->section));
	else if (!o || !o->settings)
		mistake(m, ynode_err(name, -EINVAL, "no reporter '%s' has settings here%s", name->text, buf_str(&all)));
	else
		settings_read(map, parts, NULL, of, m);
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

typedef void load_fn(const struct ynode *name, const struct ynode *map, struct config *c, struct mistakes *m);

/* {NAME: {...}, ...} */
static void load_each(const struct ynode *map, load_fn *load, struct config *c, struct mistakes *m)
{
	for (size_t i = 0; map && map->kind == Y_MAP && i < map->n; i++)
		load(map->key[i], map->val[i], c, m);
	if (map && map->kind != Y_MAP && map->kind != Y_NULL)
		mistake(m, ynode_err(map, -EINVAL, "wants 'name:' lines with 'key: value' lines below each"));
}

/* What stands in the tables of a section; the top level has the sections beside it. */
static void load_section(const struct config_section *s, const struct ynode *top, struct config *c, struct mistakes *m)
{
	static const char *const effects[] = {"min_effects", NULL};
	_cleanup_free_ struct settings *parts = config_parts(c, s->name);
	const struct ynode *n = *s->name ? ynode_get(top, s->name) : top, *e = ynode_get(n, effects[0]);
	const bool judge = streq(s->name, "judge");

	if (n)
		settings_read(n, parts, !*s->name ? config_section_names : judge ? effects : NULL, NULL, m);
	if (judge && e)
		load_min_effects(e, c, m);
	if (n && streq(s->name, "mail"))
		config_check_mail(n, c, m);
}

/* The nodes in *y stay until it is released. */
static void load_file(const char *dir, const char *name, struct config *c, struct mistakes *m, struct yaml *y)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);

	if (!fs_exists(path))
		return;
	if (yaml_load_file(path, y) < 0) {
		mistake(m, -EINVAL);
		return;
	}
	for (size_t i = 0; i < y->n_docs; i++) {
		for (const struct config_section *s = config_sections; s->table; s++)
			load_section(s, y->doc[i], c, m);
		load_each(ynode_get(y->doc[i], "machines"), load_machine, c, m);
		load_each(ynode_get(y->doc[i], "trees"), load_tree, c, m);
		load_each(ynode_get(y->doc[i], "reports"), load_reporter, c, m);
	}
}

int config_load(const char *dir_or_null, struct config *ret)
{
	const char *dir = dir_or_null ? dir_or_null : getenv("KPERFBOT_CONFIG");
	struct yaml y[CONFIG_FILES] = {0};
	struct mistakes m = {0};
	struct config c;

	if (dir && !fs_is_dir(dir))
		return err_set(fs_exists(dir) ? -EINVAL : -ENOENT, "the configuration folder '%s' %s", dir,
			       fs_exists(dir) ? "is no folder" : "does not exist");
	if (!dir && fs_is_dir("/etc/kperfbot"))
		dir = "/etc/kperfbot";
	config_init(&c);
	c.dir = xstrdup(dir);
	for (size_t i = 0; dir && i < CONFIG_FILES; i++)
		load_file(dir, config_files[i], &c, &m, &y[i]);
	if (dir)
		config_check_unread(dir, &m);
	config_check_all(&c, y, &m);
	for (size_t i = 0; i < CONFIG_FILES; i++)
		yaml_release(&y[i]);
	config_complete(&c);
	if (m.n) {
		err_set(-EINVAL, "%s", buf_str(&m.text));
		buf_release(&m.text);
		config_release(&c);
		return -EINVAL;
	}
	*ret = c;
	return 0;
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
		.robot_name = c->robot_name, .robot_address = c->robot_address, .settings = &c->reports,
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
