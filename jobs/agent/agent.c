/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent.c - what runs inside a test machine: takes a job, runs its script under a time limit, ships the files it left.
 *
 * As PID 1 of a guest it mounts what a script needs, runs /job/job.sh, writes the results to the second serial port (or
 * to a virtio-serial port of the name below) and ends the guest by a reset, since poweroff hangs without ACPI. On a
 * real machine it is run by hand: agent JOB_DIR RESULT_DIR >stream.
 *
 * JOB_DIR holds job.sh and env: NUL-ended NAME=value entries; KPB_TIMEOUT is the script's limit in seconds, KPB_PERTURB
 * seeds the kernel's random numbers too. Nothing arrives from the host while the script runs.
 *
 * Stream: "KPBRES1\n", then frames { type, u32 length, u32 CRC-32, data } in little-endian order. Type 'D' holds the
 * next part of a ustar archive, type 'E' ends it: u32 exit status, u32 flags, u64 length of the archive.
 * Only libc: no other code of the project may be linked in here.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define RESULT_PORT "/dev/virtio-ports/org.kperfbot.results"
#define CHUNK 16384u
#define MAX_FILES 256
#define MAX_BYTES (32u << 20)
enum { FLAG_TIMEOUT = 1, FLAG_CUT = 2, FLAG_NO_SCRIPT = 4 };

static volatile sig_atomic_t timed_out;
static pid_t script_pid;

/* ---- the stream ---- */

struct stream {
	int fd;
	uint8_t buf[CHUNK];
	uint32_t used;
	uint64_t total;
	uint32_t files, flags;
};

static uint32_t crc32(const uint8_t *p, size_t n) /* ISO 3309, as in zlib and Ethernet */
{
	static uint32_t table[256];
	uint32_t c = ~0u;

	for (uint32_t i = 0; !table[255] && i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] & 1 ? 0xedb88320u ^ table[i] >> 1 : table[i] >> 1;
	}
	while (n--)
		c = table[(c ^ *p++) & 255] ^ c >> 8;
	return ~c;
}

static void put_le(uint8_t *p, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = v >> 8 * i;
}

static void write_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return; /* the host sees a cut stream */
		p += k;
		n -= k;
	}
}

static void frame(int fd, uint8_t type, const uint8_t *data, uint32_t n)
{
	uint8_t head[9] = {type};

	put_le(head + 1, n, 4);
	put_le(head + 5, crc32(data, n), 4);
	write_all(fd, head, sizeof(head));
	write_all(fd, data, n);
}

static void stream_flush(struct stream *s)
{
	if (s->used)
		frame(s->fd, 'D', s->buf, s->used);
	s->used = 0;
}

static void stream_add(struct stream *s, const void *data, size_t n)
{
	for (const uint8_t *p = data; n;) {
		size_t k = n < CHUNK - s->used ? n : CHUNK - s->used;

		memcpy(s->buf + s->used, p, k);
		s->used += k;
		s->total += k;
		p += k;
		n -= k;
		if (s->used == CHUNK)
			stream_flush(s);
	}
}

static void stream_pad(struct stream *s, size_t n)
{
	static const uint8_t zero[512];

	stream_add(s, zero, n);
}

static void tar_head(struct stream *s, const char *name, uint64_t size)
{
	char h[512] = {0};
	unsigned sum = 0;

	memcpy(h, name, strnlen(name, 99));
	memcpy(h + 100, "0000644\0000000000\0000000000", 24);
	snprintf(h + 124, 12, "%011llo", (unsigned long long)size);
	memcpy(h + 136, "00000000000", 12);
	memset(h + 148, ' ', 8);
	h[156] = '0';
	memcpy(h + 257, "ustar\00000", 8);
	for (int i = 0; i < 512; i++)
		sum += (uint8_t)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	stream_add(s, h, sizeof(h));
}

