/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fs.h - files and folders. All paths are plain strings; results are freed by the caller. Messages name the path.
 */
#ifndef KPB_LIB_FS_H
#define KPB_LIB_FS_H
#include "lib/buf.h"

int fs_mkdir_p(const char *path);
/* A folder that only we can look into, mode 0700; what is in it keeps the modes that it is made with. One of ours that
 * is there already is tightened if it holds nothing but names that match the globs in own (NULL-terminated); where it
 * is left open to others 1 is returned. One of another user is left as it is: 0. */
int fs_mkdir_private(const char *path, const char *const *own);
/* A file that only we can read, mode 0600, made empty where there is none. One that is there is not opened: to close it
 * again would drop the locks that SQLite has on it in this process. */
int fs_make_private(const char *path);
/* The folder that the file will live in. */
int fs_mkdir_parent(const char *path);
bool fs_exists(const char *path);
bool fs_is_dir(const char *path);
int64_t fs_size(const char *path);      /* -errno when it cannot be told */
/* Whole file; at most max bytes (0: 256 MiB), -EFBIG above. */
int fs_read(const char *path, size_t max, struct buf *ret);
/* Written beside, synced and renamed over: after a crash there is the old file or the new one, never half of one. */
int fs_write_atomic(const char *path, const void *data, size_t n);
int fs_append(const char *path, const void *data, size_t n);  /* appends and syncs */
int fs_rm_rf(const char *path);         /* 0 where it does not exist; follows no link; -ELOOP below 400 levels */
int fs_copy(const char *from, const char *to);      /* one regular file, mode kept; atomic */
/* Names in a folder, sorted, without . and .. */
int fs_list(const char *dir, struct strv *ret);
/* Free bytes for us on the file system of path. */
int64_t fs_free_bytes(const char *path);
/* All bytes of that file system; -errno when it cannot be told. */
int64_t fs_total_bytes(const char *path);
/* An exclusive lock on path (created): fd to keep open, or -EWOULDBLOCK where another process has it. */
int fs_lock(const char *path, bool wait);
/* A word for a file or folder, which need not be there: its name without suffix, letters, digits and -_. only, at most
 * 40 of them. For a file "series" it is the folder's. New string. */
char *fs_word(const char *path);
/* "XDG_CACHE_HOME/kperfbot" or "~/.cache/kperfbot"; KPERFBOT_CACHE overrides. A new string in *ret, or -ENXIO where the
 * environment names no folder: there is no place that all users share to fall back on. */
int fs_cache_dir(char **ret);
/* The same with KPERFBOT_STATE, or /var/lib/kperfbot for root, else XDG_STATE_HOME/kperfbot or
 * ~/.local/state/kperfbot. */
int fs_state_dir(char **ret);
/* Where our data files (jobs, kernels/configs, schema) are: KPERFBOT_DATA, else the source tree when the program runs
 * out of it, else PREFIX/share/kperfbot. Not to be freed. */
const char *fs_data_dir(void);

/* SHA-256 as 64 lower-case hex digits + NUL. */
#define SHA256_HEX 65
void sha256_hex(const void *data, size_t n, char out[SHA256_HEX]);
int sha256_file(const char *path, char out[SHA256_HEX]);
/* Compresses a file into path.zst (zstd level 6) and removes the original; the text form packs memory. */
int zstd_pack_file(const char *path);
int zstd_write(const char *path_zst, const void *data, size_t n);
int zstd_read(const char *path_zst, size_t max, struct buf *ret);

#endif
