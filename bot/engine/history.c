/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/history.h"
#include "db/setup.h"
#include "kernels/tree.h"
#include "lib/fs.h"

#define MAX_STEPS 50000         /* first-parent steps back from the head */

void history_release(struct history *h)
{
	for (size_t i = 0; i < h->n_commits; i++)
		free(h->commit[i]);
	free(h->commit);
	free(h->index);
	free(h->value);
	free(h->branch);
	free(h->group);
	for (size_t i = 0; i < h->n_setups; i++)
		free(h->setup[i]);
	free(h->setup);
	db_measured_release(&h->place);
	*h = (struct history){0};
}

void history_add(struct history *h, int64_t index, double value)
{
	GROW(h->index, h->n, h->cap[0]);
	if (h->cap[1] < h->cap[0]) {
		h->cap[1] = h->cap[0];
		h->value = xrealloc_array(h->value, h->cap[1], sizeof(*h->value));
	}
	h->index[h->n] = index;
	h->value[h->n++] = value;
}

static bool same_place(const struct db_measured *a, const struct db_measured *b)
{
	return streq(a->tree, b->tree) && streq(a->kconfig, b->kconfig) && streq(a->job, b->job) &&
	       streq(a->tbox_group, b->tbox_group);
}

static int one_place(const struct history_query *q, const struct db_point *p, size_t n)
{
	_cleanup_buf_ struct buf list = {0};
	size_t places = 0;

	if (!n)
		return err_set(-ENOENT, "there are no values of metric '%s' with these options; "
			       "'kperfbot query metrics' lists some", q->metric);
	for (size_t i = 0; i < n; i++) {
		const struct db_measured *m = &p[i].place;

		if (i && same_place(m, &p[i - 1].place))
			continue;
		places++;
		buf_addf(&list, "\n  --tree=%s --kconfig=%s --job=%s --machine=%s (%s)", m->tree, m->kconfig, m->job,
			 m->tbox_group, m->job_name);
	}
	if (places == 1)
		return 0;
	return err_set(-EINVAL, "'%s' was measured in %zu ways, choose one:%s", q->metric, places, list.s);
}

/* ---- order ---- */

struct order { struct db_point *p; int64_t time; size_t at, group; };  /* time: any number that grows along the line */

static int cmp_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	int c = (x->time > y->time) - (x->time < y->time);

	if (!c)
		c = strcmp(x->p->commit, y->p->commit);
	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static int cmp_commit(const void *a, const void *b)
{
	return strcmp(((const struct order *)a)->p->commit, ((const struct order *)b)->p->commit);
}

/* Each commit once, and for each point which one it is; o is sorted by commit afterwards. */
static size_t distinct(struct order *o, size_t n, char **oid, size_t *of)
{
	size_t k = 0;

	qsort(o, n, sizeof(*o), cmp_commit);
	for (size_t i = 0; i < n; i++) {
		if (!i || !streq(o[i].p->commit, o[i - 1].p->commit))
			oid[k++] = o[i].p->commit;
		of[i] = k - 1;
	}
	return k;
}

/* The branch asked for, or the one whose line has most of the commits; pos is that line's. Returns how many are
 * on it. */
static int choose_branch(const struct db_branch *b, size_t n, const char *dir, const char *asked, char **oid, size_t k,
			 int64_t *pos, char **ret)
{
	_cleanup_free_ int64_t *one = xcalloc(k + 1, sizeof(*one));
	_cleanup_buf_ struct buf names = {0};
	int best = 0;

	for (size_t i = 0; i < n; i++) {
		int found = 0;

		buf_addf(&names, "%s%s", names.len ? ", " : "", b[i].name);
		if (b[i].head && (!asked || streq(asked, b[i].name)))
			found = tree_line(dir, b[i].head, oid, k, MAX_STEPS, one);
		if (found > best) {
			best = found;
			memcpy(pos, one, k * sizeof(*pos));
			free(*ret);
			*ret = xstrdup(b[i].name);
		}
	}
	if (asked && !best)
		return err_set(-ENOENT, "nothing was measured on a branch '%s'; branches: %s", asked,
			       names.len ? names.s : "none");
	return best;
}

/* Along the branch's line: those beside it go to the end. Returns how many points are on it, 0 where there is no
 * line. */
