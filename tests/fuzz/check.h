/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.h - what the fuzzers share: a check that aborts, and a folder for files. */
#ifndef KPB_TESTS_FUZZ_CHECK_H
#define KPB_TESTS_FUZZ_CHECK_H
#include "lib/fs.h"

#define FUZZ_CHECK(cond)                                                                                               \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #cond, err_msg());             \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_folder_path[64];

static inline void fuzz_folder_drop(void) { fs_rm_rf(fuzz_folder_path); }

/* A folder of this process' own, in memory where there is /dev/shm; it goes away at the end. */
static inline const char *fuzz_folder(void)
{
	if (!fuzz_folder_path[0]) {
		snprintf(fuzz_folder_path, sizeof(fuzz_folder_path), "%s/kpb-fuzz-XXXXXX",
			 fs_is_dir("/dev/shm") ? "/dev/shm" : "/tmp");
		FUZZ_CHECK(mkdtemp(fuzz_folder_path));
		atexit(fuzz_folder_drop);
	}
	return fuzz_folder_path;
}

static inline void fuzz_put(const char *name, const void *data, size_t n)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", fuzz_folder(), name);
	FILE *f = fopen(path, "we");

	FUZZ_CHECK(f && fwrite(data, 1, n, f) == n && fclose(f) == 0);
}

/* What a terminal can show: messages have no control characters but the newlines that part them. */
static inline bool fuzz_plain(const char *s)
{
	for (; *s; s++)
		if (((unsigned char)*s < ' ' && *s != '\n') || *s == 0x7f)
			return false;
	return true;
}

#endif
