/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees and machines between the configuration and the database. */
#include "bot/config/config.h"

#include <json-c/json.h>

static struct json_object *list_json(const struct strv *l)
{
	struct json_object *a = json_object_new_array();

	for (size_t i = 0; i < l->n; i++)
		json_object_array_add(a, json_text(l->v[i]));
	return a;
}

static void add_text(struct json_object *o, const char *key, const char *v)
{
	if (v)
		json_object_object_add(o, key, json_text(v));
}

char *tree_config_to_json(const struct tree_config *t)
{
	struct json_object *o = json_object_new_object();
	char *s;

	add_text(o, "credentials_file", t->credentials_file);
	json_object_object_add(o, "branches", list_json(&t->branches));
	json_object_object_add(o, "interval", json_object_new_double(t->interval_s));
	add_text(o, "kconfig", t->kconfig);
	add_text(o, "build_command", t->build_command);
	add_text(o, "artefact", t->artefact);
	json_object_object_add(o, "jobs", list_json(&t->jobs));
	if (t->patches.n)
		json_object_object_add(o, "patches", list_json(&t->patches));
	add_text(o, "machine", t->machine);
	add_text(o, "branch_label", t->branch_label);
	json_object_object_add(o, "mail_cc", list_json(&t->mail_cc));
	json_object_object_add(o, "max_commits", json_object_new_int64(t->max_commits));
	if (t->trusted)
		json_object_object_add(o, "trusted", json_object_new_boolean(true));
	if (t->of_file)
		json_object_object_add(o, "of_file", json_object_new_boolean(true));
	s = json_line(o);
	json_object_put(o);
	return s;
}

static char *get_text(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && v ? xstrdup(json_object_get_string(v)) : NULL;
}

static void get_list(struct json_object *o, const char *key, struct strv *out)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(v); i++)
		strv_add(out, json_object_get_string(json_object_array_get_idx(v, i)));
}

int tree_config_from_db(const struct db_tree *t, struct tree_config *ret)
{
	struct json_object *o = json_tokener_parse(t->settings ? t->settings : "{}"), *v;
	struct tree_config c = {.enabled = t->enabled, .program = streq(t->kind, "program"),
				.interval_s = TREE_INTERVAL_S,
				.max_commits = TREE_MAX_COMMITS};

	if (!json_object_is_type(o, json_type_object)) {
		json_object_put(o);
		return err_set(-EBADMSG, "tree '%s': its settings in the database are no JSON object", t->name);
	}
	c.name = xstrdup(t->name);
	c.url = xstrdup(t->url);
	if (json_object_object_get_ex(o, "interval", &v) && json_object_get_double(v) > 0)
		c.interval_s = json_object_get_double(v);
	if (json_object_object_get_ex(o, "max_commits", &v) && json_object_get_int64(v) > 0)
		c.max_commits = json_object_get_int64(v);
	c.of_file = json_object_object_get_ex(o, "of_file", &v) && json_object_get_boolean(v);
	c.trusted = json_object_object_get_ex(o, "trusted", &v) && json_object_get_boolean(v);
	c.credentials_file = get_text(o, "credentials_file");
	c.kconfig = get_text(o, "kconfig");
	c.build_command = get_text(o, "build_command");
	c.artefact = get_text(o, "artefact");
	c.machine = get_text(o, "machine");
	c.branch_label = get_text(o, "branch_label");
	get_list(o, "branches", &c.branches);
	get_list(o, "jobs", &c.jobs);
	get_list(o, "patches", &c.patches);
	get_list(o, "mail_cc", &c.mail_cc);
	if (!c.kconfig)
		c.kconfig = xstrdup(c.program ? "program" : "vm-min");
	if (!c.machine)
		c.machine = xstrdup(machine_default(c.program));
	json_object_put(o);
	*ret = c;
	return 0;
}

static int put_machine(struct store *s, const struct machine *m)
{
	const struct machine_ops *ops = machine_driver(m->driver);
	_cleanup_free_ char *text = m->description ? xstrdup(m->description) : ops && ops->describe ? ops->describe(m) : NULL;
	_cleanup_free_ char *settings = machine_to_json(m);
	struct db_machine d = {.name = m->name, .driver = m->driver, .tbox_group = m->tbox_group, .description = text,
			       .settings = settings};

	return store_machine_put(s, &d, NULL);
}

int config_to_store(const struct config *c, struct store *s)
{
	int r = store_begin(s);

	for (size_t i = 0; r == 0 && i < c->n_machines; i++)
		r = put_machine(s, &c->machine[i]);
	for (size_t i = 0; r == 0 && i < c->n_trees; i++) {
		const struct tree_config *t = &c->tree[i];
		_cleanup_free_ char *settings = tree_config_to_json(t);
		struct db_tree d = {.name = t->name, .url = t->url, .kind = t->program ? (char *)"program" : (char *)"kernel",
				    .settings = settings, .enabled = t->enabled};

		r = store_tree_put(s, &d, NULL);
	}
	if (r == 0)
		r = store_commit(s);
	else
		store_rollback(s);
	return r;
}

int config_tree_get(const struct config *c, struct store *s, const char *name, struct db_tree *ret)
{
	int r = store_tree_get(s, name, ret);

	if (r != -ENOENT || !config_tree(c, name))
		return r;
	r = config_to_store(c, s);
	return r < 0 ? r : store_tree_get(s, name, ret);
}

/* A tree of the files that has the same URL: the new name, perhaps. */
static const char *same_url(const struct config *c, const char *url)
{
	for (size_t i = 0; i < c->n_trees; i++)
		if (streq(c->tree[i].url, url))
			return c->tree[i].name;
	return NULL;
}

static int drop_tree(const struct config *c, struct store *s, struct db_tree *t)
{
	const char *other = same_url(c, t->url);
	struct tree_config old = {0};
	int r = config_tree(c, t->name) || !t->enabled ? 0 : tree_config_from_db(t, &old);

	if (r >= 0 && old.of_file) {
		t->enabled = false;
		r = store_tree_put(s, t, NULL);
		store_event(s, 0, 0, 0, "tree '%s' is not in the configuration any more and not watched; its results "
			    "are kept%s%s%s", t->name, other ? ", and '" : "", other ? other : "",
			    other ? "' begins anew at the same URL" : "");
	}
	tree_config_release(&old);
	return MIN(r, 0);
}

int config_drop_trees(const struct config *c, struct store *s)
{
	struct db_tree *t = NULL;
	size_t n = 0;
	int r = store_trees(s, &t, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = drop_tree(c, s, &t[i]);
	DB_LIST_RELEASE(t, n, db_tree_release);
	return MIN(r, 0);
}
