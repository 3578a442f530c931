/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernels/cpio.h"

#include <sys/stat.h>

static void pad(struct buf *b, size_t to)
{
	static const char zero[512];

	buf_add(b, zero, (to - b->len % to) % to);
}

static void entry(struct cpio *c, const char *path, unsigned mode, const void *data, size_t n, unsigned major,
		  unsigned minor)
{
	buf_addf(&c->b, "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x", c->ino++, mode, 0, 0,
		 S_ISDIR(mode) ? 2 : 1, 0, n, 0, 0, major, minor, strlen(path) + 1, 0);
	buf_add(&c->b, path, strlen(path) + 1);
	pad(&c->b, 4);
	buf_add(&c->b, data, n);
	pad(&c->b, 4);
}

void cpio_dir(struct cpio *c, const char *path) { entry(c, path, S_IFDIR | 0755, NULL, 0, 0, 0); }

void cpio_file(struct cpio *c, const char *path, unsigned mode, const void *data, size_t n)
{
	entry(c, path, S_IFREG | mode, data, n, 0, 0);
}

void cpio_link(struct cpio *c, const char *path, const char *target)
{
	entry(c, path, S_IFLNK | 0777, target, strlen(target), 0, 0);
}

void cpio_chardev(struct cpio *c, const char *path, unsigned mode, unsigned major, unsigned minor)
{
	entry(c, path, S_IFCHR | mode, NULL, 0, major, minor);
}

void cpio_end(struct cpio *c)
{
	entry(c, "TRAILER!!!", 0, NULL, 0, 0, 0);
	pad(&c->b, 512);
}
