/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * root.c - the root image: an uncompressed cpio of files of the host's Debian packages and our agent. Uncompressed,
 * since inflating costs a deterministic guest more instructions than the test itself. Debian's binaries go in as they
 * are; the libraries they need are those that the host's own loader names.
 */
#include "kernels/cpio.h"
#include "kernels/machine-internal.h"
#include "lib/fs.h"
#include "lib/proc.h"

#include <sys/stat.h>
#include <time.h>

struct image_item {
	char *path;                     /* in the image, no leading slash */
	char *from;                     /* host file, or NULL */
	char *link;                     /* target of a link, or NULL; a folder where both are NULL */
};
struct image {
	struct image_item *v;
	size_t n, cap;
};

static const char *const search_path[] = {"/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin",
					  "/sbin"};
static const struct { const char *path, *target; } fixed_links[] = {
	{"bin", "usr/bin"}, {"sbin", "usr/sbin"}, {"lib", "usr/lib"}, {"lib64", "usr/lib64"},
};
static const char *const fixed_dirs[] = {"dev", "etc", "job", "proc", "result", "root", "run", "sys", "tmp", "usr/bin",
					 "usr/sbin", "usr/lib", "usr/lib64"};
static const struct { const char *path, *text; } fixed_files[] = {
	{"etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"},
	{"etc/group", "root:x:0:\nnogroup:x:65534:\n"},
	{"etc/hosts", "127.0.0.1 localhost\n"},
};

void root_image_release(struct root_image *r)
{
	free(r->path);
	free(r->hash);
	free(r->files);
	*r = (struct root_image){0};
}

static void image_release(struct image *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].path);
		free(m->v[i].from);
		free(m->v[i].link);
	}
	free(m->v);
}

static bool image_has(const struct image *m, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (streq(m->v[i].path, path))
			return true;
	return false;
}

/* Adds an item once, its folders before it. */
static void image_add(struct image *m, const char *path, const char *from, const char *link)
{
	if (image_has(m, path))
		return;
	for (const char *s = path; (s = strchr(s, '/')); s++) {
		_cleanup_free_ char *dir = xstrndup(path, s - path);

		image_add(m, dir, NULL, NULL);
	}
	GROW(m->v, m->n, m->cap);
	m->v[m->n++] = (struct image_item){xstrdup(path), xstrdup(from), xstrdup(link)};
}

/* "/lib/x" and "/usr/lib/x" are one place: the image has Debian's merged /usr. */
static char *image_path(const char *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixed_links); i++) {
		size_t n = strlen(fixed_links[i].path);

		if (!strncmp(host + 1, fixed_links[i].path, n) && host[1 + n] == '/')
			return xasprintf("usr%s", host);
	}
	return xstrdup(host + 1);
}

/* A host file under its own path; through links, with the link's name leading to it. */
static int add_host_file(struct image *m, const char *host)
{
	_cleanup_free_ char *real = realpath(host, NULL), *at = NULL, *name = image_path(host), *target = NULL;

	if (!real)
		return err_set(-errno, "cannot find '%s': %s", host, strerror(errno));
	at = image_path(real);
	image_add(m, at, real, NULL);
	target = xasprintf("/%s", at);
	if (!streq(at, name))
		image_add(m, name, NULL, target);
	return 0;
}

