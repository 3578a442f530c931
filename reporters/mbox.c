/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mbox.c - appends reports to a file in mboxrd form ("From " lines get a '>'), under a lock.
 *
 * Row: 'sending' with "offset N" before the first byte, 'sent' after the last is on disk. A run that finds 'sending'
 * looks under the lock what is there: the whole message (done), a torn one at the file's end (cut off, appended anew),
 * a torn one that others have appended behind (blanked, so that nothing of theirs moves), or nothing.
 */
#include "reporters/reporter.h"
#include "reporters/mail.h"
#include "lib/fs.h"
#include <fcntl.h>
#include <sys/stat.h>

#define LOCK_SECONDS 5

struct mbox_settings { char *path; };
static const struct setting settings[] = {
	SETTING(mbox_settings, path, "mbox", "every report goes there", .otherwise = "STATE_DIR/reports.mbox"),
	SETTING_END,
};

static void format(const struct db_report *rep, struct buf *out)
{
	buf_adds(out, "From kperfbot ");
	mail_ctime(out, rep->created);
	buf_addc(out, '\n');
	for (const char *s = rep->text, *nl; *s; s = nl + (*nl != 0)) {
		nl = s + strcspn(s, "\n");
		if (startswith(s + strspn(s, ">"), "From "))
			buf_addc(out, '>');
		buf_add(out, s, nl - s);
		buf_addc(out, '\n');
	}
	buf_addc(out, '\n');
}

/* fcntl's lock is what mail programs use; open-file-description locks conflict with theirs and do not vanish when
 * another part of the process closes the file. A dot lock of another program is respected too. */
static int lock(const char *path, int fd)
{
	_cleanup_free_ char *dot = xasprintf("%s.lock", path);
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	for (int i = 0; i < LOCK_SECONDS * 20; i++) {
		if (!fs_exists(dot) && fcntl(fd, F_OFD_SETLK, &l) == 0)
			return 0;
		if (!fs_exists(dot) && errno != EAGAIN && errno != EACCES && errno != EINTR)
			return err_set(-errno, "cannot lock '%s': %s", path, strerror(errno));
		usleep(50000);
	}
	return err_set(-EAGAIN, "'%s' is locked by another program%s", path,
		       fs_exists(dot) ? " ('.lock' file beside it)" : "");
}

static int open_locked(const char *path)
{
	_cleanup_close_ int fd = -1;
	int r = fs_mkdir_parent(path);

	if (r < 0)
		return r;
	fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	if (fd < 0)
		return err_set(-errno, "cannot open the mbox '%s': %s", path, strerror(errno));
	r = lock(path, fd);
	if (r < 0)
		return r;
	r = fd;
	fd = -1;
	return r;
}

/* Up to n bytes at offset; fewer at the file's end. */
static int read_at(int fd, int64_t offset, size_t n, struct buf *ret)
{
	_cleanup_free_ char *p = xmalloc(n + 1);

	while (n) {
		ssize_t k = pread(fd, p, n, offset);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return err_set(-errno, "cannot read the mbox: %s", strerror(errno));
		if (k == 0)
			break;
		buf_add(ret, p, k);
		offset += k;
		n -= k;
	}
	return 0;
}

static int64_t file_size(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? err_set(-errno, "cannot look at the mbox: %s", strerror(errno))
				  : (int64_t)st.st_size;
}

/* 1 when the whole message is anywhere in the file. */
static int find_whole(int fd, const struct buf *msg)
{
	size_t chunk = MAX((size_t)1 << 20, 2 * msg->len);
	int64_t size = file_size(fd);

	for (int64_t at = 0; size > 0 && at < size; at += chunk - msg->len) {
		_cleanup_buf_ struct buf b = {0};
		int r = read_at(fd, at, chunk, &b);

		if (r < 0)
			return r;
		if (memmem(buf_str(&b), b.len, msg->s, msg->len))
			return 1;
	}
	return size < 0 ? (int)size : 0;
}

/* Overwrites a torn copy by newlines: they belong to the end of the message before, and nothing that others wrote
 * behind it moves. Written through a descriptor without O_APPEND, which would ignore the place. */
static int blank(const char *path, int64_t offset, size_t n)
{
	_cleanup_free_ char *nl = xmalloc(n);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	memset(nl, '\n', n);
	if (fd < 0 || pwrite(fd, nl, n, offset) != (ssize_t)n || fdatasync(fd) < 0)
		return err_set(-EIO, "cannot blank a torn mail in '%s': %s", path, strerror(errno));
	return 0;
}

/* Length of our torn copy in front of somebody else's mail: the first k bytes of tail are ours, theirs begins
 * by "From " there or (where ours happens to go on alike) up to six bytes earlier. 0: all of it is theirs, however much
 * the first lines of two mails may look alike. */
static size_t torn_length(const struct buf *tail, size_t k)
{
	for (size_t i = k; i > 0 && i + 6 > k; i--)
		if (startswith(tail->s + i, "From ") || startswith(tail->s + i, "\nFrom "))
			return i;
	return 0;
}

/* What an interrupted append left at offset. 1: the whole message is there; 0: nothing, or ret_torn bytes to be
 * blanked. */
