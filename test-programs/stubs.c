// SPDX-License-Identifier: Apache-2.0
/* usage: stubs [SECONDS]: calls a small function of a library, each time by its stub in the PLT. */
#include <stdlib.h>

#include "seconds.h"

static volatile long sink;

static inline __attribute__((always_inline)) long mix(long n)
{
	return labs(n * 1103515245 - sink) % 64; /* here */
}

int main(int argc, char **argv)
{
	double end = seconds_now() + (argc > 1 ? atoi(argv[1]) : 1);

	while (seconds_now() < end)
		for (long i = 0; i < 1000000; i++)
			sink = mix(i);
	return 0;
}
