/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What boxes write. A folder of theirs lies in a folder of ours, so its own name cannot be swapped; below it nothing
 * has a meaning to the host. tar reads there, in a box that can read only that; libarchive takes its stream on the
 * outside, and what that says is written by descriptors into a fresh folder of ours.
 */
#include "kernels/box-internal.h"
#include "lib/fs.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#define HERE BOX "/folder"
#define MAX_FILE (2ll << 30)
#define MAX_BYTES (4ll << 30)
#define MAX_FILES 100000
#define MAX_DEPTH 64
#define DU_S 10.0               /* nobody looks at other limits meanwhile */
#define EXPORT_S 600.0
#define LEADS_OUT 100           /* exit status of the script: file 0, 101: file 1 ... */

int box_folder_make(const char *path)
{
	struct proc_ids ids;
	int r = fs_mkdir_parent(path);

	if (r == 0)
		r = box_folder_remove(path);
	if (r == 0 && mkdir(path, 0755) < 0)
		r = err_set(-errno, "cannot make folder '%s': %s", path, strerror(errno));
	if (r < 0 || box_mode() == BOX_NONE)
		return r;
	r = box_ids(&ids);
	if (r == 0 && geteuid() == 0 && lchown(path, ids.uid, ids.gid) < 0)
		r = err_set(-errno, "cannot give folder '%s' away: %s", path, strerror(errno));
	else if (r == 0 && geteuid())
		r = box_as_owner(ARGV("chown", BOX_ID ":" BOX_ID, path), NULL);
	return r;
}

int box_folder_remove(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_set(-errno, "cannot look at '%s': %s", path, strerror(errno));
	if (fs_rm_rf(path) == 0)
		return 0;
	/* too deep for us, or not ours to remove: rm has no such bounds, and modes do not stop the owner of all */
	return box_as_owner(ARGV("rm", "-rf", "--one-file-system", "--", path), NULL);
}

/* du ends with 1 where files went away while it counted: its number is as good as any. */
static int count_with(const char *how, const char *path, int64_t *ret)
{
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_free_ char *line = NULL;
	char *end;
	int e = box_run_as_owner(ARGV("du", "-sx", how, "--", path), DU_S, &r);

	if (e < 0)
		return e;
	line = last_line(buf_str(&r.out));
	*ret = strtoll(line, &end, 10);
	return end == line ? err_set(-EIO, "'%s' cannot be counted", path) : 0;
}

int box_folder_usage(const char *path, int64_t *ret_bytes, int64_t *ret_files)
{
	static const char *const how[] = {"--block-size=1", "--inodes"};
	int64_t n[2] = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(how); i++)
		r = count_with(how[i], path, &n[i]);
	if (r < 0)
		return r;
	*ret_bytes = n[0];
	*ret_files = n[1];
	return 0;
}

/* ---- taking out ---- */

struct taking {
	const struct box_export *x;
	int fd, dir;            /* the pipe; to_dir */
	usec_t deadline;
	int64_t bytes, files;
	bool *seen;             /* which of the files came */
	char chunk[65536];
	char *why;              /* the box's fault, as words behind the name */
};

static la_ssize_t more(struct archive *a, void *arg, const void **ret)
{
	struct taking *t = arg;

	for (;;) {
		struct pollfd p = {t->fd, POLLIN, 0};
		ssize_t n = read(t->fd, t->chunk, sizeof(t->chunk));

		if (n >= 0) {
			*ret = t->chunk;
			return n;
		}
		if (errno != EAGAIN && errno != EINTR) {
			archive_set_error(a, errno, "%s", strerror(errno));
			return -1;
		}
		if ((t->x->cancel && *t->x->cancel) || mono_usec() > t->deadline) {
			archive_set_error(a, ETIMEDOUT, "it took too long");
			return -1;
		}
		poll(&p, 1, 100);
	}
}

/* The box's fault: words that follow the name. */
static int blame(struct taking *t, const char *name, const char *fmt, ...) _printf_(3, 4);
static int blame(struct taking *t, const char *name, const char *fmt, ...)
{
	_cleanup_free_ char *safe = term_safe(startswith(name, "./") ? name + 2 : name), *cut = xstrndup(safe, 120),
			    *words = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&words, fmt, ap) < 0)
		abort();
	va_end(ap);
	free(t->why);
	t->why = xasprintf("'%s' %s", cut, words);
	return -EBADMSG;
}

/* A path that stays below where it starts: no "..", no empty or too many parts. */
static bool path_plain(const char *p)
{
	int depth = 0;

	if (!*p || *p == '/')
		return false;
	for (const char *s = p; *s; depth++) {
		size_t n = strcspn(s, "/");

		if (!n || n > NAME_MAX || (n <= 2 && !strncmp(s, "..", n)))
			return false;
		s += n + (s[n] == '/');
	}
	return depth <= MAX_DEPTH;
}