/* Adds the libraries that ldd names: "name => /path (0x...)" or, for the loader, "/path (0x...)". */
static int add_libraries(struct image *m, const char *program)
{
	_cleanup_(proc_result_release) struct proc_result p = {0};
	struct proc_spec s = {.argv = ARGV("ldd", program), .env_clear = true, .timeout_s = 30};
	int r = proc_run(&s, &p);

	if (r < 0)
		return r;
	if (p.status) /* "not a dynamic executable": a static program or a script */
		return 0;
	for (char *save = NULL, *line = strtok_r(p.out.s, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *path = strstr(line, "=> "), *end;

		path = path ? path + 3 : line + strspn(line, "\t ");
		if (!strncmp(path, "not found", 9))
			return err_set(-ENOENT, "'%s' needs a library that is not there:%s", program, line);
		end = strstr(path, " (");
		if (*path != '/' || !end)
			continue;
		*end = 0;
		r = add_host_file(m, path);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_elf(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char magic[4] = {0};

	return f && fread(magic, 1, 4, f) == 4 && !memcmp(magic, "\177ELF", 4);
}

/* Debian's perf may be a wrapper script that picks perf_VERSION: then the newest of those. */
static char *versioned(const char *dir, const char *program)
{
	_cleanup_strv_ struct strv names = {0};
	_cleanup_free_ char *prefix = xasprintf("%s_", program);
	const char *best = NULL;

	if (fs_list(dir, &names) < 0)
		return NULL;
	for (size_t i = 0; i < names.n; i++)
		if (startswith(names.v[i], prefix) && (!best || strverscmp(names.v[i], best) > 0))
			best = names.v[i];
	return best ? xasprintf("%s/%s", dir, best) : NULL;
}

char *find_own(const char *name, const char *chosen)
{
	const char *data = fs_data_dir();
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash = n > 0 ? (exe[n] = 0, strrchr(exe, '/')) : NULL;
	_cleanup_free_ char *beside = slash ? xasprintf("%.*s/%s", (int)(slash - exe), exe, name) : NULL;
	_cleanup_free_ char *installed = xasprintf("%s/%s", data, name), *built = xasprintf("%s/build/%s", data, name);
	const char *const try[] = {chosen, beside, installed, built};

	for (size_t i = 0; i < ARRAY_SIZE(try); i++)
		if (try[i] && is_elf(try[i]))
			return xstrdup(try[i]);
	return NULL;
}

static char *find_agent(void)
{
	return find_own("agent", getenv("KPERFBOT_AGENT"));
}

/* A name that is looked for, "/path/of/one", or one of our own (kpb-NAME). */
static int add_program(struct image *m, const char *program)
{
	_cleanup_free_ char *own = startswith(program, "kpb-") ? find_own(program, NULL) : NULL;

	if (own) {
		_cleanup_free_ char *at = xasprintf("usr/bin/%s", program);

		image_add(m, at, own, NULL);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(search_path); i++) {
		_cleanup_free_ char *path =
			*program == '/' ? xstrdup(program) : xasprintf("%s/%s", search_path[i], program);
		_cleanup_free_ char *real = NULL, *name = NULL;
		int r;

		if (access(path, X_OK) < 0)
			continue;
		real = is_elf(path) || *program == '/' ? NULL : versioned(search_path[i], program);
		r = add_host_file(m, real ? real : path);
		if (r == 0 && real) {
			name = image_path(path);
			image_add(m, name, NULL, real);
		}
		return r < 0 ? r : add_libraries(m, real ? real : path);
	}
	return err_set(-ENOENT,
		       "the root image needs the program '%s': install its package ('kperfbot' lists them: make deps)",
		       program);
}

/* Links for busybox's commands, where no real program of that name is in. */
static int add_applets(struct image *m)
{
	_cleanup_buf_ struct buf out = {0};
	int r = proc_ok(ARGV("busybox", "--list-full"), NULL, &out);

	if (r < 0)
		return err_prefix(r, "the root image needs busybox (package busybox-static)");
	for (char *save = NULL, *s = strtok_r(out.s, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
		const char *base = strrchr(s, '/') ? strrchr(s, '/') + 1 : s;
		_cleanup_free_ char *bin = xasprintf("usr/bin/%s", base), *sbin = xasprintf("usr/sbin/%s", base);

		if (!image_has(m, bin) && !image_has(m, sbin))
			image_add(m, bin, NULL, "busybox");
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct image_item *)a)->path, ((const struct image_item *)b)->path);
}

static int collect_programs(const char *const *programs, struct image *m)
{
	_cleanup_free_ char *agent = find_agent(), *mark = find_own("kpb-mark", NULL);
	int r;

	if (!agent)
		return err_set(-ENOENT, "cannot find the guest agent beside the program or in '%s' (make builds it)",
			       fs_data_dir());
	for (size_t i = 0; i < ARRAY_SIZE(fixed_dirs); i++)
		image_add(m, fixed_dirs[i], NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(fixed_links); i++)
		image_add(m, fixed_links[i].path, NULL, fixed_links[i].target);
	image_add(m, "init", agent, NULL);
	if (mark)
		image_add(m, "usr/bin/kpb-mark", mark, NULL);
	r = add_program(m, "busybox");
	for (size_t i = 0; r == 0 && programs && programs[i]; i++)
		r = add_program(m, programs[i]);
	if (r == 0)
		r = add_applets(m);
	if (r == 0)
		qsort(m->v, m->n, sizeof(*m->v), by_path);
	return r;
}

static void list_file(const struct image_item *it, const struct buf *data, struct buf *files)
{
	char hash[SHA256_HEX];

	sha256_hex(buf_str(data), data->len, hash);
	buf_addf(files, "%s\t%.12s\n", it->path, hash);
}

static int pack(const struct image *m, struct cpio *c, struct buf *files)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct image_item *it = &m->v[i];
		_cleanup_buf_ struct buf data = {0};
		int r = 0;

		if (it->from) {
			r = fs_read(it->from, 0, &data);
			cpio_file(c, it->path, 0755, data.s, data.len);
			list_file(it, &data, files);
		} else if (it->link) {
			cpio_link(c, it->path, it->link);
		} else {
			cpio_dir(c, it->path);
		}
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fixed_files); i++)
		cpio_file(c, fixed_files[i].path, 0644, fixed_files[i].text, strlen(fixed_files[i].text));
	cpio_chardev(c, "dev/console", 0600, 5, 1);
	cpio_chardev(c, "dev/null", 0666, 1, 3);
	cpio_end(c);
	return 0;
}

