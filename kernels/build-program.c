/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of user-space programs: a command in the worktree, a file or folder to keep. */
#include "kernels/build-priv.h"
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
		_cleanup_free_ char *p = xasprintf("%s/%s", path, names.v[i]), *n = xasprintf("%s/%s", name, names.v[i]);

		r = hash_into(p, n, out);
	}
	return r;
}

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

int build_program(struct build_job *j, struct build_result *ret)
{
	_cleanup_free_ char *script = xasprintf("export MAKEFLAGS=-j%d\n%s%s", MAX(j->q->jobs, 1),
						j->q->align_functions ? "export KCFLAGS=-falign-functions=64\n" : "",
						j->q->command ? j->q->command : "make"), *artefact = NULL;
	struct sandbox_result s = {0};
	char hash[SHA256_HEX];
	const char *why = NULL;
	int r = worktree_checkout(j, true);

	ret->clean = true;
	if (r == 0)
		r = fs_mkdir_p(j->out);
	if (r == 0)
		r = sandbox_run(j, script, true, &s);
	if (r < 0)
		return r;
	if (s.status || s.stopped) {
		r = build_failed(j, &s, ret);
		return r < 0 || streq(ret->state, "infra") ? r : build_cache_put(j, NULL, 0, NULL, ret);
	}
	artefact = build_output(j->src, j->q->artefact, true, &why);
	if (!artefact) {
		_cleanup_free_ char *name = term_safe(j->q->artefact);

		ret->state = "broken";
		ret->error = xasprintf("the build succeeded, but '%s' %s", name, why);
		return build_cache_put(j, NULL, 0, NULL, ret);
	}
	r = artefact_hash(artefact, hash);
	if (r < 0)
		return r;
	ret->state = "ok";
	ret->image_hash = xstrdup(hash);
	ret->config_hash = xstrdup(j->fragment_hash);
	return build_cache_put(j, &(struct kept_file){artefact, "artefact"}, 1, "artefact", ret);
}