/*
 * Does a link in the folder 'depth' below the top stay below the top, by its words alone? ".." counts only before any
 * name: a name may be a link itself, and then ".." behind it leads from wherever that leads. Folders on the way to the
 * link are real ones (open_parent()), so by induction no chain of such links leaves the top.
 */
static bool link_stays(const char *target, int depth)
{
	bool down = false;

	if (!*target || *target == '/')
		return false;
	for (const char *s = target; *s;) {
		size_t n = strcspn(s, "/");

		if (n == 2 && !strncmp(s, "..", 2)) {
			if (down || --depth < 0)
				return false;
		} else if (n && !(n == 1 && *s == '.')) {
			down = true;
		}
		s += n + (s[n] == '/');
	}
	return true;
}

/* Where an entry goes: NULL for what nobody asked for. "./" before it comes from tar. */
static char *name_outside(struct taking *t, const char *path)
{
	while (startswith(path, "./"))
		path += 2;
	if (t->x->all)
		return xstrdup(path);
	for (size_t i = 0; i < t->x->n; i++) {
		const struct box_file *f = &t->x->file[i];
		size_t n = strlen(f->from);

		if (strncmp(path, f->from, n) || (path[n] && path[n] != '/'))
			continue;
		t->seen[i] = true;
		return xasprintf("%s%s", f->name, path + n);
	}
	return NULL;
}

