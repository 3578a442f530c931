/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commits between two as a graph, and which of them cannot change an x86 kernel. */
#include "kernels/tree-internal.h"
#include "lib/hash.h"

#define PARENTS_MAX 512         /* Linux has one with 66 */
#define JUDGE_S 60              /* for all commits together */
#define NEAR 30000              /* commits behind base that are looked through, whatever their dates */
#define FORKS_RELATED 64        /* fork points among which ancestors are looked for, ... */
#define FORKS_WALK 20000        /* ... through so many commits of base's past */
#define PAST_MAX (4 * FORKS_WALK)       /* ... and their parents */

void tree_range_release(struct tree_range *r)
{
	for (uint32_t i = 0; i < r->dag.n; i++) {
		free(r->oid ? r->oid[i] : NULL);
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
		return startswith(path, "arch/") && strchr(path + 5, '/') && !startswith(path, "arch/x86/") ? P_ARCH
													    : P_MATTERS;
	for (size_t i = 0; i < ARRAY_SIZE(harmless_dirs); i++)
		if (startswith(path, harmless_dirs[i].dir))
			return harmless_dirs[i].class;
	if (startswith(path, "arch/") && (slash = strchr(path + 5, '/')) && !startswith(path, "arch/x86/"))
		return P_ARCH;
	/* Rust code may take documentation in with include_str!() */
	if (!startswith(path, "rust/") &&
	    (streq(base, ".gitignore") || endswith(base, ".rst") || endswith(base, ".md")))
		return P_DOC;
	for (size_t i = 0; i < ARRAY_SIZE(harmless_names); i++)
		if (streq(path, harmless_names[i]))
			return P_DOC;
	return P_MATTERS;
}

bool tree_path_matters(const char *path) { return path_class(path) == P_MATTERS; }

struct seen_paths { unsigned classes; size_t paths; };

static int judge_path(const char *path, void *arg)
{
	struct seen_paths *v = arg;
	enum path_class c = path_class(path);

	v->paths++;
	v->classes |= 1u << c;
	return c == P_MATTERS; /* one is enough */
}

static int judge_commit(git_repository *repo, git_commit *c, bool kernel, enum dropped *ret)
{
	_cleanup_(cleanup_gcommit) git_commit *parent = NULL;
	_cleanup_(cleanup_gtree) git_tree *a = NULL, *b = NULL;
	struct seen_paths v = {0};
	int r;

	if (git_commit_parentcount(c) != 1 || git_commit_parent(&parent, c, 0) < 0)
		return 0; /* merges, roots and the edge of a shallow history can always matter */
	if (git_oid_equal(git_commit_tree_id(c), git_commit_tree_id(parent))) {
		*ret = DROPPED_EMPTY;
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
	*ret = v.classes == 1u << P_DOC ? DROPPED_DOCS : v.classes == 1u << P_ARCH ? DROPPED_OTHER_ARCH :
	       v.classes == 1u << P_TOOLS ? DROPPED_TOOLS : DROPPED_NOT_BUILT;
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

/* ---- commit id -> node; node 0 (base) is never in it ---- */

static uint32_t node_of(const struct hash *map, const git_oid *id)
{
	return (uint32_t)(hash_find(map, id->id, GIT_OID_RAWSZ) + 1);
}

static uint32_t node_add(struct hash *map, const git_oid *id)
{
	return (uint32_t)hash_add(map, id->id, GIT_OID_RAWSZ) + 1;
}

static void map_nodes(struct hash *map, const git_oid *ids, size_t n)
{
	hash_release(map);
	for (size_t i = 0; i < n; i++)
		node_add(map, &ids[i]);
}

/* id: of nodes 1 .. n, the fork points first */
struct range_walk {
	git_repository *repo;
	git_oid *id;
	size_t n, cap, n_forks;
	bool kernel;
	usec_t judge_until;
	struct hash map;
	struct dag_builder b;
	struct strv ends;
};

static void walk_release(struct range_walk *w)
{
	dag_release(&w->b.d);
	hash_release(&w->map);
	strv_release(&w->ends);
	free(w->id);
	git_repository_free(w->repo);
}

/* ---- libgit2 ends its walk by dates: where one is wrong, it gives out commits that base has already ---- */

/* With a walked commit base has all walked ones below it, so also one with no walked parent; and no child of its
 * own. */
static bool hangs_on_base(struct range_walk *w, const git_oid *base, git_commit *c)
{
	for (unsigned i = 0; i < git_commit_parentcount(c); i++) {
		const git_oid *p = git_commit_parent_id(c, i);

		if (git_oid_equal(p, base) || node_of(&w->map, p))
			return true;
	}
	return false;
}

static int may_be_of_base(struct range_walk *w, const git_oid *base)
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

/* What base has, by the graph alone, the nearest first: of NEAR commits, and of all walked ones below those. */
static void spread_from(struct range_walk *w, const git_oid *base, struct hash *seen)
{
	node_add(seen, base);
	for (size_t i = 0; i < seen->n; i++) {
		const git_oid *id = (const git_oid *)hash_key(seen, i);
		_cleanup_(cleanup_gcommit) git_commit *c = NULL;

		if (i >= NEAR && !node_of(&w->map, id))
			continue;
		if (git_commit_lookup(&c, w->repo, id) < 0) /* the edge of a shallow history */
			continue;
		for (unsigned k = 0; k < git_commit_parentcount(c); k++) {
			const git_oid *p = git_commit_parent_id(c, k);

			if (seen->n < NEAR || node_of(&w->map, p))
				node_add(seen, p);
		}
	}
}

static int drop_what_base_has(struct range_walk *w, const git_oid *base)
{
	_cleanup_hash_ struct hash seen = {0};
	size_t k = 0;
	int r;

	map_nodes(&w->map, w->id, w->n);
	r = may_be_of_base(w, base);
	if (r > 0)
		spread_from(w, base, &seen);
	for (size_t i = 0; seen.n && i < w->n; i++)
		if (!node_of(&seen, &w->id[i]))
			w->id[k++] = w->id[i];
	if (seen.n)
		w->n = k;
	hash_release(&w->map);
	return MIN(r, 0);
}

static int too_many(size_t max) { return err_set(-E2BIG, "more than %zu commits lie between the two", max); }

static int collect_range(struct range_walk *w, const git_oid *base, const git_oid *head, size_t max)
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

static int collect_shallow(struct range_walk *w, const char *git_dir, const char *base, const char *head, size_t max)
{
	_cleanup_strv_ struct strv ids = {0};
	int r = shallow_list(git_dir, base, head, max + 1, &ids);

	if (r >= 0 && ids.n > max)
		r = too_many(max);
	for (; r >= 0 && w->n < ids.n; w->n++) {
		GROW(w->id, w->n, w->cap);
		if (git_oid_fromstr(&w->id[w->n], ids.v[w->n]) < 0)
			r = err_set(-EIO, "git listed '%.40s' among the commits", ids.v[w->n]);
	}
	return r;
}

/* ---- fork points: parents of commits of the range that lie in base's past ---- */

static int cmp_oid(const void *a, const void *b) { return git_oid_cmp(a, b); }

static int lookup(struct range_walk *w, const git_oid *id, git_commit **ret)
{
	int r = git_commit_lookup(ret, w->repo, id);

	if (r < 0)
		return repo_err(r, "cannot read commit '%s'", git_oid_tostr_s(id));
	if (git_commit_parentcount(*ret) > PARENTS_MAX)
		return err_set(-EFBIG, "commit %s has %u parents", git_oid_tostr_s(id), git_commit_parentcount(*ret));
	return 0;
}

struct forks { git_oid *id; size_t n, cap; };
static void forks_release(struct forks *f) { free(f->id); }

static int forks_find(struct range_walk *w, const git_oid *base, struct forks *f)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		_cleanup_(cleanup_gcommit) git_commit *c = NULL;
		int r = lookup(w, &w->id[i], &c);

		bool end = r == 0 && shallow_has(&w->ends, git_oid_tostr_s(&w->id[i]));

		for (unsigned k = 0; r == 0 && !end && k < git_commit_parentcount(c); k++) {
			const git_oid *id = git_commit_parent_id(c, k);

			if (git_oid_equal(id, base) || node_of(&w->map, id))
				continue;
			GROW(f->id, f->n, f->cap);
			f->id[f->n++] = *id;
		}
		if (r < 0)
			return r;
	}
	if (f->n)
		qsort(f->id, f->n, sizeof(*f->id), cmp_oid);
	for (size_t i = 0; i < f->n; i++)
		if (!i || !git_oid_equal(&f->id[i], &f->id[i - 1]))
			f->id[n++] = f->id[i];
	f->n = n;
	return 0;
}

/* Commits of the past by number, the fork points first; which fork points descend from each. */
struct base_past {
	struct hash map;
	uint64_t *from;
	struct { uint32_t child, parent; } *edge;
	size_t n_edges, cap;
};

static void past_release(struct base_past *p)
{
	hash_release(&p->map);
	free(p->from);
	free(p->edge);
}

/* Its number, from 1; 0: no room. */
static uint32_t past_number(struct base_past *p, const git_oid *id)
{
	return p->map.n < PAST_MAX ? node_add(&p->map, id) : node_of(&p->map, id);
}

/* Walks back by date until every fork point has been met. */
static int past_walk(struct range_walk *w, const struct forks *f, struct base_past *p)
{
	_cleanup_(cleanup_walk) git_revwalk *walk = NULL;
	size_t left = f->n;
	git_oid id;
	int r = git_revwalk_new(&walk, w->repo);

	if (r == 0)
		r = git_revwalk_sorting(walk, GIT_SORT_TIME);
	for (size_t i = 0; r == 0 && i < f->n; i++) {
		p->from[past_number(p, &f->id[i])] = UINT64_C(1) << i;
		r = git_revwalk_push(walk, &f->id[i]);
	}
	for (size_t met = 0; r == 0 && left && met < FORKS_WALK && (r = git_revwalk_next(&id, walk)) == 0; met++) {
		_cleanup_(cleanup_gcommit) git_commit *c = NULL;
		uint32_t child = past_number(p, &id);

		left -= child && child <= f->n;
		r = lookup(w, &id, &c);
		for (unsigned k = 0; r == 0 && k < git_commit_parentcount(c); k++) {
			uint32_t parent = past_number(p, git_commit_parent_id(c, k));

			if (!child || !parent)
				continue;
			GROW(p->edge, p->n_edges, p->cap);
			p->edge[p->n_edges].child = child;
			p->edge[p->n_edges++].parent = parent;
		}
	}
	return r;
}

/* Dates may lie, so one pass in their order may not be enough. */
static void past_descend(struct base_past *p)
{
	bool more = true;

	for (int pass = 0; more && pass < 64; pass++) {
		more = false;
		for (size_t i = 0; i < p->n_edges; i++) {
			uint64_t both = p->from[p->edge[i].parent] | p->from[p->edge[i].child];

			more |= both != p->from[p->edge[i].parent];
			p->from[p->edge[i].parent] = both;
		}
	}
}

/* from[i + 1]: the fork points that descend from number i, itself among them, as far as the walk went. */
static int forks_relate(struct range_walk *w, const struct forks *f, uint64_t *ret_from)
{
	_cleanup_(past_release) struct base_past p = {0};
	int r;

	p.from = xcalloc(PAST_MAX + 1, sizeof(*p.from));
	r = past_walk(w, f, &p);
	past_descend(&p);
	memcpy(ret_from, p.from, (f->n + 1) * sizeof(*ret_from));
	return r;
}

struct by_age { git_oid id; size_t k; int descend; };

static int cmp_age(const void *a, const void *b)
{
	const struct by_age *x = a, *y = b;

	return x->descend != y->descend ? y->descend - x->descend : git_oid_cmp(&x->id, &y->id);
}

/* The fork points become nodes 1 .., each with those among them that were found to be its ancestors as parents. What is
 * not found (too many, too far, a broken past) is only taken to be unrelated. */
static int forks_add(struct range_walk *w, const struct forks *f)
{
	_cleanup_free_ uint64_t *from = xcalloc(f->n + 1, sizeof(*from));
	_cleanup_free_ uint32_t *parent = xcalloc(f->n + 1, sizeof(*parent));
	_cleanup_free_ struct by_age *age = xcalloc(f->n + 1, sizeof(*age));
	int r = 0;

	if (f->n > 1 && f->n <= FORKS_RELATED)
		(void)forks_relate(w, f, from);
	for (size_t i = 0; i < f->n; i++)
		age[i] = (struct by_age){f->id[i], i, __builtin_popcountll(from[i + 1])};
	qsort(age, f->n, sizeof(*age), cmp_age); /* an ancestor has more descendants */
	w->id = xrealloc_array(w->id, w->n + f->n + 1, sizeof(*w->id));
	w->cap = w->n + f->n + 1;
	memmove(w->id + f->n, w->id, w->n * sizeof(*w->id));
	for (size_t i = 0; r == 0 && i < f->n; i++) {
		size_t parents = 0;

		for (size_t j = 0; j < i && f->n <= FORKS_RELATED; j++)
			if (from[age[j].k + 1] >> age[i].k & 1)
				parent[parents++] = (uint32_t)j + 1;
		w->id[i] = age[i].id;
		r = dag_add(&w->b, parent, parents);
	}
	w->n += f->n;
	w->n_forks = f->n;
	return r;
}

static int add_node(struct range_walk *w, const git_oid *id, enum dropped *ret_why)
{
	_cleanup_(cleanup_gcommit) git_commit *c = NULL;
	_cleanup_free_ uint32_t *parent = NULL;
	size_t n = 0;
	int r = lookup(w, id, &c);

	if (r < 0)
		return r;
	if (shallow_has(&w->ends, git_oid_tostr_s(id))) /* its parents are nowhere: neither in the range nor in base */
		return dag_add(&w->b, NULL, 0);
	parent = xcalloc(git_commit_parentcount(c), sizeof(*parent));
	for (unsigned i = 0; i < git_commit_parentcount(c); i++) {
		uint32_t node = node_of(&w->map, git_commit_parent_id(c, i));
		bool twice = false;

		for (size_t k = 0; k < n; k++)
			twice = twice || parent[k] == node;
		if (!twice)
			parent[n++] = node;
	}
	r = dag_add(&w->b, parent, n);
	/* where there is no time left to judge it, it is taken for one that matters */
	return r < 0 || mono_usec() > w->judge_until ? r : judge_commit(w->repo, c, w->kernel, ret_why);
}

int tree_range(const char *git_dir, const char *base, const char *head, size_t max, struct tree_range *ret)
{
	_cleanup_(walk_release) struct range_walk w = {0};
	_cleanup_(cleanup_gcommit) git_commit *cb = NULL, *ch = NULL;
	_cleanup_(forks_release) struct forks forks = {0};
	struct tree_range out = {0};
	int r = repo_open(git_dir, &w.repo);

	if (r < 0 || (r = repo_commit(w.repo, base, &cb)) < 0 || (r = repo_commit(w.repo, head, &ch)) < 0 ||
	    (r = tree_shallow(git_dir, &w.ends)) < 0)
		return r;
	r = w.ends.n ? collect_shallow(&w, git_dir, base, head, max)
		     : collect_range(&w, git_commit_id(cb), git_commit_id(ch), max);
	if (r < 0)
		return r;
	w.kernel = looks_like_kernel(ch);
	w.judge_until = mono_usec() + JUDGE_S * USEC_PER_SEC;
	map_nodes(&w.map, w.id, w.n);
	r = dag_add(&w.b, NULL, 0);
	if (r >= 0)
		r = forks_find(&w, git_commit_id(cb), &forks);
	if (r >= 0)
		r = forks_add(&w, &forks);
	if (r < 0)
		return r;
	map_nodes(&w.map, w.id, w.n);
	out.n_forks = (uint32_t)w.n_forks;
	out.oid = xcalloc(w.n + 1, sizeof(*out.oid));
	out.why = xcalloc(w.n + 1, sizeof(*out.why));
	out.oid[0] = xstrdup(git_oid_tostr_s(git_commit_id(cb)));
	for (size_t i = 0; r == 0 && i < w.n; i++) {
		out.oid[i + 1] = xstrdup(git_oid_tostr_s(&w.id[i]));
		if (i >= w.n_forks)
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
