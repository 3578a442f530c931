/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and folders: what is left after a failure, links that lead elsewhere, limits, locks between processes. */
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char top[] = "/tmp/kpb-fs-XXXXXX";

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static void put(const char *path, const char *text) { fs_write_atomic(path, text, strlen(text)); }

static bool holds(const char *path, const char *text)
{
	_cleanup_buf_ struct buf b = {0};

	return fs_read(path, 0, &b) == 0 && streq(buf_str(&b), text);
}

static void test_folders(void)
{
	_cleanup_strv_ struct strv names = {0};

	is_int(fs_mkdir_p("a//b/./c"), 0, "a folder and those above");
	is_int(fs_mkdir_p("a/b/c"), 0, "again");
	is_int(fs_mkdir_parent("a/x/y/file"), 0, "the folder of a file");
	ok(fs_is_dir("a/b/c") && fs_is_dir("a/x/y") && !fs_exists("a/x/y/file"), "are there");
	put("a/file", "x");
	ok(fs_mkdir_p("a/file/b") < 0, "%s", err_msg());
	ok(fs_exists("a/file") && !fs_is_dir("a/file") && !fs_exists("a/none"), "what is there");
	put("a/.hidden", "");
	put("a/-rf", "");
	is_int(fs_list("a", &names), 0, "a list");
	ok(names.n == 5 && streq(names.v[0], "-rf") && streq(names.v[1], ".hidden") && streq(names.v[4], "x"),
	   "sorted, all of it");
	ok(fs_list("none", &names) < 0, "%s", err_msg());
}

static void test_reading(void)
{
	_cleanup_buf_ struct buf b = {0};

	put("ten", "0123456789");
	is_int(fs_read("ten", 10, &b), 0, "as much as is allowed");
	buf_clear(&b);
	is_int(fs_read("ten", 9, &b), -EFBIG, "%s", err_msg());
	is_int(fs_size("ten"), 10, "its size");
	is_int(fs_size("none"), -ENOENT, "none");
	is_int(fs_read("none", 0, &b), -ENOENT, "%s", err_msg());
	ok(fs_read("a", 0, &b) < 0, "%s", err_msg());
	buf_clear(&b);
	is_int(fs_read("/proc/self/stat", 0, &b), 0, "a file whose size is not known before");
	ok(b.len > 20, "is read to its end");
}

/* A reader sees the old file or the new one, while a writer is killed at any moment. */
static void test_atomic(void)
{
	enum { SIZE = 1 << 20 };
	_cleanup_free_ char *text = xmalloc(SIZE + 1);
	bool whole = true;

	memset(text, 'a', SIZE);
	text[SIZE] = 0;
	put("big", text);
	for (int i = 0; i < 15; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			memset(text, 'b' + i, SIZE);
			for (;;)
				fs_write_atomic("big", text, SIZE);
		}
		usleep(1000 + rand() % 9000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		{
			_cleanup_buf_ struct buf b = {0};

			whole = whole && fs_read("big", 0, &b) == 0 && b.len == SIZE &&
				strspn(b.s, (const char[]){b.s[0], 0}) == SIZE;
		}
	}
	ok(whole, "after each kill one whole file");
	ok(fs_write_atomic("none/file", "x", 1) < 0 && fs_write_atomic("a", "x", 1) < 0 && fs_is_dir("a"), "%s",
	   err_msg());
	put("real", "old");
	chmod("real", 0640);
	is_int(fs_copy("real", "copy"), 0, "a copy");
	ok(holds("copy", "old") && mode_of("copy") == 0640, "with its mode");
	ok(fs_copy("a", "copy") < 0 && holds("copy", "old"), "of a folder there is none: %s", err_msg());
}

static void test_removing(void)
{
	_cleanup_free_ char *name = xasprintf("%0200d", 1);
	int depth = 0, fd;

	is_int(fs_rm_rf("none"), 0, "what is not there");
	fs_mkdir_p("gone/sub");
	fs_mkdir_p("kept");
	put("kept/file", "x");
	put("gone/sub/file", "x");
	ok(symlink("../kept", "gone/link") == 0 && symlink("../../kept/file", "gone/sub/link") == 0 &&
		   symlink("kept", "outside") == 0,
	   "links");
	is_int(fs_rm_rf("gone"), 0, "a folder with links to elsewhere");
	ok(!fs_exists("gone") && holds("kept/file", "x"), "what they lead to is kept");
	is_int(fs_rm_rf("outside"), 0, "a link itself");
	ok(!fs_exists("outside") && holds("kept/file", "x"), "and not what is behind it");
	fs_mkdir_p("deep");
	fd = open("deep", O_DIRECTORY | O_CLOEXEC);
	for (; depth < 30 && mkdirat(fd, name, 0755) == 0; depth++) {   /* longer than PATH_MAX */
		int next = openat(fd, name, O_DIRECTORY | O_CLOEXEC);

		close(fd);
		fd = next;
	}
	close(fd);
	is_int(depth, 30, "a path of 6000 letters");
	is_int(fs_rm_rf("deep"), 0, "is removed");
	ok(!fs_exists("deep"), "whole");
}

