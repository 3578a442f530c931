/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commits between two as a graph, and which of them cannot change an x86 kernel. */
#include "kernels/tree-priv.h"

#define PARENTS_MAX 512         /* Linux has one with 66 */
#define JUDGE_S 60              /* for all commits together */
#define NEAR 30000              /* commits behind base that are looked through, whatever their dates */

void tree_range_release(struct tree_range *r)
{
	for (uint32_t i = 0; i < r->dag.n; i++) {
		free(r->oid ? r->oid[i] : NULL);
		free(r->why ? r->why[i] : NULL);
	}
	free(r->oid);
	free(r->why);
	dag_release(&r->dag);
	*r = (struct tree_range){0};
}

/* ---- what a path can do to an x86 image ---- */

enum path_class { P_MATTERS, P_DOC, P_ARCH, P_TOOLS };

static const struct { enum path_class class; const char *dir; } harmless_dirs[] = {
	{P_DOC, "Documentation/"}, {P_DOC, "LICENSES/"},
	/* objtool, lib, include, build, scripts and bpf under tools/ take part in a kernel build; these do not */
	{P_TOOLS, "tools/testing/"}, {P_TOOLS, "tools/perf/"}, {P_TOOLS, "tools/power/"},
};
static const char *const harmless_names[] = {"MAINTAINERS", "CREDITS", "COPYING", "README", ".mailmap", ".clang-format",
					     ".get_maintainer.ignore"};

static enum path_class path_class(const char *path)
{
	const char *base = strrchr(path, '/'), *slash;

	base = base ? base + 1 : path;
	if (startswith(base, "Kconfig") || startswith(base, "Makefile") || startswith(base, "Kbuild"))
		/* Documentation/Kconfig is read by every build; those of another architecture are not */
		return startswith(path, "arch/") && strchr(path + 5, '/') && !startswith(path, "arch/x86/") ? P_ARCH : P_MATTERS;
	for (size_t i = 0; i < ARRAY_SIZE(harmless_dirs); i++)
		if (startswith(path, harmless_dirs[i].dir))
			return harmless_dirs[i].class;
	if (startswith(path, "arch/") && (slash = strchr(path + 5, '/')) && !startswith(path, "arch/x86/"))
		return P_ARCH;
	/* Rust code may take documentation in with include_str!() */
	if (!startswith(path, "rust/") && (streq(base, ".gitignore") || endswith(base, ".rst") || endswith(base, ".md")))
		return P_DOC;
	for (size_t i = 0; i < ARRAY_SIZE(harmless_names); i++)
		if (streq(path, harmless_names[i]))
			return P_DOC;
	return P_MATTERS;
}

bool tree_path_matters(const char *path) { return path_class(path) == P_MATTERS; }

struct verdict { unsigned classes; size_t paths; };

static int judge_path(const char *path, void *arg)
{
	struct verdict *v = arg;
	enum path_class c = path_class(path);

	v->paths++;
	v->classes |= 1u << c;
	return c == P_MATTERS; /* one is enough */
}

static int why_skip(git_repository *repo, git_commit *c, bool kernel, char **ret)
{
	_cleanup_(cleanup_gcommit) git_commit *parent = NULL;
	_cleanup_(cleanup_gtree) git_tree *a = NULL, *b = NULL;
	struct verdict v = {0};
	int r;

	if (git_commit_parentcount(c) != 1 || git_commit_parent(&parent, c, 0) < 0)
		return 0; /* merges, roots and the edge of a shallow history can always matter */
	if (git_oid_equal(git_commit_tree_id(c), git_commit_tree_id(parent))) {
		*ret = xstrdup("changes no file");
		return 0;
	}
	if (!kernel)
		return 0;
	r = git_commit_tree(&a, parent);
	if (r == 0)
		r = git_commit_tree(&b, c);
	if (r < 0) {
		r = repo_err(r, "cannot read the files of '%s'", git_oid_tostr_s(git_commit_id(c)));
		return tree_fault(r) ? 0 : r;
	}
	r = tree_diff_walk(repo, a, b, judge_path, &v);
	if (tree_fault(r)) /* such a commit can matter; what unpacks it will say what is wrong with it */
		return 0;
	if (r < 0)
		return r;
	if (v.classes & 1u << P_MATTERS || !v.paths)
		return 0;
	*ret = xstrdup(v.classes == 1u << P_DOC ? "documentation only" : v.classes == 1u << P_ARCH ? "other architecture" :
		       v.classes == 1u << P_TOOLS ? "user-space tools only" : "nothing built for x86");
	return 0;
}

static bool looks_like_kernel(const git_commit *c)
{
	static const char *const marks[] = {"Kbuild", "Kconfig", "MAINTAINERS", "arch/x86/Makefile", "init/main.c"};
	_cleanup_(cleanup_gtree) git_tree *t = NULL;

	if (git_commit_tree(&t, c) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		git_tree_entry *e = NULL;

		if (git_tree_entry_bypath(&e, t, marks[i]) < 0)
			return false;
		git_tree_entry_free(e);
	}
	return true;
}

