/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay.c - the main of a fuzzer where there is no libFuzzer: runs it over stored inputs and says so in TAP. Arguments
 * are files and folders; without any, tests/fuzz/corpus/NAME of the program build/.../fuzz-NAME.
 */
#include "lib/fs.h"
#include "tests/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay_file(const char *path)
{
	_cleanup_buf_ struct buf b = {0};

	if (fs_read(path, 0, &b) < 0) {
		ok(false, "%s: %s", path, err_msg());
		return;
	}
	ok(LLVMFuzzerTestOneInput((const uint8_t *)buf_str(&b), b.len) == 0, "%s", path);
}

static void replay(const char *path)
{
	_cleanup_strv_ struct strv names = {0};

	if (!fs_is_dir(path)) {
		replay_file(path);
		return;
	}
	if (fs_list(path, &names) < 0 || !names.n)
		ok(false, "%s holds no inputs", path);
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *file = xasprintf("%s/%s", path, names.v[i]);

		replay_file(file);
	}
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	_cleanup_free_ char *dir = NULL;

	name = name ? name + 1 : argv[0];
	dir = xasprintf("tests/fuzz/corpus/%s", startswith(name, "fuzz-") ? name + 5 : name);
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	if (argc < 2)
		replay(dir);
	return tap_done();
}