/* ---- the cache ---- */

/* One line a host file: what must be unchanged for the stored image to be right. */
static int stamp_line(const char *path, struct buf *out)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	buf_addf(out, "%s %" PRId64 " %" PRId64 ".%09ld\n", path, (int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec,
		 st.st_mtim.tv_nsec);
	return 0;
}

/* The stamp's first line is the image's hash; true when all its files are as they were and the image exists. */
static bool stamp_valid(const char *dir, const char *stamp_path, const char *agent, struct root_image *ret)
{
	_cleanup_buf_ struct buf old = {0}, now = {0}, files = {0};
	_cleanup_free_ char *path = NULL, *copy = NULL, *agent_line = NULL, *list = NULL;
	char *save = NULL, *hash;

	if (fs_read(stamp_path, 1u << 20, &old) < 0)
		return false;
	copy = xstrdup(buf_str(&old));
	hash = strtok_r(copy, "\n", &save);
	if (!hash || strlen(hash) != SHA256_HEX - 1)
		return false;
	buf_addf(&now, "%s\n", hash);
	for (char *line; (line = strtok_r(NULL, "\n", &save));) {
		char *end = strchr(line, ' ');

		if (!end)
			return false;
		*end = 0;
		if (stamp_line(line, &now) < 0)
			return false;
	}
	agent_line = xasprintf("\n%s ", agent ? agent : "");
	path = xasprintf("%s/%s.cpio", dir, hash);
	if (strcmp(buf_str(&now), buf_str(&old)) || !strstr(buf_str(&now), agent_line) || fs_size(path) <= 0)
		return false;
	list = xasprintf("%s/%s.files", dir, hash);
	if (fs_read(list, 1u << 20, &files) < 0)
		return false;
	*ret = (struct root_image){.hash = xstrdup(hash), .bytes = fs_size(path), .cached = true,
				   .files = xstrdup(buf_str(&files))};
	ret->path = TAKE_PTR(path);
	return true;
}

