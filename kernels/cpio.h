/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpio.h - writes newc archives for the kernel's initramfs
 * (Documentation/driver-api/early-userspace/buffer-format.rst):
 * inode numbers in order, owner root, time 0, so that equal content gives equal bytes. Folders must come before what is
 * in them. Paths have no leading slash. Archives may follow each other: each ends on a 512-byte border.
 */
#ifndef KPB_KERNELS_CPIO_H
#define KPB_KERNELS_CPIO_H
#include "lib/buf.h"

struct cpio { struct buf b; uint32_t ino; };
void cpio_dir(struct cpio *c, const char *path);
void cpio_file(struct cpio *c, const char *path, unsigned mode, const void *data, size_t n);
void cpio_link(struct cpio *c, const char *path, const char *target);
void cpio_chardev(struct cpio *c, const char *path, unsigned mode, unsigned major, unsigned minor);
void cpio_end(struct cpio *c);

#endif
