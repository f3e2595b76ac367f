// SPDX-License-Identifier: Apache-2.0
/*
 * usage: breakpoint SECONDS
 *
 * Calls a function for so long whose first instruction is a push of one byte, compiled with a frame pointer.
 */
#include <stdlib.h>
#include <time.h>

__attribute__((noinline, noclone)) static int pushes(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	int n = 0;

	while (time(NULL) < end)
		for (int i = 0; i < 1000; i++)
			n = pushes(n);
	return n == 0;
}
