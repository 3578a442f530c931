#include "bench.h"

#define STORE_SLOTS 10000

unsigned long steps;

static unsigned int step(unsigned int x)
{
	steps++;
	return x * 1664525u + 1013904223u;
}

/* Walks over the slots for a key and returns what it found there. */
unsigned int store_find(unsigned int key)
{
	unsigned int i, x = key;

	for (i = 0; i < STORE_SLOTS; i++)
		x = step(x);

	return x;
}
