/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a repository may cost us. Its objects are a stranger's, and a few kilobytes of them can stand for terabytes: all
 * that libgit2 reads passes a gate that knows the size of an object before it is unpacked and how long the reading has
 * lasted, and all that libgit2 allocates (bases of deltas too, which no size tells of) is counted.
 */
#include "kernels/tree-internal.h"
#include "lib/proc.h"

#include <git2/sys/alloc.h>
#include <git2/sys/odb_backend.h>
#include <malloc.h>

#define MEMORY_MAX (1024l << 20)
#define CACHE_MAX (64l << 20)
#define COMMIT_MAX (1u << 20)           /* a kernel's largest have some 100 KiB */
#define TREE_MAX (16u << 20)
#define DEADLINE_S 120

/* Why a reading was refused that nobody has asked about yet; 0: none was. */
static _Thread_local int refused;
static _Thread_local char why[160];
static long in_use; /* bytes that libgit2 holds, of all threads */

static int refuse_object(int error, const char *fmt, ...) _printf_(2, 3);
static int refuse_object(int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	refused = error;
	return GIT_EUSER;
}

int tree_limit_hit(const char **ret_why)
{
	int r = refused;

	refused = 0;
	*ret_why = why;
	return r;
}

bool tree_fault(int error) { return error == -EFBIG || error == -EBADMSG; }

/* ---- memory ---- */

static void took(void *p, long before)
{
	__atomic_add_fetch(&in_use, (long)malloc_usable_size(p) - before, __ATOMIC_RELAXED);
}

static bool room(size_t n)
{
	if (n < (size_t)MEMORY_MAX && __atomic_load_n(&in_use, __ATOMIC_RELAXED) + (long)n <= MEMORY_MAX)
		return true;
	(void)refuse_object(-EFBIG, "reading it takes more than %ld MiB of memory", MEMORY_MAX >> 20);
	return false;
}

static void *lim_realloc(void *p, size_t n, const char *file _unused_, int line _unused_)
{
	long before = p ? (long)malloc_usable_size(p) : 0;
	void *q = room(n > (size_t)before ? n - before : 0) ? realloc(p, n) : NULL;

	if (q)
		took(q, before);
	return q;
}

static void *lim_malloc(size_t n, const char *file, int line) { return lim_realloc(NULL, n ? n : 1, file, line); }

static void *lim_reallocarray(void *p, size_t n, size_t size, const char *file, int line)
{
	size_t all;

	return __builtin_mul_overflow(n, size, &all) ? NULL : lim_realloc(p, all, file, line);
}

static void *lim_mallocarray(size_t n, size_t size, const char *file, int line)
{
	return lim_reallocarray(NULL, n, size, file, line);
}

static void *lim_calloc(size_t n, size_t size, const char *file _unused_, int line _unused_)
{
	size_t all;
	void *p = !__builtin_mul_overflow(n, size, &all) && room(all) ? calloc(n, size) : NULL;

	if (p)
		took(p, 0);
	return p;
}

static char *lim_substrdup(const char *s, size_t n, const char *file, int line)
{
	char *p = n < SIZE_MAX ? lim_malloc(n + 1, file, line) : NULL;

	if (p) {
		memcpy(p, s, n);
		p[n] = 0;
	}
	return p;
}

static char *lim_strndup(const char *s, size_t n, const char *file, int line)
{
	return lim_substrdup(s, strnlen(s, n), file, line);
}

static char *lim_strdup(const char *s, const char *file, int line) { return lim_substrdup(s, strlen(s), file, line); }

static void lim_free(void *p)
{
	if (p)
		__atomic_sub_fetch(&in_use, (long)malloc_usable_size(p), __ATOMIC_RELAXED);
	free(p);
}

void tree_limits_start(void)
{
	static git_allocator a = {lim_malloc, lim_calloc, lim_strdup, lim_strndup, lim_substrdup, lim_realloc,
				  lim_reallocarray, lim_mallocarray, lim_free};

	git_libgit2_opts(GIT_OPT_SET_ALLOCATOR, &a);
	git_libgit2_init();
	git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, (ssize_t)CACHE_MAX);
	/* what is cached does not pass the gate again, and folders that hold the same one many times must */
	git_libgit2_opts(GIT_OPT_SET_CACHE_OBJECT_LIMIT, GIT_OBJECT_TREE, (size_t)0);
}

/* ---- the gate ---- */

struct gate {
	git_odb_backend b;
	git_odb *sizes;         /* a second view: the first one is locked while it asks us */
	usec_t deadline;
};

static int too_long(const struct gate *g)
{
	if (proc_cancelled())
		return refuse_object(-ECANCELED, "the reading was stopped");
	if (mono_usec() > g->deadline)
		return refuse_object(-ETIMEDOUT, "the reading took longer than %d s", DEADLINE_S);
	return 0;
}

static int gate_read(void **data _unused_, size_t *len _unused_, git_object_t *type _unused_, git_odb_backend *b,
		     const git_oid *id)
{
	struct gate *g = (struct gate *)b;
	git_object_t kind;
	size_t size, max;
	int r = too_long(g);

	if (r < 0)
		return r;
	if (git_odb_read_header(&size, &kind, g->sizes, id) < 0)
		return GIT_PASSTHROUGH;
	max = kind == GIT_OBJECT_BLOB ? TREE_FILE_MAX : kind == GIT_OBJECT_TREE ? TREE_MAX : COMMIT_MAX;
	if (size > max)
		return refuse_object(-EFBIG, "%s %.12s has %zu bytes, more than %zu", git_object_type2string(kind),
				     git_oid_tostr_s(id), size, max);
	return GIT_PASSTHROUGH;
}

/* There is nothing to do, but who has none is not asked again once the others have looked for new packs. */
static int gate_refresh(git_odb_backend *b _unused_) { return 0; }

static void gate_free(git_odb_backend *b)
{
	git_odb_free(((struct gate *)b)->sizes);
	free(b);
}

int tree_limits_guard(git_repository *repo)
{
	_cleanup_free_ char *dir = xasprintf("%sobjects", git_repository_commondir(repo));
	struct gate *g = xcalloc(1, sizeof(*g));
	git_odb *odb = NULL;
	int r;

	refused = 0;
	g->deadline = mono_usec() + DEADLINE_S * USEC_PER_SEC;
	r = git_odb_open(&g->sizes, dir);
	if (r == 0)
		r = git_repository_odb(&odb, repo);
	if (r == 0)
		r = git_odb_init_backend(&g->b, GIT_ODB_BACKEND_VERSION);
	g->b.read = gate_read;
	g->b.refresh = gate_refresh;
	g->b.free = gate_free;
	if (r == 0)
		r = git_odb_add_backend(odb, &g->b, 100);
	if (r < 0)
		gate_free(&g->b);
	git_odb_free(odb);
	return r;
}
