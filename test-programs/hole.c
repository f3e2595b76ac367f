// SPDX-License-Identifier: Apache-2.0
/*
 * usage: hole SECONDS
 *
 * Works below an array on the stack that is never touched: a hole of missing pages in the middle of
 * the stack.
 */
#include <stdlib.h>

#include "seconds.h"

static volatile unsigned long sum;

static __attribute__((noinline)) void work(double end)
{
	while (seconds_now() < end)
		for (int i = 0; i < 1000000; i++)
			sum += (unsigned long)i;
}

static __attribute__((noinline)) void above_work(double end)
{
	volatile char untouched[100 << 10];

	untouched[0] = 1;
	work(end);
	untouched[0] = 2;
}

int main(int argc, char **argv)
{
	above_work(seconds_now() + (argc > 1 ? atoi(argv[1]) : 1));
	return 0;
}
