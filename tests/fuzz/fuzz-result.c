/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unpacker of what a guest sends. The input is either the stream itself or, where its first byte is 'T', an archive
 * that gets right frames around it, so that the fuzzer need not find check sums. Whatever comes: an error with a
 * message that a terminal can show, or files inside the folder and no more of them than the caps allow.
 */
#include "kernels/result.h"
#include "tests/fuzz/check.h"

#include <ftw.h>
#include <sys/stat.h>

static unsigned files;

static int count(const char *path _unused_, const struct stat *st, int type, struct FTW *f _unused_)
{
	FUZZ_CHECK(type == FTW_D || (type == FTW_F && S_ISREG(st->st_mode) && !(st->st_mode & 06111)));
	files += type == FTW_F;
	return 0;
}

static void le(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addc(b, v >> 8 * i);
}

static void frame(struct buf *b, char type, const void *p, size_t n)
{
	buf_addc(b, type);
	le(b, n, 4);
	le(b, result_crc32(p, n), 4);
	buf_add(b, p, n);
}

/* Frames around an archive; the sum of every header block that claims to be ustar is put right. */
static void wrap(const uint8_t *data, size_t size, struct buf *out)
{
	_cleanup_buf_ struct buf tar = {0}, end = {0};

	buf_add(&tar, data, size);
	for (size_t off = 0; off + 512 <= tar.len; off += 512) {
		unsigned sum = 8 * ' ';

		if (memcmp(tar.s + off + 257, "ustar", 5))
			continue;
		for (int i = 0; i < 512; i++)
			sum += i >= 148 && i < 156 ? 0 : (uint8_t)tar.s[off + i];
		snprintf(tar.s + off + 148, 8, "%06o", sum);
	}
	buf_adds(out, "KPBRES1\n");
	for (size_t off = 0; off < tar.len; off += 4096)
		frame(out, 'D', tar.s + off, MIN(tar.len - off, (size_t)4096));
	le(&end, 0, 8);
	le(&end, tar.len, 8);
	frame(out, 'E', end.s, end.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *dir = xasprintf("%s/unpacked", fuzz_folder());
	_cleanup_buf_ struct buf wrapped = {0};
	struct result_end end = {0};
	char *copy;
	size_t n;
	int r;

	if (size && data[0] == 'T')
		wrap(data + 1, size - 1, &wrapped);
	else
		buf_add(&wrapped, data, size);
	n = wrapped.len;
	copy = xmalloc(n ? n : 1); /* a block of just that size, so that reading past it is seen */
	if (n)
		memcpy(copy, wrapped.s, n);
	r = result_unpack(copy, n, dir, &end);
	free(copy);
	FUZZ_CHECK(r == 0 || r == -EBADMSG || r == -ENODATA || r == -ENAMETOOLONG);
	FUZZ_CHECK(r == 0 || !strpbrk(err_msg(), "\n\r\t\x1b"));
	files = 0;
	if (fs_is_dir(dir))
		FUZZ_CHECK(nftw(dir, count, 16, FTW_PHYS) == 0);
	FUZZ_CHECK(files <= RESULT_MAX_FILES && (r < 0 || files == end.files));
	FUZZ_CHECK(fs_rm_rf(dir) == 0);
	return 0;
}
