/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a kernel build goes on from: cache_dir/objects/<key>/ keeps the output folder of a finished build, with
 * start.json (tree and commit). Objects flow from a commit to its descendants only: whoever wrote an ancestor has a say
 * in what its descendants are anyway, and nobody else does. A build gets a copy, and what it makes of that is its own
 * until it is finished. Folders of builds that started from nothing hold nothing but what that commit's own files made,
 * so all trees may use them.
 */
#include "kernels/build-internal.h"
#include "kernels/tree-internal.h"
#include "lib/fs.h"
#include "lib/json.h"
#include "lib/proc.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#define LOOK_AT 32              /* of the most recently used ones */
#define FAR 20000               /* files that differ: no use any more */

static char *objects_dir(const struct build_request *q) { return xasprintf("%s/objects", q->cache_dir); }

struct start_candidate { char *name, *tree, *commit; time_t used; };

static void candidate_release(struct start_candidate *c)
{
	free(c->name);
	free(c->tree);
	free(c->commit);
}

static bool read_candidate(const char *dir, struct start_candidate *ret)
{
	_cleanup_free_ char *path = xasprintf("%s/start.json", dir);
	_cleanup_json_ struct json_object *o = NULL;
	struct stat st;

	if (stat(path, &st) < 0 || !(o = json_object_of_file(path, START_MAX)))
		return false;
	ret->tree = xstrdup(json_get_text(o, "tree"));
	ret->commit = xstrdup(json_get_text(o, "commit"));
	ret->used = st.st_mtime;
	return ret->tree && ret->commit;
}

static int newest_first(const void *a, const void *b)
{
	const struct start_candidate *x = a, *y = b;

	return x->used > y->used ? -1 : x->used < y->used;
}

static int count_one(const char *path _unused_, void *arg)
{
	int *n = arg;

	return ++*n > FAR ? -E2BIG : 0;
}

/* How many files differ, or -1 where it may not be gone on from. */
static int distance(const struct build_job *j, const struct start_candidate *c)
{
	int n = 0;

	if (!streq(c->commit, j->q->commit) && tree_is_ancestor(j->q->git_dir, c->commit, j->q->commit) != 1)
		return -1;
	return tree_diff_commits(j->q->git_dir, c->commit, j->q->commit, count_one, &n) < 0 ? -1 : n;
}

/* Those whose configuration, compiler and recipe are ours, and that our tree may use. */
static size_t candidates(const struct build_job *j, const char *objects, struct start_candidate **ret)
{
	_cleanup_strv_ struct strv names = {0};
	struct start_candidate *v;
	size_t n = 0;

	if (fs_list(objects, &names) < 0)
		return 0;
	v = xcalloc(names.n + 1, sizeof(*v));
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *dir = xasprintf("%s/%s", objects, names.v[i]);
		struct start_candidate c = {0};

		if (*names.v[i] != '.' && build_key_suits(j, names.v[i]) && read_candidate(dir, &c) &&
		    (build_key_scratch(names.v[i]) || streq(c.tree, j->q->tree))) {
			c.name = xstrdup(names.v[i]);
			v[n++] = c;
		} else {
			candidate_release(&c);
		}
	}
	qsort(v, n, sizeof(*v), newest_first);
	*ret = v;
	return n;
}

void start_find(struct build_job *j)
{
	_cleanup_free_ char *objects = objects_dir(j->q);
	struct start_candidate *v = NULL;
	size_t n = candidates(j, objects, &v);
	int best = INT_MAX;

	for (size_t i = 0; i < n; i++) {
		int d = i < LOOK_AT && best ? distance(j, &v[i]) : -1;

		if (d >= 0 && d < best) {
			best = d;
			free(j->start_key);
			free(j->start_commit);
			j->start_key = xstrdup(v[i].name);
			j->start_commit = xstrdup(v[i].commit);
		}
		candidate_release(&v[i]);
	}
	free(v);
}

int start_begin(struct build_job *j)
{
	_cleanup_free_ char *objects = objects_dir(j->q);
	int r;

	free(j->objects);
	free(j->out);
	j->objects = xasprintf("%s/.tmp-%d-%.60s", objects, getpid(), j->key);
	j->out = xasprintf("%s/o", j->objects);
	r = fs_mkdir_p(j->objects);
	return r < 0 ? r : box_folder_make(j->out);
}

char *start_folder(const struct build_job *j)
{
	_cleanup_free_ char *objects = objects_dir(j->q), *stamp = xasprintf("%s/%s/start.json", objects, j->start_key);

	utimensat(AT_FDCWD, stamp, NULL, 0); /* used last, removed last */
	return xasprintf("%s/%s/o", objects, j->start_key);
}

int start_drop(const struct build_job *j)
{
	_cleanup_free_ char *objects = objects_dir(j->q), *dir = xasprintf("%s/%s", objects, j->start_key),
			    *out = xasprintf("%s/o", dir);

	(void)box_folder_remove(out);
	(void)fs_rm_rf(dir);
	return err_set(-ESTALE, "what %.12s left to go on from cannot be copied; it is removed", j->start_commit);
}

/* What the next build makes anew in any case goes; what has a time to come would be taken for finished for ever. */
static const char tidy[] =
	"exec 2>/dev/null; cd \"$OUT\" || exit 1\n"
	"rm -f vmlinux vmlinux.o vmlinux.debug vmlinux.a vmlinux.symvers System.map modules.tar .tmp_vmlinux*\n"
	"(cd arch/x86/boot && rm -f bzImage vmlinux.bin compressed/vmlinux compressed/vmlinux.bin*)\n"
	"rm -f .tmp_System.map; chmod -R u+rwX .; find . ! -type f ! -type d ! -type l -delete\n"
	"now=$(mktemp) && find . -newer \"$now\" -print -quit\n"
	"rm -f \"$now\"\n";

int start_keep(struct build_job *j)
{
	_cleanup_free_ char *objects = objects_dir(j->q), *final = xasprintf("%s/%s", objects, j->key),
			    *meta = xasprintf("%s/start.json", j->objects), *text = NULL;
	const struct box_mount mounts[] = {{j->out, BOX_OUT, true}};
	_cleanup_buf_ struct buf late = {0};
	struct build_step s = {.script = tidy, .mount = mounts, .n_mounts = 1, .out = &late, .max_out = 65536};
	struct sandbox_result res = {0};
	int64_t bytes, files;
	int r = build_step(j, &s, &res);

	if (r == 0 && (res.status || res.stop))
		return 0; /* it is only not there to go on from */
	if (r == 0 && late.len) {
		buf_adds(&j->warnings, "the build left files from the future: no other build goes on from it\n");
		return 0;
	}
	if (r == 0)
		r = box_folder_usage(j->out, &bytes, &files);
	if (r == 0) {
		/* names of trees and commits need no quoting: config_name_ok(), hex */
		text = xasprintf("{\"tree\": \"%s\", \"commit\": \"%s\", \"bytes\": %" PRId64 "}\n",
				 j->q->tree, j->q->commit, bytes);
		r = build_write(meta, text, strlen(text));
	}
	if (r == 0 && rename(j->objects, final) < 0 && errno != EEXIST && errno != ENOTEMPTY)
		r = err_set(-errno, "cannot keep the objects as '%s': %s", final, strerror(errno));
	return r;
}

void start_end(struct build_job *j)
{
	if (!j->objects)
		return;
	if (j->out)
		(void)box_folder_remove(j->out);
	(void)fs_rm_rf(j->objects);
}