static int order_by_line(struct store *s, const struct config *cfg, const struct history_query *q, struct order *o,
			 size_t n, struct history *h)
{
	_cleanup_free_ char *dir = xasprintf("%s/trees/%s.git", cfg->state_dir, o[0].p->place.tree);
	_cleanup_free_ char **oid = xcalloc(n + 1, sizeof(*oid));
	_cleanup_free_ size_t *of = xcalloc(n + 1, sizeof(*of));
	_cleanup_free_ int64_t *pos = xcalloc(n + 1, sizeof(*pos));
	struct db_branch *b = NULL;
	struct db_tree t = {0};
	size_t nb = 0, k;
	int r = store_tree_get(s, o[0].p->place.tree, &t), on = 0;

	if (r >= 0)
		r = store_branches(s, t.id, &b, &nb);
	k = distinct(o, n, oid, of);
	if (r >= 0 && fs_is_dir(dir))
		r = choose_branch(b, nb, dir, q->branch, oid, k, pos, &h->branch);
	else if (r >= 0 && q->branch)
		r = err_set(-ENOENT, "tree '%s' was not fetched yet; 'kperfbot tree fetch %s' does that", t.name,
			    t.name);
	for (size_t i = 0; i < n && r > 0; i++) {
		o[i].time = pos[of[i]] < 0 ? INT64_MAX : -pos[of[i]];
		on += pos[of[i]] >= 0;
	}
	for (size_t i = 0; i < k && r > 0; i++)
		h->beside += pos[i] < 0;
	if (r > 0)
		qsort(o, n, sizeof(*o), cmp_order);
	DB_LIST_RELEASE(b, nb, db_branch_release);
	db_tree_release(&t);
	return r < 0 ? r : on;
}

/* By the order of each commit's first boot. */
static void order_by_boot(struct order *o, size_t n)
{
	int64_t first = 0;

	qsort(o, n, sizeof(*o), cmp_commit);
	for (size_t i = 0; i < n; i++) {
		if (!i || !streq(o[i].p->commit, o[i - 1].p->commit)) {
			first = INT64_MAX;
			for (size_t k = i; k < n && streq(o[k].p->commit, o[i].p->commit); k++)
				first = MIN(first, o[k].p->first_run);
		}
		o[i].time = first;
	}
	qsort(o, n, sizeof(*o), cmp_order);
}

/* ---- toolchains ---- */

static int cmp_build(const void *a, const void *b)
{
	int64_t x = ((const struct db_build *)a)->id, y = ((const struct db_build *)b)->id;

	return (x > y) - (x < y);
}

static const struct db_build *build_of(const struct db_build *b, size_t n, int64_t id)
{
	const struct db_build key = {.id = id};

	return n ? bsearch(&key, b, n, sizeof(key), cmp_build) : NULL;
}

/* Keeps the points whose build has the toolchain of the newest one, in their order. Returns how many. */
static int keep_one_toolchain(struct store *s, struct order *o, size_t n)
{
	const struct db_build *newest = NULL, *own;
	struct db_build *b = NULL;
	struct db_tree t = {0};
	size_t nb = 0, k = 0;
	int r = store_tree_get(s, o[0].p->place.tree, &t);

	if (r >= 0)
		r = store_builds(s, t.id, o[0].p->place.kconfig, &b, &nb);
	if (r >= 0 && nb)
		qsort(b, nb, sizeof(*b), cmp_build);
	for (size_t i = 0; r >= 0 && i < n; i++)
		if ((own = build_of(b, nb, o[i].p->place.build)) && (!newest || own->time > newest->time))
			newest = own;
	for (size_t i = 0; r >= 0 && newest && i < n; i++) {
		own = build_of(b, nb, o[i].p->place.build);
		if (own && (streq(own->toolchain, newest->toolchain) || (!own->toolchain && !newest->toolchain)))
			o[k++] = o[i];
	}
	DB_LIST_RELEASE(b, nb, db_build_release);
	db_tree_release(&t);
	return r < 0 ? r : (int)k;
}

/* ---- what measured ---- */

static int cmp_newest(const void *a, const void *b)
{
	int64_t x = ((const struct order *)a)->p->last_run, y = ((const struct order *)b)->p->last_run;

	return (x < y) - (x > y);
}

