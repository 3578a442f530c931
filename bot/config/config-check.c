/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the configuration refers to must be there, and fit. */
#include "bot/config/config-internal.h"
#include "jobs/job.h"
#include "kernels/build.h"
#include "kernels/tree.h"
#include "lib/fs.h"

static void check_source(const struct ynode *where, const struct tree_config *t, struct mistakes *m)
{
	int r = t->url ? tree_url_check(t->url) : 0;

	if (!config_name_ok(t->name))
		mistake(m, ynode_err(where, -EINVAL,
				     "'%s' is no name for a tree: letters, digits, - _ . only, at most 64", t->name));
	if (!t->url)
		mistake(m, ynode_err(where, -EINVAL, "tree '%s' needs a 'url'", t->name));
	if (r >= 0 && t->credentials_file)
		r = tree_credentials_check(t->credentials_file);
	if (r < 0 && r != -EACCES) { /* who may not look may still ask for results */
		_cleanup_free_ char *why = xstrdup(err_msg());

		mistake(m, ynode_err(where, -EINVAL, "tree '%s': %s", t->name, why));
	}
}

static void check_job(const struct ynode *where, const struct config *c, const struct tree_config *t, const char *job,
		      struct mistakes *m)
{
	struct job_list l = {0};

	if (job_load(job, c->dir, NULL, &l) < 0) {
		_cleanup_free_ char *why = xstrdup(err_msg());

		mistake(m, ynode_err(where, -EINVAL, "tree '%s': %s", t->name, why));
	}
	job_list_release(&l);
}

void config_check_tree(const struct ynode *where, const struct config *c, const struct tree_config *t,
		       struct mistakes *m)
{
	_cleanup_buf_ struct buf fragment = {0};

	check_source(where, t, m);
	if (t->program && !t->artefact)
		mistake(m, ynode_err(where, -EINVAL,
				     "tree '%s' is a program: it needs an 'artefact' (the file or folder "
				     "that the build leaves)",
				     t->name));
	if (!t->program && kconfig_fragment(t->kconfig, &fragment) < 0)
		mistake(m, ynode_err(where, -EINVAL, "tree '%s': there is no kconfig '%s' in kernels/configs", t->name,
				     t->kconfig));
	for (size_t i = 0; i < t->jobs.n; i++)
		check_job(where, c, t, t->jobs.v[i], m);
	for (size_t i = 0; i < t->patches.n; i++)
		if (!streq(t->patches.v[i], "none") && !fs_exists(t->patches.v[i]))
			mistake(m, ynode_err(where, -EINVAL, "tree '%s': there is no patch series '%s'", t->name,
					     t->patches.v[i]));
	for (size_t i = 0; i < t->mail_cc.n; i++)
		if (!strchr(t->mail_cc.v[i], '@') || strpbrk(t->mail_cc.v[i], "\r\n"))
			mistake(m, ynode_err(where, -EINVAL, "tree '%s': '%s' is no mail address", t->name,
					     t->mail_cc.v[i]));
}

void config_check_mail(const struct ynode *where, const struct config *c, struct mistakes *m)
{
	for (size_t i = 0; i < c->mail_allow.n; i++)
		if (!strchr(c->mail_allow.v[i], '@') && !streq(c->mail_allow.v[i], "*"))
			mistake(m, ynode_err(where, -EINVAL, "'allow': '%s' has no @ and lets nobody through; write "
					     "'*@%s', or '*' for everybody", c->mail_allow.v[i], c->mail_allow.v[i]));
	if (!c->robot_address || !strchr(c->robot_address, '@') || strpbrk(c->robot_address, "\r\n <>,") ||
	    strpbrk(c->robot_name ? c->robot_name : "", "\r\n"))
		mistake(m, ynode_err(where, -EINVAL,
				     "'robot_name' and 'robot_address' must be one name and one plain address"));
}

void config_check_canary(const struct ynode *where, const struct config *c, const struct machine *x,
			 const struct canary_config *k, struct mistakes *m)
{
	const struct machine_ops *ops = x->driver ? machine_driver(x->driver) : NULL;
	struct job_list l = {0};

	if (!k->job || !k->commit)
		mistake(m, ynode_err(where, -EINVAL,
				     "machine '%s': a canary needs a 'job' and a 'commit' (an id or a tag)", x->name));
	if (ops && (ops->flags & MACHINE_DETERMINISTIC))
		mistake(m, ynode_err(where, -EINVAL, "machine '%s' is deterministic: it needs no canary", x->name));
	if (k->job && job_load(k->job, c->dir, NULL, &l) < 0) {
		_cleanup_free_ char *why = xstrdup(err_msg());

		mistake(m, ynode_err(where, -EINVAL, "machine '%s': canary: %s", x->name, why));
	} else if (k->job && l.n != 1) {
		mistake(m, ynode_err(where, -EINVAL, "machine '%s': canary: job '%s' has %zu points, a canary is one",
				     x->name, k->job, l.n));
	}
	job_list_release(&l);
}

/* Where section: {name: {key: ...}} was given last, as near as there is; name may be NULL. NULL: nowhere. */
static const struct ynode *place(const struct yaml *y, const char *section, const char *name, const char *key)
{
	const struct ynode *best = NULL;

	for (size_t f = 0; f < CONFIG_FILES; f++)
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

static void check_reporter(const struct report_ops *o, const struct config *c, const struct yaml *y, struct mistakes *m)
{
	const char *key = NULL;
	_cleanup_free_ char *why = NULL;

	if (!o->check || o->check(report_settings_of(&c->reports, o), &key) >= 0)
		return;
	why = xstrdup(err_msg());
	mistake(m, ynode_err(place(y, o->section ? o->section : "reports", o->section ? NULL : o->name, key), -EINVAL,
			     "%s", why));
}

void config_check_all(const struct config *c, const struct yaml y[CONFIG_FILES], struct mistakes *m)
{
	for (size_t i = 0; i < c->n_trees; i++)
		if (!config_machine(c, c->tree[i].machine))
			mistake(m, ynode_err(place(y, "trees", c->tree[i].name, "machine"), -EINVAL,
					     "tree '%s': there is no machine '%s'", c->tree[i].name,
					     c->tree[i].machine));
	for (size_t i = 0; i < c->n_canaries; i++)
		if (c->canary[i].tree && c->n_trees && !config_tree(c, c->canary[i].tree))
			mistake(m, ynode_err(place(y, "machines", c->canary[i].machine, "canary"), -EINVAL,
					     "machine '%s': canary: there is no tree '%s'", c->canary[i].machine,
					     c->canary[i].tree));
	for (const struct report_ops *const *o = reporters(); *o; o++)
		check_reporter(*o, c, y, m);
	check_folder(fs_state_dir, "state_dir", c->state_dir, y, m);
	check_folder(fs_cache_dir, "cache_dir", c->cache_dir, y, m);
	if (c->min_boots > c->max_boots)
		mistake(m, ynode_err(place(y, "judge", NULL, "min_boots"), -EINVAL,
				     "judge: min_boots is larger than max_boots"));
}
