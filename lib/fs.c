/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/fs.h"
#include "lib/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <zstd.h>

#define READ_MAX (256u << 20)

int fs_mkdir_p(const char *path)
{
	_cleanup_free_ char *p = xstrdup(path);

	for (char *s = p + 1;; s++) {
		char c = *s;

		if (c && c != '/')
			continue;
		*s = 0;
		if (mkdir(p, 0755) < 0 && errno != EEXIST)
			return err_set(-errno, "cannot make folder '%s': %s", p, strerror(errno));
		*s = c;
		if (!c)
			break;
	}
	return fs_is_dir(path) ? 0 : err_set(-ENOTDIR, "'%s' is not a folder", path);
}

static bool holds_only(const char *dir, const char *const *own)
{
	_cleanup_strv_ struct strv names = {0};
	bool all = fs_list(dir, &names) >= 0;

	for (size_t i = 0; all && i < names.n; i++) {
		const char *const *o = own;

		while (*o && fnmatch(*o, names.v[i], 0))
			o++;
		all = *o != NULL;
	}
	return all;
}

int fs_mkdir_private(const char *path, const char *const *own)
{
	struct stat st;
	int r = fs_mkdir_parent(path);

	if (r < 0 || mkdir(path, 0700) == 0)
		return r;
	if (errno != EEXIST)
		return err_set(-errno, "cannot make folder '%s': %s", path, strerror(errno));
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(-ENOTDIR, "'%s' is not a folder", path);
	if (!(st.st_mode & 077) || st.st_uid != geteuid())
		return 0;
	return st.st_mode & S_ISVTX || !holds_only(path, own) || chmod(path, 0700) < 0;
}

int fs_make_private(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (errno != EEXIST)
		return err_set(-errno, "cannot make '%s': %s", path, strerror(errno));
	if (stat(path, &st) == 0 && st.st_uid == geteuid() && st.st_mode & 077)
		(void)chmod(path, st.st_mode & 0700);
	return 0;
}

int fs_mkdir_parent(const char *path)
{
	_cleanup_free_ char *p = xstrdup(path);
	char *slash = strrchr(p, '/');

	if (!slash || slash == p)
		return 0;
	*slash = 0;
	return fs_mkdir_p(p);
}

bool fs_exists(const char *path) { return access(path, F_OK) == 0; }

bool fs_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int64_t fs_size(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -errno : st.st_size;
}

int fs_read(const char *path, size_t max, struct buf *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_buf_ struct buf b = {0};
	char tmp[65536];
	ssize_t n;

	if (fd < 0)
		return err_set(-errno, "cannot open '%s': %s", path, strerror(errno));
	while ((n = read(fd, tmp, sizeof(tmp))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(-errno, "cannot read '%s': %s", path, strerror(errno));
		if (b.len + n > (max ? max : READ_MAX))
			return err_set(-EFBIG, "'%s' is larger than %zu bytes", path, max ? max : READ_MAX);
		buf_add(&b, tmp, n);
	}
	buf_add(ret, buf_str(&b), b.len);
	return 0;
}

static int write_all(int fd, const void *data, size_t n, const char *path)
{
	const char *p = data;

	while (n) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return err_set(-errno, "cannot write '%s': %s", path, strerror(errno));
		p += k;
		n -= k;
	}
	if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
		return err_set(-errno, "cannot sync '%s': %s", path, strerror(errno));
	return 0;
}

/* A new file, whatever was at its path. */
static int open_new(const char *path, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	return fd < 0 ? err_set(-errno, "cannot write '%s': %s", path, strerror(errno)) : fd;
}

int fs_write_atomic(const char *path, const void *data, size_t n)
{
	_cleanup_free_ char *tmp = xasprintf("%s.tmp-%d", path, getpid());
	int fd = open_new(tmp, 0644), r;

	if (fd < 0)
		return fd;
	r = write_all(fd, data, n, path);
	if (close(fd) < 0 && r == 0)
		r = err_set(-errno, "cannot write '%s': %s", path, strerror(errno));
	if (r == 0 && rename(tmp, path) < 0)
		r = err_set(-errno, "cannot rename '%s' to '%s': %s", tmp, path, strerror(errno));
	if (r < 0)
		unlink(tmp);
	return r;
}

int fs_append(const char *path, const void *data, size_t n)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (fd < 0)
		return err_set(-errno, "cannot write '%s': %s", path, strerror(errno));
	return write_all(fd, data, n, path);
}

#define RM_DEPTH 400            /* one descriptor each */

