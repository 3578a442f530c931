/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kpb-udp-send - sends UDP datagrams as fast as it can, or at a rate, and says how many.
 *
 *	kpb-udp-send -a address [-p port] [-f flows] [-s bytes] [-b burst] [-r packets/s] [-T threads] [-c cpu,cpu...]
 *		[-t seconds]
 *
 * A flow is a connected socket, so it has its own source port and its own hash for RPS and SO_REUSEPORT. The flows are
 * dealt out to the threads; a thread sends a burst of sendmmsg() on each of its flows in turn. Prints key=value lines, "done"
 * last. SIGTERM ends it early, with its figures.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 256
#define MAX_FLOWS 4096
#define MAX_BURST 64
#define MAX_BYTES 2048

struct sender {
	pthread_t thread;
	int cpu, first;
	unsigned long long packets, refused, errors;    /* refused: no buffer, or nobody listens */
	double seconds;
} __attribute__((aligned(128)));

static struct sender sender[MAX_THREADS];
static int flow_fd[MAX_FLOWS];
static long flows = 1, size = 18, burst = 32, threads = 1, seconds = 10, rate;
static volatile sig_atomic_t stop;

static void fail(const char *what)
{
	fprintf(stderr, "kpb-udp-send: %s: %s\n", what, strerror(errno));
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
		fprintf(stderr, "kpb-udp-send: -%c wants a number from %ld to %ld, not '%s'\n", option, min, max, s);
		exit(2);
	}
	return v;
}

/* Sleeps until so many packets are due at this thread's part of the rate. */
static void keep_rate(const struct sender *s, double start)
{
	double due = start + (double)(s->packets + s->refused) * (double)threads / (double)rate, wait = due - now();

	if (wait > 0) {
		struct timespec t = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};

		nanosleep(&t, NULL);
	}
}

static void send_burst(struct sender *s, int fd, struct mmsghdr *msg)
{
	int n = sendmmsg(fd, msg, (unsigned)burst, 0);

	if (n > 0)
		s->packets += (unsigned long long)n;
	else if (errno == ENOBUFS || errno == EAGAIN || errno == ECONNREFUSED)
		s->refused += (unsigned long long)burst;
	else if (errno != EINTR)
		s->errors++;
}

static void *work(void *arg)
{
	static char data[MAX_BYTES];
	struct sender *s = arg;
	struct mmsghdr msg[MAX_BURST];
	struct iovec iov = {data, (size_t)size};
	double start = now(), end = start + (double)seconds;
	cpu_set_t set;

	CPU_ZERO(&set);
	if (s->cpu >= 0) {
		CPU_SET((size_t)s->cpu, &set);
		if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
			fprintf(stderr, "kpb-udp-send: cannot run on CPU %d\n", s->cpu);
	}
	memset(msg, 0, sizeof(msg));
	for (long i = 0; i < burst; i++) {
		msg[i].msg_hdr.msg_iov = &iov;
		msg[i].msg_hdr.msg_iovlen = 1;
	}
	while (!stop && !s->errors && now() < end)
		for (long f = s->first; f < flows && !stop; f += threads) {
			send_burst(s, flow_fd[f], msg);
			if (rate)
				keep_rate(s, start);
		}
	s->seconds = now() - start;
	return NULL;
}

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int print(void)
{
	unsigned long long packets = 0, refused = 0, errors = 0;
	double longest = 0;

	for (long i = 0; i < threads; i++) {
		packets += sender[i].packets;
		refused += sender[i].refused;
		errors += sender[i].errors;
		longest = sender[i].seconds > longest ? sender[i].seconds : longest;
	}
	printf("sent=%llu\nrefused=%llu\nerrors=%llu\nsend_seconds=%.6f\ndone\n", packets, refused, errors, longest);
	return errors > 0 || fflush(stdout) || ferror(stdout);
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9000)};
	long cpu[MAX_THREADS], n_cpus = 0;
	char *save;

	for (int o; (o = getopt(argc, argv, "a:p:f:s:b:r:T:c:t:")) != -1;)
		switch (o) {
		case 'a':
			if (inet_pton(AF_INET, optarg, &to.sin_addr) != 1)
				return fprintf(stderr, "kpb-udp-send: not an IPv4 address: '%s'\n", optarg), 2;
			break;
		case 'p': to.sin_port = htons((uint16_t)number(optarg, 1, 65535, 'p')); break;
		case 'f': flows = number(optarg, 1, MAX_FLOWS, 'f'); break;
		case 's': size = number(optarg, 1, MAX_BYTES, 's'); break;
		case 'b': burst = number(optarg, 1, MAX_BURST, 'b'); break;
		case 'r': rate = number(optarg, 0, 1000000000, 'r'); break;
		case 'T': threads = number(optarg, 1, MAX_THREADS, 'T'); break;
		case 't': seconds = number(optarg, 1, 86400, 't'); break;
		case 'c':
			for (char *w = strtok_r(optarg, ",", &save); w && n_cpus < MAX_THREADS; w = strtok_r(NULL, ",", &save))
				cpu[n_cpus++] = number(w, 0, 1023, 'c');
			break;
		default: return 2;
		}
	if (!to.sin_addr.s_addr)
		return fprintf(stderr, "kpb-udp-send: -a address is missing\n"), 2;
	flows = flows < threads ? threads : flows;
	for (long i = 0; i < flows; i++) {
		flow_fd[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (flow_fd[i] < 0 || connect(flow_fd[i], (struct sockaddr *)&to, sizeof(to)) < 0)
			fail("cannot connect");
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	for (long i = 0; i < threads; i++) {
		sender[i].cpu = n_cpus ? (int)cpu[i % n_cpus] : -1;
		sender[i].first = (int)i;
		if ((errno = pthread_create(&sender[i].thread, NULL, work, &sender[i])))
			fail("cannot start a thread");
	}
	for (long i = 0; i < threads; i++)
		pthread_join(sender[i].thread, NULL);
	return print();
}
