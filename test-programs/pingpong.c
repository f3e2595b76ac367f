// SPDX-License-Identifier: Apache-2.0
/*
 * usage: pingpong ROUNDS
 *
 * Two threads on one CPU hand a byte back and forth through two pipes: each read
 * blocks. Prints how many nanoseconds a round took, of time and of CPU time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long rounds;
static int there[2], back[2];

static void *answer(void *arg)
{
	char byte;

	for (long i = 0; i < rounds; i++)
		if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
			abort();
	return arg;
}

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int64_t start, cpu;
	pthread_t thread;
	cpu_set_t set;
	char byte = 0;

	if (argc != 2 || pipe(there) < 0 || pipe(back) < 0)
		return 2;
	rounds = atol(argv[1]);
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	pthread_create(&thread, NULL, answer, NULL);
	start = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	for (long i = 0; i < rounds; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
	printf("%ld %ld\n", (now(CLOCK_MONOTONIC) - start) / rounds,
	       (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / rounds);
	pthread_join(thread, NULL);
	return 0;
}