static int build(const char *dir, const char *stamp_path, const char *const *programs, struct root_image *ret)
{
	_cleanup_(image_release) struct image m = {0};
	_cleanup_(buf_release) struct buf stamp = {0}, files = {0};
	_cleanup_free_ char *path = NULL, *list = NULL;
	char hash[SHA256_HEX];
	struct cpio c = {0};
	int r = collect_programs(programs, &m);

	if (r == 0)
		r = pack(&m, &c, &files);
	if (r == 0) {
		sha256_hex(c.b.s, c.b.len, hash);
		buf_addf(&stamp, "%s\n", hash);
		path = xasprintf("%s/%s.cpio", dir, hash);
		list = xasprintf("%s/%s.files", dir, hash);
		for (size_t i = 0; i < m.n; i++)
			if (m.v[i].from)
				(void)stamp_line(m.v[i].from, &stamp);
		r = fs_write_atomic(path, c.b.s, c.b.len);
	}
	if (r == 0)
		r = fs_write_atomic(list, buf_str(&files), files.len);
	if (r == 0)
		r = fs_write_atomic(stamp_path, stamp.s, stamp.len);
	if (r == 0) {
		*ret = (struct root_image){.hash = xstrdup(hash), .bytes = c.b.len, .files = xstrdup(buf_str(&files))};
		ret->path = TAKE_PTR(path);
	}
	buf_release(&c.b);
	return r;
}

int root_image_make(const char *cache_dir, const char *const *programs, struct root_image *ret)
{
	_cleanup_free_ char *dir = xasprintf("%s/root", cache_dir), *stamp_path = NULL, *agent = find_agent(),
			    *lock = NULL;
	_cleanup_strv_ struct strv sorted = {0};
	_cleanup_buf_ struct buf key = {0};
	_cleanup_close_ int fd = -1;
	usec_t start = mono_usec();
	char hash[SHA256_HEX];
	int r = fs_mkdir_p(dir);

	if (r < 0)
		return r;
	if (programs)
		strv_addv(&sorted, programs);
	strv_sort_uniq(&sorted);
	for (size_t i = 0; i < sorted.n; i++)
		buf_addf(&key, "%s\n", sorted.v[i]);
	sha256_hex(key.s, key.len, hash);
	stamp_path = xasprintf("%s/%.16s.stamp", dir, hash);
	lock = xasprintf("%s/lock", dir);
	fd = fs_lock(lock, true); /* two workers that want the same image build it once */
	if (fd < 0)
		return fd;
	if (!stamp_valid(dir, stamp_path, agent, ret))
		r = build(dir, stamp_path, (const char *const *)sorted.v, ret);
	if (r == 0)
		ret->seconds = (mono_usec() - start) / 1e6;
	return r;
}

void host_program_files(const char *const *programs, struct buf *ret)
{
	for (size_t i = 0; programs && programs[i]; i++) {
		_cleanup_free_ char *own = startswith(programs[i], "kpb-") ? find_own(programs[i], NULL) : NULL;

		for (size_t k = 0; k < ARRAY_SIZE(search_path); k++) {
			const char *whole = own ? own : *programs[i] == '/' ? programs[i] : NULL;
			_cleanup_free_ char *path = whole ? xstrdup(whole)
							  : xasprintf("%s/%s", search_path[k], programs[i]);
			struct stat st;
			struct tm tm;
			char date[32];

			if (stat(path, &st) < 0 || !gmtime_r(&st.st_mtime, &tm))
				continue;
			strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
			buf_addf(ret, "%s\t%" PRId64 " bytes of %s\n", path, (int64_t)st.st_size, date);
			break;
		}
	}
}