static void test_lock(void)
{
	int fd = fs_lock("lock", false), status;
	pid_t pid;

	ok(fd >= 0, "a lock");
	pid = fork();
	if (pid == 0)
		_exit(fs_lock("lock", false) == -EWOULDBLOCK ? 0 : 1);
	waitpid(pid, &status, 0);
	is_int(status, 0, "another process does not get it");
	close(fd);
	fd = fs_lock("lock", true);
	ok(fd >= 0, "free again");
	close(fd);
}

static void test_words(void)
{
	static const struct { const char *path, *want; } c[] = {
		{"/x/changli.mbox", "changli"}, {"a b/c d.patch", "c-d"}, {"/x/rps/", "rps"}, {"a/b/series", "b"},
		{"-x.txt", "x"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		_cleanup_free_ char *w = fs_word(c[i].path);

		is_str(w, c[i].want, "the word for %s", c[i].path);
	}
}

static void test_places(void)
{
	_cleanup_free_ char *a = NULL, *b = NULL, *c = NULL, *d = NULL, *none = NULL;

	setenv("KPERFBOT_STATE", "/srv/state", 1);
	setenv("KPERFBOT_CACHE", "/srv/cache", 1);
	ok(fs_state_dir(&a) == 0 && streq(a, "/srv/state") && fs_cache_dir(&b) == 0 && streq(b, "/srv/cache"),
	   "said so");
	unsetenv("KPERFBOT_STATE");
	unsetenv("KPERFBOT_CACHE");
	setenv("XDG_CACHE_HOME", "/home/me/.xdg", 1);
	ok(fs_cache_dir(&c) == 0 && streq(c, "/home/me/.xdg/kperfbot"), "by XDG");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "/home/me", 1);
	ok(fs_cache_dir(&d) == 0 && streq(d, "/home/me/.cache/kperfbot"), "by HOME");
	unsetenv("HOME");
	is_int(fs_cache_dir(&none), -ENXIO, "%s", err_msg());
	ok(!none, "and no folder that others share");
	ok(fs_free_bytes(".") > 0 && fs_total_bytes(".") >= fs_free_bytes(".") && fs_total_bytes("none") < 0,
	   "room on the disk");
}

static void test_hashes(void)
{
	char hex[SHA256_HEX], of_file[SHA256_HEX];
	_cleanup_buf_ struct buf out = {0};

	sha256_hex("abc", 3, hex); /* FIPS 180-2, appendix B.1 */
	is_str(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "SHA-256 of abc");
	is_int(sha256_file("big", of_file), 0, "of a file");
	is_int(proc_ok(ARGV("sha256sum", "big"), NULL, &out), 0, "sha256sum, too");
	ok(startswith(out.s, of_file) && strlen(of_file) == 64, "says the same");
	ok(sha256_file("none", of_file) < 0, "%s", err_msg());
}

static void test_zstd(void)
{
	_cleanup_buf_ struct buf b = {0}, out = {0};

	is_int(zstd_write("text.zst", "0123456789", 10), 0, "packed");
	is_int(zstd_read("text.zst", 10, &b), 0, "and unpacked");
	is_str(buf_str(&b), "0123456789", "the same");
	buf_clear(&b);
	ok(zstd_read("text.zst", 9, &b) < 0, "no more than is allowed: %s", err_msg());
	put("plain", "text of a log\n");
	is_int(zstd_pack_file("plain"), 0, "a file");
	ok(!fs_exists("plain") && fs_exists("plain.zst"), "in its place");
	is_int(proc_ok(ARGV("zstd", "-dc", "plain.zst"), NULL, &out), 0, "zstd reads it");
	is_str(buf_str(&out), "text of a log\n", "as it was");
	put("broken.zst", "no zstd at all");
	ok(zstd_read("broken.zst", 0, &b) < 0, "%s", err_msg());
}

int main(void)
{
	char old[PATH_MAX];

	if (!getcwd(old, sizeof(old)) || !mkdtemp(top) || chdir(top) < 0)
		return 1;
	umask(022);
	test_folders();
	test_reading();
	test_atomic();
	test_removing();
	test_lock();
	test_words();
	test_hashes();
	test_zstd();
	test_places();
	if (chdir(old) == 0)
		fs_rm_rf(top);
	return tap_done();
}
