/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees and machines between the configuration and the database. */
#include "bot/config/config.h"
#include "db/store.h"

static int put_machine(struct store *s, const struct machine *m)
{
	const struct machine_ops *ops = machine_driver(m->driver);
	_cleanup_free_ char *text = m->description	   ? xstrdup(m->description)
				    : ops && ops->describe ? ops->describe(m)
							   : NULL;
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
		struct db_tree d = {.name = t->name,
				    .url = t->url,
				    .kind = t->program ? (char *)"program" : (char *)"kernel",
				    .settings = settings,
				    .enabled = t->enabled};

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