static void ship_file(struct stream *s, int dir, const char *name, const char *path)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char tmp[4096];
	uint64_t left;

	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || strlen(path) > 99) {
		close(fd);
		return;
	}
	if (s->files >= MAX_FILES || s->total + st.st_size > MAX_BYTES) {
		s->flags |= FLAG_CUT;
		close(fd);
		return;
	}
	s->files++;
	left = st.st_size;
	tar_head(s, path, left);
	while (left) {
		ssize_t k = read(fd, tmp, left < sizeof(tmp) ? left : sizeof(tmp));

		if (k <= 0) { /* cannot happen in a still folder; keep the archive well-formed */
			memset(tmp, 0, sizeof(tmp));
			k = left < sizeof(tmp) ? left : sizeof(tmp);
			s->flags |= FLAG_CUT;
		}
		stream_add(s, tmp, k);
		left -= k;
	}
	stream_pad(s, -st.st_size & 511);
	close(fd);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Files in name order, so that equal results give an equal stream. */
static void ship_dir(struct stream *s, int at, const char *name, const char *prefix, int depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), n;
	struct dirent **list;

	if (fd < 0)
		return;
	n = scandirat(fd, ".", &list, NULL, by_name);
	for (int i = 0; i < n; i++) {
		const char *file = list[i]->d_name;
		struct stat st;
		char path[512];

		if (strcmp(file, ".") && strcmp(file, "..") && fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "/" : "", file);
			if (S_ISREG(st.st_mode))
				ship_file(s, fd, file, path);
			else if (S_ISDIR(st.st_mode) && depth < 4)
				ship_dir(s, fd, file, path, depth + 1);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	close(fd);
}

static void ship(int fd, const char *result_dir, int status, uint32_t flags)
{
	struct stream s = {.fd = fd, .flags = flags};
	uint8_t end[16];

	write_all(fd, "KPBRES1\n", 8);
	ship_dir(&s, AT_FDCWD, result_dir, "", 0);
	stream_pad(&s, 512);
	stream_pad(&s, 512);
	stream_flush(&s);
	put_le(end, status, 4);
	put_le(end + 4, s.flags, 4);
	put_le(end + 8, s.total, 8);
	frame(fd, 'E', end, sizeof(end));
}

/* ---- the script ---- */

/* Puts the entries of the env file into the environment. */
static void load_env(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	for (char *p = text; n > 0 && p < text + n; p += strlen(p) + 1)
		if (strchr(p, '='))
			putenv(p);
}

static void on_alarm(int sig)
{
	(void)sig;
	timed_out = 1;
	kill(getpid() == 1 ? -1 : -script_pid, SIGKILL);
}

/* Exit status of the script; 128 + N where signal N ended it. */
static int run_script(const char *job_dir, const char *result_dir, uint32_t *flags)
{
	const char *limit = getenv("KPB_TIMEOUT");
	char script[512], log[512];
	int ws = 0;
	pid_t pid;

	snprintf(script, sizeof(script), "%s/job.sh", job_dir);
	snprintf(log, sizeof(log), "%s/script.log", result_dir);
	if (access(script, R_OK) < 0)
		*flags |= FLAG_NO_SCRIPT;
	script_pid = fork();
	if (script_pid < 0)
		return 126;
	if (!script_pid) {
		int in = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);

		setsid();
		dup2(in, 0);
		dup2(out, 1);
		dup2(out, 2);
		close(in);
		close(out);
		if (chdir(result_dir) < 0)
			_exit(126);
		execl("/bin/sh", "sh", script, (char *)NULL);
		_exit(127);
	}
	signal(SIGALRM, on_alarm);
	if (limit && atof(limit) > 0) {
		double s = atof(limit);
		struct itimerval t = {.it_value = {(time_t)s, (suseconds_t)((s - (time_t)s) * 1e6)}};

		setitimer(ITIMER_REAL, &t, NULL);
	}
	while ((pid = waitpid(-1, &ws, 0)) != script_pid)
		if (pid < 0 && errno != EINTR)
			break;
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	if (timed_out)
		*flags |= FLAG_TIMEOUT;
	/* what it left running must not write on while its files are read */
	kill(getpid() == 1 ? -1 : -script_pid, SIGKILL);
	while (waitpid(-1, NULL, getpid() == 1 ? 0 : WNOHANG) > 0)
		;
	return WIFEXITED(ws) ? WEXITSTATUS(ws) : 128 + WTERMSIG(ws);
}

