// SPDX-License-Identifier: Apache-2.0
/*
 * usage: siblings SECONDS
 *
 * Sixteen forked processes with identical mappings, and with nearly equal stacks at the same
 * address: each goes four times through left() or right(), as its name says.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seconds.h"

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned int turns;

NOINLINE static int spin(void)
{
	for (int i = 0; i < 100000; i++)
		turns++;
	return (int)turns;
}

NOINLINE static int left(const char *way);
NOINLINE static int right(const char *way);

NOINLINE static int go(const char *way)
{
	return (*way == 0 ? spin() : *way == 'L' ? left(way + 1) : right(way + 1)) + 1;
}

NOINLINE static int left(const char *way)
{
	return go(way) + 2;
}

NOINLINE static int right(const char *way)
{
	return go(way) + 3;
}

int main(int argc, char **argv)
{
	double end = seconds_now() + (argc > 1 ? atof(argv[1]) : 1);
	char name[] = "way ....", *way = strchr(name, '.');

	for (int child = 0; child < 16; child++) {
		if (fork() != 0)
			continue;
		for (int i = 0; i < 4; i++)
			way[i] = child >> i & 1 ? 'R' : 'L';
		prctl(PR_SET_NAME, name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (seconds_now() < end)
			go(way);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
