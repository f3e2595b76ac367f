// SPDX-License-Identifier: Apache-2.0
#include "thread.h"

#include <pthread.h>
#include <stddef.h>

#include "_cgo_export.h"

static __attribute__((noinline)) unsigned int spin(unsigned int x)
{
	for (int i = 0; i < 1000000; i++) {
		x = x * 1664525 + 1013904223;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static volatile unsigned int result;

__attribute__((noinline)) void spin_called(void)
{
	result = spin(1);
}

__attribute__((noinline)) void spin_called_back(void)
{
	result = spin(2);
}

__attribute__((noinline)) void spin_afterwards(void)
{
	result = spin(3);
}

static void *run(void *arg)
{
	for (;;) {
		withCallback();
		spin_afterwards();
	}
	return arg;
}

void start_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
}
