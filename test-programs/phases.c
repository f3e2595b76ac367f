// SPDX-License-Identifier: Apache-2.0
/*
 * usage: phases LIBRARY... -- [NUMBER:[SECONDS]]...
 *
 * Loads libraries made of phase.c, and then works in them in turn; without a time, until SIGUSR1.
 */
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t n_told;

static void on_signal(int number)
{
	(void)number;
	n_told++;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) int spin(double seconds)
{
	volatile unsigned int n = 0;
	double end = now() + seconds;
	int before = n_told;

	while (now() < end && n_told == before)
		for (int i = 0; i < 100000; i++)
			n++;
	return (int)n;
}

int main(int argc, char **argv)
{
	int (*work[64])(int (*)(double), double);
	int n = 0, sum = 0, i;

	signal(SIGUSR1, on_signal);
	for (i = 1; i < argc && n < 64 && strcmp(argv[i], "--") != 0; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&work[n++] = dlsym(library, "work");
	}
	for (i++; i < argc; i++) {
		char *colon;
		long number = strtol(argv[i], &colon, 10);

		if (*colon == ':' && number >= 0 && number < n)
			sum += work[number](spin, colon[1] ? strtod(colon + 1, NULL) : INFINITY);
	}
	return sum == 0;
}
