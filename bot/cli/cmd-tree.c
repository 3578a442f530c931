/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/trouble.h"
#include "bot/cli/verb.h"
#include "bot/watch.h"
#include "jobs/job.h"
#include "kernels/build.h"
#include "kernels/tree.h"
#include "lib/fs.h"

#include <json-c/json.h>
#include <unistd.h>

extern const struct verb verb_tree;

#define NOT_GIVEN INT64_MIN
#define TROUBLE_MAX 1000        /* bytes, about: a tree may have ten thousand branches */

struct tree_options {
	bool program, on, off, purge, trusted, untrusted, repair;
	const char *kconfig, *command, *artefact, *machine, *label, *credentials;
	double interval;
	int64_t max_commits;
	struct strv branches, jobs, patches, cc;
};

static void release_options(struct tree_options *o)
{
	strv_release(&o->branches);
	strv_release(&o->jobs);
	strv_release(&o->patches);
	strv_release(&o->cc);
}

static int check_add(const char *name, const struct tree_options *o)
{
	_cleanup_buf_ struct buf text = {0};

	if (!config_name_ok(name))
		return err_set(-EINVAL, "'%s' is no name for a tree; use at most 64 letters, digits, '-', '_' and '.'", name);
	if (o->program != (o->artefact != NULL))
		return err_set(-EINVAL, o->program ? "a program's tree wants --artefact, the file that its build makes"
						    : "--artefact belongs to --program");
	if (o->program && o->kconfig)
		return err_set(-EINVAL, "a program has no --kconfig");
	if (o->trusted && o->untrusted)
		return err_set(-EINVAL, "--trusted or --untrusted, not both");
	if (o->on && o->off)
		return err_set(-EINVAL, "--on or --off, not both");
	if (o->interval < 1)
		return err_set(-EINVAL, "--interval wants at least 1 second");
	return o->kconfig ? kconfig_fragment(o->kconfig, &text) : 0;
}

static struct tree_config config_of(const char *name, const char *url, const struct tree_options *o)
{
	return (struct tree_config){.name = (char *)name, .url = (char *)url,
				    .credentials_file = (char *)o->credentials, .enabled = !o->off,
				    .program = o->program, .branches = o->branches, .interval_s = o->interval,
				    .kconfig = (char *)(o->program ? "program" : o->kconfig ? o->kconfig : "vm-min"),
				    .build_command = (char *)o->command, .artefact = (char *)o->artefact, .jobs = o->jobs,
				    .patches = o->patches, .machine = (char *)(o->machine ? o->machine : machine_default(o->program)),
				    .branch_label = (char *)o->label, .mail_cc = o->cc, .max_commits = o->max_commits,
				    .trusted = o->trusted};
}

/* Options not given keep what the tree has. */
static void keep_old(const struct db_tree *old, const struct tree_config *t, struct tree_options *o)
{
	const struct { const char **now; const char *before; } texts[] = {
		{&o->kconfig, o->program || t->program ? NULL : t->kconfig}, {&o->command, t->build_command}, {&o->artefact, t->artefact},
		{&o->machine, o->program && !t->program ? NULL : t->machine}, {&o->label, t->branch_label},
		{&o->credentials, t->credentials_file}};
	const struct { struct strv *now; const struct strv *before; } lists[] = {
		{&o->branches, &t->branches}, {&o->jobs, &t->jobs}, {&o->patches, &t->patches}, {&o->cc, &t->mail_cc}};

	o->off = o->off || (!old->enabled && !o->on);
	o->trusted = !o->untrusted && (o->trusted || t->trusted);
	if (streq(old->kind, "program"))
		o->program = true;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!*texts[i].now)
			*texts[i].now = texts[i].before;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (!lists[i].now->n)
			strv_addv(lists[i].now, (const char *const *)lists[i].before->v);
	if (isnan(o->interval))
		o->interval = t->interval_s;
	if (o->max_commits == NOT_GIVEN)
		o->max_commits = t->max_commits;
}

/* What is left is neither given nor of the tree. An empty text means none, so the default. */
static void fill_in(struct tree_options *o)
{
	const char **texts[] = {&o->kconfig, &o->command, &o->artefact, &o->machine, &o->label, &o->credentials};
	struct strv *lists[] = {&o->branches, &o->jobs, &o->patches, &o->cc};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (*texts[i] && !**texts[i])
			*texts[i] = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (lists[i]->n == 1 && !*lists[i]->v[0])
			strv_release(lists[i]);
	if (!o->branches.n)
		strv_add(&o->branches, "*");
	if (isnan(o->interval))
		o->interval = TREE_INTERVAL_S;
	if (o->max_commits == NOT_GIVEN)
		o->max_commits = TREE_MAX_COMMITS;
}

