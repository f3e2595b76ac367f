// SPDX-License-Identifier: Apache-2.0
/*
 * What bench/alloc_cost.py profiles: allocates memory of a size and gives it back, in calls that are DEPTH
 * deep, N times a round, and writes the wall-clock and CPU nanoseconds of each round.
 *
 *   allocating SIZE DEPTH N ROUNDS     waits for a line
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void *volatile last;

/* What follows the calls keeps them from being tail calls. */
static __attribute__((noinline)) int allocate(size_t size, long depth, long n)
{
	if (depth > 1)
		return allocate(size, depth - 1, n) + 1;
	for (long i = 0; i < n; i++) {
		last = malloc(size);
		free(last);
	}
	return 1;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return EXIT_FAILURE;
	if (getchar() == EOF)
		return EXIT_FAILURE;
	for (long round = atol(argv[4]); round > 0; round--) {
		uint64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);

		if (allocate((size_t)atol(argv[1]), atol(argv[2]), atol(argv[3])) != atol(argv[2]))
			return EXIT_FAILURE;
		printf("round %ju %ju\n", (uintmax_t)(now(CLOCK_MONOTONIC) - wall),
		       (uintmax_t)(now(CLOCK_THREAD_CPUTIME_ID) - cpu));
		fflush(stdout);
	}
	return EXIT_SUCCESS;
}
