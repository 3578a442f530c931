/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernels/result.h"
#include "lib/fs.h"

#include <fcntl.h>

enum { FLAG_TIMEOUT = 1, FLAG_CUT = 2, FLAG_NO_SCRIPT = 4 };
#define FRAME_MAX 65536u

static uint64_t get_le(const uint8_t *p, int bytes)
{
	uint64_t v = 0;

	for (int i = bytes; i--;)
		v = v << 8 | p[i];
	return v;
}

uint32_t result_crc32(const void *data, size_t n) /* ISO 3309 */
{
	const uint8_t *p = data;
	uint32_t c = ~0u;

	while (n--) {
		c ^= *p++;
		for (int k = 0; k < 8; k++)
			c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
	}
	return ~c;
}

/* Takes the frames apart: the archive into tar, the last frame into ret. */
static int read_frames(const uint8_t *p, size_t n, struct buf *tar, struct result_end *ret)
{
	size_t off = 8;

	if (n < 8)
		return err_set(-ENODATA, "the guest sent no results");
	if (memcmp(p, "KPBRES1\n", 8))
		return err_set(-EBADMSG, "what the guest sent is no result stream");
	for (;;) {
		uint32_t len, sum, flags;
		const uint8_t *data;

		if (n - off < 9)
			return err_set(-ENODATA, "the results stop after %zu bytes", n);
		len = get_le(p + off + 1, 4);
		sum = get_le(p + off + 5, 4);
		data = p + off + 9;
		if (len > FRAME_MAX)
			return err_set(-EBADMSG, "a frame of %u bytes in the results", len);
		if (n - off - 9 < len)
			return err_set(-ENODATA, "the results stop after %zu bytes", n);
		if (result_crc32(data, len) != sum)
			return err_set(-EBADMSG, "wrong check sum in the results at byte %zu", off);
		off += 9 + (size_t)len;
		if (p[off - 9 - len] == 'D') {
			if (tar->len + len > RESULT_MAX_BYTES)
				return err_set(-EBADMSG, "results of more than %u bytes", RESULT_MAX_BYTES);
			buf_add(tar, data, len);
			continue;
		}
		if (p[off - 9 - len] != 'E' || len != 16 || get_le(data + 8, 8) != tar->len)
			return err_set(-EBADMSG, "a frame of unknown kind in the results");
		flags = get_le(data + 4, 4);
		ret->exit_status = (int32_t)get_le(data, 4);
		ret->timed_out = flags & FLAG_TIMEOUT;
		ret->cut = flags & FLAG_CUT;
		ret->no_script = flags & FLAG_NO_SCRIPT;
		return 0;
	}
}

static int octal(const char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0');
	if (!i || (i < n && p[i] != 0 && p[i] != ' '))
		return -EBADMSG;
	*ret = v;
	return 0;
}

/* Relative, no empty, "." or ".." part, and only characters that are safe in a shell, a terminal and a web page. */
static bool name_ok(const char *s)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+:,=@%-";

	for (;;) {
		size_t n = strspn(s, chars);

		if (!n || *s == '-' || (n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
			return false;
		s += n;
		if (!*s)
			return true;
		if (*s++ != '/')
			return false;
	}
}

static int write_file(const char *dir, const char *name, const void *data, size_t n)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	int r = fs_mkdir_parent(path), fd;

	if (r < 0)
		return r == -EEXIST || r == -ENOTDIR ? err_set(-EBADMSG, "'%s' in the results is file and folder", name)
						     : r;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST)
		return err_set(-EBADMSG, "'%s' is twice in the results", name);
	if (fd < 0)
		return err_set(-errno, "cannot write '%s': %s", path, strerror(errno));
	for (const char *p = data; r == 0 && n;) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno != EINTR)
			r = err_set(-errno, "cannot write '%s': %s", path, strerror(errno));
		if (k > 0) {
			p += k;
			n -= k;
		}
	}
	close(fd);
	return r;
}

/* POSIX.1-1988 ustar, regular files only. */
static int untar(const struct buf *tar, const char *dir, struct result_end *ret)
{
	for (size_t off = 0;;) {
		const char *h = buf_str(tar) + off;
		uint64_t size, sum;
		unsigned real = 8 * ' ';
		char name[101];
		int r;

		if (tar->len - off < 512)
			return err_set(-EBADMSG, "the archive of the results has no end");
		if (!h[0])
			return 0;
		for (int i = 0; i < 512; i++)
			real += i >= 148 && i < 156 ? 0 : (uint8_t)h[i];
		if (memcmp(h + 257, "ustar", 5) || octal(h + 148, 8, &sum) < 0 || sum != real ||
		    octal(h + 124, 12, &size) < 0)
			return err_set(-EBADMSG, "a damaged entry in the archive of the results");
		memcpy(name, h, 100);
		name[100] = 0;
		if (h[156] != '0' || h[345] || !name_ok(name)) {
			_cleanup_free_ char *safe = term_safe(name);

			return err_set(-EBADMSG, "the results hold '%s', which is no plain file", safe);
		}
		off += 512;
		if (size > tar->len - off || ((size + 511) & ~511ull) > tar->len - off)
			return err_set(-EBADMSG, "'%s' in the results is longer than the archive", name);
		if (++ret->files > RESULT_MAX_FILES)
			return err_set(-EBADMSG, "more than %d files in the results", RESULT_MAX_FILES);
		r = write_file(dir, name, h + 512, size);
		if (r < 0)
			return r;
		off += (size + 511) & ~511ull;
	}
}

int result_unpack(const void *stream, size_t n, const char *dir, struct result_end *ret)
{
	_cleanup_buf_ struct buf tar = {0};
	struct result_end end = {0};
	int r = read_frames(stream, n, &tar, &end);

	if (r == 0)
		r = fs_mkdir_p(dir);
	if (r == 0)
		r = untar(&tar, dir, &end);
	if (r == 0)
		*ret = end;
	return r;
}
