// SPDX-License-Identifier: Apache-2.0
/* Typical uses of a C library: sorting with a callback, memory, printing, threads, signals. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile unsigned int sink;

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static __attribute__((noinline)) unsigned int words(int n)
{
	char **lines = calloc((size_t)n, sizeof(*lines));
	unsigned int result;

	for (int i = 0; i < n; i++) {
		char line[64];

		snprintf(line, sizeof(line), "word %d %g", i * 7919 % n, i / 3.0);
		lines[i] = strdup(line);
	}
	qsort(lines, (size_t)n, sizeof(*lines), compare);
	result = (unsigned int)strlen(lines[n / 2]);
	for (int i = 0; i < n; i++)
		free(lines[i]);
	free(lines);
	return result;
}

static __attribute__((noinline)) unsigned int descend(int n)
{
	return n == 0 ? words(300) : descend(n - 1) + 1;
}

static void on_signal(int number)
{
	for (int i = 0; i < 20000; i++)
		sink += (unsigned int)i;
}

static void *work(void *arg)
{
	for (;;)
		sink += descend(50);
	return arg;
}

int main(void)
{
	struct itimerval timer = { { 0, 5000 }, { 0, 5000 } };
	pthread_t thread;

	signal(SIGPROF, on_signal);
	setitimer(ITIMER_PROF, &timer, NULL);
	pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	return 0;
}