static int recover(int fd, const char *path, const struct buf *msg, int64_t offset, size_t *ret_torn)
{
	_cleanup_buf_ struct buf tail = {0};
	int64_t size = file_size(fd);
	size_t k = 0;
	int r;

	if (size < 0)
		return (int)size;
	if (offset < 0 || offset >= size)
		return find_whole(fd, msg);
	r = read_at(fd, offset, msg->len + 8, &tail);
	if (r < 0)
		return r;
	while (k < tail.len && k < msg->len && tail.s[k] == msg->s[k])
		k++;
	if (k == msg->len)
		return 1;
	if (k == tail.len && offset + (int64_t)k == size) {
		/* the file ends with the torn copy: all of it is ours */
		if (ftruncate(fd, offset) < 0)
			return err_set(-errno, "cannot cut a torn mail off '%s': %s", path, strerror(errno));
		return 0;
	}
	r = find_whole(fd, msg);
	if (r == 0)
		*ret_torn = torn_length(&tail, k);
	return r;
}

/* Ends what an earlier delivery began, by its row's detail. 1: the message is in the file. */
static int go_on(struct store *s, struct db_delivery *d, int fd, const char *path, const struct buf *msg,
		 const char *detail)
{
	int64_t offset = -1;
	size_t torn = 0;
	int r = 0;

	if (sscanf(detail ? detail : "", "blanking %" SCNd64 " %zu", &offset, &torn) != 2) {
		torn = 0;
		(void)sscanf(detail ? detail : "", "offset %" SCNd64, &offset);
		r = recover(fd, path, msg, offset, &torn);
		if (r || !torn)
			return r;
		r = delivery_set(s, d, DELIVERY_SENDING, "blanking %" PRId64 " %zu", offset, torn);
	}
	if (r == 0 && offset >= 0 && torn <= msg->len && offset + (int64_t)torn <= file_size(fd))
		r = blank(path, offset, torn);
	return r;
}

static int append(int fd, const struct buf *msg, int64_t offset)
{
	size_t done = 0;

	while (done < msg->len) {
		ssize_t k = write(fd, msg->s + done, msg->len - done);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0) {
			int e = errno;

			/* disk full: leave no half of a mail behind, unless somebody is behind it already; recover()
			 * sees to the rest */
			if (file_size(fd) == offset + (int64_t)done && ftruncate(fd, offset) < 0)
				return err_set(-e, "cannot append to the mbox: %s; a torn mail is left", strerror(e));
			return err_set(-e, "cannot append to the mbox: %s", strerror(e));
		}
		done += k;
	}
	return fsync(fd) < 0 ? err_set(-errno, "cannot sync the mbox: %s", strerror(errno)) : 0;
}

/* Newlines that the last mail lacks: a "From " line must follow an empty one. */
static int pad(int fd, int64_t size, struct buf *msg)
{
	_cleanup_buf_ struct buf end = {0};
	int64_t from = MAX(size - 2, 0);
	int r = read_at(fd, from, size - from, &end);

	if (r == 0 && end.len && end.s[end.len - 1] != '\n')
		buf_adds(msg, "\n\n");
	else if (r == 0 && end.len == 2 && end.s[0] != '\n')
		buf_addc(msg, '\n');
	return r;
}

static int write_new(struct store *s, struct db_delivery *d, int fd, const struct buf *msg)
{
	_cleanup_buf_ struct buf padded = {0};
	int64_t size = file_size(fd);
	int r = size < 0 ? (int)size : pad(fd, size, &padded);

	if (r < 0)
		return r;
	/* the padding harms nobody: it goes before the offset that is remembered */
	if (padded.len)
		r = append(fd, &padded, size);
	if (r == 0)
		r = delivery_set(s, d, DELIVERY_SENDING, "offset %" PRId64, size + (int64_t)padded.len);
	return r < 0 ? r : append(fd, msg, size + padded.len);
}

static int put(struct store *s, const struct db_report *rep, struct db_delivery *d,
	       const struct report_config *cfg _unused_, const void *own)
{
	const struct mbox_settings *set = own;
	_cleanup_(db_delivery_release) struct db_delivery now = {0};
	_cleanup_buf_ struct buf msg = {0};
	_cleanup_close_ int fd = open_locked(set->path);
	int r, found = 0;

	/* a row that says 'sending' stays: it knows where a torn copy may be */
	if (fd < 0)
		return d->state == DELIVERY_SENDING ? -EAGAIN : delivery_later(s, d, "%s", err_msg());
	format(rep, &msg);
	/* another process may have sent it while we waited for the lock */
	r = store_delivery_get(s, rep->id, "mbox", NULL, &now);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0 && now.state == DELIVERY_SENT)
		return 0;
	if (r == 0 && now.state == DELIVERY_SENDING)
		found = go_on(s, d, fd, set->path, &msg, now.detail);
	if (found < 0)
		return found;
	r = found ? 0 : write_new(s, d, fd, &msg);
	if (r < 0)
		return r == -ENOSPC || r == -EDQUOT ? -EAGAIN : r;
	return delivery_set(s, d, DELIVERY_SENT, "%s", set->path);
}

static bool enabled(const void *own) { return ((const struct mbox_settings *)own)->path; }

static void complete(void *own, const char *state_dir)
{
	struct mbox_settings *set = own;

	if (!set->path && state_dir)
		set->path = xasprintf("%s/reports.mbox", state_dir);
}

const struct report_ops report_mbox = {
	.name = "mbox",
	.help = "send: into the mbox file (the default)",
	.title = "the mbox",
	.where = "mbox",
	.reach = REPORT_COPY,
	.files = (const char *const[]){"*.mbox", "*.mbox.lock", NULL},
	.settings = settings,
	.size = sizeof(struct mbox_settings),
	.section = "mail",
	.complete = complete,
	.enabled = enabled,
	.put = put,
};
