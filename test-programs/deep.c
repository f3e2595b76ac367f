// SPDX-License-Identifier: Apache-2.0
/*
 * usage: deep DEPTH
 *
 * For each line on stdin, a number, calls getppid() that often at the end of a recursion of this depth, and
 * then writes "done".
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int descend(int n)
{
	volatile int left = n;

	if (left == 0)
		return getppid();
	return descend(left - 1) + left;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 1000;
	volatile int sum = 0;
	char line[32];

	while (fgets(line, sizeof(line), stdin)) {
		for (int n = atoi(line); n > 0; n--)
			sum += descend(depth);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