/* The first group that does not differ from it, or a new one. Takes the text. */
static size_t group_of(struct history *h, char *text)
{
	size_t g = 0;

	while (g < h->n_setups && setup_differs(h->setup[g], text, NULL))
		g++;
	if (g == h->n_setups) {
		h->setup = xrealloc_array(h->setup, h->n_setups + 1, sizeof(*h->setup));
		h->setup[h->n_setups++] = text;
	} else if (!h->setup[g]) {
		h->setup[g] = text;
	} else {
		free(text);
	}
	return g;
}

struct known_setup { int64_t setup; size_t group; };

/* Which points were measured alike; with one_setup only those that were so as the newest one stay. Sorts o by age.
 * Returns how many stay. */
static int group_points(struct store *s, bool one_setup, struct order *o, size_t n, struct history *h)
{
	struct known_setup *known = NULL;
	size_t n_known = 0, cap = 0, k = 0;
	int r = 0;

	qsort(o, n, sizeof(*o), cmp_newest);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		char *text = NULL;
		size_t at = 0;

		while (at < n_known && known[at].setup != o[i].p->setup)
			at++;
		if (at == n_known) {
			r = o[i].p->setup ? store_setup_get(s, o[i].p->setup, &text) : 0;
			if (r < 0)
				break;
			GROW(known, n_known, cap);
			known[n_known++] = (struct known_setup){o[i].p->setup, group_of(h, text)};
		}
		o[i].group = known[at].group;
		if (!one_setup || !o[i].group)
			o[k++] = o[i];
	}
	free(known);
	h->otherwise = n - k;
	while (one_setup && h->n_setups > 1)
		free(h->setup[--h->n_setups]);
	return r < 0 ? r : (int)k;
}

/* ---- all ---- */

static void fill_history(const struct order *o, size_t n, size_t max_commits, struct history *h)
{
	size_t commits = 0, skip;

	for (size_t i = 0; i < n; i++)
		commits += !i || !streq(o[i].p->commit, o[i - 1].p->commit);
	skip = max_commits && commits > max_commits ? commits - max_commits : 0;
	h->commit = xcalloc(commits + 1, sizeof(*h->commit));
	h->group = xcalloc(n + 1, sizeof(*h->group));
	for (size_t i = 0, at = 0; i < n; i++) {
		bool fresh = !i || !streq(o[i].p->commit, o[i - 1].p->commit);

		at += fresh;
		if (at <= skip)
			continue;
		if (fresh)
			h->commit[h->n_commits++] = xstrdup(o[i].p->commit);
		h->group[h->n] = o[i].group;
		history_add(h, (int64_t)h->n_commits - 1, o[i].p->value);
	}
}

/* Builds with aligned functions are another series. */
static size_t drop_aligned(struct db_point *p, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (strchr(p[i].place.kconfig, '+'))
			db_point_release(&p[i]);
		else
			p[k++] = p[i];
	return k;
}

static int put_in_order(struct store *s, const struct config *cfg, const struct history_query *q, struct db_point *list,
			size_t n, struct history *h)
{
	_cleanup_free_ struct order *o = xcalloc(n, sizeof(*o));
	int on = (int)n, line;

	for (size_t i = 0; i < n; i++)
		o[i] = (struct order){&list[i], 0, i, 0};
	if (q->one_setup)
		on = keep_one_toolchain(s, o, n);
	if (on > 0)
		on = group_points(s, q->one_setup, o, (size_t)on, h);
	if (on <= 0)
		return on;
	line = order_by_line(s, cfg, q, o, (size_t)on, h);
	if (line < 0)
		return line;
	if (!line)
		order_by_boot(o, (size_t)on);
	fill_history(o, (size_t)(line ? line : on), q->max_commits, h);
	return 0;
}

int history_load(struct store *s, const struct config *cfg, const struct history_query *q, struct history *ret)
{
	struct db_point *list = NULL;
	struct history h = {0};
	size_t n = 0;
	int r = store_points(s, q->tree, q->kconfig, q->job, q->machine, q->metric, &list, &n);

	if (r >= 0 && !q->kconfig)
		n = drop_aligned(list, n);
	if (r >= 0)
		r = one_place(q, list, n);
	if (r >= 0)
		r = put_in_order(s, cfg, q, list, n, &h);
	if (r >= 0) {
		h.place = list[0].place;
		list[0].place = (struct db_measured){0};
	}
	DB_LIST_RELEASE(list, n, db_point_release);
	if (r < 0) {
		history_release(&h);
		return r;
	}
	*ret = h;
	return 0;
}
