/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each folder of jobs/programs/ and jobs/monitors/ is a program or monitor of that name, whole, with a fuzzer of its
 * own. */
#include "jobs/program.h"
#include "lib/fs.h"
#include "tests/tap.h"

static bool there(const char *fmt, const char *kind, const char *name)
{
	_cleanup_free_ char *path = xasprintf(fmt, kind, name);

	return ok(fs_exists(path), "%s", path);
}

static void test_one(const char *kind, const char *name)
{
	bool program = streq(kind, "program");
	const struct program_ops *ops = program ? program_find(name) : monitor_find(name);
	const struct program_def *def;
	_cleanup_free_ char *corpus = xasprintf("tests/fuzz/corpus/%s", name);
	_cleanup_strv_ struct strv inputs = {0};

	if (!ok(ops && streq(ops->name, name) && ops->parse && streq(ops->file, name),
		"%s '%s' is in its folder's file", kind, name))
		return;
	ok((program ? program_def_get : monitor_def_get)(name, &def) == 0 && def->run && *def->run,
	   "with YAML and script");
	there("tests/fuzz/fuzz-%.0s%s.c", kind, name);
	ok(fs_list(corpus, &inputs) == 0 && inputs.n > 1, "%s: %zu inputs", corpus, inputs.n);
}

static void test_kind(const char *kind, const char *const *names)
{
	_cleanup_free_ char *dir = xasprintf("jobs/%ss", kind);
	_cleanup_strv_ struct strv files = {0};
	size_t folders = 0, n = 0;

	is_int(fs_list(dir, &files), 0, "%s", dir);
	for (size_t i = 0; i < files.n; i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, files.v[i]);

		if (!fs_is_dir(path))
			continue;
		folders++;
		test_one(kind, files.v[i]);
	}
	while (names[n])
		n++;
	ok(n && n == folders, "%zu %ss, and no other", n, kind);
}

int main(void)
{
	test_kind("program", program_names());
	test_kind("monitor", monitor_names());
	return tap_done();
}
