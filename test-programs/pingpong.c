// SPDX-License-Identifier: Apache-2.0
/*
 * usage: pingpong ROUNDS
 *
 * Two threads on one CPU hand a byte back and forth through two pipes: each read blocks. Prints the
 * nanoseconds of time and of CPU time per round.
 *
 * They rest now and then, which does not count: as each hands the CPU over to the other, a third
 * task on it starves for seconds (seen with Linux 6.18). If that task was preempted while it held a
 * lock, others wait for it too.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A few dozen milliseconds. */
#define ROUNDS_BETWEEN_RESTS 10000
#define REST_US 1000

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

static int play(long n)
{
	char byte = 0;

	for (long i = 0; i < n; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	int64_t elapsed = 0, cpu = 0;
	pthread_t thread;
	cpu_set_t set;

	if (argc != 2 || pipe(there) < 0 || pipe(back) < 0)
		return 2;
	rounds = atol(argv[1]);
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	pthread_create(&thread, NULL, answer, NULL);
	for (long left = rounds; left > 0; left -= ROUNDS_BETWEEN_RESTS) {
		int64_t start = now(CLOCK_MONOTONIC), cpu_start = now(CLOCK_PROCESS_CPUTIME_ID);

		if (play(left < ROUNDS_BETWEEN_RESTS ? left : ROUNDS_BETWEEN_RESTS) < 0)
			return 1;
		elapsed += now(CLOCK_MONOTONIC) - start;
		cpu += now(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
		usleep(REST_US);
	}
	printf("%ld %ld\n", elapsed / rounds, cpu / rounds);
	pthread_join(thread, NULL);
	return 0;
}
