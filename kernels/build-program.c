/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of user-space programs: a command in the worktree, a file or folder to keep. Always from nothing. */
#include "kernels/build-internal.h"
#include "lib/fs.h"
#include "lib/proc.h"

#include <sys/stat.h>

/* Type, mode, path and content of everything below dir, in the order of names. */
static int hash_into(const char *path, const char *name, struct buf *out)
{
	_cleanup_strv_ struct strv names = {0};
	char target[PATH_MAX] = "", hash[SHA256_HEX] = "";
	struct stat st;
	int r = 0;

	if (lstat(path, &st) < 0)
		return err_set(-errno, "cannot look at '%s': %s", path, strerror(errno));
	if (S_ISLNK(st.st_mode) && readlink(path, target, sizeof(target) - 1) < 0)
		return err_set(-errno, "cannot read link '%s': %s", path, strerror(errno));
	if (S_ISREG(st.st_mode))
		r = sha256_file(path, hash);
	else if (S_ISDIR(st.st_mode))
		r = fs_list(path, &names);
	if (r < 0)
		return r;
	buf_addf(out, "%o %s %s%s%c", st.st_mode & (S_IFMT | 0111), name, hash, target, 0);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		_cleanup_free_ char *p = xasprintf("%s/%s", path, names.v[i]),
				    *n = xasprintf("%s/%s", name, names.v[i]);

		r = hash_into(p, n, out);
	}
	return r;
}

/* path: our copy of it, which no build can reach. */
static int artefact_hash(const char *path, char out[SHA256_HEX])
{
	_cleanup_buf_ struct buf b = {0};
	int r;

	if (!fs_is_dir(path))
		return sha256_file(path, out);
	r = hash_into(path, "", &b);
	if (r == 0)
		sha256_hex(b.s, b.len, out);
	return r;
}

static int keep_program(struct build_job *j, struct build_result *ret)
{
	_cleanup_free_ char *why = NULL, *kept = NULL;
	struct box_file f = {j->q->artefact, "artefact"};
	struct box_export x = {.folder = j->src, .file = &f, .n = 1, .to_dir = j->kept, .folders_too = true,
			       .cancel = j->q->cancel};
	char hash[SHA256_HEX];
	int r = box_export(&x, &why);

	if (r == -EBADMSG) {
		ret->state = BUILD_BROKEN;
		ret->error = xasprintf("the build succeeded, but %s", why);
		return build_cache_put(j, NULL, ret);
	}
	if (r < 0)
		return r;
	kept = xasprintf("%s/artefact", j->kept);
	r = artefact_hash(kept, hash);
	if (r < 0)
		return r;
	ret->state = BUILD_OK;
	ret->image_hash = xstrdup(hash);
	ret->config_hash = xstrdup(j->fragment_hash);
	return build_cache_put(j, "artefact", ret);
}

int build_program(struct build_job *j, struct build_result *ret)
{
	_cleanup_free_ char *script = xasprintf("export MAKEFLAGS=-j%d\n%s%s", MAX(j->q->jobs, 1),
						j->q->align_functions ? "export KCFLAGS=-falign-functions=64\n" : "",
						j->q->command ? j->q->command : "make");
	const struct box_mount mounts[] = {{j->src, BOX_SRC, true}};
	struct build_step step = {.script = script, .mount = mounts, .n_mounts = 1, .cwd = BOX_SRC};
	struct sandbox_result s = {0};
	int r = worktree_checkout(j, &s);

	ret->clean = true;
	if (r == 0 && !s.stop)
		r = build_step(j, &step, &s);
	if (r == 0 && (s.status || s.stop))
		r = build_broken(j, &s, ret);
	else if (r == 0)
		r = keep_program(j, ret);
	(void)box_folder_remove(j->src); /* nothing of it outlives the build */
	return r;
}