/* Removes name in the folder dir, by descriptors: no link is followed, and no path can be too long. */
static int rm_at(int dir, const char *name, int depth)
{
	struct stat st;
	DIR *d;
	int fd, r;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	r = -errno;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode))
		return r;
	if (depth > RM_DEPTH)
		return -ELOOP;
	if ((st.st_mode & 0700) != 0700)
		(void)fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			r = rm_at(fd, e->d_name, depth + 1);
	closedir(d);
	return r == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : r;
}

int fs_rm_rf(const char *path)
{
	int r = rm_at(AT_FDCWD, path, 0);

	return r < 0 ? err_set(r, "cannot remove '%s': %s", path, strerror(-r)) : 0;
}

int fs_copy(const char *from, const char *to)
{
	_cleanup_close_ int in = open(from, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *tmp = xasprintf("%s.tmp-%d", to, getpid());
	int out, r = 0;
	struct stat st;
	char chunk[65536];
	ssize_t n;

	if (in < 0 || fstat(in, &st) < 0)
		return err_set(-errno, "cannot open '%s': %s", from, strerror(errno));
	out = open_new(tmp, (st.st_mode & 0777) | 0600);
	if (out < 0)
		return out;
	while (r == 0 && (n = read(in, chunk, sizeof(chunk))) > 0)
		for (ssize_t k, off = 0; r == 0 && off < n; off += k)
			if ((k = write(out, chunk + off, n - off)) < 0)
				r = err_set(-errno, "cannot write '%s': %s", tmp, strerror(errno));
	if (r == 0 && n < 0)
		r = err_set(-errno, "cannot read '%s': %s", from, strerror(errno));
	if (close(out) < 0 && r == 0)
		r = err_set(-errno, "cannot write '%s': %s", tmp, strerror(errno));
	if (r == 0 && rename(tmp, to) < 0)
		r = err_set(-errno, "cannot rename '%s' to '%s': %s", tmp, to, strerror(errno));
	if (r < 0)
		unlink(tmp);
	return r;
}

int fs_list(const char *dir, struct strv *ret)
{
	DIR *d = opendir(dir);

	if (!d)
		return err_set(-errno, "cannot open folder '%s': %s", dir, strerror(errno));
	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			strv_add(ret, e->d_name);
	closedir(d);
	strv_sort_uniq(ret);
	return 0;
}

int64_t fs_free_bytes(const char *path)
{
	struct statvfs v;

	return statvfs(path, &v) < 0 ? (int64_t)-errno : (int64_t)(v.f_bavail * v.f_frsize);
}

int64_t fs_total_bytes(const char *path)
{
	struct statvfs v;

	return statvfs(path, &v) < 0 ? (int64_t)-errno : (int64_t)(v.f_blocks * v.f_frsize);
}

int fs_lock(const char *path, bool wait)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return err_set(-errno, "cannot open '%s': %s", path, strerror(errno));
	while (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) < 0) {
		int e = errno;

		if (e == EINTR)
			continue;
		close(fd);
		return err_set(-e, "'%s' is locked by another process", path);
	}
	return fd;
}

static int user_dir(const char *var, const char *xdg, const char *home_part, char **ret)
{
	const char *own = getenv(var), *x = getenv(xdg), *home = getenv("HOME");

	if (own && *own)
		*ret = xstrdup(own);
	else if (x && *x == '/')
		*ret = xasprintf("%s/kperfbot", x);
	else if (home && *home == '/')
		*ret = xasprintf("%s/%s/kperfbot", home, home_part);
	else
		return err_set(-ENXIO, "HOME is not set: set it, or %s to a folder that only this user can write", var);
	return 0;
}

char *fs_word(const char *path)
{
	static const char *const suffixes[] = {".mbox", ".patch", ".eml", ".mbx", ".diff", ".txt"};
	_cleanup_free_ char *real = NULL, *copy = xstrdup(path);
	size_t n = strlen(copy);
	struct buf b = {0};
	char *slash;

	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = 0;
	slash = strrchr(copy, '/');
	if (slash && slash > copy && streq(slash + 1, "series")) { /* quilt's name for the list: the folder says more */
		*slash = 0;
		slash = strrchr(copy, '/');
	}
	if ((streq(slash ? slash + 1 : copy, ".") || streq(slash ? slash + 1 : copy, "..")) &&
	    (real = realpath(copy, NULL)))
		slash = strrchr(real, '/');
	buf_add_filename(&b, slash ? slash + 1 : copy, 40);
	for (size_t i = 0; b.len && i < ARRAY_SIZE(suffixes); i++)
		if (endswith(b.s, suffixes[i])) {
			b.len -= strlen(suffixes[i]);
			b.s[b.len] = 0;
			break;
		}
	if (!b.len || streq(b.s, "_")) {
		buf_clear(&b);
		buf_adds(&b, "series");
	}
	return buf_take(&b);
}

