// SPDX-License-Identifier: Apache-2.0
#include "still.h"
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include "_cgo_export.h"

#define CHAIN __attribute__((noinline, noclone))

static volatile int counts[64];

// Forever.
CHAIN int c_still(int n)
{
	for (;;)
		counts[n]++;
	return 0;
}

CHAIN static int c_up(int n, int end)
{
	return goUp(n, end) + n;
}

CHAIN int c_down(int n, int end)
{
	char *room = alloca((size_t)(n + 1) * 100);

	memset(room, n, (size_t)(n + 1) * 100);
	__asm__ volatile("" : : "r"(room) : "memory");
	return c_up(n, end) + room[n];
}

CHAIN static void *c_thread(void *end)
{
	c_down(1, (int)(intptr_t)end);
	return end;
}

int c_threads(int from, int to)
{
	pthread_t thread;
	int err = 0;

	for (intptr_t i = from; i <= to && !err; i++)
		err = pthread_create(&thread, NULL, c_thread, (void *)i);
	return err;
}

int c_count(int n)
{
	return counts[n];
}
