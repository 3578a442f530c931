/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/ask.h"
#include "bot/daemon.h"
#include "bot/engine/points.h"
#include "bot/watch.h"
#include "jobs/job.h"
#include "kernels/build.h"
#include "lib/fs.h"
#include "lib/log.h"

#include <signal.h>

int ask_tree(struct ctx *c, const char *name, struct asked *ret)
{
	struct asked a = {0};
	struct db_tree *all = NULL;
	size_t n = 0;
	int r = config_to_store(&c->config, c->store);

	if (r >= 0 && name)
		r = store_tree_get(c->store, name, &a.tree);
	else if (r >= 0)
		r = store_trees(c->store, &all, &n);
	if (r >= 0 && !name && n == 1) {
		a.tree = all[0];
		all[0] = (struct db_tree){0};
	} else if (r >= 0 && !name) {
		r = err_set(-EINVAL, n ? "there are several trees: name one with --tree"
				       : "there is no tree yet; 'kperfbot tree add "
					 "NAME URL' adds one");
	}
	DB_LIST_RELEASE(all, n, db_tree_release);
	if (r >= 0)
		r = tree_config_from_db(&a.tree, &a.tcfg);
	if (r < 0) {
		asked_release(&a);
		return r;
	}
	a.git_dir = engine_git_dir(&c->config, a.tree.name);
	if (!fs_is_dir(a.git_dir) && watch_fetch(c, a.tree.name, false) < 0) {
		asked_release(&a);
		return -EIO;
	}
	*ret = a;
	return 0;
}

void asked_release(struct asked *a)
{
	db_tree_release(&a->tree);
	tree_config_release(&a->tcfg);
	free(a->git_dir);
	*a = (struct asked){0};
}

int ask_kconfig(struct asked *a, const char *name)
{
	_cleanup_buf_ struct buf text = {0};
	int r;

	if (a->tcfg.program)
		return err_set(-EINVAL, "tree '%s' is a program: it has no --kconfig", a->tree.name);
	r = kconfig_fragment(name, &text);
	if (r < 0)
		return r;
	free(a->tcfg.kconfig);
	a->tcfg.kconfig = xstrdup(name);
	return 0;
}

/* REV+SERIES: what is in front of the last '+' is base. */
static int patched_on(struct ctx *c, const char *base, const char *series, char **ret)
{
	struct db_patched p = {0};
	int r = store_patched_find(c->store, base, series, &p);

	if (r >= 0)
		*ret = TAKE_PTR(p.commit);
	db_patched_release(&p);
	return MIN(r, 0);
}

static int no_commit(const char *tree, const char *git_dir, const char *rev, const char *more)
{
	_cleanup_free_ char *shallow = tree_shallow_words(git_dir);

	return err_set(-ENOENT, "tree '%s' has no commit '%s'%s; %s%s'kperfbot tree fetch %s' looks for new ones", tree,
		       rev, more, shallow ? shallow : "", shallow ? "; " : "", tree);
}

int ask_commit(struct ctx *c, const struct asked *a, const char *rev, char **ret)
{
	const char *plus = strrchr(rev, '+');
	_cleanup_free_ char *front = plus ? xstrndup(rev, plus - rev) : NULL, *base = NULL;
	int r = tree_resolve(a->git_dir, rev, ret);

	if (r != -ENOENT)
		return r;
	if (front) {
		r = ask_commit(c, a, front, &base);
		return r < 0 ? r : patched_on(c, base, plus + 1, ret);
	}
	r = store_find_commit(c->store, rev, ret);
	if (r >= 0 || r == -ENOTUNIQ)
		return MIN(r, 0);
	return no_commit(a->tree.name, a->git_dir, rev, "");
}

/* A tree that stands in the files only has a name and was not fetched. */
static int known_tree(struct ctx *c, const char *name, struct db_tree *ret)
{
	int r = store_tree_get(c->store, name, ret);

	if (r == -ENOENT && config_tree(&c->config, name)) {
		ret->name = xstrdup(name);
		r = 0;
	}
	return r;
}

