/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kpb-udp-sink - receives UDP datagrams on one port and says how many, and what the kernel spent on them meanwhile.
 *
 *	kpb-udp-sink [-a address] [-p port] [-w workers] [-c cpu,cpu...] [-r rcvbuf] [-W warm-up s] [-t seconds]
 *
 * Each worker is a thread with its own SO_REUSEPORT socket and epoll set, bound to one of the CPUs of -c. After the warm-up
 * the counters of the workers and of the kernel (/proc/stat, softirqs, net/softnet_stat, net/snmp, softnet of this network
 * namespace) are read, and again after the time; the differences are printed as key=value lines, "done" last. "ready" is
 * printed once all sockets are bound. It needs nothing but libc, so that it fits any root image.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORKERS 256
#define MAX_CPUS 1024
#define BATCH 64
#define MAX_BYTES 2048

struct worker {
	pthread_t thread;
	int fd, epoll, cpu;                     /* cpu: -1 any */
	_Alignas(64) atomic_ullong packets;
	atomic_ullong bytes;
} __attribute__((aligned(128)));

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_TIMES };
struct cpu_counts { unsigned long long time[N_TIMES], net_rx, net_tx, processed, dropped, squeezed, rps; bool seen; };
struct snapshot {
	double at;
	struct cpu_counts cpu[MAX_CPUS];
	unsigned long long in, no_port, rcvbuf_errors, in_errors, packets[MAX_WORKERS], bytes[MAX_WORKERS];
};

static struct worker worker[MAX_WORKERS];
static struct snapshot before, after;
static atomic_bool stop;

static void fail(const char *what)
{
	fprintf(stderr, "kpb-udp-sink: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long number(const char *s, long min, long max, char option)
{
	char *end;
	long v = strtol(s, &end, 10);

	if (*end || end == s || v < min || v > max) {
		fprintf(stderr, "kpb-udp-sink: -%c wants a number from %ld to %ld, not '%s'\n", option, min, max, s);
		exit(2);
	}
	return v;
}

/* ---- what the kernel counts ---- */

static void read_stat(struct snapshot *s)
{
	FILE *f = fopen("/proc/stat", "re");
	char line[512];

	if (!f)
		fail("cannot open /proc/stat");
	while (fgets(line, sizeof(line), f)) {
		unsigned long long t[N_TIMES] = {0};
		unsigned n;

		if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &n, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5],
			   &t[6], &t[7]) < 5 || n >= MAX_CPUS)
			continue;
		memcpy(s->cpu[n].time, t, sizeof(t));
		s->cpu[n].seen = true;
	}
	fclose(f);
}

/* "          CPU0  CPU3 ..." and then "  NET_RX:  1 2 ..." in the order of that line. */
static void read_softirqs(struct snapshot *s)
{
	static char line[MAX_CPUS * 24];
	static unsigned cpu[MAX_CPUS];
	FILE *f = fopen("/proc/softirqs", "re");
	size_t n = 0;

	if (!f)
		fail("cannot open /proc/softirqs");
	while (fgets(line, sizeof(line), f)) {
		char *save, *w = strtok_r(line, " \t\n", &save);
		bool rx = w && !strcmp(w, "NET_RX:"), tx = w && !strcmp(w, "NET_TX:");

		if (w && !strncmp(w, "CPU", 3)) {
			for (; w && n < MAX_CPUS; w = strtok_r(NULL, " \t\n", &save))
				cpu[n++] = (unsigned)strtoul(w + 3, NULL, 10);
			continue;
		}
		for (size_t i = 0; (rx || tx) && i < n && (w = strtok_r(NULL, " \t\n", &save)); i++)
			if (cpu[i] < MAX_CPUS)
				*(rx ? &s->cpu[cpu[i]].net_rx : &s->cpu[cpu[i]].net_tx) = strtoull(w, NULL, 10);
	}
	fclose(f);
}

/* The CPU that comes as number row, as /proc/stat has them. */
static unsigned online(const struct snapshot *s, unsigned row)
{
	unsigned c = 0;

	while (c < MAX_CPUS && (!s->cpu[c].seen || row--))
		c++;
	return c;
}

