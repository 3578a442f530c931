/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/tree-options.h"
#include "bot/cli/verb.h"
#include "bot/engine/trouble.h"
#include "bot/watch.h"
#include "jobs/job.h"
#include "kernels/build.h"
#include "kernels/tree.h"
#include "lib/fs.h"

#include <json-c/json.h>
#include <unistd.h>

extern const struct verb verb_tree;

#define TROUBLE_MAX 1000        /* bytes, about: a tree may have ten thousand branches */

struct tree_verb { struct tree_options of_tree; bool on, off, purge, untrusted, repair; };

static void release_options(struct tree_verb *o)
{
	tree_options_release(&o->of_tree);
}

static int check_add(const struct tree_config *t, const struct tree_verb *o)
{
	_cleanup_buf_ struct buf text = {0};

	if (!config_name_ok(t->name))
		return err_set(-EINVAL, "'%s' is not a valid name for a tree; use at most 64 letters, digits, '-', '_' and '.'",
			       t->name);
	if (t->program != (t->artefact != NULL))
		return err_set(-EINVAL, t->program ? "a program's tree needs --artefact, the file that its build makes"
						    : "--artefact belongs to --program");
	if (t->program && tree_options_given(&o->of_tree, "kconfig"))
		return err_set(-EINVAL, "a program has no --kconfig");
	if (o->untrusted && tree_options_given(&o->of_tree, "trusted"))
		return err_set(-EINVAL, "--trusted or --untrusted, not both");
	if (o->on && o->off)
		return err_set(-EINVAL, "--on or --off, not both");
	return t->program ? 0 : kconfig_fragment(t->kconfig, &text);
}

/* Options not given keep what the tree has; one that is new begins with the defaults. */
static int config_of(const char *name, const struct tree_config *old, const struct tree_verb *o,
		     struct tree_config *ret)
{
	struct settings to[TREE_PARTS], from[TREE_PARTS];
	int r;

	tree_config_init(ret, name);
	tree_config_settings(ret, to);
	tree_config_settings(old, from);
	for (size_t i = 0; old && to[i].table; i++)
		settings_copy(to[i].table, to[i].base, from[i].base);
	r = tree_options_apply(&o->of_tree, ret);
	if (o->on || o->off)
		ret->enabled = o->on;
	if (o->untrusted)
		ret->trusted = false;
	tree_config_complete(ret);
	return r < 0 ? r : check_add(ret, o);
}

/* What stands in the files is taken again when they are read again. */
static void note_file(const struct ctx *c, const char *name, const char *instead)
{
	if (config_tree(&c->config, name))
		term_printf(stderr, "kperfbot: note: '%s' is in '%s', too, which the daemon takes at its next "
			    "start or SIGHUP: %s there\n", name, c->config.dir, instead);
}