/* What stands in the files is taken again when they are read again. */
static void note_file(const struct ctx *c, const char *name, const char *instead)
{
	if (config_tree(&c->config, name))
		term_printf(stderr, "kperfbot: note: '%s' stands in '%s', too, which the daemon takes at its next "
			    "start or SIGHUP: %s there\n", name, c->config.dir, instead);
}

/* Jobs must be there now; files are named absolutely, since the daemon has another working folder. */
static int check_jobs(const struct ctx *c, struct strv *jobs)
{
	for (size_t i = 0; i < jobs->n; i++) {
		struct job_list l = {0};
		char *path = strchr(jobs->v[i], '/') || endswith(jobs->v[i], ".yaml") ? realpath(jobs->v[i], NULL) : NULL;
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

static int check_texts(const struct tree_options *o)
{
	const struct strv *lists[] = {&o->branches, &o->jobs, &o->patches};
	const char *texts[] = {o->command, o->artefact, o->credentials, o->label};
	int r = no_control("--label", o->label);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = texts[i] && !utf8_valid(texts[i]) ? err_set(-EINVAL, "'%s' is not UTF-8", texts[i]) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (size_t k = 0; r == 0 && k < lists[i]->n; k++)
			r = utf8_valid(lists[i]->v[k]) ? 0 : err_set(-EINVAL, "'%s' is not UTF-8", lists[i]->v[k]);
	for (size_t i = 0; r == 0 && i < o->cc.n; i++) {
		r = no_control("--cc", o->cc.v[i]);
		if (r == 0 && !strchr(o->cc.v[i], '@'))
			r = err_set(-EINVAL, "--cc '%s' is no mail address", o->cc.v[i]);
	}
	if (r == 0 && o->artefact && (*o->artefact == '/' || strstr(o->artefact, "..")))
		r = err_set(-EINVAL, "--artefact '%s' must be a path inside the worktree", o->artefact);
	if (r == 0 && o->max_commits < 1)
		r = err_set(-EINVAL, "--max-commits wants at least 1, not %" PRId64, o->max_commits);
	return r;
}

static int tree_add(struct ctx *c, const char *name, const char *url, struct tree_options *o)
{
	struct db_tree old = {0};
	struct tree_config old_config = {0};
	bool exists;
	_cleanup_free_ char *settings = NULL, *path = NULL, *credentials = NULL, *shown = url_shown(url);
	_cleanup_(tree_refs_release) struct tree_refs heads = {0};
	struct tree_config t;
	struct db_tree d = {0};
	int64_t id;
	int r = ctx_store(c, false);

	if (r < 0)
		return r;
	exists = store_tree_get(c->store, name, &old) >= 0 && tree_config_from_db(&old, &old_config) >= 0;
	if (exists)
		keep_old(&old, &old_config, o);
	fill_in(o);
	r = check_add(name, o);
	if (r == 0)
		r = check_texts(o);
	if (r == 0)
		r = check_jobs(c, &o->jobs);
	if (r >= 0)
		r = check_patches(&o->patches);
	if (r == 0 && o->machine && !config_machine(&c->config, o->machine))
		r = err_set(-EINVAL, "no machine '%s' in the configuration; 'kperfbot machine list' shows them", o->machine);
	if (r < 0)
		goto out;
	if (!strstr(url, "://") && fs_is_dir(url)) /* the daemon has another working folder */
		path = realpath(url, NULL);
	if (o->credentials && (credentials = realpath(o->credentials, NULL)))
		o->credentials = credentials;
	t = config_of(name, path ? path : url, o);
	r = tree_remote_heads(t.url, t.credentials_file, (const char *const *)t.branches.v, 30, &heads);
	if (r == -EINVAL)
		goto out;
	if (r < 0) /* it may come up later: kept all the same */
		term_printf(stderr, "kperfbot: note: %s\n", err_msg());
	else if (!heads.n)
		term_printf(stderr, "kperfbot: note: no branch of '%s' matches\n", shown);
	settings = tree_config_to_json(&t);
	d = (struct db_tree){.name = t.name, .url = t.url, .kind = (char *)(t.program ? "program" : "kernel"),
			     .settings = settings, .enabled = t.enabled};
	r = store_tree_put(c->store, &d, &id);
	if (r >= 0 && c->json)
		printf("{\"tree\": %" PRId64 ", \"branches\": %zu}\n", id, heads.n);
	else if (r >= 0)
		term_printf(stdout, "tree '%s' %s%s, %zu branch%s seen\n", name, exists ? "changed" : "added",
			    !o->off ? "" : exists ? " (it is off; --on switches it on)" : " (not switched on)", heads.n,
			    heads.n == 1 ? "" : "es");
	if (r >= 0)
		note_file(c, name, "change it");
out:
	tree_config_release(&old_config);
	db_tree_release(&old);
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
			if (cases[i].state == CASE_NOT_REPRODUCED && cases[i].comparison == comparison && cases[i].note &&
			    startswith(cases[i].note, ENGINE_CANNOT))
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
		add_words(b, "%s: comparison %" PRId64 " %s: %s", who, q.id, q.state == COMPARISON_OPEN ? "waits" : comparison_state_word(q.state),
			  q.reason);
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
		table_text(t, 7, "not fetched yet: the daemon does it once it runs, or 'kperfbot tree fetch'");
	}
}

static int tree_list(struct ctx *c)
{
	static const char *const columns[] = {"name", "watch", "url", "branches", "kconfig", "jobs", "heads", "trouble"};
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
	_cleanup_(release_options) struct tree_options o = {.interval = NAN, .max_commits = NOT_GIVEN};
	const struct opt opts[] = {
		OPT_LIST('b', "branch", "GLOB", &o.branches, "watch branches that match (repeatable; default all)"),
		OPT_TEXT('k', "kconfig", "NAME", &o.kconfig, "kernel config (default vm-min)"),
		OPT_LIST('j', "job", "NAME", &o.jobs, "job to run on each new head (repeatable)"),
		OPT_LIST(0, "patches", "FILE", &o.patches, "patch series to try on each new head (repeatable; none: the plain head, too)"),
		OPT_TEXT('m', "machine", "NAME", &o.machine, "test machine"),
		OPT_SECONDS('i', "interval", "TIME", &o.interval, "how often to look (default 5m)"),
		OPT_INT(0, "max-commits", "N", &o.max_commits, "longest range to compare"),
		OPT_TEXT(0, "credentials", "FILE", &o.credentials, "logins for git-credential-store(1), mode 0600"),
		OPT_TEXT(0, "label", "TEXT", &o.label, "branch label in the subject of reports"),
		OPT_LIST(0, "cc", "ADDRESS", &o.cc, "copy of each report (repeatable)"),
		OPT_FLAG(0, "program", &o.program, "a user-space program, not a kernel"),
		OPT_TEXT(0, "command", "COMMAND", &o.command, "program: how to build it (default make)"),
		OPT_TEXT(0, "artefact", "PATH", &o.artefact, "program: file or folder to keep"),
		OPT_FLAG(0, "trusted", &o.trusted,
			 "program: it may do all that the robot may, network included, when it is measured"),
		OPT_FLAG(0, "untrusted", &o.untrusted, "take that back"),
		OPT_FLAG(0, "on", &o.on, "watch it; a new one is watched unless --off is given"),
		OPT_FLAG(0, "off", &o.off, "do not watch it (yet)"),
		OPT_FLAG(0, "repair", &o.repair, "fetch: look through the whole mirror and get what is missing anew"),
		OPT_FLAG(0, "purge", &o.purge, "remove: erase its builds, runs and cases too"),
		OPT_END,
	};
	int e = verb_options(&verb_tree, &argc, &argv, opts, c), r;

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
		return verb_usage(c, "tree: write 'tree add NAME URL', 'tree list', 'tree fetch NAME' or 'tree remove NAME'");
	return r < 0 ? verb_fail(c, r) : EXIT_DONE;
}

const struct verb verb_tree = {
	.name = "tree",
	.usage = "add NAME URL [options]\nlist\nfetch NAME [--repair]\nremove NAME [--purge]",
	.summary = "git trees to watch",
	.text = "Each tree has a bare mirror in the state folder. A branch that is force-pushed or deleted takes nothing away: every\n"
		"head ever seen stays in the mirror. 'add' on a name that exists changes the options given and keeps\n"
		"the others; an empty value ('') takes one back. What was switched off stays off without --on.\n"
		"A tree of trees.yaml that is taken out there is not watched any more; a new name is a new tree.\n"
		"A URL with a password is refused: --credentials names a file that git reads\n"
		"(gitcredentials(7), git-credential-store). What a tree holds is code that others wrote: it is built\n"
		"in a box without network, under a uid that owns nothing, and a program is measured in one, too\n"
		"(driver local). --trusted lets what is measured do all that the robot itself may: read its\n"
		"passwords, send, write. Say it of your own trees only. The column 'trouble' of 'list' says what\n"
		"keeps a tree from being measured: its server, a shallow history, a question that cannot be answered.\n"
		"'remove' stops watching and keeps all results; with --purge it erases them.",
	.run = run,
};
