// SPDX-License-Identifier: Apache-2.0
/* usage: inlined [SECONDS]: all work is done in a function that its callers have inlined. */
#include <stdlib.h>

#include "seconds.h"

static volatile unsigned int sink;

static inline __attribute__((always_inline)) void mix(unsigned int n)
{
	sink = sink * 1103515245 + n; /* here */
}

static inline __attribute__((always_inline)) void mix_many(unsigned int n)
{
	while (n-- > 0)
		mix(n); /* mix */
}

__attribute__((noinline)) static void work(void)
{
	mix_many(1000000); /* mix_many */
	sink = 0;
}

int main(int argc, char **argv)
{
	double end = seconds_now() + (argc > 1 ? atoi(argv[1]) : 1);

	while (seconds_now() < end)
		work(); /* work */
	return 0;
}
