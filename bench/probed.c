// SPDX-License-Identifier: Apache-2.0
/*
 * usage: probed PERIOD_NS ROUNDS
 *
 * Once there is a line on stdin, calls probed() in a loop and then computes until PERIOD_NS have passed, for
 * 200 ms, ROUNDS times; 0: without pause. Prints the calls and CPU nanoseconds of each round. Ends with stdin, so that
 * what profiles it is still there when its figures are read.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/as_it_is.h"

#define ROUND_NS UINT64_C(200000000)

static volatile uint64_t sum;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t probed(uint64_t a, uint64_t b, const char *text, uint64_t period_ns);

AS_IT_IS uint64_t probed(uint64_t a, uint64_t b, const char *text, uint64_t period_ns)
{
	uint64_t end = period_ns ? now(CLOCK_MONOTONIC) + period_ns : 0;

	while (end && now(CLOCK_MONOTONIC) < end)
		sum += a;
	return a + b + (uint64_t)*text;
}

int main(int argc, char **argv)
{
	uint64_t period_ns = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
	int rounds = argc == 3 ? atoi(argv[2]) : 0;

	if (rounds == 0 || getchar() == EOF)
		return 2;
	while (rounds-- > 0) {
		uint64_t end = now(CLOCK_MONOTONIC) + ROUND_NS, calls = 0;
		uint64_t began = now(CLOCK_PROCESS_CPUTIME_ID);

		do {
			for (int i = 0; i < (period_ns ? 1 : 64); i++, calls++)
				sum += probed(calls, sum, "/a/route/of/thirty-two/characters",
					      period_ns);
		} while (now(CLOCK_MONOTONIC) < end);
		printf("%lu %lu\n", calls, now(CLOCK_PROCESS_CPUTIME_ID) - began);
		fflush(stdout);
	}
	while (getchar() != EOF)
		continue;
	return 0;
}
