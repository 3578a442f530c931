/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stage "watch". */
#include "bot/watch.h"
#include "bot/engine/engine.h"
#include "kernels/tree.h"
#include "lib/fs.h"

#define FETCH_TIMEOUT_S 1800
#define BACKOFF_MAX_S 3600
#define TELL_AGAIN 24           /* failed fetches in a row */

/* ---- whose turn it is ---- */

/* From one look to the next: the interval, longer with each failure in a row. */
static double poll_wait(double interval_s, int64_t failures)
{
	double s = failures ? MIN(interval_s * pow(2, MIN(failures - 1, 6)), (double)BACKOFF_MAX_S) : interval_s;

	return MAX(s, 1.0);
}

/* Where the last poll lies ahead the clock has gone back; and nobody waits longer than from then on. */
static bool time_has_come(const struct db_tree *t)
{
	struct tree_config tc = {0};
	usec_t now = now_usec(), due = t->next_poll;

	if (due <= now || t->last_poll > now)
		return true;
	if (tree_config_from_db(t, &tc) >= 0)
		due = t->last_poll + (usec_t)(poll_wait(tc.interval_s, t->poll_failures) * USEC_PER_SEC);
	tree_config_release(&tc);
	return due <= now;
}

static int longest_due_first(const void *a, const void *b)
{
	const struct db_tree *x = a, *y = b;

	return (x->next_poll > y->next_poll) - (x->next_poll < y->next_poll);
}

int watch_due(struct store *s, const char *only_tree, struct db_tree **ret, size_t *ret_n)
{
	struct db_tree *t = NULL;
	size_t n = 0, due = 0;
	int r = store_trees(s, &t, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (t[i].enabled && time_has_come(&t[i]) && (!only_tree || streq(only_tree, t[i].name)))
			t[due++] = t[i];
		else
			db_tree_release(&t[i]);
	if (due)
		qsort(t, due, sizeof(*t), longest_due_first);
	*ret = t;
	*ret_n = due;
	return 0;
}

/* ---- what moved ---- */

static const char *known_head(const struct db_branch *b, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (streq(b[i].name, name))
			return b[i].head;
	return NULL;
}

/* Writes the new heads, and notices deleted branches. */
static int store_heads(struct ctx *c, const struct db_tree *t, const char *git_dir, const struct tree_refs *refs,
		       const struct db_branch *known, size_t n)
{
	int moved = 0, r = 0;

	for (size_t i = 0; r >= 0 && i < refs->n; i++) {
		const char *old = known_head(known, n, refs->v[i].branch);
		bool forced = old && !streq(old, refs->v[i].oid) && tree_is_ancestor(git_dir, old, refs->v[i].oid) == 0;

		r = store_branch_head(c->store, t->id, refs->v[i].branch, refs->v[i].oid, forced, NULL);
		moved += r == 1;
		if (r == 1)
			store_event(c->store, 0, 0, 0, "%s/%s moved to %.12s%s", t->name, refs->v[i].branch,
				    refs->v[i].oid, forced ? " (forced)" : "");
	}
	for (size_t i = 0; r >= 0 && i < n; i++) {
		bool there = !known[i].head;

		for (size_t k = 0; k < refs->n && !there; k++)
			there = streq(refs->v[k].branch, known[i].name);
		if (!there) {
			r = store_branch_head(c->store, t->id, known[i].name, NULL, false, NULL);
			store_event(c->store, 0, 0, 0, "%s/%s is gone from the remote; its commits are kept",
				    t->name, known[i].name);
		}
	}
	return r < 0 ? r : moved;
}

/* Says once where a shallow history ends, and when it has become whole. */
static void tell_depth(struct ctx *c, const char *tree, const char *git_dir, const char *before)
{
	_cleanup_free_ char *now = tree_shallow_words(git_dir);

	if (now && !streq(now, before))
		store_event(c->store, 0, 0, 0, "tree '%s': %s", tree, now);
	else if (!now && before)
		store_event(c->store, 0, 0, 0, "tree '%s': its history is whole now", tree);
}

/* Heads that are not known, and all where the mirror is not there or the remote may have more of its history by now. */
static void heads_to_fetch(const struct tree_refs *refs, const struct db_branch *known, size_t n, bool all,
			   struct tree_refs *ret)
{
	for (size_t i = 0; i < refs->n; i++)
		if (all || !streq(known_head(known, n, refs->v[i].branch), refs->v[i].oid)) {
			GROW(ret->v, ret->n, ret->cap);
			ret->v[ret->n++] = refs->v[i]; /* borrowed */
		}
}

int watch_fetch(struct ctx *c, const char *tree, bool repair)
{
	_cleanup_free_ char *git_dir = engine_git_dir(&c->config, tree), *why = NULL;
	struct db_tree t = {0};
	struct tree_config tc = {0};
	_cleanup_free_ char *depth = tree_shallow_words(git_dir);
	struct tree_refs refs = {0}, changed = {0};
	struct db_branch *known = NULL;
	size_t n = 0;
	double wait;
	int r = config_tree_get(&c->config, c->store, tree, &t), repaired = 0;

	if (r < 0)
		return r;
	r = tree_config_from_db(&t, &tc);
	if (r >= 0)
		r = tree_remote_heads(t.url, tc.credentials_file, (const char *const *)tc.branches.v, 60, &refs);
	if (r >= 0)
		r = store_branches(c->store, t.id, &known, &n);
	if (r >= 0)
		heads_to_fetch(&refs, known, n, repair || depth || !fs_is_dir(git_dir), &changed);
	if (r >= 0 && repair)
		r = repaired = tree_repair(t.url, tc.credentials_file, git_dir, &changed, FETCH_TIMEOUT_S);
	if (r >= 0 && changed.n)
		r = tree_fetch(t.url, tc.credentials_file, git_dir, &changed, FETCH_TIMEOUT_S);
	if (r >= 0 && !refs.n && !t.last_poll)
		store_event(c->store, 0, 0, 0, "tree '%s': no branch of the remote matches its 'branches'", tree);
	if (r >= 0)
		tell_depth(c, tree, git_dir, depth);
	if (repaired > 0)
		store_event(c->store, 0, 0, 0, "tree '%s': what was missing in its mirror was fetched anew", tree);
	if (r >= 0)
		r = store_heads(c, &t, git_dir, &refs, known, n);
	if (r < 0)
		why = xstrdup(err_msg());
	wait = poll_wait(tc.interval_s, r < 0 ? t.poll_failures + 1 : 0);
	if (r < 0 && !t.poll_failures) /* say so once, and then about once a day */
		store_event(c->store, 0, 0, 0, "tree '%s' cannot be reached: %s", tree, why);
	else if (r < 0 && t.poll_failures % TELL_AGAIN == 0)
		store_event(c->store, 0, 0, 0, "tree '%s' still cannot be reached, after %" PRId64 " failed tries: %s",
			    tree, t.poll_failures + 1, why);
	if (r >= 0 && t.poll_failures)
		store_event(c->store, 0, 0, 0, "tree '%s' is back after %" PRId64 " failed %s", tree, t.poll_failures,
			    t.poll_failures == 1 ? "try" : "tries");
	(void)store_tree_polled(c->store, t.id, now_usec(), now_usec() + (usec_t)(wait * USEC_PER_SEC), why);
	free(changed.v);
	tree_refs_release(&refs);
	DB_LIST_RELEASE(known, n, db_branch_release);
	tree_config_release(&tc);
	db_tree_release(&t);
	return why ? err_set(r, "%s", why) : r;
}