/* ---- commit id -> node, open addressing; node 0 (base) is never in it ---- */

struct oid_map { git_oid *key; uint32_t *node; size_t mask; };

static size_t oid_slot(const struct oid_map *m, const git_oid *id)
{
	size_t h;

	memcpy(&h, id->id, sizeof(h));
	for (h &= m->mask; m->node[h] && !git_oid_equal(&m->key[h], id); h = (h + 1) & m->mask)
		;
	return h;
}

static void oid_map_put(struct oid_map *m, const git_oid *id, uint32_t node)
{
	size_t slot = oid_slot(m, id);

	m->key[slot] = *id;
	m->node[slot] = node;
}

static void oid_map_room(struct oid_map *m, size_t n)
{
	size_t size = 16;

	while (size < 2 * n)
		size *= 2;
	*m = (struct oid_map){xcalloc(size, sizeof(*m->key)), xcalloc(size, sizeof(*m->node)), size - 1};
}

static void oid_map_make(struct oid_map *m, const git_oid *ids, size_t n)
{
	oid_map_room(m, n);
	for (size_t i = 0; i < n; i++)
		oid_map_put(m, &ids[i], i + 1);
}

static void oid_map_release(struct oid_map *m)
{
	free(m->key);
	free(m->node);
}

struct walk { git_repository *repo; git_oid *id; size_t n, cap; bool kernel; usec_t judge_until; struct oid_map map;
	      struct dag_builder b; struct strv ends; };

static void walk_release(struct walk *w)
{
	dag_release(&w->b.d);
	oid_map_release(&w->map);
	strv_release(&w->ends);
	free(w->id);
	git_repository_free(w->repo);
}

/* ---- libgit2 ends its walk by dates: where one is wrong, it gives out commits that base has already ---- */

struct spread { struct oid_map seen; git_oid *queue; size_t n, cap; };

static void spread_release(struct spread *s)
{
	oid_map_release(&s->seen);
	free(s->queue);
}

/* With a walked commit base has all walked ones below it, so also one with no walked parent; and no child of its own. */
static bool hangs_on_base(struct walk *w, const git_oid *base, git_commit *c)
{
	for (unsigned i = 0; i < git_commit_parentcount(c); i++) {
		const git_oid *p = git_commit_parent_id(c, i);

		if (git_oid_equal(p, base) || w->map.node[oid_slot(&w->map, p)])
			return true;
	}
	return false;
}

static int may_be_of_base(struct walk *w, const git_oid *base)
{
	for (size_t i = 0; i < w->n; i++) {
		_cleanup_(cleanup_gcommit) git_commit *c = NULL;
		int r = git_commit_lookup(&c, w->repo, &w->id[i]);

		if (r < 0)
			return repo_err(r, "cannot read commit '%s'", git_oid_tostr_s(&w->id[i]));
		if (!hangs_on_base(w, base, c))
			return 1;
	}
	return 0;
}

static void spread_to(struct spread *s, const git_oid *id)
{
	if (s->seen.node[oid_slot(&s->seen, id)])
		return;
	oid_map_put(&s->seen, id, 1);
	GROW(s->queue, s->n, s->cap);
	s->queue[s->n++] = *id;
}

/* What base has, by the graph alone, the nearest first: of NEAR commits, and of all walked ones below those. */
static void spread_from(struct walk *w, const git_oid *base, struct spread *s)
{
	oid_map_room(&s->seen, NEAR + w->n);
	spread_to(s, base);
	for (size_t i = 0; i < s->n; i++) {
		_cleanup_(cleanup_gcommit) git_commit *c = NULL;

		if (i >= NEAR && !w->map.node[oid_slot(&w->map, &s->queue[i])])
			continue;
		if (git_commit_lookup(&c, w->repo, &s->queue[i]) < 0) /* the edge of a shallow history */
			continue;
		for (unsigned k = 0; k < git_commit_parentcount(c); k++) {
			const git_oid *p = git_commit_parent_id(c, k);

			if (s->n < NEAR || w->map.node[oid_slot(&w->map, p)])
				spread_to(s, p);
		}
	}
}

static int drop_what_base_has(struct walk *w, const git_oid *base)
{
	_cleanup_(spread_release) struct spread s = {0};
	size_t k = 0;
	int r;

	oid_map_make(&w->map, w->id, w->n);
	r = may_be_of_base(w, base);
	if (r > 0)
		spread_from(w, base, &s);
	for (size_t i = 0; s.n && i < w->n; i++)
		if (!s.seen.node[oid_slot(&s.seen, &w->id[i])])
			w->id[k++] = w->id[i];
	if (s.n)
		w->n = k;
	oid_map_release(&w->map);
	w->map = (struct oid_map){0};
	return MIN(r, 0);
}