/* Jobs must be there now; files are named absolutely, since the daemon has another working folder. */
static int check_jobs(const struct ctx *c, struct strv *jobs)
{
	for (size_t i = 0; i < jobs->n; i++) {
		struct job_list l = {0};
		char *path =
			strchr(jobs->v[i], '/') || endswith(jobs->v[i], ".yaml") ? realpath(jobs->v[i], NULL) : NULL;
		int r;

		if (path) {
			free(jobs->v[i]);
			jobs->v[i] = path;
		}
		r = job_load(jobs->v[i], c->config.dir, NULL, &l);
		job_list_release(&l);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_patches(struct strv *patches)
{
	for (size_t i = 0; i < patches->n; i++) {
		char *path = streq(patches->v[i], "none") ? xstrdup("none") : realpath(patches->v[i], NULL);

		if (!path)
			return err_set(-EINVAL, "there is no patch series '%s'", patches->v[i]);
		free(patches->v[i]);
		patches->v[i] = path;
	}
	return 0;
}

static int no_control(const char *what, const char *text)
{
	for (const char *p = text; p && *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return err_set(-EINVAL, "%s holds a control character", what);
	return 0;
}

static int check_utf8(const struct tree_config *t)
{
	struct settings parts[TREE_PARTS];

	tree_config_settings(t, parts);
	for (size_t i = 0; parts[i].table; i++)
		for (const struct setting *s = parts[i].table; s->name; s++) {
			_cleanup_free_ char *text = setting_text(s, parts[i].base);

			if (text && !utf8_valid(text))
				return err_set(-EINVAL, "'%s' is not UTF-8", text);
		}
	return 0;
}

static int check_texts(const struct tree_config *t)
{
	int r = no_control("--label", t->branch_label);

	if (r == 0)
		r = check_utf8(t);
	for (size_t i = 0; r == 0 && i < t->mail_cc.n; i++) {
		r = no_control("--cc", t->mail_cc.v[i]);
		if (r == 0 && !strchr(t->mail_cc.v[i], '@'))
			r = err_set(-EINVAL, "--cc '%s' is no mail address", t->mail_cc.v[i]);
	}
	if (r == 0 && t->artefact && (*t->artefact == '/' || strstr(t->artefact, "..")))
		r = err_set(-EINVAL, "--artefact '%s' must be a path inside the worktree", t->artefact);
	return r;
}

/* The daemon has another working folder. */
static void make_absolute(char **path)
{
	char *full = *path ? realpath(*path, NULL) : NULL;

	if (!full)
		return;
	free(*path);
	*path = full;
}

static int check_tree(const struct ctx *c, struct tree_config *t)
{
	int r = check_texts(t);

	if (r == 0)
		r = check_jobs(c, &t->jobs);
	if (r >= 0)
		r = check_patches(&t->patches);
	if (r >= 0 && !config_machine(&c->config, t->machine))
		r = err_set(-EINVAL, "no machine '%s' in the configuration; 'kperfbot machine list' shows them",
			    t->machine);
	make_absolute(&t->credentials_file);
	return r;
}

static int put_tree(struct ctx *c, const struct tree_config *t, int64_t *ret_id)
{
	_cleanup_free_ char *settings = tree_config_to_json(t);
	struct db_tree d = {.name = t->name, .url = t->url, .kind = (char *)(t->program ? "program" : "kernel"),
			    .settings = settings, .enabled = t->enabled};

	return store_tree_put(c->store, &d, ret_id);
}

/* How many branches match, as far as the server can be asked now. */
static int see_heads(const struct tree_config *t, size_t *ret)
{
	_cleanup_(tree_refs_release) struct tree_refs heads = {0};
	_cleanup_free_ char *shown = url_shown(t->url);
	int r = tree_remote_heads(t->url, t->credentials_file, (const char *const *)t->branches.v, 30, &heads);

	if (r == -EINVAL)
		return r;
	if (r < 0) /* it may come up later: kept all the same */
		term_printf(stderr, "kperfbot: note: %s\n", err_msg());
	else if (!heads.n)
		term_printf(stderr, "kperfbot: note: no branch of '%s' matches\n", shown);
	*ret = heads.n;
	return 0;
}

static void tell_added(const struct ctx *c, const struct tree_config *t, bool exists, int64_t id, size_t heads)
{
	if (c->json)
		printf("{\"tree\": %" PRId64 ", \"branches\": %zu}\n", id, heads);
	else
		term_printf(stdout, "tree '%s' %s%s, %zu branch%s seen\n", t->name, exists ? "changed" : "added",
			    t->enabled ? ""
			    : exists   ? " (it is off; --on switches it on)"
				       : " (not switched on)",
			    heads, heads == 1 ? "" : "es");
	note_file(c, t->name, "change it");
}

static int tree_add(struct ctx *c, const char *name, const char *url, const struct tree_verb *o)
{
	_cleanup_(db_tree_release) struct db_tree old = {0};
	_cleanup_(tree_config_release) struct tree_config before = {0}, t = {0};
	bool exists;
	size_t heads = 0;
	int64_t id;
	int r = ctx_store(c, false);

	if (r < 0)
		return r;
	exists = store_tree_get(c->store, name, &old) >= 0 && tree_config_from_db(&old, &before) >= 0;
	r = config_of(name, exists ? &before : NULL, o, &t);
	if (r >= 0)
		r = check_tree(c, &t);
	if (r < 0)
		return r;
	free(t.url);
	t.url = xstrdup(url);
	if (!strstr(url, "://") && fs_is_dir(url))
		make_absolute(&t.url);
	r = see_heads(&t, &heads);
	if (r >= 0)
		r = put_tree(c, &t, &id);
	if (r >= 0)
		tell_added(c, &t, exists, id, heads);
	return r;
}

static void joined(struct table *t, size_t col, const struct strv *l)
{
	_cleanup_buf_ struct buf b = {0};

	for (size_t i = 0; i < l->n; i++)
		buf_addf(&b, "%s%s", i ? " " : "", l->v[i]);
	table_text(t, col, buf_str(&b));
}

static void add_words(struct buf *b, const char *fmt, ...) _printf_(2, 3);
static void add_words(struct buf *b, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	buf_addf(b, "%s%s", b->len ? "; " : "", text);
}

/* A case of the question that could not go on. */
static void add_ended_case(struct ctx *c, const char *who, int64_t comparison, struct buf *b)
{
	struct db_case *cases = NULL;
	size_t n = 0;

	if (store_cases(c->store, &cases, &n) >= 0)
		for (size_t i = 0; i < n; i++)
			if (cases[i].state == CASE_NOT_REPRODUCED && cases[i].comparison == comparison
			    && cases[i].stopped == STOPPED_BY_ERROR)
				add_words(b, "%s: case %" PRId64 " %s", who, cases[i].id, cases[i].note);
	DB_LIST_RELEASE(cases, n, db_case_release);
}

/* Why the newest question of a branch ('': by hand) has no answer. */
static void add_question(struct ctx *c, int64_t tree, const char *branch, struct buf *b)
{
	const char *who = *branch ? branch : "by hand";
	struct db_comparison q = {0};
	int r = store_comparison_newest(c->store, tree, branch, &q);

	if (r >= 0 && q.reason && (q.state == COMPARISON_OPEN || q.state == COMPARISON_BROKEN))
		add_words(b, "%s: comparison %" PRId64 " %s: %s", who, q.id,
			  q.state == COMPARISON_OPEN ? "waits" : comparison_state_word(q.state), q.reason);
	else if (r >= 0 && q.state == COMPARISON_DIFFERENT)
		add_ended_case(c, who, q.id, b);
	db_comparison_release(&q);
}

/* All that keeps a tree from being measured, for people. */
static void add_trouble(struct ctx *c, const struct db_tree *d, bool of_file, const struct db_branch *branch, size_t n,
			struct buf *b)
{
	_cleanup_free_ char *git_dir = engine_git_dir(&c->config, d->name), *depth = tree_shallow_words(git_dir);
	bool live = false;

	for (size_t i = 0; i < n; i++)
		live |= branch[i].head != NULL;
	if (!d->enabled && of_file && !config_tree(&c->config, d->name))
		add_words(b, "it is not in the configuration any more");
	if (d->poll_error)
		add_words(b, "%s", d->poll_error);
	if (!d->poll_error && d->last_poll && !live)
		add_words(b, "no branch of the remote matches 'branches'; tags are not watched");
	if (depth)
		add_words(b, "%s", depth);
	for (size_t i = 0; i < n && b->len < TROUBLE_MAX; i++) {
		if (branch[i].trouble)
			add_words(b, "%s", branch[i].trouble);
		else if (branch[i].head)
			add_question(c, d->id, branch[i].name, b);
	}
	if (b->len >= TROUBLE_MAX)
		add_words(b, "...");
	else
		add_question(c, d->id, "", b);
}

static void list_row(struct table *t, struct ctx *c, const struct db_tree *d)
{
	struct tree_config cfg = {0};
	struct db_branch *b = NULL;
	size_t n = 0;
	_cleanup_free_ char *shown = url_shown(d->url);
	_cleanup_buf_ struct buf trouble = {0};
	bool of_file = false;

	table_row(t);
	table_text(t, 0, d->name);
	table_text(t, 1, d->enabled ? "on" : "off");
	table_text(t, 2, shown);
	if (tree_config_from_db(d, &cfg) == 0) {
		joined(t, 3, &cfg.branches);
		table_text(t, 4, cfg.kconfig);
		joined(t, 5, &cfg.jobs);
		of_file = cfg.of_file;
		tree_config_release(&cfg);
	}
	if (store_branches(c->store, d->id, &b, &n) >= 0)
		table_int(t, 6, n);
	add_trouble(c, d, of_file, b, n, &trouble);
	DB_LIST_RELEASE(b, n, db_branch_release);
	table_text(t, 7, trouble.len ? trouble.s : NULL);
}

/* Trees of the files that no daemon has taken yet. */
static void list_untaken(struct table *t, struct ctx *c, const struct db_tree *known, size_t n)
{
	for (size_t i = 0; i < c->config.n_trees; i++) {
		const struct tree_config *x = &c->config.tree[i];
		_cleanup_free_ char *shown = url_shown(x->url);
		bool there = false;

		for (size_t k = 0; k < n; k++)
			there |= streq(known[k].name, x->name);
		if (there)
			continue;
		table_row(t);
		table_text(t, 0, x->name);
		table_text(t, 1, x->enabled ? "on" : "off");
		table_text(t, 2, shown);
		joined(t, 3, &x->branches);
		table_text(t, 4, x->kconfig);
		joined(t, 5, &x->jobs);
		table_int(t, 6, 0);
		table_text(t, 7, "not fetched yet: the daemon does that once it runs, or 'kperfbot tree fetch'");
	}
}

static int tree_list(struct ctx *c)
{
	static const char *const columns[] = {"name", "watch", "url", "branches", "kconfig", "jobs", "heads",
					      "trouble"};
	_cleanup_table_ struct table t = {0};
	struct db_tree *trees = NULL;
	size_t n = 0;
	int r = ctx_store(c, true);

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(&t, columns[i], i == 6);
	if (r >= 0)
		r = store_trees(c->store, &trees, &n);
	else if (r == -ENOENT && c->config.n_trees)
		r = 0;
	for (size_t i = 0; r >= 0 && i < n; i++)
		list_row(&t, c, &trees[i]);
	if (r >= 0)
		list_untaken(&t, c, trees, n);
	DB_LIST_RELEASE(trees, n, db_tree_release);
	return r < 0 ? r : table_print(&t, ctx_form(c), stdout);
}

static int tree_fetch_now(struct ctx *c, const char *name, bool repair)
{
	int r = ctx_store(c, false);

	if (r >= 0)
		r = watch_fetch(c, name, repair);
	if (r >= 0)
		printf(c->json ? "{\"moved\": %d}\n" : "%d branch%s moved\n", r, r == 1 ? "" : "es");
	return r;
}

/* Without --purge only the watching ends: what was measured speaks for reports that are out. */
static int tree_remove(struct ctx *c, const char *name, bool purge)
{
	struct db_tree t = {0};
	int r = ctx_store(c, false);

	if (r >= 0)
		r = config_tree_get(&c->config, c->store, name, &t);
	if (r >= 0 && purge) {
		r = store_tree_remove(c->store, name);
	} else if (r >= 0) {
		t.enabled = false;
		r = store_tree_put(c->store, &t, NULL);
	}
	if (r >= 0 && c->json)
		printf("{\"removed\": true, \"purged\": %s}\n", purge ? "true" : "false");
	else if (r >= 0)
		puts(purge ? "tree removed with its builds, runs and cases; its mirror is kept"
			   : "tree is not watched any more; its results are kept ('tree remove --purge' erases them)");
	if (r >= 0)
		note_file(c, name, "take it out or write 'enabled: false'");
	db_tree_release(&t);
	return r;
}

static int run(int argc, char **argv, struct ctx *c)
{
	_cleanup_(release_options) struct tree_verb o = {0};
	struct opt opts[TREE_OPTIONS + 6] = {
		[TREE_OPTIONS] = OPT_FLAG(0, "untrusted", &o.untrusted, "undo --trusted"),
		OPT_FLAG(0, "on", &o.on, "watch it; a new one is watched unless --off is given"),
		OPT_FLAG(0, "off", &o.off, "do not watch it (yet)"),
		OPT_FLAG(0, "repair", &o.repair, "fetch: check the whole mirror and fetch what is missing"),
		OPT_FLAG(0, "purge", &o.purge, "remove: erase its builds, runs and cases too"),
		OPT_END,
	};
	int e, r;

	tree_options_rows(&o.of_tree, opts);
	e = verb_options(&verb_tree, &argc, &argv, opts, c);

	if (e >= 0)
		return e;
	if (argc == 3 && streq(argv[0], "add"))
		r = tree_add(c, argv[1], argv[2], &o);
	else if (argc == 1 && streq(argv[0], "list"))
		r = tree_list(c);
	else if (argc == 2 && streq(argv[0], "fetch"))
		r = tree_fetch_now(c, argv[1], o.repair);
	else if (argc == 2 && streq(argv[0], "remove"))
		r = tree_remove(c, argv[1], o.purge);
	else
		return verb_usage(
			c, "tree: write 'tree add NAME URL', 'tree list', 'tree fetch NAME' or 'tree remove NAME'");
	return r < 0 ? verb_fail(c, r) : EXIT_DONE;
}

const struct verb verb_tree = {
	.name = "tree",
	.usage = "add NAME URL [options]\nlist\nfetch NAME [--repair]\nremove NAME [--purge]",
	.summary = "git trees to watch",
	.text = "Each tree has a bare mirror in the state folder. Nothing is lost when a branch is force-pushed or\n"
		"deleted: every head ever seen stays in the mirror. 'add' on a name that exists changes the options\n"
		"given and keeps the others; an empty value ('') resets one. A tree that was switched off stays off\n"
		"without --on.\n"
		"A tree that is removed from trees.yaml is no longer watched; a new name is a new tree.\n"
		"A URL with a password is refused: --credentials names a file that git reads (gitcredentials(7),\n"
		"git-credential-store). The code in a tree was written by others: it is built in a box without\n"
		"network, under a uid that owns nothing, and a program is measured in one, too (driver local).\n"
		"--trusted lets measured programs do all that the robot itself may: read its passwords, send, write.\n"
		"Use it for your own trees only. The column 'trouble' of 'list' says what keeps a tree from being\n"
		"measured: its server, a shallow history, a question that cannot be answered.\n"
		"'remove' stops watching and keeps all results; with --purge it erases them.",
	.run = run,
};
