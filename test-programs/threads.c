// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include "oracle.h"
#include "scenario.h"

__attribute__((noinline)) static int descend(int n)
{
	volatile int m = n;

	if (n == 0)
		oracle_check();
	else
		m += descend(n - 1);
	return m;
}

static void *thread_main(void *arg)
{
	for (int i = 0; i < 10; i++)
		descend(20);
	return arg;
}

void scenario_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread_main, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}