/* The folder of the last part, opened part by part without following anything; made where it is not there. */
static int open_parent(int top, char *path, const char **ret_last)
{
	int fd = dup(top);

	for (char *slash; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		int next;

		*slash = 0;
		if (mkdirat(fd, path, 0755) < 0 && errno != EEXIST) {
			close(fd);
			return -errno;
		}
		next = openat(fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	*ret_last = path;
	return fd < 0 ? -errno : fd;
}

static int take_data(struct archive *a, int fd, int64_t size, const char *name)
{
	const void *p;
	size_t n;
	la_int64_t at;
	int r;

	while ((r = archive_read_data_block(a, &p, &n, &at)) == ARCHIVE_OK) {
		if (at < 0 || at + (int64_t)n > size)
			return err_set(-EIO, "cannot take '%s' out of a box: it says %" PRId64 " bytes and is longer",
				       name, size);
		for (size_t off = 0; off < n;) {
			ssize_t k = pwrite(fd, (const char *)p + off, n - off, at + off);

			if (k < 0 && errno != EINTR)
				return err_set(-errno, "cannot write '%s': %s", name, strerror(errno));
			off += MAX(k, 0);
		}
	}
	return r == ARCHIVE_EOF ? 0 : err_set(-EIO, "cannot take '%s' out of a box: %s", name, archive_error_string(a));
}

static int take_file(struct taking *t, struct archive *a, struct archive_entry *e, int parent, const char *last)
{
	const char *name = archive_entry_pathname(e);
	int64_t size = archive_entry_size(e), max = t->x->max_file ? t->x->max_file : MAX_FILE,
		all = t->x->max_bytes ? t->x->max_bytes : MAX_BYTES;
	mode_t mode = archive_entry_perm(e) & 0100 ? 0755 : 0644;
	_cleanup_close_ int fd = -1;
	int r;

	if (size < 0 || size > max)
		return blame(t, name, "is larger than %" PRId64 " MiB", max >> 20);
	if (t->bytes + size > all)
		return blame(t, name, "and what came before are larger than %" PRId64 " MiB together", all >> 20);
	t->bytes += size;
	fd = openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(-errno, "cannot make '%s': %s", name, strerror(errno));
	r = take_data(a, fd, size, name);
	if (r == 0 && fchmod(fd, mode) < 0)
		r = err_set(-errno, "cannot set the mode of '%s': %s", name, strerror(errno));
	return r;
}

static int depth_of(const char *name)
{
	int n = 0;

	for (; *name; name++)
		n += *name == '/';
	return n;
}

static int take_entry(struct taking *t, struct archive *a, struct archive_entry *e)
{
	const char *path = archive_entry_pathname(e), *last = NULL, *link = archive_entry_symlink(e);
	_cleanup_free_ char *name = path ? name_outside(t, path) : NULL, *copy = NULL;
	_cleanup_close_ int parent = -1;
	mode_t type = archive_entry_filetype(e);
	size_t n = name ? strlen(name) : 0;

	while (n && name[n - 1] == '/')
		name[--n] = 0;
	if (!n)
		return 0;
	if (++t->files > (t->x->max_files ? t->x->max_files : MAX_FILES))
		return blame(t, path, "is one file too many");
	if (t->x->all && (type != AE_IFREG || archive_entry_hardlink(e) || strchr(name, '/')))
		return 0;
	if (!path_plain(name))
		return t->x->all ? 0 : blame(t, path, "has a name that is not taken");
	if (archive_entry_hardlink(e) ||
	    !(type == AE_IFREG || (t->x->folders_too && (type == AE_IFDIR || type == AE_IFLNK))))
		return blame(t, path, t->x->folders_too ? "is neither a file nor a folder" : "is no file");
	if (type == AE_IFLNK && (!link || !link_stays(link, depth_of(name)) || strlen(link) >= PATH_MAX))
		return blame(t, path, "leads out of the build's folder");
	copy = xstrdup(name);
	parent = open_parent(t->dir, copy, &last);
	if (parent < 0)
		return err_set(parent, "cannot make the folder of '%s': %s", name, strerror(-parent));
	if (type == AE_IFREG)
		return take_file(t, a, e, parent, last);
	if ((type == AE_IFDIR ? mkdirat(parent, last, 0755) : symlinkat(link, parent, last)) < 0 &&
	    !(type == AE_IFDIR && errno == EEXIST))
		return err_set(-errno, "cannot make '%s': %s", name, strerror(errno));
	return 0;
}

static int take_all(void *arg, int fd)
{
	struct taking *t = arg;
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	int r = 0, s;

	t->fd = fd;
	archive_read_support_format_tar(a);
	archive_read_support_format_empty(a);
	if (archive_read_open(a, t, NULL, more, NULL) != ARCHIVE_OK)
		r = err_set(-EIO, "cannot read from a box: %s", archive_error_string(a));
	while (r == 0 && (s = archive_read_next_header(a, &e)) != ARCHIVE_EOF) {
		if (s < ARCHIVE_WARN)
			r = t->x->cancel && *t->x->cancel
				    ? err_set(-ECANCELED, "stopped while files were taken out of a box")
				    : err_set(-EIO, "cannot read from a box: %s", archive_error_string(a));
		else
			r = take_entry(t, a, e);
	}
	archive_read_free(a);
	return r == -EBADMSG ? err_set(r, "%s", t->why) : r;
}

/* The words for tar: a file that is a link is followed (inside the box, where it can lead to nothing secret), a
 * folder's links are taken as they are. */
static void export_script(const struct box_export *x, struct buf *s)
{
	static const char tar[] =
		"tar --format=gnu --hard-dereference --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 ";

	buf_adds(s, "exec 2>/dev/null; cd " HERE " || exit 1\n");
	if (x->all) {
		buf_addf(s, "%s-cf - .", tar);
		return;
	}
	buf_adds(s, "h=-h; set --");
	for (size_t i = 0; i < x->n; i++) {
		_cleanup_free_ char *p = xasprintf("./%s", x->file[i].from);

		buf_addc(s, ' ');
		buf_add_shell(s, p);
	}
	buf_addf(s, "\n[ -L \"$1\" ] || [ ! -d \"$1\" ] || h=\n"
		    "here=$(realpath .) i=%d; for f; do\n"
		    "	if [ -e \"$f\" ]; then case $(realpath \"$f\") in \"$here\"/*) ;; *) exit $i ;; esac; fi\n"
		    "	i=$((i + 1))\ndone\n"
		    "exec %s$h -cf - -- \"$@\"", LEADS_OUT, tar);
}

int box_export(const struct box_export *x, char **ret_why)
{
	struct box_result res = {0};
	_cleanup_buf_ struct buf script = {0};
	_cleanup_free_ bool *seen = xcalloc(x->n + 1, sizeof(*seen));
	_cleanup_free_ char *why = NULL;
	struct box_mount m = {x->folder, HERE, false};
	struct box b = {.mount = &m, .n_mounts = 1, .what = "taking files out of a box", .take = take_all,
			.limits = {.seconds = EXPORT_S}, .cancel = x->cancel};
	struct taking t = {.x = x, .dir = -1, .seen = seen, .deadline = mono_usec() + (usec_t)(EXPORT_S * 1e6)};
	int r = fs_mkdir_p(x->to_dir);

	if (r == 0 && (t.dir = open(x->to_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		r = err_set(-errno, "cannot open folder '%s': %s", x->to_dir, strerror(errno));
	export_script(x, &script);
	b.script = script.s;
	b.take_arg = &t;
	if (r == 0)
		r = box_run(&b, &res);
	for (size_t i = 0; r == 0 && !x->all && i < x->n; i++)
		if (res.status == LEADS_OUT + (int)i)
			r = blame(&t, x->file[i].from, "leads out of the build's folder");
		else if (!seen[i] && res.status < LEADS_OUT)
			r = blame(&t, x->file[i].from, "was not made");
	if (t.dir >= 0)
		close(t.dir);
	if (r < 0) {
		why = xstrdup(t.why ? t.why : err_msg());
		(void)fs_rm_rf(x->to_dir);
		err_set(r, "%s", why);
	}
	if (r == -EBADMSG)
		*ret_why = TAKE_PTR(why);
	free(t.why);
	return r;
}