/* A line for each CPU, hexadecimal: processed, dropped, time_squeeze, 6 columns, received_rps, flow_limit, backlog, cpu. The
 * CPU's number is there since 5.10; before, lines are those of the online CPUs in turn. */
static void read_softnet(struct snapshot *s)
{
	FILE *f = fopen("/proc/net/softnet_stat", "re");
	char line[512];
	unsigned row = 0;

	if (!f)
		fail("cannot open /proc/net/softnet_stat");
	for (; fgets(line, sizeof(line), f); row++) {
		unsigned v[15] = {0}, cpu;
		int n = sscanf(line, "%x %x %x %x %x %x %x %x %x %x %x %x %x", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6],
			       &v[7], &v[8], &v[9], &v[10], &v[11], &v[12]);

		cpu = n >= 13 ? v[12] : online(s, row);
		if (n < 10 || cpu >= MAX_CPUS)
			continue;
		s->cpu[cpu].processed = v[0];
		s->cpu[cpu].dropped = v[1];
		s->cpu[cpu].squeezed = v[2];
		s->cpu[cpu].rps = v[9];
	}
	fclose(f);
}

/* "Udp: InDatagrams NoPorts ..." and the same line with the values. */
static void read_snmp(struct snapshot *s)
{
	const struct { const char *name; unsigned long long *to; } want[] = {
		{"InDatagrams", &s->in}, {"NoPorts", &s->no_port}, {"InErrors", &s->in_errors}, {"RcvbufErrors", &s->rcvbuf_errors},
	};
	FILE *f = fopen("/proc/self/net/snmp", "re");
	char names[1024], values[1024];

	if (!f)
		fail("cannot open /proc/self/net/snmp");
	while (fgets(names, sizeof(names), f)) {
		char *a, *b, *n, *v;

		if (strncmp(names, "Udp: ", 5) || !fgets(values, sizeof(values), f))
			continue;
		n = strtok_r(names, " \n", &a);
		v = strtok_r(values, " \n", &b);
		for (; n && v; n = strtok_r(NULL, " \n", &a), v = strtok_r(NULL, " \n", &b))
			for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
				if (!strcmp(want[i].name, n))
					*want[i].to = strtoull(v, NULL, 10);
	}
	fclose(f);
}

static void take(struct snapshot *s, long workers)
{
	s->at = now();
	for (long i = 0; i < workers; i++) {
		s->packets[i] = atomic_load(&worker[i].packets);
		s->bytes[i] = atomic_load(&worker[i].bytes);
	}
	read_snmp(s);
	read_stat(s);
	read_softnet(s);
	read_softirqs(s);
}

static void print(long workers)
{
	unsigned long long packets = 0, bytes = 0;

	printf("seconds=%.6f\n", after.at - before.at);
	for (long i = 0; i < workers; i++) {
		packets += after.packets[i] - before.packets[i];
		bytes += after.bytes[i] - before.bytes[i];
		printf("worker%ld.cpu=%d\nworker%ld.packets=%llu\n", i, worker[i].cpu, i, after.packets[i] - before.packets[i]);
	}
	printf("packets=%llu\nbytes=%llu\n", packets, bytes);
	printf("udp.in=%llu\nudp.no_port=%llu\nudp.in_errors=%llu\nudp.rcvbuf_errors=%llu\n", after.in - before.in,
	       after.no_port - before.no_port, after.in_errors - before.in_errors, after.rcvbuf_errors - before.rcvbuf_errors);
	for (unsigned c = 0; c < MAX_CPUS; c++) {
		static const char *const name[] = {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"};
		const struct cpu_counts *a = &before.cpu[c], *b = &after.cpu[c];

		if (!a->seen || !b->seen)
			continue;
		for (size_t i = 0; i < N_TIMES; i++) /* iowait can fall a little */
			printf("cpu%u.%s=%llu\n", c, name[i], b->time[i] >= a->time[i] ? b->time[i] - a->time[i] : 0);
		/* 32 bit counters wrap */
		printf("cpu%u.net_rx=%u\ncpu%u.net_tx=%u\n", c, (uint32_t)(b->net_rx - a->net_rx), c,
		       (uint32_t)(b->net_tx - a->net_tx));
		printf("cpu%u.processed=%u\ncpu%u.backlog_dropped=%u\ncpu%u.squeezed=%u\ncpu%u.rps=%u\n", c,
		       (uint32_t)(b->processed - a->processed), c, (uint32_t)(b->dropped - a->dropped), c,
		       (uint32_t)(b->squeezed - a->squeezed), c, (uint32_t)(b->rps - a->rps));
	}
	puts("done");
}

/* ---- workers ---- */

static void *work(void *arg)
{
	static _Thread_local char data[BATCH][MAX_BYTES];
	struct worker *w = arg;
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	struct epoll_event event;
	cpu_set_t set;

	CPU_ZERO(&set);
	if (w->cpu >= 0) {
		CPU_SET((size_t)w->cpu, &set);
		if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
			fprintf(stderr, "kpb-udp-sink: cannot run on CPU %d\n", w->cpu);
	}
	memset(msg, 0, sizeof(msg));
	for (size_t i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){data[i], MAX_BYTES};
		msg[i].msg_hdr.msg_iov = &iov[i];
		msg[i].msg_hdr.msg_iovlen = 1;
	}
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		unsigned long long bytes = 0;
		int n;

		if (epoll_wait(w->epoll, &event, 1, 100) <= 0)
			continue;
		n = recvmmsg(w->fd, msg, BATCH, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			bytes += msg[i].msg_len;
		if (n > 0) {
			atomic_fetch_add_explicit(&w->packets, (unsigned long long)n, memory_order_relaxed);
			atomic_fetch_add_explicit(&w->bytes, bytes, memory_order_relaxed);
		}
	}
	return NULL;
}

