// SPDX-License-Identifier: Apache-2.0

// The C functions of the chains: as distributions compile them, with a frame that is as large as
// its argument says, with a frame pointer, with a stack that is realigned.
#include "chain.h"
#include <alloca.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "_cgo_export.h"

#define CHAIN __attribute__((noinline, noclone))

CHAIN int c_spin(int n)
{
	unsigned int x = (unsigned int)n;

	for (int i = 0; i < n * 10000; i++) {
		x = x * 1664525 + 1013904223;
		__asm__ volatile("" : "+r"(x));
	}
	return (int)(x & 0xff);
}

CHAIN int c_up(int n)
{
	return goUp(n) + n;
}

__attribute__((noinline, noclone, optimize("O0"))) int c_middle(int n)
{
	volatile int room[9] = { n };

	return c_up(room[0]) + room[1];
}

CHAIN int c_down(int n)
{
	char *room = alloca((size_t)n * 100);

	memset(room, n, (size_t)n * 100);
	__asm__ volatile("" : : "r"(room) : "memory");
	return c_middle(n) + room[n];
}

CHAIN int c_first(int n)
{
	volatile int room[32] __attribute__((aligned(64))) = { n };

	return goWork(room[0]) + room[1] + c_spin(1);
}

CHAIN int c_panic(int n)
{
	return goPanic(n) + n;
}

CHAIN static int c_compare(const void *a, const void *b)
{
	return goCompare(*(const int *)a, *(const int *)b) + c_spin(0);
}

CHAIN int c_sort(int n)
{
	int numbers[100];

	for (int i = 0; i < n; i++)
		numbers[i] = i * 7919 % n;
	qsort(numbers, (size_t)n, sizeof(*numbers), c_compare);
	return numbers[n / 2];
}

// chain: c_thread c_first goWork main.goWork @work
// chain: c_thread c_first c_spin
CHAIN static void *c_thread(void *unused)
{
	for (;;)
		c_first(2);
	return unused;
}

// chain: c_brief goBrief main.goBrief main.spin
// chain: c_brief c_spin
CHAIN static void *c_brief(void *unused)
{
	for (int i = 0; i < 3; i++)
		goBrief(c_spin(3));
	return unused;
}

int c_threads(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, c_thread, NULL);
}

CHAIN int c_join(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, c_brief, NULL) != 0)
		abort();
	return pthread_join(thread, NULL);
}