/* The tree that a revision belongs to: *text moves behind "NAME:". */
static int tree_of_revision(struct ctx *c, const char *tree, const char **text, struct db_tree *ret)
{
	const char *colon = strchr(*text, ':');
	_cleanup_free_ char *name = colon ? xstrndup(*text, (size_t)(colon - *text)) : NULL;
	_cleanup_buf_ struct buf names = {0};
	struct db_tree *all = NULL;
	size_t n = 0;
	int r;

	if (name && known_tree(c, name, ret) >= 0) {
		*text = colon + 1;
		return 0;
	}
	if (tree)
		return known_tree(c, tree, ret);
	r = store_trees(c->store, &all, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", all[i].name);
	if (n == 1) {
		*ret = all[0];
		all[0] = (struct db_tree){0};
	} else if (!n) {
		r = err_set(
			-ENOENT,
			"'%s' is not a commit in the database, and there is no tree to look it up in; 'kperfbot tree add NAME "
			"URL' adds one",
			*text);
	} else {
		r = err_set(
			-EINVAL,
			"'%s' is not a commit in the database; to look it up in a tree write NAME:%s or --tree NAME (%s)",
			*text, *text, buf_str(&names));
	}
	DB_LIST_RELEASE(all, n, db_tree_release);
	return r;
}

/* A mirror has no HEAD of its own: it is the head of the only branch. */
static char *head_of_only_branch(struct ctx *c, const struct db_tree *t, const char *rev)
{
	struct db_branch *b = NULL;
	size_t n = 0, live = 0;
	char *text = NULL;

	if (!startswith(rev, "HEAD") || (rev[4] && !strchr("~^@", rev[4])) ||
	    store_branches(c->store, t->id, &b, &n) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (b[i].head && !live++)
			text = xasprintf("%s%s", b[i].head, rev + 4);
	if (live != 1) {
		free(text);
		text = NULL;
	}
	DB_LIST_RELEASE(b, n, db_branch_release);
	return text;
}

static int plain_revision(struct ctx *c, const char *tree, const char *text, char **ret)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF");
	bool digits = n >= 6 && (!text[n] || text[n] == '+');
	_cleanup_free_ char *dir = NULL, *head = NULL;
	struct db_tree t = {0};
	const char *rev = text;
	int r = digits ? store_find_commit(c->store, text, ret) : -ENOENT;

	if (r != -ENOENT)
		return r;
	r = tree_of_revision(c, tree, &rev, &t);
	if (r < 0)
		return r;
	dir = engine_git_dir(&c->config, t.name);
	head = head_of_only_branch(c, &t, rev);
	if (!fs_is_dir(dir))
		r = err_set(-ENOENT, "'%s': tree '%s' was not fetched yet; 'kperfbot tree fetch %s' does that", text,
			    t.name, t.name);
	else if ((r = tree_resolve(dir, head ? head : rev, ret)) == -ENOENT)
		r = no_commit(t.name, dir, rev,
			      startswith(rev, "HEAD") && !head ? " (it has several branches: name one)" : "");
	db_tree_release(&t);
	return MIN(r, 0);
}

int ask_revision(struct ctx *c, const char *tree, const char *text, char **ret)
{
	const char *plus = strrchr(text, '+');
	_cleanup_free_ char *front = plus ? xstrndup(text, plus - text) : NULL, *base = NULL;
	int r = plain_revision(c, tree, text, ret);

	if (r != -ENOENT || !plus) /* a tag may have a '+' of its own */
		return r;
	r = ask_revision(c, tree, front, &base);
	return r < 0 ? r : patched_on(c, base, plus + 1, ret);
}

int ask_machine(struct ctx *c, const char *name)
{
	struct db_machine m = {0};
	int r = store_machine_get(c->store, name, &m);

	if (r == -ENOENT)
		r = err_set(-ENOENT, "there is no machine '%s'; 'kperfbot machine list' shows them", name);
	else if (r >= 0 && !machine_state_works(m.state))
		r = err_set(-EHOSTDOWN, "machine '%s' is %s%s%s; 'kperfbot machine resume %s' brings it back", name,
			    machine_state_word(m.state), m.note ? ": " : "", m.note ? m.note : "", name);
	db_machine_release(&m);
	return MIN(r, 0);
}

int ask_job(struct ctx *c, const char *name, const char *const *overrides, struct db_job *ret)
{
	_cleanup_strv_ struct strv words = {0};
	struct job_list l = {0};
	int r;

	if (overrides)
		strv_addv(&words, overrides);
	strv_add(&words, "patches="); /* the commits asked for say what is measured */
	r = job_load(name, c->config.dir, (const char *const *)words.v, &l);
	if (r >= 0 && l.n != 1)
		r = err_set(
			-EINVAL,
			"job '%s' has %zu points; choose one: 'kperfbot job expand %s' lists them, key=value narrows",
			name, l.n, name);
	if (r >= 0)
		r = job_to_db(&l.v[0], ret);
	job_list_release(&l);
	return MIN(r, 0);
}

static void stop_signals(sigset_t *ret)
{
	static const int list[] = {SIGINT, SIGTERM, SIGHUP};

	sigemptyset(ret);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		sigaddset(ret, list[i]);
}

static int say_taken_back(struct ctx *c, struct asking *a)
{
	struct asking_left left = {0};
	_cleanup_buf_ struct buf b = {0};
	int r = asking_withdraw(c, a, &left);

	if (r < 0)
		return r;
	if (left.questions)
		buf_adds(&b, "the search stops here; the same command resumes it");
	if (left.builds + left.boots)
		buf_addf(&b, "%s%d build%s and %d boot%s are not done and taken back", b.len ? "; " : "", left.builds,
			 left.builds == 1 ? "" : "s", left.boots, left.boots == 1 ? "" : "s");
	if (left.kept)
		buf_addf(&b, "%sothers have asked for the same, which stays in the queue", b.len ? "; " : "");
	fprintf(stderr, "kperfbot: stopped before the end: %s; what was measured is kept\n",
		b.len ? buf_str(&b) : "nothing is left in the queue");
	return 1;
}

struct tick { struct progress *p; int (*done)(void *arg, struct ctx *c); void *arg; };

static int tick(void *arg, struct ctx *c)
{
	struct tick *t = arg;
	int done = t->done(t->arg, c);

	if (!done)
		progress_show(t->p, c);
	return done;
}

/* 1: a signal; 0: done. */
static int wait_for_it(struct ctx *c, const sigset_t *stop, struct tick *t)
{
	struct daemon_options o = {.tick = tick, .arg = t, .only_tree = "", .by_hand = true};
	bool told = false;

	for (;;) {
		/* whoever does the work may end before ours is done: then we go on ourselves */
		int r = daemon_is_running(&c->config) ? -EWOULDBLOCK : daemon_run(c, &o);

		if (r < 0 && r != -EWOULDBLOCK)
			return r;
		if (r >= 0)
			return !t->done(t->arg, c);
		if (tick(t, c))
			return 0;
		if (!told)
			log_note("a daemon is running here: it does the work");
		told = true;
		if (sigtimedwait(stop, NULL, &(struct timespec){1, 0}) > 0)
			return 1;
	}
}

int ask_wait(struct ctx *c, struct asking *a, struct progress *p, int (*done)(void *arg, struct ctx *c), void *arg)
{
	struct tick t = {p, done, arg};
	sigset_t stop, old;
	int r;

	stop_signals(&stop);
	sigprocmask(SIG_BLOCK, &stop, &old);
	r = wait_for_it(c, &stop, &t);
	progress_clear(p);
	if (r > 0 && a) {
		r = say_taken_back(c, a);
	} else {
		if (r > 0)
			fputs("kperfbot: stopped before the end\n", stderr);
		if (a)
			asking_end(a);
	}
	while (r > 0 && sigtimedwait(&stop, NULL, &(struct timespec){0}) > 0)
		; /* pressed more often than once: it has ended */
	sigprocmask(SIG_SETMASK, &old, NULL);
	return r;
}