static int too_many(size_t max) { return err_set(-E2BIG, "more than %zu commits lie between the two", max); }

static int collect(struct walk *w, const git_oid *base, const git_oid *head, size_t max)
{
	_cleanup_(cleanup_walk) git_revwalk *walk = NULL;
	git_oid id;
	int r = git_revwalk_new(&walk, w->repo);

	if (r == 0)
		r = git_revwalk_sorting(walk, GIT_SORT_TOPOLOGICAL | GIT_SORT_REVERSE);
	if (r == 0)
		r = git_revwalk_push(walk, head);
	if (r == 0)
		r = git_revwalk_hide(walk, base);
	while (r == 0 && (r = git_revwalk_next(&id, walk)) == 0) {
		if (w->n >= max + NEAR)
			return too_many(max);
		GROW(w->id, w->n, w->cap);
		w->id[w->n++] = id;
	}
	if (r != GIT_ITEROVER)
		return repo_err(r, "cannot walk the history");
	r = drop_what_base_has(w, base);
	return r < 0 ? r : w->n > max ? too_many(max) : 0;
}

static int collect_shallow(struct walk *w, const char *git_dir, const char *base, const char *head, size_t max)
{
	_cleanup_strv_ struct strv ids = {0};
	int r = shallow_list(git_dir, base, head, max + 1, &ids);

	if (r >= 0 && ids.n > max)
		r = err_set(-E2BIG, "more than %zu commits lie between the two", max);
	for (; r >= 0 && w->n < ids.n; w->n++) {
		GROW(w->id, w->n, w->cap);
		if (git_oid_fromstr(&w->id[w->n], ids.v[w->n]) < 0)
			r = err_set(-EIO, "git listed '%.40s' among the commits", ids.v[w->n]);
	}
	return r;
}

static int add_node(struct walk *w, const git_oid *id, char **ret_why)
{
	_cleanup_(cleanup_gcommit) git_commit *c = NULL;
	_cleanup_free_ uint32_t *parent = NULL;
	size_t n = 0;
	int r = git_commit_lookup(&c, w->repo, id);

	if (r < 0)
		return repo_err(r, "cannot read commit '%s'", git_oid_tostr_s(id));
	if (shallow_has(&w->ends, git_oid_tostr_s(id))) /* its parents are nowhere: neither in the range nor in base */
		return dag_add(&w->b, NULL, 0);
	if (git_commit_parentcount(c) > PARENTS_MAX)
		return err_set(-EFBIG, "commit %s has %u parents", git_oid_tostr_s(id), git_commit_parentcount(c));
	parent = xcalloc(git_commit_parentcount(c), sizeof(*parent));
	for (unsigned i = 0; i < git_commit_parentcount(c); i++) {
		uint32_t node = w->map.node[oid_slot(&w->map, git_commit_parent_id(c, i))];
		bool twice = false;

		for (size_t k = 0; k < n; k++)
			twice = twice || parent[k] == node;
		if (!twice)
			parent[n++] = node;
	}
	r = dag_add(&w->b, parent, n);
	/* where there is no time left to judge it, it is taken for one that matters */
	return r < 0 || mono_usec() > w->judge_until ? r : why_skip(w->repo, c, w->kernel, ret_why);
}

int tree_range(const char *git_dir, const char *base, const char *head, size_t max, struct tree_range *ret)
{
	_cleanup_(walk_release) struct walk w = {0};
	_cleanup_(cleanup_gcommit) git_commit *cb = NULL, *ch = NULL;
	struct tree_range out = {0};
	int r = repo_open(git_dir, &w.repo);

	if (r < 0 || (r = repo_commit(w.repo, base, &cb)) < 0 || (r = repo_commit(w.repo, head, &ch)) < 0 ||
	    (r = tree_shallow(git_dir, &w.ends)) < 0)
		return r;
	r = w.ends.n ? collect_shallow(&w, git_dir, base, head, max)
		     : collect(&w, git_commit_id(cb), git_commit_id(ch), max);
	if (r < 0)
		return r;
	w.kernel = looks_like_kernel(ch);
	w.judge_until = mono_usec() + JUDGE_S * USEC_PER_SEC;
	oid_map_make(&w.map, w.id, w.n);
	out.oid = xcalloc(w.n + 1, sizeof(*out.oid));
	out.why = xcalloc(w.n + 1, sizeof(*out.why));
	out.oid[0] = xstrdup(git_oid_tostr_s(git_commit_id(cb)));
	r = dag_add(&w.b, NULL, 0);
	for (size_t i = 0; r == 0 && i < w.n; i++) {
		out.oid[i + 1] = xstrdup(git_oid_tostr_s(&w.id[i]));
		r = add_node(&w, &w.id[i], &out.why[i + 1]);
	}
	dag_take(&w.b, &out.dag);
	if (r < 0) {
		tree_range_release(&out);
		return r;
	}
	*ret = out;
	return 0;
}