/* ---- the guest ---- */

static const struct { const char *type, *at; unsigned long flags; } mounts[] = {
	{"devtmpfs", "/dev", 0},
	{"proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC},
	{"sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC},
	{"tmpfs", "/tmp", MS_NOSUID | MS_NODEV},
	{"tmpfs", "/run", MS_NOSUID | MS_NODEV},
	{"tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV},
	{"devpts", "/dev/pts", MS_NOSUID},
	{"tracefs", "/sys/kernel/tracing", 0},
};

/* The kernel's random numbers are ready at once (a jitter loop of a guest second otherwise) and depend on nothing but
 * the replicate's number. */
static void seed_random(void)
{
	struct { struct rand_pool_info info; uint32_t data[16]; } seed = {{512, 64}, {0}};
	const char *perturb = getenv("KPB_PERTURB");
	uint64_t x = perturb ? strtoull(perturb, NULL, 10) : 0;
	int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);

	for (int i = 0; i < 16; i++) { /* splitmix64 (Steele, Lea, Flood 2014) */
		uint64_t z = (x += 0x9e3779b97f4a7c15u);

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		seed.data[i] = z ^ z >> 31;
	}
	if (fd < 0)
		return;
	(void)ioctl(fd, RNDADDENTROPY, &seed);
	close(fd);
}

static int open_port(void)
{
	static const char *const paths[] = {RESULT_PORT, "/dev/ttyS1", "/dev/ttyAMA1"};
	struct termios t;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = open(paths[i], O_WRONLY | O_NOCTTY | O_CLOEXEC);

		if (fd >= 0 && (!isatty(fd) || tcgetattr(fd, &t) == 0)) {
			if (isatty(fd)) {
				cfmakeraw(&t);
				cfsetspeed(&t, B115200);
				tcsetattr(fd, TCSANOW, &t);
			}
			return fd;
		}
	}
	return -1;
}

static void say(const char *text)
{
	int fd = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);

	write_all(fd >= 0 ? fd : 2, text, strlen(text));
	if (fd >= 0)
		close(fd);
}

static void guest(void)
{
	char text[80];
	uint32_t flags = 0;
	int status, port;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i].at, 0755);
		(void)mount(mounts[i].type, mounts[i].at, mounts[i].type, mounts[i].flags, NULL);
	}
	mkdir("/result", 0755);
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/root", 1);
	setenv("RESULT_DIR", "/result", 1);
	setenv("KPB_ROBOT", "1", 1);
	load_env("/job/env");
	seed_random();
	port = open_port();
	if (port < 0)
		say("kperfbot: no port for the results (the kernel needs a second serial line)\n");
	say("kperfbot: script starts\n");
	status = run_script("/job", "/result", &flags);
	snprintf(text, sizeof(text), "kperfbot: script ends, status %d%s\n", status,
		 flags & FLAG_TIMEOUT ? ", time limit reached" : "");
	say(text);
	if (port >= 0) {
		ship(port, "/result", status, flags);
		(void)tcdrain(port);
	}
	sync();
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	uint32_t flags = 0;
	char env[512], *job, *result;
	int status;

	if (getpid() == 1)
		guest();
	if (argc == 3)
		mkdir(argv[2], 0755);
	if (argc != 3 || !(job = realpath(argv[1], NULL)) || !(result = realpath(argv[2], NULL))) {
		fprintf(stderr, "usage: agent JOB_DIR RESULT_DIR >STREAM\n");
		return 2;
	}
	setenv("RESULT_DIR", result, 1);
	setenv("KPB_ROBOT", "1", 1);
	snprintf(env, sizeof(env), "%s/env", job);
	load_env(env);
	status = run_script(job, result, &flags);
	ship(1, result, status, flags);
	return 0;
}