static void open_worker(struct worker *w, const struct sockaddr_in *at, int rcvbuf)
{
	struct epoll_event event = {.events = EPOLLIN};
	int on = 1;

	w->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (w->fd < 0 || setsockopt(w->fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0)
		fail("cannot make a socket");
	if (rcvbuf && setsockopt(w->fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf)) < 0 &&
	    setsockopt(w->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf)) < 0)
		fail("cannot set the receive buffer");
	if (bind(w->fd, (const struct sockaddr *)at, sizeof(*at)) < 0)
		fail("cannot bind");
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->fd, &event) < 0)
		fail("cannot make an epoll set");
}

static void wait_s(double s)
{
	struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(9000)};
	long workers = 1, seconds = 10, warmup = 0, rcvbuf = 0, cpu[MAX_WORKERS], n_cpus = 0;
	char *save;

	for (int o; (o = getopt(argc, argv, "a:p:w:c:r:W:t:")) != -1;)
		switch (o) {
		case 'a':
			if (inet_pton(AF_INET, optarg, &at.sin_addr) != 1)
				return fprintf(stderr, "kpb-udp-sink: not an IPv4 address: '%s'\n", optarg), 2;
			break;
		case 'p': at.sin_port = htons((uint16_t)number(optarg, 1, 65535, 'p')); break;
		case 'w': workers = number(optarg, 1, MAX_WORKERS, 'w'); break;
		case 'r': rcvbuf = number(optarg, 0, 1 << 30, 'r'); break;
		case 'W': warmup = number(optarg, 0, 86400, 'W'); break;
		case 't': seconds = number(optarg, 1, 86400, 't'); break;
		case 'c':
			for (char *w = strtok_r(optarg, ",", &save); w && n_cpus < MAX_WORKERS; w = strtok_r(NULL, ",", &save))
				cpu[n_cpus++] = number(w, 0, MAX_CPUS - 1, 'c');
			break;
		default: return 2;
		}
	for (long i = 0; i < workers; i++) {
		worker[i].cpu = n_cpus ? (int)cpu[i % n_cpus] : -1;
		open_worker(&worker[i], &at, (int)rcvbuf);
	}
	for (long i = 0; i < workers; i++)
		if ((errno = pthread_create(&worker[i].thread, NULL, work, &worker[i])))
			fail("cannot start a thread");
	puts("ready");
	fflush(stdout);
	wait_s((double)warmup);
	take(&before, workers);
	wait_s((double)seconds);
	take(&after, workers);
	atomic_store(&stop, true);
	for (long i = 0; i < workers; i++)
		pthread_join(worker[i].thread, NULL);
	print(workers);
	return fflush(stdout) || ferror(stdout);
}
