#ifndef BENCH_H
#define BENCH_H

#define NOISE_PERCENT @NOISE@	/* standard deviation of the printed rate from run to run */

extern unsigned long steps;	/* work done so far, the clock of this program */

unsigned int store_find(unsigned int key);

#endif