int fs_cache_dir(char **ret) { return user_dir("KPERFBOT_CACHE", "XDG_CACHE_HOME", ".cache", ret); }

int fs_state_dir(char **ret)
{
	if (geteuid() == 0 && !getenv("KPERFBOT_STATE")) {
		*ret = xstrdup("/var/lib/kperfbot");
		return 0;
	}
	return user_dir("KPERFBOT_STATE", "XDG_STATE_HOME", ".local/state", ret);
}

const char *fs_data_dir(void)
{
	static char dir[PATH_MAX];
	const char *own = getenv("KPERFBOT_DATA");
	char exe[PATH_MAX];
	ssize_t n;

	if (own && *own)
		return own;
	if (dir[0])
		return dir;
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	while (n > 0) { /* out of a source tree: the first folder above the program with kernels/configs */
		exe[n] = 0;
		char *slash = strrchr(exe, '/');
		_cleanup_free_ char *probe = NULL;

		if (!slash)
			break;
		*slash = 0;
		n = slash - exe;
		probe = xasprintf("%s/kernels/configs", exe);
		if (fs_is_dir(probe)) {
			snprintf(dir, sizeof(dir), "%s", exe);
			return dir;
		}
	}
	snprintf(dir, sizeof(dir), "%s", KPB_DATADIR);
	return dir;
}

static void to_hex(const unsigned char *md, char out[SHA256_HEX])
{
	for (int i = 0; i < 32; i++)
		snprintf(out + 2 * i, 3, "%02x", md[i]);
}

void sha256_hex(const void *data, size_t n, char out[SHA256_HEX])
{
	unsigned char md[EVP_MAX_MD_SIZE];

	if (!EVP_Digest(data ? data : "", n, md, NULL, EVP_sha256(), NULL))
		abort();
	to_hex(md, out);
}

int sha256_file(const char *path, char out[SHA256_HEX])
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	unsigned char md[EVP_MAX_MD_SIZE];
	char chunk[65536];
	EVP_MD_CTX *ctx;
	size_t n;
	int r = 0;

	if (!f)
		return err_set(-errno, "cannot open '%s': %s", path, strerror(errno));
	ctx = EVP_MD_CTX_new();
	if (!ctx || !EVP_DigestInit_ex(ctx, EVP_sha256(), NULL))
		abort();
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		EVP_DigestUpdate(ctx, chunk, n);
	if (ferror(f))
		r = err_set(-EIO, "cannot read '%s'", path);
	EVP_DigestFinal_ex(ctx, md, NULL);
	EVP_MD_CTX_free(ctx);
	if (r == 0)
		to_hex(md, out);
	return r;
}

int zstd_write(const char *path_zst, const void *data, size_t n)
{
	size_t bound = ZSTD_compressBound(n);
	_cleanup_free_ char *z = xmalloc(bound);
	size_t k = ZSTD_compress(z, bound, data ? data : "", n, 6);

	if (ZSTD_isError(k))
		return err_set(-EIO, "cannot compress '%s': %s", path_zst, ZSTD_getErrorName(k));
	return fs_write_atomic(path_zst, z, k);
}

int zstd_pack_file(const char *path)
{
	_cleanup_buf_ struct buf b = {0};
	_cleanup_free_ char *zst = xasprintf("%s.zst", path);
	int r = fs_read(path, 0, &b);

	if (r == 0)
		r = zstd_write(zst, b.s, b.len);
	if (r == 0)
		unlink(path);
	return r;
}

int zstd_read(const char *path_zst, size_t max, struct buf *ret)
{
	_cleanup_buf_ struct buf z = {0};
	ZSTD_DStream *d;
	ZSTD_inBuffer in;
	char chunk[65536];
	size_t k = 1;
	int r = fs_read(path_zst, max ? max + sizeof(chunk) : 0, &z); /* what does not compress grows by less */

	if (r < 0)
		return r;
	in = (ZSTD_inBuffer){z.s, z.len, 0};
	d = ZSTD_createDStream();
	while (r == 0 && (in.pos < in.size || k)) {
		ZSTD_outBuffer out = {chunk, sizeof(chunk), 0};
		size_t before = in.pos;

		k = ZSTD_decompressStream(d, &out, &in);
		if (ZSTD_isError(k) || (in.pos == before && !out.pos && k))
			r = err_set(-EIO, "'%s' is not a whole zstd file", path_zst);
		else if (ret->len + out.pos > (max ? max : READ_MAX))
			r = err_set(-EFBIG, "'%s' unpacks to more than %zu bytes", path_zst, max ? max : READ_MAX);
		else
			buf_add(ret, chunk, out.pos);
	}
	ZSTD_freeDStream(d);
	return r;
}
