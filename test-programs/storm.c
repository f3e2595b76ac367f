// SPDX-License-Identifier: Apache-2.0
/*
 * usage: storm SECONDS FILE
 *
 * Calls hot() from three functions, slowly at first, then as fast as it can: from often(), from
 * rarely() once in a hundred calls, and from first() after each pause. FILE gets the number of
 * calls from each.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

/* Numbers of calls. Runs until there are enough, however long that takes on a busy machine. */
#define AT_LEAST 120000

static uint64_t n_often, n_rarely, n_first;
static volatile int sink;

NOINLINE void hot(int i)
{
	sink = i;
}

NOINLINE static void often(int i)
{
	n_often++;
	hot(i);
	sink++;
}

NOINLINE static void rarely(int i)
{
	n_rarely++;
	hot(i);
	sink++;
}

NOINLINE static void first(int i)
{
	n_first++;
	hot(i);
	sink++;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* A burst of n calls. */
static void burst(int n)
{
	for (int i = 0; i < n / 20; i++)
		first(i);
	for (int i = n / 20; i < n; i++) {
		if (i % 100 == 99)
			rarely(i);
		else
			often(i);
	}
}

int main(int argc, char **argv)
{
	struct timespec pause = { 0, 20000000 };
	uint64_t start = now_ms(), length;
	FILE *file;

	if (argc != 3)
		return 2;
	length = (uint64_t)atoi(argv[1]) * 1000;
	while (now_ms() - start < length / 2) {
		burst(200);
		nanosleep(&pause, NULL);
	}
	while (now_ms() - start < length || n_often + n_rarely + n_first < AT_LEAST)
		burst(10000);
	file = fopen(argv[2], "w");
	if (!file)
		return 1;
	fprintf(file, "%ju %ju %ju\n", (uintmax_t)n_often, (uintmax_t)n_rarely, (uintmax_t)n_first);
	return fclose(file) ? 1 : 0;
}
